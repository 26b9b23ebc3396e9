#include "transport/tcp/tcp_sender.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/error.hpp"
#include "base/pipe.hpp"
#include "base/wait.hpp"
#include "transport/socket_state.hpp"
#include "transport/tcp/plain_wire.hpp"

namespace framewire {

namespace {

/// Small frames that wait together are sent by one system call; a large one fills the socket alone.
constexpr std::size_t max_in_batch = 32;
constexpr std::size_t batch_payload_bytes = std::size_t{256} * 1024;

/// Under `latest`, about this much may wait unsent in the kernel, so that a chosen frame leaves soon: 20 ms at 100
/// Mbit/s. Less could leave the network idle while the session's thread wakes up: this lasts for 50 us at 40 Gbit/s.
constexpr int max_unsent_bytes = 256 * 1024;

/// The link state after a failed write. A viewer that closed the connection may have said why.
LinkState state_after(int error_number) noexcept {
  return error_number == EPIPE || error_number == ECONNRESET ? LinkState::closed : LinkState::lost;
}

}  // namespace

TcpSender::TcpSender(FileDescriptor socket, std::int64_t peer_timeout_ns)
    : TcpSender(std::make_unique<PlainWire>(std::move(socket)), peer_timeout_ns) {}

TcpSender::TcpSender(std::unique_ptr<ByteWire> wire, std::int64_t peer_timeout_ns)
    : wire_(std::move(wire)),
      peer_timeout_ns_(peer_timeout_ns),
      done_event_(make_eventfd()),
      poller_(make_poller({done_event_.get(), wire_->fd()})) {
  set_non_blocking(wire_->fd(), false);
  watch_peer(wire_->fd(), peer_timeout_ns_);
  done_.reserve(max_queued);
  thread_ = std::thread([this] { send_loop(); });
}

TcpSender::~TcpSender() {
  {
    const std::scoped_lock lock(mutex_);
    stopping_ = true;
  }
  queued_.notify_all();
  ::shutdown(wire_->fd(), SHUT_RDWR);  // wakes a write() that waits for the viewer
  thread_.join();
}

void TcpSender::begin_epoch(std::shared_ptr<Pool> /*pool*/) {}

void TcpSender::epoch_ready(std::uint32_t epoch, std::uint32_t ring_slots, const LinkDescription& /*ring*/) noexcept {
  ready_epoch_ = epoch;
  ring_slots = std::min<std::uint32_t>(ring_slots, max_queued / 2);
  ring_slot_is_out_.assign(ring_slots, false);
  free_ring_slots_.clear();
  for (std::uint32_t i = ring_slots; i > 0; --i) {
    free_ring_slots_.push_back(static_cast<std::uint16_t>(i - 1));
  }
}

void TcpSender::bound_send_queue() noexcept {
  has_bounded_queue_ = true;
  ::setsockopt(wire_->fd(), IPPROTO_TCP, TCP_NOTSENT_LOWAT, &max_unsent_bytes, sizeof max_unsent_bytes);
}

SendResult TcpSender::try_send(const OutgoingFrame& frame) noexcept {
  if (state_.load(std::memory_order_relaxed) != LinkState::open) {
    return SendResult::closed;
  }
  assert(frame.pool_slot.epoch == ready_epoch_);
  if (frame.header.slice == 0) {
    if (free_ring_slots_.empty()) {
      return SendResult::no_credit;
    }
  }
  {
    const std::scoped_lock lock(mutex_);
    const bool is_first_slice = frame.header.slice == 0;
    if (queue_.full() || (is_first_slice && has_bounded_queue_ && frames_to_write_ > 0)) {
      return SendResult::no_credit;
    }
    if (is_first_slice) {
      ++accepted_;
      ++frames_to_write_;
      current_ring_slot_ = free_ring_slots_.back();
      free_ring_slots_.pop_back();
      ring_slot_is_out_[current_ring_slot_] = true;
    }
    OutgoingFrame queued = frame;
    queued.header.slot = current_ring_slot_;
    queue_.push(queued);
  }
  queued_.notify_one();
  return SendResult::accepted;
}

std::size_t TcpSender::poll_released(std::span<PoolSlot> released) noexcept {
  read_credits();
  const std::scoped_lock lock(mutex_);
  const std::size_t count = std::min(released.size(), done_.size());
  std::copy_n(done_.begin(), count, released.begin());
  done_.erase(done_.begin(), done_.begin() + static_cast<std::ptrdiff_t>(count));
  return count;
}

bool TcpSender::arm() noexcept {
  // Credits and released slots make the descriptor readable without arming.
  const std::scoped_lock lock(mutex_);
  return done_.empty();
}

void TcpSender::read_credits() noexcept {
  while (state_.load(std::memory_order_relaxed) == LinkState::open) {
    const WireRead got = wire_->read_now(std::span(credit_bytes_).subspan(credit_bytes_held_));
    if (got.status == WireStatus::again) {
      return;
    }
    if (got.status != WireStatus::moved) {
      return fail(got.status == WireStatus::closed ? LinkState::closed : LinkState::lost);
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
    return fail(LinkState::broken);
  }
  if (credit.epoch != ready_epoch_) {
    return;  // of an old ring: the new epoch started with all its credits
  }
  if (credit.slot >= ring_slot_is_out_.size() || !ring_slot_is_out_[credit.slot]) {
    return fail(LinkState::broken);
  }
  ring_slot_is_out_[credit.slot] = false;
  free_ring_slots_.push_back(credit.slot);
}

void TcpSender::send_loop() noexcept {
  set_thread_name("fw-tcp-send");
  block_sigpipe();
  std::array<OutgoingFrame, max_in_batch> batch;
  for (;;) {
    std::size_t count = 0;
    {
      std::unique_lock lock(mutex_);
      queued_.wait(lock, [&] { return stopping_ || !queue_.empty(); });
      if (stopping_) {
        return;
      }
      std::size_t payload_bytes = 0;
      while (count < batch.size() && !queue_.empty() && (count == 0 || payload_bytes < batch_payload_bytes)) {
        batch[count] = queue_.pop();
        payload_bytes += batch[count].header.slice_bytes;
        ++count;
      }
    }
    const LinkState after = send_batch(std::span(batch).first(count));
    {
      const std::scoped_lock lock(mutex_);
      for (const OutgoingFrame& frame : std::span(batch).first(count)) {
        if (frame.header.slice + 1 == frame.header.slice_count) {
          done_.push_back(frame.pool_slot);
          --frames_to_write_;
        }
      }
    }
    signal_eventfd(done_event_.get());
    if (after != LinkState::open) {
      return fail(after);
    }
  }
}

/// Returns `open` when all is sent.
LinkState TcpSender::send_batch(std::span<const OutgoingFrame> frames) noexcept {
  std::array<std::array<std::byte, max_frame_header_bytes>, max_in_batch> headers;
  std::array<iovec, 2 * max_in_batch> parts;
  std::size_t part_count = 0;
  for (std::size_t i = 0; i < frames.size(); ++i) {
    const OutgoingFrame& frame = frames[i];
    parts[part_count++] = {headers[i].data(), encode(frame.header, headers[i])};
    if (frame.file.is_there()) {
      if (!wire_->write(std::span(parts).first(part_count))) {
        return state_after(errno);
      }
      if (const LinkState after = send_file(frame); after != LinkState::open) {
        return after;
      }
      part_count = 0;
    } else if (frame.header.slice_bytes > 0) {
      const auto slice = frame.payload.bytes().subspan(frame.header.slice_offset_bytes, frame.header.slice_bytes);
      // The wire only reads these bytes; iovec has no const.
      parts[part_count++] = {const_cast<std::byte*>(slice.data()), slice.size()};
    }
  }
  if (part_count > 0 && !wire_->write(std::span(parts).first(part_count))) {
    return state_after(errno);
  }
  return LinkState::open;
}

LinkState TcpSender::send_file(const OutgoingFrame& frame) noexcept {
  switch (wire_->write_file(frame.file.fd, frame.file.offset_bytes + frame.header.slice_offset_bytes,
                            frame.header.slice_bytes)) {
    case FileWrite::done:
      return LinkState::open;
    case FileWrite::no_connection:
      return state_after(errno);
    case FileWrite::no_file:
      break;
  }
  source_errno_ = errno;
  return LinkState::source_failed;
}

void TcpSender::fail(LinkState state) noexcept {
  LinkState expected = LinkState::open;
  state_.compare_exchange_strong(expected, state);
  signal_eventfd(done_event_.get());
}

LinkState TcpSender::state() const noexcept {
  const LinkState state = state_.load(std::memory_order_acquire);
  if (state == LinkState::open && tcp_peer_is_silent(wire_->fd(), peer_timeout_ns_)) {
    return LinkState::lost;
  }
  return state;
}

std::string TcpSender::fault() const {
  switch (state()) {
    case LinkState::closed:
      return "the other end closed its data connection";
    case LinkState::lost:
      if (wire_->saw_tampering()) {
        return "what the other end sent over its encrypted data connection was changed on the way";
      }
      return "the other end's data connection was cut, or its host does not answer";
    case LinkState::broken:
      return "the other end gave back a slot that it does not hold";
    case LinkState::source_failed:
      return source_errno_ == ENODATA ? "the file became shorter while it was sent"
                                      : "the file cannot be sent any more: " + errno_text(source_errno_);
    case LinkState::open:
      break;
  }
  return {};
}

}  // namespace framewire
