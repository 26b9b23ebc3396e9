#include "transport/tcp/tcp_writer.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/pipe.hpp"
#include "transport/socket_state.hpp"

namespace framewire {

namespace {

/// A large frame fills the socket alone.
constexpr std::size_t batch_payload_bytes = std::size_t{256} * 1024;

/// What the source's thread writes itself. Copying this takes about 10 us, as long as waking the session's thread.
constexpr std::size_t max_bytes_by_source = std::size_t{64} * 1024;

/// What the session's thread writes before it looks at its other work.
constexpr std::size_t max_bytes_by_session = std::size_t{4} << 20;

/// The link state after a failed write. A viewer that closed the connection may have said why.
LinkState state_after(int error_number) noexcept {
  return error_number == EPIPE || error_number == ECONNRESET ? LinkState::closed : LinkState::lost;
}

}  // namespace

TcpWriter::TcpWriter(std::unique_ptr<ByteWire> wire)
    : wire_(std::move(wire)), event_(make_eventfd()), poller_(make_poller({event_.get(), wire_->fd()})) {
  set_non_blocking(wire_->fd(), true);
  written_.reserve(max_queued);
}

bool TcpWriter::queue(const OutgoingFrame& frame, bool only_if_idle) noexcept {
  const std::scoped_lock lock(mutex_);
  if (queue_.full() || (only_if_idle && unwritten_frames_ > 0)) {
    return false;
  }
  if (frame.is_first) {
    ++unwritten_frames_;
  }
  queue_.push(frame);
  return true;
}

std::size_t TcpWriter::take_written(std::span<PoolSlot> slots) noexcept {
  const std::scoped_lock lock(mutex_);
  const std::size_t count = std::min(slots.size(), written_.size());
  std::copy_n(written_.begin(), count, slots.begin());
  written_.erase(written_.begin(), written_.begin() + static_cast<std::ptrdiff_t>(count));
  return count;
}

bool TcpWriter::arm() noexcept {
  const std::scoped_lock lock(mutex_);
  is_armed_ = written_.empty();
  return is_armed_;
}

void TcpWriter::wake() noexcept {
  if (is_link_idle_.load(std::memory_order_relaxed)) {
    drive(Driver::source);
  } else {
    call_session();
  }
}

void TcpWriter::write() noexcept {
  clear_eventfd(event_.get());
  is_session_called_ = false;  // who queues from now on calls again
  drive(Driver::session);
}

void TcpWriter::call_session() noexcept {
  if (!is_session_called_.exchange(true)) {
    signal_eventfd(event_.get());
  }
}

void TcpWriter::drive(Driver driver) noexcept {
  while (turn_.try_lock()) {
    const Outcome outcome = write_queued(driver);
    turn_.unlock();
    if (outcome == Outcome::left) {
      call_session();
    }
    // Somebody may have queued a frame, found the turn taken, and left the frame to this thread.
    if (outcome != Outcome::idle || is_idle()) {
      return;
    }
  }
}

bool TcpWriter::is_idle() noexcept {
  const std::scoped_lock lock(mutex_);
  return queue_.empty();
}

/// With the turn.
TcpWriter::Outcome TcpWriter::write_queued(Driver driver) noexcept {
  if (is_full_ && driver == Driver::source) {
    return Outcome::full;
  }
  std::size_t budget_bytes = driver == Driver::session ? max_bytes_by_session : max_bytes_by_source;
  for (;;) {
    if (is_closed_ || state() != LinkState::open) {
      return Outcome::stopped;
    }
    if (batch_size_ == 0 && !take_batch(driver, budget_bytes)) {
      if (std::exchange(is_full_, false)) {
        watch_writable(poller_.get(), wire_->fd(), false);
      }
      return is_idle() ? Outcome::idle : Outcome::left;
    }
    const std::size_t before_bytes = size_bytes(parts_left_) + file_left_bytes_;
    const WireWrite written = write_batch();
    budget_bytes -= std::min(budget_bytes, before_bytes - size_bytes(parts_left_) - file_left_bytes_);
    switch (written) {
      case WireWrite::done:
        finish_batch(driver);
        break;
      case WireWrite::more:
        if (budget_bytes == 0) {
          return Outcome::left;
        }
        break;
      case WireWrite::full:
        return wait_for_room();
      case WireWrite::failed:
      case WireWrite::no_file:
        return Outcome::stopped;
    }
  }
}

TcpWriter::Outcome TcpWriter::wait_for_room() noexcept {
  if (!std::exchange(is_full_, true)) {
    watch_writable(poller_.get(), wire_->fd(), true);
  }
  return Outcome::full;
}

/// The frames of the next system call: none if the first one is too large for the budget, or for the source's thread.
bool TcpWriter::take_batch(Driver driver, std::size_t budget_bytes) noexcept {
  const std::scoped_lock lock(mutex_);
  std::size_t payload_bytes = 0;
  while (batch_size_ < batch_.size() && !queue_.empty()) {
    const OutgoingFrame& next = queue_.front();
    const bool fits = driver == Driver::session
                          ? budget_bytes > 0
                          : !next.file.is_there() && payload_bytes + next.header.slice_bytes <= budget_bytes;
    const bool goes_alone = next.file.is_there() || payload_bytes >= batch_payload_bytes;
    if (!fits || (goes_alone && batch_size_ > 0)) {
      break;
    }
    payload_bytes += next.header.slice_bytes;
    batch_[batch_size_++] = queue_.pop();
    if (batch_[batch_size_ - 1].file.is_there()) {
      break;
    }
  }
  prepare_batch();
  return batch_size_ > 0;
}

void TcpWriter::prepare_batch() noexcept {
  std::size_t count = 0;
  for (std::size_t i = 0; i < batch_size_; ++i) {
    const OutgoingFrame& frame = batch_[i];
    parts_[count++] = {headers_[i].data(), encode(frame.header, headers_[i])};
    if (frame.file.is_there()) {
      file_offset_bytes_ = frame.file.offset_bytes + frame.header.slice_offset_bytes;
      file_left_bytes_ = frame.header.slice_bytes;
    } else if (frame.header.slice_bytes > 0) {
      const auto slice = slice_bytes(frame.payload.bytes(), frame.header);
      // The wire only reads these bytes; iovec has no const.
      parts_[count++] = {const_cast<std::byte*>(slice.data()), slice.size()};
    }
  }
  parts_left_ = std::span(parts_).first(count);
}

WireWrite TcpWriter::write_batch() noexcept {
  const WireWrite written = wire_->write_some(parts_left_);
  if (written == WireWrite::failed) {
    fail(state_after(errno));
  }
  return written == WireWrite::done && file_left_bytes_ > 0 ? write_file() : written;
}

WireWrite TcpWriter::write_file() noexcept {
  block_sigpipe();
  const WireWrite written = wire_->write_file(batch_[0].file.fd, file_offset_bytes_, file_left_bytes_);
  if (written == WireWrite::failed) {
    fail(state_after(errno));
  } else if (written == WireWrite::no_file) {
    source_errno_ = errno;
    fail(LinkState::source_failed);
  }
  return written;
}

void TcpWriter::finish_batch(Driver driver) noexcept {
  const std::scoped_lock lock(mutex_);
  for (OutgoingFrame& frame : std::span(batch_).first(std::exchange(batch_size_, 0))) {
    if (frame.is_last) {
      written_.push_back(frame.pool_slot);
      --unwritten_frames_;
    }
    frame = {};
  }
  // The session's thread looks at written frames next, anyway.
  if (std::exchange(is_armed_, false) && driver == Driver::source) {
    signal_eventfd(event_.get());
  }
}

void TcpWriter::fail(LinkState state) noexcept {
  LinkState expected = LinkState::open;
  state_.compare_exchange_strong(expected, state);
  signal_eventfd(event_.get());
}

void TcpWriter::close() noexcept {
  is_closed_ = true;
  const std::scoped_lock no_more(turn_);
  ::shutdown(wire_->fd(), SHUT_RDWR);  // this object may live for a moment yet
}

}  // namespace framewire
