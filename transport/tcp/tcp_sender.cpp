#include "transport/tcp/tcp_sender.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "transport/socket_state.hpp"
#include "transport/tcp/plain_wire.hpp"

namespace framewire {

namespace {

/// Under `latest`, about this much may wait unsent in the kernel, so that a chosen frame leaves soon: 20 ms at 100
/// Mbit/s. Less could leave the network idle while the session's thread wakes up: this lasts for 50 us at 40 Gbit/s.
constexpr int max_unsent_bytes = 256 * 1024;

/// A viewer that shows one frame until the next one comes keeps one; the second is the one to be sent.
constexpr std::uint64_t frames_over_an_idle_link = 2;

/// Asking the kernel about the viewer's host is a system call, and timeouts are seconds.
constexpr std::int64_t check_interval_ns = 100 * ns_per_ms;

}  // namespace

TcpSender::TcpSender(FileDescriptor socket, std::int64_t peer_timeout_ns)
    : TcpSender(std::make_unique<PlainWire>(std::move(socket)), peer_timeout_ns) {}

TcpSender::TcpSender(std::unique_ptr<ByteWire> wire, std::int64_t peer_timeout_ns)
    : writer_(std::make_shared<TcpWriter>(std::move(wire))), peer_timeout_ns_(peer_timeout_ns) {
  watch_peer(writer_->wire().fd(), peer_timeout_ns_);
}

TcpSender::~TcpSender() {
  writer_->close();
}

void TcpSender::begin_epoch(std::shared_ptr<Pool> /*pool*/) {}

void TcpSender::epoch_ready(std::uint32_t epoch, std::uint32_t ring_slots, const LinkDescription& /*ring*/) noexcept {
  ready_epoch_ = epoch;
  ring_slots = std::min<std::uint32_t>(ring_slots, TcpWriter::max_queued / 2);
  ring_slot_is_out_.assign(ring_slots, false);
  free_ring_slots_ = all_free(ring_slots);
}

void TcpSender::bound_send_queue() noexcept {
  has_bounded_queue_ = true;
  ::setsockopt(writer_->wire().fd(), IPPROTO_TCP, TCP_NOTSENT_LOWAT, &max_unsent_bytes, sizeof max_unsent_bytes);
}

SendResult TcpSender::try_send(const OutgoingFrame& frame) noexcept {
  if (writer_->state() != LinkState::open) {
    return SendResult::closed;
  }
  assert(frame.pool_slot.epoch == ready_epoch_);
  if (frame.is_first && free_ring_slots_.empty()) {
    return SendResult::no_credit;
  }
  OutgoingFrame queued = frame;
  queued.header.slot = frame.is_first ? free_ring_slots_.back() : current_ring_slot_;
  if (!writer_->queue(queued, frame.is_first && has_bounded_queue_)) {
    return SendResult::no_credit;
  }
  if (frame.is_first) {
    ++accepted_;
    current_ring_slot_ = queued.header.slot;
    free_ring_slots_.pop_back();
    ring_slot_is_out_[current_ring_slot_] = true;
  }
  has_more_to_come_ = !frame.is_last;
  has_queued_ = true;
  return SendResult::accepted;
}

std::shared_ptr<PeerWaker> TcpSender::take_waker() noexcept {
  if (!std::exchange(has_queued_, false)) {
    return nullptr;
  }
  writer_->set_idle(accepted_ - acknowledged_ <= frames_over_an_idle_link);
  return writer_;
}

std::size_t TcpSender::poll_released(std::span<PoolSlot> released) noexcept {
  read_credits();
  return writer_->take_written(released);
}

void TcpSender::read_credits() noexcept {
  while (writer_->state() == LinkState::open) {
    const WireRead got = writer_->wire().read(std::span(credit_bytes_).subspan(credit_bytes_held_), {});
    if (got.status == WireStatus::again) {
      return;
    }
    if (got.status != WireStatus::moved) {
      return writer_->fail(got.status == WireStatus::closed ? LinkState::closed : LinkState::lost);
    }
    credit_bytes_held_ += got.bytes;
    const std::size_t whole = credit_bytes_held_ / sizeof(CreditWord);
    for (std::size_t i = 0; i < whole; ++i) {
      CreditWord credit;
      std::memcpy(&credit, credit_bytes_.data() + i * sizeof credit, sizeof credit);
      add_credit(credit);
    }
    credit_bytes_held_ -= whole * sizeof(CreditWord);
    std::memmove(credit_bytes_.data(), credit_bytes_.data() + whole * sizeof(CreditWord), credit_bytes_held_);
  }
}

void TcpSender::add_credit(const CreditWord& credit) noexcept {
  if (++acknowledged_ > accepted_) {
    return writer_->fail(LinkState::broken);
  }
  if (credit.epoch != ready_epoch_) {
    return;  // of an old ring: the new epoch started with all its credits
  }
  const bool is_incomplete = has_more_to_come_ && credit.slot == current_ring_slot_;
  if (credit.slot >= ring_slot_is_out_.size() || !ring_slot_is_out_[credit.slot] || is_incomplete) {
    return writer_->fail(LinkState::broken);
  }
  ring_slot_is_out_[credit.slot] = false;
  free_ring_slots_.push_back(credit.slot);
}

LinkState TcpSender::state() const noexcept {
  const std::int64_t now_ns = monotonic_ns();
  if (now_ns >= next_check_ns_.load(std::memory_order_relaxed) && writer_->state() == LinkState::open) {
    next_check_ns_.store(now_ns + check_interval_ns, std::memory_order_relaxed);
    if (tcp_peer_is_silent(writer_->wire().fd(), peer_timeout_ns_)) {
      writer_->fail(LinkState::lost);
    }
  }
  return writer_->state();
}

std::string TcpSender::fault() const {
  switch (state()) {
    case LinkState::closed:
      return "the other end closed its data connection";
    case LinkState::lost:
      if (writer_->wire().saw_tampering()) {
        return "what the other end sent over its encrypted data connection was changed on the way";
      }
      return "the other end's data connection was cut, or its host does not answer";
    case LinkState::broken:
      return "the other end gave back a slot that it does not hold, or whose frame was not complete";
    case LinkState::source_failed:
      return writer_->source_errno() == ENODATA
                 ? "the file became shorter while it was sent"
                 : "the file cannot be sent any more: " + errno_text(writer_->source_errno());
    case LinkState::open:
      break;
  }
  return {};
}

}  // namespace framewire
