// A viewer for tests of sources: takes every frame of a stream, and keeps it.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <limits>
#include <mutex>
#include <optional>
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
#include "transport/stream.hpp"

namespace framewire::test {

struct SeenFrame {
  FrameHeader header;
  std::vector<std::byte> payload;
};

/// A link that takes every frame at once. Under the stream's mutex, but for frames(), which is read when all is over.
class TakesAll final : public SenderLink {
 public:
  explicit TakesAll(bool keeps_payload) : keeps_payload_(keeps_payload) {}
  [[nodiscard]] LinkKind kind() const noexcept override { return LinkKind::local; }
  void begin_epoch(std::shared_ptr<Pool> /*pool*/) override {}
  void epoch_ready(std::uint32_t /*epoch*/, std::uint32_t /*ring_slots*/,
                   const std::optional<RingAccess>& /*access*/) noexcept override {}
  Offer offer(const OutgoingFrame& frame) noexcept override {
    frames_.push_back({frame.header, {}});
    if (keeps_payload_) {
      frames_.back().payload.assign(frame.payload.begin(), frame.payload.end());
    }
    done_.push_back(frame.pool_slot);
    return Offer::accepted;
  }
  std::size_t collect(std::span<PoolSlot> let_go) noexcept override {
    const std::size_t count = std::min(let_go.size(), done_.size());
    std::copy_n(done_.begin(), count, let_go.begin());
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

 private:
  bool keeps_payload_;
  std::vector<SeenFrame> frames_;
  std::vector<PoolSlot> done_;
};

/// Does for one viewer what a session does, on a thread of its own, until the stream is finished and drained.
class TestViewer {
 public:
  TestViewer(Stream& stream, bool keeps_payload)
      : stream_(&stream), link_(keeps_payload), outlet_(link_, stream.options().delivery, wake_.get()) {
    stream_->attach(outlet_);
    thread_ = std::thread([this] { serve(); });
  }
  ~TestViewer() { wait(); }
  TestViewer(const TestViewer&) = delete;
  TestViewer& operator=(const TestViewer&) = delete;

  void wait() {
    if (thread_.joinable()) {
      thread_.join();
      stream_->detach(outlet_);
      stream_->release_held(outlet_);
    }
  }
  [[nodiscard]] std::vector<SeenFrame>& frames() noexcept { return link_.frames(); }

 private:
  void serve() {
    while (!stream_->is_drained(outlet_)) {
      if (const auto epoch = stream_->epoch_to_announce(outlet_)) {
        link_.begin_epoch(epoch->pool);
        stream_->epoch_ready(outlet_, epoch->number, 1);
      }
      stream_->service(outlet_);
      wait_for(wake_.get(), POLLIN, monotonic_ns() + ns_per_ms);
      clear_event(wake_.get());
    }
  }

  Stream* stream_;
  FileDescriptor wake_ = make_event();
  TakesAll link_;
  Outlet outlet_;
  std::thread thread_;
};

struct Shown {
  std::vector<SeenFrame> frames;
  std::string error;  // that run() threw
  std::uint64_t frames_dropped = 0;
};

/// Runs a source until it ends, with one viewer that misses nothing.
inline Shown show(Source& source, StreamOptions options = {}, bool keeps_payload = true) {
  options.delivery = Delivery::every;
  options.max_viewers = 1;
  Stream stream(options);
  Shown shown;
  TestViewer viewer(stream, keeps_payload);
  try {
    source.run(stream);
  } catch (const Error& error) {
    shown.error = error.what();
  }
  stream.finish();
  viewer.wait();
  shown.frames = std::move(viewer.frames());
  shown.frames_dropped = stream.frames_dropped_at_source();
  return shown;
}

/// All payloads, one after another.
inline std::vector<std::byte> joined(const std::vector<SeenFrame>& frames) {
  std::vector<std::byte> bytes;
  for (const SeenFrame& frame : frames) {
    bytes.insert(bytes.end(), frame.payload.begin(), frame.payload.end());
  }
  return bytes;
}

}  // namespace framewire::test
