#include "transport/session/frame_flows.hpp"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <span>
#include <string>
#include <utility>

#include "base/clock.hpp"
#include "memory/host_block.hpp"

namespace framewire {

namespace {

/// How far a sequence number may jump from one frame to the next. A viewer under `latest` that is stopped for a day
/// misses fewer, even at ten million frames a second. A larger jump cannot be a frame count.
constexpr std::uint64_t max_skipped_at_once = std::uint64_t{1} << 40;

/// Who takes frames gets its turn back after so many parts of what the sender has given up: a sender may make them as
/// fast as they are taken.
constexpr int max_given_up_at_once = 64;

/// More than any link holds. A sender may make frames as fast as they are taken.
constexpr int max_taken_of_dropped_flow = 4096;

constexpr bool may_follow(std::uint64_t last_sequence, std::uint64_t sequence) noexcept {
  return sequence > last_sequence && sequence - last_sequence <= max_skipped_at_once;
}

}  // namespace

// ---- ReceivedFrame ----

ReceivedFrame& ReceivedFrame::operator=(ReceivedFrame&& other) noexcept {
  if (this != &other) {
    return_credit();
    frame_ = std::move(other.frame_);
    link_ = std::move(other.link_);
    session_number_ = other.session_number_;
  }
  return *this;
}

ReceivedFrame::~ReceivedFrame() {
  return_credit();
}

void ReceivedFrame::release_after(const std::shared_ptr<Fence>& fence) {
  const auto held = std::make_shared<ReceivedFrame>(std::move(*this));  // moves after the allocation
  try {
    fence->when_finished([frame = held](FenceState) mutable { frame.reset(); });
  } catch (...) {
    *this = std::move(*held);
    throw;
  }
}

void ReceivedFrame::use_copy(std::shared_ptr<const Block> copy) noexcept {
  const HostBlock* const host = copy->host();
  frame_.payload = host == nullptr
                       ? std::span<const std::byte>()
                       : host->bytes().subspan(frame_.offset_in_block_bytes, frame_.header.layout.size_bytes);
  frame_.block = std::move(copy);
}

void ReceivedFrame::return_credit() noexcept {
  if (link_ && frame_.is_last) {
    link_->return_credit(frame_.header);
  }
}

// ---- FrameFlows ----

std::optional<ReceivedFrame> FrameFlows::next() {
  int given_up = 0;
  while (!flows_.empty()) {
    Flow& flow = flows_.front();
    if (auto frame = poll(flow)) {
      ReceivedFrame received(std::move(*frame), flow.session->link(), flow.number);
      if (!follows(flow, received.header())) {
        continue;  // nothing more comes of a session that is rejected
      }
      if (!is_given_up(flow, received)) {
        if (received.is_complete()) {
          count(flow, received.header());
        }
        return received;
      }
      if (++given_up == max_given_up_at_once) {
        return std::nullopt;  // arm() tells if there is more
      }
      continue;  // returns the credit
    }
    const bool is_spent = must_drop_lost_flow_ && !flow.session->has_bye() && holds_registered_memory(flow);
    if (flows_.size() == 1 && !is_spent) {
      return std::nullopt;
    }
    drop(flows_.begin());
  }
  return std::nullopt;
}

/// Whether a frame of this number may come now. If not, the session is rejected.
bool FrameFlows::follows(const Flow& flow, const FrameHeader& header) {
  if (!flow.last_sequence || may_follow(*flow.last_sequence, header.sequence)) {
    return true;
  }
  flow.session->reject("the sender is not to be believed: it sent frame " + std::to_string(header.sequence) +
                       " after frame " + std::to_string(*flow.last_sequence));
  return false;
}

/// Whether the sender has given up this frame, so that nobody gets it.
bool FrameFlows::is_given_up(Flow& flow, const ReceivedFrame& received) noexcept {
  if (received.header().is_aborted) {
    flow.last_sequence = received.header().sequence;
    return true;
  }
  // Behind the sender's last frame come only slices of one that it has given up.
  return !received.is_complete() && has_all_frames(flow);
}

/// The link's next frame. state() may be a system call, so it is called only where end() needs the answer: after a bye
/// that reports more frames than were received.
std::optional<IncomingFrame> FrameFlows::poll(Flow& flow) noexcept {
  if (flow.session->is_rejected()) {
    return std::nullopt;
  }
  ReceiverLink& link = *flow.session->link();
  auto frame = link.poll();
  if (!frame && flow.session->has_bye() && flow.frames_received < flow.session->frames_sent() &&
      link.state() != LinkState::open) {
    frame = link.poll();  // frames may have arrived after the first poll() and before the end
    flow.is_exhausted = !frame;
  }
  return frame;
}

bool FrameFlows::has_all_frames(const Flow& flow) noexcept {
  return flow.session->has_bye() && flow.frames_received >= flow.session->frames_sent();
}

/// What the link has left is lost. Its credits are not returned: the session is over.
std::shared_ptr<ViewerSession> FrameFlows::drop_surplus() noexcept {
  if (flows_.size() < 2) {
    return nullptr;
  }
  Flow& flow = flows_.front();
  int taken = 0;
  for (auto frame = poll(flow); frame && taken < max_taken_of_dropped_flow; frame = poll(flow), ++taken) {
    frames_lost_ += frame->is_last && !frame->header.is_aborted ? 1U : 0U;
  }
  auto session = flow.session;
  drop(flows_.begin());
  return session;
}

void FrameFlows::drop(const std::deque<Flow>::const_iterator& flow) noexcept {
  discarded_before_ += flow->session->link()->frames_discarded();
  frames_lost_ += flow->session->link()->frames_withdrawn();
  flows_.erase(flow);
  flow_dropped_.notify_all();
}

void FrameFlows::release_lost(std::mutex& mutex, const std::function<void()>& wake) {
  constexpr std::chrono::seconds timeout(1);
  maintain_newest(mutex);
  std::unique_lock lock(mutex);
  must_drop_lost_flow_ = true;
  if (!flows_.empty() && holds_registered_memory(flows_.back())) {
    wake();
    flow_dropped_.wait_for(lock, timeout, [&] { return flows_.empty(); });
  }
}

/// Nobody maintains a link between two sessions: no frame comes over it, and nobody waits for its end. But if only the
/// control channel ended the session, the link's own end may have come later, and is noticed here.
void FrameFlows::maintain_newest(std::mutex& mutex) const {
  std::shared_ptr<ReceiverLink> link;
  {
    const std::scoped_lock lock(mutex);
    if (!flows_.empty()) {
      link = flows_.back().session->link();
    }
  }
  if (link) {
    link->maintain();
  }
}

bool FrameFlows::holds_registered_memory(const Flow& flow) {
  const ViewerSession& session = *flow.session;
  return traits(session.link()->kind()).holds_registered_memory &&
         (session.link()->state() != LinkState::open || session.is_rejected());
}

void FrameFlows::count(Flow& flow, const FrameHeader& header) noexcept {
  if (flow.frames_received > 0) {
    frames_skipped_ += header.sequence - flow.last_received - 1;
  }
  flow.last_sequence = header.sequence;
  flow.last_received = header.sequence;
  ++flow.frames_received;
  ++frames_received_;
  bytes_received_ += header.layout.size_bytes;
}

std::uint64_t FrameFlows::frames_discarded() const noexcept {
  std::uint64_t discarded = discarded_before_;
  for (const Flow& flow : flows_) {
    discarded += flow.session->link()->frames_discarded();
  }
  return discarded;
}

std::uint64_t FrameFlows::frames_lost() const noexcept {
  std::uint64_t lost = frames_lost_;
  for (const Flow& flow : flows_) {
    lost += flow.session->link()->frames_withdrawn();
  }
  return lost;
}

/// The sender's bye contains the number of frames sent. The session is over once the program has taken them all, or
/// once the link has ended and has no more frames.
std::optional<FrameFlows::Outcome> FrameFlows::outcome() const {
  if (flows_.empty() || !flows_.front().session->has_bye()) {
    return std::nullopt;
  }
  const Flow& flow = flows_.front();
  if (has_all_frames(flow)) {
    return Outcome{};
  }
  const std::uint64_t missing = flow.session->frames_sent() - flow.frames_received;
  const std::uint64_t counted = std::min(flow.session->link()->frames_withdrawn(), missing);  // by frames_lost()
  const std::uint64_t lost = std::min(missing - counted, max_skipped_at_once);
  if (flow.session->is_rejected()) {
    return Outcome{.frames_lost = lost, .fault = flow.session->rejection_reason()};
  }
  return flow.is_exhausted ? std::optional(Outcome{lost, {}}) : std::nullopt;
}

void FrameFlows::drop_rejected() noexcept {
  if (!flows_.empty() && flows_.back().session->is_rejected()) {
    drop(std::prev(flows_.end()));
  }
}

std::shared_ptr<ReceiverLink> FrameFlows::link() const {
  return flows_.empty() || flows_.front().session->is_rejected() ? nullptr : flows_.front().session->link();
}

FrameFlows::Goodbye FrameFlows::begin_bye() noexcept {
  bye_begun_ = true;
  return {.session = flows_.back().session, .frames_received = flows_.back().frames_received};
}

void FrameFlows::finish() noexcept {
  if (bye_begun_ && !flows_.empty()) {
    flows_.back().session->finish(monotonic_ns() + ns_per_s);  // do not wait longer for a sender that is stopped
  }
}

}  // namespace framewire
