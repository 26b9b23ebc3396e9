// A viewer for tests of sources. It accepts every frame of a stream and keeps it.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <functional>
#include <limits>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <poll.h>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/file_descriptor.hpp"
#include "base/wait.hpp"
#include "sender/source.hpp"
#include "tests/base/equal_bytes.hpp"
#include "transport/ring_limits.hpp"
#include "transport/stream.hpp"

namespace framewire::test {

struct SeenFrame {
  FrameHeader header;
  std::vector<std::byte> payload;
};

/// A link that accepts every frame at once, also in slices. It releases a frame when `held` more have come, and first
/// checks that the frame has not changed. Needs the stream's mutex, except for frames() and frames_changed(), which are
/// read after the end.
class TakesAll final : public SenderLink {
 public:
  explicit TakesAll(bool keeps_payload, std::size_t held = 0) : keeps_payload_(keeps_payload), max_held_(held) {}
  [[nodiscard]] LinkKind kind() const noexcept override { return LinkKind::local; }
  void begin_epoch(std::shared_ptr<Pool> /*pool*/) override {}
  void epoch_ready(std::uint32_t /*epoch*/, std::uint32_t /*ring_slots*/,
                   const LinkDescription& /*ring*/) noexcept override {}
  SendResult try_send(const OutgoingFrame& frame) noexcept override {
    const std::span<const std::byte> payload = frame.payload.bytes();
    if (frame.is_first) {
      arriving_.payload.assign(keeps_payload_ ? payload.size() : 0, std::byte{0});
    }
    ++slices_;
    arriving_.header = frame.header;
    if (keeps_payload_) {
      const auto slice = slice_bytes(payload, frame.header);
      std::ranges::copy(slice,
                        arriving_.payload.begin() + static_cast<std::ptrdiff_t>(frame.header.slice_offset_bytes));
    }
    if (!frame.is_last) {
      return SendResult::accepted;
    }
    if (frame.header.is_aborted) {
      done_.push_back(frame.pool_slot);
      return SendResult::accepted;
    }
    frames_.push_back(std::move(arriving_));
    held_.push_back({frame.pool_slot, payload, frames_.size() - 1});
    if (held_.size() > max_held_) {
      const Held oldest = held_.front();
      held_.erase(held_.begin());
      const std::vector<std::byte>& then = frames_[oldest.number].payload;
      frames_changed_ += keeps_payload_ && !are_equal(oldest.payload, then) ? 1U : 0U;
      done_.push_back(oldest.slot);
    }
    return SendResult::accepted;
  }
  std::size_t poll_released(std::span<PoolSlot> released) noexcept override {
    const std::size_t count = std::min(released.size(), done_.size());
    std::copy_n(done_.begin(), count, released.begin());
    done_.erase(done_.begin(), done_.begin() + static_cast<std::ptrdiff_t>(count));
    return count;
  }
  bool arm() noexcept override { return done_.empty(); }
  [[nodiscard]] int descriptor() const noexcept override { return -1; }
  void on_readable() noexcept override {}
  [[nodiscard]] LinkState state() const noexcept override { return LinkState::open; }
  [[nodiscard]] std::string fault() const override { return {}; }
  [[nodiscard]] std::uint64_t frames_acknowledged() const noexcept override { return frames_.size(); }
  [[nodiscard]] std::vector<SeenFrame>& frames() noexcept { return frames_; }
  [[nodiscard]] std::size_t frames_changed() const noexcept { return frames_changed_; }
  [[nodiscard]] std::size_t slices() const noexcept { return slices_; }

 private:
  struct Held {
    PoolSlot slot;
    std::span<const std::byte> payload;
    std::size_t number;
  };
  bool keeps_payload_;
  std::size_t max_held_;
  std::size_t frames_changed_ = 0;
  std::size_t slices_ = 0;
  SeenFrame arriving_{};
  std::vector<Held> held_;
  std::vector<SeenFrame> frames_;
  std::vector<PoolSlot> done_;
};

/// Runs one viewer's session on its own thread until the stream is finished and drained.
class TestViewer {
 public:
  TestViewer(Stream& stream, bool keeps_payload, std::size_t held = 0)
      : stream_(&stream), link_(keeps_payload, held), queue_(link_, stream.options().delivery, wake_) {
    stream_->attach(queue_);
    thread_ = std::thread([this] { serve(); });
  }
  ~TestViewer() { wait(); }
  TestViewer(const TestViewer&) = delete;
  TestViewer& operator=(const TestViewer&) = delete;

