// From the GPU into a slot of host memory: how a sender reads its frames back.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "base/text.hpp"
#include "gl/fence.hpp"
#include "gl/handle.hpp"
#include "gl/pinned_blocks.hpp"
#include "memory/host_block.hpp"

namespace framewire {

/// Best first.
enum class ReadbackMethod {
  pinned_memory,      // GL_AMD_pinned_memory: the GPU writes into the slot itself
  persistent_buffer,  // it writes into one of three mapped buffers, which is copied into the slot
};
std::string_view name(ReadbackMethod method) noexcept;

/// Reads RGBA8 pictures of one size. Up to three may be under way; they finish in the order they were begun. The
/// context's thread.
class Readback {
 public:
  static constexpr std::size_t max_in_flight = 3;

  /// `wanted` empty: the best that the driver has, and the next best when that one fails later. Throws Error (failed)
  /// when the driver lacks what is wanted or has no memory.
  Readback(std::uint32_t width, std::uint32_t height, std::optional<ReadbackMethod> wanted = {});
  ~Readback();
  Readback(const Readback&) = delete;
  Readback& operator=(const Readback&) = delete;

  /// Begins to read the lower left width x height of the bound read framebuffer into `slot`, which lies at
  /// `offset_bytes` in `block` and has room for all of it. GL's row 0 comes first: draw flipped to have the top row
  /// there. The slot must stay until it is finished. Fewer than three must be under way. Does not wait where the driver
  /// works asynchronously.
  void begin(const std::shared_ptr<HostBlock>& block, std::uint64_t offset_bytes, std::span<std::byte> slot) noexcept;

  /// Whether the oldest one that is under way stands in its slot now; if so it is under way no longer. Copies where the
  /// method needs it. False when none is under way.
  bool finished() noexcept;

  /// As finished(), but waits for it until `deadline_ns` (monotonic).
  bool wait_finished(std::int64_t deadline_ns) noexcept;

  /// Whether the GPU was lost: what is under way will never stand in its slot.
  [[nodiscard]] bool has_failed() const noexcept { return has_failed_; }

  [[nodiscard]] std::size_t in_flight() const noexcept { return count_; }
  [[nodiscard]] ReadbackMethod method() const noexcept { return method_; }
  [[nodiscard]] std::size_t size_bytes() const noexcept { return std::size_t{size_.width} * size_.height * 4; }

  /// Whether begin() itself took more than half the time to the finish over the first ten readbacks: then this driver
  /// draws and copies inside the call, and several under way gain nothing. (The test is VirtualGL's.) False before the
  /// tenth.
  [[nodiscard]] bool is_synchronous() const noexcept;

 private:
  struct Entry {
    std::span<std::byte> slot;
    GlFence fence;
    bool must_copy = false;
    std::int64_t begun_ns = 0;
  };
  struct Mapped {
    GlBuffer buffer;
    const std::byte* bytes = nullptr;
  };

  GLuint pinned_buffer(const std::shared_ptr<HostBlock>& block, std::uint64_t offset_bytes,
                       std::span<std::byte> slot) noexcept;
  bool map_buffers() noexcept;
  void read_pixels(GLuint buffer, void* target) const noexcept;
  void finish_oldest() noexcept;

  Size size_;
  ReadbackMethod method_;
  PinnedBlocks pinned_;
  GLuint trusted_ = 0;  // the wrapped block that was seen to take what GL writes
  std::array<Mapped, max_in_flight> mapped_;
  std::array<Entry, max_in_flight> entries_;
  std::size_t oldest_ = 0;
  std::size_t count_ = 0;
  bool has_failed_ = false;
  int measured_ = 0;
  std::int64_t issuing_ns_ = 0;
  std::int64_t total_ns_ = 0;
};

}  // namespace framewire
