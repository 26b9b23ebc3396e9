#include "transport/tcp/tcp_receiver.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/wait.hpp"
#include "transport/credit_batch.hpp"
#include "transport/ring_limits.hpp"
#include "transport/socket_state.hpp"
#include "transport/tcp/plain_wire.hpp"

namespace framewire {

namespace {

/// Reads headers and small payloads in blocks of this size. Of a large payload, only the part read together with its
/// header is copied a second time.
constexpr std::size_t buffer_bytes = std::size_t{32} * 1024;

}  // namespace

TcpRing::TcpRing(std::uint32_t ring_epoch, std::uint64_t bytes_per_slot, std::uint32_t slots, const StopCheck& stop)
    : epoch(ring_epoch),
      slot_bytes(bytes_per_slot),
      stride_bytes(slot_stride_bytes(bytes_per_slot)),
      block(HostBlock::create_private(std::to_string(slots) + " ring slots", stride_bytes * slots, stop)),
      is_lent(slots) {
  for (auto& lent : is_lent) {
    lent.store(true, std::memory_order_relaxed);
  }
}

TcpReceiver::TcpReceiver(FileDescriptor socket, std::int64_t peer_timeout_ns)
    : TcpReceiver(std::make_unique<PlainWire>(std::move(socket)), peer_timeout_ns) {}

TcpReceiver::TcpReceiver(std::unique_ptr<ByteWire> wire, std::int64_t peer_timeout_ns)
    : wire_(std::move(wire)), arrived_event_(make_eventfd()), buffer_(buffer_bytes) {
  pending_credits_.reserve(CreditBatch::max_held);
  set_non_blocking(wire_->fd(), false);
  watch_peer(wire_->fd(), peer_timeout_ns);
  thread_ = std::thread([this] { receive_loop(); });
}

TcpReceiver::~TcpReceiver() {
  flush_credits();
  ::shutdown(wire_->fd(), SHUT_RDWR);
  thread_.join();
}

LinkDescription TcpReceiver::begin_epoch(std::uint32_t epoch, std::uint64_t slot_bytes, std::uint32_t ring_slots,
                                         const LinkDescription& /*pool*/) {
  std::uint64_t waiting_bytes = 0;
  {
    const std::scoped_lock lock(mutex_);
    require_room_for_ring(rings_.size());
    for (const auto& waiting : rings_) {
      waiting_bytes += waiting->has_frames ? 0 : waiting->block->bytes().size();
    }
  }
  require_possible_ring(slot_bytes, ring_slots, waiting_bytes);
  auto ring = std::make_shared<TcpRing>(epoch, slot_bytes, ring_slots, stop_check());
  const std::scoped_lock lock(mutex_);
  rings_.push_back(std::move(ring));
  return {};
}

std::optional<IncomingFrame> TcpReceiver::poll() noexcept {
  {
    const std::scoped_lock lock(mutex_);
    if (!arrived_.empty()) {
      return arrived_.pop();
    }
  }
  flush_credits();
  return std::nullopt;
}

bool TcpReceiver::arm() noexcept {
  flush_credits();
  clear_eventfd(arrived_event_.get());
  const std::scoped_lock lock(mutex_);
  is_waiting_ = arrived_.empty();
  // The end may have come between the last poll() and clear_eventfd(): report it once more instead of sleeping.
  return is_waiting_ && (state() == LinkState::open || std::exchange(end_reported_, true));
}

void TcpReceiver::return_credit(const FrameHeader& header) noexcept {
  if (header.slice + 1 != header.slice_count) {
    return;
  }
  pending_credits_.push_back({.epoch = header.epoch, .slot = header.slot});
  CreditBatch terms{.held = pending_credits_.size(), .frame_bytes = header.layout.size_bytes};
  {
    const std::scoped_lock lock(mutex_);
    for (const auto& ring : rings_) {
      if (ring->epoch == header.epoch && header.slot < ring->is_lent.size()) {
        ring->is_lent[header.slot].store(true, std::memory_order_release);
        terms.ring_slots = ring->is_lent.size();
      }
    }
    terms.more_is_waiting = !arrived_.empty();
  }
  if (!terms.may_wait()) {
    flush_credits();
  }
}

void TcpReceiver::flush_credits() noexcept {
  // The ring bounds the credits in flight, so the socket of a live sender always has room for them. If it has none, the
  // sender is gone.
  if (!pending_credits_.empty() && !wire_->write_now(std::as_bytes(std::span(pending_credits_)))) {
    // The receiving thread ends the link after it has read all frames that did arrive.
    has_lost_sender_ = true;
    ::shutdown(wire_->fd(), SHUT_RDWR);
  }
  pending_credits_.clear();
}

void TcpReceiver::receive_loop() noexcept {
  set_thread_name("fw-tcp-recv");
  while (receive_frame()) {
  }
}

bool TcpReceiver::receive_frame() {
  std::array<std::byte, max_frame_header_bytes> bytes;
  if (!read_bytes(std::span(bytes).first(8))) {
    return false;
  }
  const auto header_bytes = header_bytes_from_prefix(std::span(bytes).first(8));
  if (!header_bytes) {
    return fail("the sender sent bytes that are no frame header");
  }
  if (!read_bytes(std::span(bytes).subspan(8, *header_bytes - 8))) {
    return false;
  }
  IncomingFrame frame;
  const HeaderFault header_fault = decode(std::span(bytes).first(*header_bytes), frame.header);
  if (header_fault != HeaderFault::none) {
    return fail(std::string("the sender sent ") + describe(header_fault));
  }
  const std::shared_ptr<TcpRing> ring = find_ring(frame.header.epoch);
  if (!ring || frame.header.slot >= ring->is_lent.size() || frame.header.layout.size_bytes > ring->slot_bytes ||
      !ring->is_lent[frame.header.slot].load(std::memory_order_acquire)) {
    return fail("the sender sent a frame for a slot that it had no credit for");
  }
  frame.offset_in_block_bytes = frame.header.slot * ring->stride_bytes;
  const auto slot = ring->block->bytes().subspan(frame.offset_in_block_bytes, frame.header.layout.size_bytes);
  if (!read_bytes(slot.subspan(frame.header.slice_offset_bytes, frame.header.slice_bytes))) {
    return false;
  }
  if (frame.header.slice + 1 == frame.header.slice_count) {
    ring->is_lent[frame.header.slot].store(false, std::memory_order_relaxed);
  }
  frame.payload = slot;
  frame.block = ring->block;
  frame.received_ns = monotonic_ns();
  {
    const std::scoped_lock lock(mutex_);
    if (arrived_.full()) {
      fault_ = "the sender sent more slices than were agreed";
      end(LinkState::broken);
      return false;
    }
    arrived_.push(std::move(frame));
    if (is_waiting_) {
      is_waiting_ = false;
      signal_eventfd(arrived_event_.get());
    }
  }
  return true;
}

std::span<std::byte> TcpReceiver::take_buffered(std::span<std::byte> out) noexcept {
  const std::size_t held = std::min(out.size(), buffer_end_ - buffer_begin_);
  std::memcpy(out.data(), buffer_.data() + buffer_begin_, held);
  buffer_begin_ += held;
  return out.subspan(held);
}

bool TcpReceiver::read_bytes(std::span<std::byte> out) noexcept {
  out = take_buffered(out);
  while (!out.empty()) {
    if (out.size() < buffer_.size() / 2) {
      if (!fill_buffer()) {
        return false;
      }
      out = take_buffered(out);
      continue;
    }
    const WireStatus status = wire_->fill(out);
    return status == WireStatus::moved || end_with(status);
  }
  return true;
}

bool TcpReceiver::fill_buffer() noexcept {
  const WireRead got = wire_->read(buffer_);
  if (got.status != WireStatus::moved) {
    return end_with(got.status);
  }
  buffer_begin_ = 0;
  buffer_end_ = got.bytes;
  return true;
}

bool TcpReceiver::end_with(WireStatus status) noexcept {
  end(status == WireStatus::closed && !has_lost_sender_ ? LinkState::closed : LinkState::lost);
  return false;
}

std::shared_ptr<TcpRing> TcpReceiver::find_ring(std::uint32_t epoch) noexcept {
  const std::scoped_lock lock(mutex_);
  const auto found = std::ranges::find(rings_, epoch, [](const auto& ring) { return ring->epoch; });
  if (found == rings_.end()) {
    return nullptr;
  }
  // Frames arrive in order: only frames that are still held keep earlier rings.
  rings_.erase(rings_.begin(), found);
  rings_.front()->has_frames = true;
  return rings_.front();
}

bool TcpReceiver::fail(std::string why) {
  {
    const std::scoped_lock lock(mutex_);
    fault_ = std::move(why);
  }
  end(LinkState::broken);
  return false;
}

void TcpReceiver::end(LinkState state) noexcept {
  LinkState expected = LinkState::open;
  state_.compare_exchange_strong(expected, state);
  signal_eventfd(arrived_event_.get());
}

std::string TcpReceiver::fault() const {
  const std::scoped_lock lock(mutex_);
  if (!fault_.empty()) {
    return fault_;
  }
  switch (state()) {
    case LinkState::closed:
      return "the sender closed its data connection";
    case LinkState::lost:
      if (wire_->saw_tampering()) {
        return "what the sender sent over its encrypted data connection was changed on the way";
      }
      return "the sender's data connection was cut, or its host does not answer";
    case LinkState::broken:
    case LinkState::source_failed:
    case LinkState::open:
      break;
  }
  return {};
}

}  // namespace framewire