  void wait() {
    if (thread_.joinable()) {
      thread_.join();
      stream_->detach(queue_);
      stream_->release_held(queue_);
    }
  }
  [[nodiscard]] std::vector<SeenFrame>& frames() noexcept { return link_.frames(); }
  [[nodiscard]] std::size_t frames_changed() const noexcept { return link_.frames_changed(); }
  [[nodiscard]] std::size_t slices() const noexcept { return link_.slices(); }
  [[nodiscard]] std::uint64_t frames_aborted() const noexcept { return queue_.counts.frames_aborted; }
  /// The reason why a real viewer would refuse an epoch; valid after wait().
  [[nodiscard]] const std::string& ring_fault() const noexcept { return ring_fault_; }

 private:
  void serve() {
    while (!stream_->is_drained(queue_)) {
      if (const auto epoch = stream_->epoch_to_announce(queue_)) {
        if (std::string fault = find_ring_fault(epoch->format, epoch->pool->slot_bytes(), 1); ring_fault_.empty()) {
          ring_fault_ = std::move(fault);
        }
        link_.begin_epoch(epoch->pool);
        stream_->epoch_ready(queue_, epoch->number, 1, {}, true);
      }
      stream_->make_progress(queue_);
      wait_for(wake_->get(), POLLIN, monotonic_ns() + ns_per_ms);
      clear_eventfd(wake_->get());
    }
  }

  Stream* stream_;
  SharedEvent wake_ = make_shared_event();
  TakesAll link_;
  std::string ring_fault_;
  SubscriberQueue queue_;
  std::thread thread_;
};

struct Shown {
  std::vector<SeenFrame> frames;
  std::string error;  // thrown by run()
  std::uint64_t frames_dropped = 0;
  std::size_t frames_changed = 0;  // changed between arrival and release
  std::size_t slices = 0;          // of all frames
  std::uint64_t frames_aborted = 0;
  std::string ring_fault;  // the reason why a real viewer would refuse an epoch
};

/// Runs a source to its end with one viewer that gets every frame. The viewer holds `held` frames as long as it can.
inline Shown show(Source& source, StreamOptions options = {}, bool keeps_payload = true, std::size_t held = 0) {
  options.delivery = Delivery::every;
  options.max_viewers = 1;
  Stream stream(options);
  Shown shown;
  TestViewer viewer(stream, keeps_payload, held);
  try {
    source.run(stream);
  } catch (const Error& error) {
    shown.error = error.what();
  }
  stream.finish();
  viewer.wait();
  shown.frames = std::move(viewer.frames());
  shown.frames_changed = viewer.frames_changed();
  shown.slices = viewer.slices();
  shown.frames_aborted = viewer.frames_aborted();
  shown.ring_fault = viewer.ring_fault();
  shown.frames_dropped = stream.frames_dropped_at_source();
  return shown;
}

/// The visible bytes of a frame, without row padding.
inline std::vector<std::byte> packed(const SeenFrame& frame) {
  std::vector<std::byte> bytes;
  const FrameLayout& layout = frame.header.layout;
  for (std::uint32_t i = 0; i < layout.plane_count; ++i) {
    const PlaneLayout& plane = layout.planes.at(i);
    for (std::uint32_t row = 0; row < plane.rows; ++row) {
      const auto begin = frame.payload.begin() +
                         static_cast<std::ptrdiff_t>(plane.offset_bytes + std::uint64_t{row} * plane.pitch_bytes);
      bytes.insert(bytes.end(), begin, begin + plane.row_bytes);
    }
  }
  return bytes;
}

/// All frames concatenated, as in rawvideo.
inline std::vector<std::byte> joined(const std::vector<SeenFrame>& frames) {
  std::vector<std::byte> bytes;
  for (const SeenFrame& frame : frames) {
    const std::vector<std::byte> one = packed(frame);
    bytes.insert(bytes.end(), one.begin(), one.end());
  }
  return bytes;
}

}  // namespace framewire::test
