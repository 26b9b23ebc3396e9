// A sender's link without a wire.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "transport/link.hpp"

namespace framewire::test {

/// A link that accepts every frame, as far as it has credits, and releases the slots that the test puts into `done`.
class HoldingLink final : public SenderLink {
 public:
  [[nodiscard]] LinkKind kind() const noexcept override { return LinkKind::local; }
  [[nodiscard]] bool takes(const MemoryKind& memory) const noexcept override {
    return takes_any_memory || memory.is_host();
  }
  void begin_epoch(std::shared_ptr<Pool> /*pool*/) override {}
  void epoch_ready(std::uint32_t /*epoch*/, std::uint32_t /*ring_slots*/,
                   const LinkDescription& /*ring*/) noexcept override {}
  SendResult try_send(const OutgoingFrame& frame) noexcept override {
    if (frame.is_first && std::exchange(credits, credits == 0 ? 0 : credits - 1) == 0) {
      return SendResult::no_credit;
    }
    (releases_at_once ? done : sent).push_back(frame.pool_slot);
    is_last.push_back(frame.is_last);
    headers.push_back(frame.header);
    payloads.push_back(frame.payload);
    files.push_back(frame.file.fd);
    return SendResult::accepted;
  }
  std::size_t poll_released(std::span<PoolSlot> released) noexcept override {
    is_armed = false;
    const std::size_t count = std::min(released.size(), done.size());
    std::copy_n(done.begin(), count, released.begin());
    done.erase(done.begin(), done.begin() + static_cast<std::ptrdiff_t>(count));
    return count;
  }
  [[nodiscard]] std::uint16_t slice_limit() const noexcept override { return limit; }
  bool arm() noexcept override {
    const bool must_wait = done.empty();
    is_armed = true;  // behind what it reads of this link: then a test may change it
    return must_wait;
  }
  [[nodiscard]] int descriptor() const noexcept override { return -1; }
  void on_readable() noexcept override {}
  void withdraw() noexcept override { is_withdrawn = true; }
  [[nodiscard]] LinkState state() const noexcept override { return LinkState::open; }
  [[nodiscard]] std::string fault() const override { return {}; }
  [[nodiscard]] std::uint64_t frames_acknowledged() const noexcept override { return acknowledged; }

  bool takes_any_memory = false;  // set it before the link's queue is attached
  bool releases_at_once = false;
  bool is_withdrawn = false;
  std::atomic<bool> is_armed = false;  // since the last poll_released()
  std::uint64_t credits = UINT64_MAX;
  std::uint64_t acknowledged = 0;
  std::uint16_t limit = max_slices;
  std::vector<PoolSlot> sent;
  std::vector<bool> is_last;  // of what was sent
  std::vector<FrameHeader> headers;
  std::vector<Payload> payloads;
  std::vector<int> files;  // -1: a frame in memory
  std::vector<PoolSlot> done;
};

}  // namespace framewire::test
