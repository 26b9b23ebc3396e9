// Fake received frames, from a link that only counts credits.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "frame/frame_layout.hpp"
#include "transport/session/subscriber.hpp"

namespace framewire {

/// Records the sequence numbers of returned frames.
class CreditCounter final : public ReceiverLink {
 public:
  [[nodiscard]] LinkKind kind() const noexcept override { return LinkKind::local; }
  LinkDescription begin_epoch(std::uint32_t, std::uint64_t, std::uint32_t, const LinkDescription&) override {
    return {};
  }
  std::optional<IncomingFrame> poll() noexcept override { return std::nullopt; }
  bool arm() noexcept override { return true; }
  [[nodiscard]] int descriptor() const noexcept override { return -1; }
  void return_credit(const FrameHeader& header) noexcept override {
    const std::scoped_lock lock(mutex_);
    returned.push_back(header.sequence);
  }
  [[nodiscard]] LinkState state() const noexcept override { return LinkState::open; }
  [[nodiscard]] std::string fault() const override { return ""; }
  [[nodiscard]] bool is_withdrawn() const noexcept override { return are_withdrawn.load(); }

  std::vector<std::uint64_t> returned;
  std::atomic<bool> are_withdrawn = false;

 private:
  std::mutex mutex_;
};

/// The memory of a frame, and a frame of one grey value in it.
class FrameMaker {
 public:
  explicit FrameMaker(PixelFormat format = PixelFormat::rgba, std::uint32_t width = 64, std::uint32_t height = 36)
      : layout_(format == PixelFormat::bytes ? bytes_layout(std::uint64_t{width} * height)
                                             : packed_layout(format, width, height)),
        block_(HostBlock::create("test frames", layout_.size_bytes)) {}

  Colour colour{};  // of the frames

  /// What a frame says of itself, and when it came.
  struct Arrival {
    std::uint64_t sequence = 0;
    std::int64_t pts_ns = 0;
    std::int64_t received_ns = 1;
    std::uint32_t epoch = 0;
    std::uint64_t session = 1;
    std::int64_t begun_ns = 0;
    std::uint64_t user_tag = 0;
  };

  ReceivedFrame make(std::uint64_t sequence, std::uint8_t value = 128) {
    return make(Arrival{.sequence = sequence}, value);
  }

  ReceivedFrame make(const Arrival& arrival, std::uint8_t value = 128) {
    std::fill_n(block_->bytes().begin(), layout_.size_bytes, std::byte{value});
    IncomingFrame frame;
    frame.header.sequence = arrival.sequence;
    frame.header.epoch = arrival.epoch;
    frame.header.pts_ns = arrival.pts_ns;
    frame.header.user_tag = arrival.user_tag;
    frame.header.times.begun_ns = arrival.begun_ns;
    frame.header.layout = layout_;
    frame.header.colour = colour;
    frame.header.slice_bytes = layout_.size_bytes;
    frame.payload = block_->bytes().first(layout_.size_bytes);
    frame.block = block_;
    frame.received_ns = arrival.received_ns;
    return {std::move(frame), link_, arrival.session};
  }

  /// A slice of a frame that is not complete; it fills only that slice.
  ReceivedFrame make_slice(std::uint64_t sequence, std::uint16_t index, std::uint16_t count, std::uint8_t value = 128) {
    IncomingFrame frame;
    frame.header.sequence = sequence;
    frame.header.layout = layout_;
    frame.header.slice = index;
    frame.header.slice_count = count;
    const ByteRange range = slice_range(frame.header);
    frame.header.slice_offset_bytes = range.offset_bytes;
    frame.header.slice_bytes = range.size_bytes;
    std::ranges::fill(block_->bytes().subspan(range.offset_bytes, range.size_bytes), std::byte{value});
    frame.is_last = false;
    frame.payload = block_->bytes().first(layout_.size_bytes);
    frame.block = block_;
    return {std::move(frame), link_, 1};
  }

  /// Ends the session of all frames; its sender may use their memory again.
  void withdraw() noexcept { link_->are_withdrawn = true; }

  [[nodiscard]] std::span<std::byte> bytes() const { return block_->bytes().first(layout_.size_bytes); }
  [[nodiscard]] const FrameLayout& layout() const { return layout_; }
  [[nodiscard]] const std::vector<std::uint64_t>& returned() const { return link_->returned; }

 private:
  FrameLayout layout_;
  std::shared_ptr<HostBlock> block_;
  std::shared_ptr<CreditCounter> link_ = std::make_shared<CreditCounter>();
};

}  // namespace framewire
