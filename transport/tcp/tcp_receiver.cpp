#include "transport/tcp/tcp_receiver.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "transport/credit_batch.hpp"
#include "transport/ring_limits.hpp"
#include "transport/socket_state.hpp"
#include "transport/tcp/plain_wire.hpp"

namespace framewire {

namespace {

/// Who drives gets its turn back after so much of large frames: a few milliseconds at memory's speed.
constexpr std::uint64_t max_driven_bytes = std::uint64_t{16} << 20;

}  // namespace

TcpRing::TcpRing(std::uint32_t ring_epoch, std::uint64_t bytes_per_slot, std::uint32_t slots, const StopCheck& stop)
    : epoch(ring_epoch),
      slot_bytes(bytes_per_slot),
      stride_bytes(slot_stride_bytes(bytes_per_slot)),
      block(HostBlock::create_private(std::to_string(slots) + " ring slots", stride_bytes * slots, stop)),
      is_lent(slots),
      assemblies(slots) {
  for (auto& lent : is_lent) {
    lent.store(true, std::memory_order_relaxed);
  }
}

TcpReceiver::TcpReceiver(FileDescriptor socket, std::int64_t peer_timeout_ns)
    : TcpReceiver(std::make_unique<PlainWire>(std::move(socket)), peer_timeout_ns) {}

TcpReceiver::TcpReceiver(std::unique_ptr<ByteWire> wire, std::int64_t peer_timeout_ns)
    : wire_(std::move(wire)),
      arrived_event_(make_eventfd()),
      reader_(*wire_, [this](const FrameHeader& header) { return place_of(header); }) {
  credits_on_the_way_.reserve(max_pool_slots);
  waiting_credits_.reserve(max_pool_slots);
  watch_peer(wire_->fd(), peer_timeout_ns);
}

TcpReceiver::~TcpReceiver() {
  flush_credits();
  ::shutdown(wire_->fd(), SHUT_RDWR);
}

LinkDescription TcpReceiver::begin_epoch(std::uint32_t epoch, std::uint64_t slot_bytes, std::uint32_t ring_slots,
                                         const LinkDescription& /*pool*/) {
  const Block* in_use = nullptr;
  {
    const std::scoped_lock lock(mutex_);
    require_room_for_ring(rings_.size());
    if (!rings_.empty() && rings_.front()->has_frames) {
      in_use = rings_.front()->block.get();
    }
  }
  living_rings_.require_room(slot_bytes, ring_slots, in_use);
  auto ring = std::make_shared<TcpRing>(epoch, slot_bytes, ring_slots, stop_check());
  living_rings_.add(ring->block);
  const std::scoped_lock lock(mutex_);
  rings_.push_back(std::move(ring));
  return {};
}

// ---- Frames ----

bool TcpReceiver::drive() noexcept {
  const std::unique_lock turn(read_turn_, std::try_to_lock);
  std::uint64_t may_read_bytes = max_driven_bytes;
  while (turn && state() == LinkState::open) {
    switch (const TcpReader::Status status = reader_.read_frame(may_read_bytes)) {
      case TcpReader::Status::frame:
        // One read at a time, but every frame of it: the program can return their credits together.
        may_read_bytes = take_frame() ? 0 : may_read_bytes;
        break;
      case TcpReader::Status::part:
        return true;
      case TcpReader::Status::again:
        return false;
      case TcpReader::Status::closed:
      case TcpReader::Status::failed:
      case TcpReader::Status::broken:
        end_after(status);
    }
  }
  return false;
}

/// Where a slice may be written to.
TcpReader::Place TcpReceiver::place_of(const FrameHeader& header) noexcept {
  reading_into_ = find_ring(header.epoch);
  if (!reading_into_ || header.slot >= reading_into_->is_lent.size() ||
      header.layout.size_bytes > reading_into_->slot_bytes ||
      !reading_into_->is_lent[header.slot].load(std::memory_order_acquire)) {
    return {.why_not = "a frame for a slot that it had no credit for"};
  }
  const TcpRing& ring = *reading_into_;
  if (const char* const why_not = ring.assemblies[header.slot].why_not(header); why_not != nullptr) {
    return {.why_not = why_not};
  }
  return {ring.block->bytes().subspan(header.slot * ring.stride_bytes + header.slice_offset_bytes, header.slice_bytes)};
}

std::shared_ptr<TcpRing> TcpReceiver::find_ring(std::uint32_t epoch) noexcept {
  std::list<std::shared_ptr<TcpRing>> left;  // unmapped after the mutex is released
  const std::scoped_lock lock(mutex_);
  const auto* const ring = leave_earlier(rings_, left, [&](const auto& one) { return one->epoch == epoch; });
  if (ring == nullptr) {
    return nullptr;
  }
  (*ring)->has_frames = true;
  return *ring;
}

/// Hands the frame or slice that the reader has completed to the program. False if there is nothing for it.
bool TcpReceiver::take_frame() noexcept {
  const FrameHeader& header = reader_.header();
  TcpRing& ring = *reading_into_;
  const bool is_last = ring.assemblies[header.slot].add(header) != SliceAssembly::Progress::part;
  if (is_last) {
    ring.is_lent[header.slot].store(false, std::memory_order_relaxed);
  } else if (!takes_slices()) {
    return false;
  }
  IncomingFrame frame{.header = header, .is_last = is_last};
  set_arrived(frame, ring.block, header.slot * ring.stride_bytes);
  std::unique_lock lock(mutex_);
  if (!is_last && arrived_.size() >= max_slices_arrived) {
    return false;  // the program is late; it gets the whole frame
  }
  if (arrived_.full()) {
    lock.unlock();
    end(LinkState::broken, "the sender sent more frames than were agreed");
    return false;
  }
  arrived_.push(std::move(frame));
  const bool has_to_wake = std::exchange(is_waiting_, false);
  lock.unlock();
  if (has_to_wake) {
    signal_eventfd(arrived_event_.get());
  }
  return true;
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

// ---- Credits ----

void TcpReceiver::return_credit(const FrameHeader& header) noexcept {
  CreditBatch terms{.frame_bytes = header.layout.size_bytes};
  bool is_taken = false;
  {
    const std::scoped_lock lock(mutex_);
    for (const auto& ring : rings_) {
      if (ring->epoch == header.epoch && header.slot < ring->is_lent.size()) {
        ring->is_lent[header.slot].store(true, std::memory_order_release);
        terms.ring_slots = ring->is_lent.size();
      }
    }
    if (is_taken = waiting_credits_.size() < max_pool_slots; is_taken) {
      waiting_credits_.push_back({.epoch = header.epoch, .slot = header.slot});
    }
    terms.held = waiting_credits_.size();
    terms.more_is_waiting = !arrived_.empty();
  }
  if (!is_taken) {
    lose_sender();  // one that takes its credits never lets so many wait: each is for a slot of a ring
  } else if (!terms.may_wait()) {
    flush_credits();
  }
}

void TcpReceiver::flush_credits() noexcept {
  // Who finds another thread writing leaves its credits to that one, which looks once more after its turn.
  while (has_unwritten_credits() && credit_turn_.try_lock()) {
    const bool has_written = write_credits();
    credit_turn_.unlock();
    if (!has_written) {
      return;  // maintain() tries again
    }
  }
}

bool TcpReceiver::has_unwritten_credits() const noexcept {
  if (credits_have_rest_.load(std::memory_order_relaxed)) {
    return true;
  }
  const std::scoped_lock lock(mutex_);
  return !waiting_credits_.empty();
}

/// With the turn to write. False: the kernel has no room for the rest. The ring bounds the credits in flight, so that
/// the socket of a sender that reads has room for them, but a kernel that is short of memory takes a part of them, or
/// none.
bool TcpReceiver::write_credits() noexcept {
  if (!credits_have_rest_.load(std::memory_order_relaxed)) {
    const std::scoped_lock lock(mutex_);
    waiting_credits_.swap(credits_on_the_way_);
    credit_part_ = {.iov_base = credits_on_the_way_.data(),
                    .iov_len = std::as_bytes(std::span(credits_on_the_way_)).size()};
    credit_rest_ = std::span(&credit_part_, 1);
  }
  WireWrite written = WireWrite::more;
  while (written == WireWrite::more) {
    written = wire_->write_some(credit_rest_);
  }
  credits_have_rest_.store(written == WireWrite::full, std::memory_order_relaxed);
  if (written == WireWrite::full) {
    return false;
  }
  if (written == WireWrite::failed) {
    lose_sender();
  }
  credits_on_the_way_.clear();
  return true;
}

/// drive() ends the link after it has read all frames that did arrive.
void TcpReceiver::lose_sender() noexcept {
  has_lost_sender_ = true;
  ::shutdown(wire_->fd(), SHUT_RDWR);
}

// ---- The end ----

void TcpReceiver::end_after(TcpReader::Status status) noexcept {
  if (status == TcpReader::Status::broken) {
    return end(LinkState::broken, reader_.fault());
  }
  end(status == TcpReader::Status::closed && !has_lost_sender_ ? LinkState::closed : LinkState::lost);
}

/// With the turn to read.
void TcpReceiver::end(LinkState state, std::string why) noexcept {
  {
    const std::scoped_lock lock(mutex_);
    fault_ = std::move(why);
  }
  state_.store(state, std::memory_order_release);
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
