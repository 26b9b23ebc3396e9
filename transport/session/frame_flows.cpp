#include "transport/session/frame_flows.hpp"

#include <chrono>
#include <string>
#include <utility>

#include "base/clock.hpp"

namespace framewire {

// ---- ReceivedFrame ----

ReceivedFrame& ReceivedFrame::operator=(ReceivedFrame&& other) noexcept {
  if (this != &other) {
    if (link_) {
      link_->give_back(frame_.header);
    }
    frame_ = std::move(other.frame_);
    link_ = std::move(other.link_);
    session_number_ = other.session_number_;
  }
  return *this;
}

ReceivedFrame::~ReceivedFrame() {
  if (link_) {
    link_->give_back(frame_.header);
  }
}

// ---- FrameFlows ----

std::optional<ReceivedFrame> FrameFlows::next() {
  while (!flows_.empty()) {
    Flow& flow = flows_.front();
    if (auto frame = flow.session->is_disowned() ? std::nullopt : flow.session->link()->poll()) {
      ReceivedFrame received(std::move(*frame), flow.session->link(), flow.number);
      if (count(flow, received.header())) {
        return received;
      }
      flow.session->disown("it sent frame " + std::to_string(received.header().sequence) + " after frame " +
                           std::to_string(flow.next_sequence - 1));
    }
    const bool is_spent = lets_go_of_lost_ && !flow.session->has_bye() && holds_registered_memory(flow);
    if (flows_.size() == 1 && !is_spent) {
      return std::nullopt;
    }
    discarded_before_ += flow.session->link()->frames_discarded();
    flows_.pop_front();
    went_.notify_all();
  }
  return std::nullopt;
}

void FrameFlows::let_go_of_lost(std::mutex& mutex, const std::function<void()>& wake) {
  constexpr std::chrono::seconds patience(1);
  std::unique_lock lock(mutex);
  lets_go_of_lost_ = true;
  if (!flows_.empty() && holds_registered_memory(flows_.back())) {
    wake();
    went_.wait_for(lock, patience, [&] { return flows_.empty(); });
  }
}

bool FrameFlows::holds_registered_memory(const Flow& flow) {
  return flow.session->link()->kind() == LinkKind::rdma && flow.session->link()->state() != LinkState::open;
}

bool FrameFlows::count(Flow& flow, const FrameHeader& header) noexcept {
  if (header.slice + 1 != header.slice_count) {
    return true;
  }
  if (flow.frames_received > 0) {
    if (header.sequence < flow.next_sequence) {
      return false;
    }
    frames_skipped_ += header.sequence - flow.next_sequence;
  }
  ++flow.frames_received;
  flow.next_sequence = header.sequence + 1;
  ++frames_received_;
  bytes_received_ += header.layout.size_bytes;
  return true;
}

std::uint64_t FrameFlows::frames_discarded() const noexcept {
  std::uint64_t discarded = discarded_before_;
  for (const Flow& flow : flows_) {
    discarded += flow.session->link()->frames_discarded();
  }
  return discarded;
}

/// The sender's bye names how many frames it sent: the session is over once the program has taken them all, or once the
/// link has ended and there are no more.
std::optional<std::uint64_t> FrameFlows::lost_at_end() const {
  if (flows_.empty() || !flows_.front().session->has_bye()) {
    return std::nullopt;
  }
  const Flow& flow = flows_.front();
  const std::uint64_t sent = flow.session->frames_sent();
  if (flow.frames_received >= sent) {
    return 0;
  }
  if (flow.session->link()->state() == LinkState::open && !flow.session->is_disowned()) {
    return std::nullopt;
  }
  return sent - flow.frames_received;
}

std::shared_ptr<ReceiverLink> FrameFlows::link() const {
  return flows_.empty() ? nullptr : flows_.front().session->link();
}

void FrameFlows::say_bye(const std::string& reason, const std::string& statistics_json) noexcept {
  const Flow& flow = flows_.back();
  flow.session->say_bye(reason, flow.frames_received, statistics_json);
  has_said_bye_ = true;
}

void FrameFlows::see_off() noexcept {
  if (has_said_bye_) {
    flows_.back().session->see_off(monotonic_ns() + ns_per_s);  // one that stands still need not hear it
  }
}

}  // namespace framewire
