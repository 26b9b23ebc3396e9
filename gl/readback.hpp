// Reads rendered frames into slots: in host memory, or in that of the GPU.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/text.hpp"
#include "frame/slices.hpp"
#include "gl/fence.hpp"
#include "gl/gpu_download.hpp"
#include "gl/handle.hpp"
#include "gl/wrapped_blocks.hpp"
#include "memory/host_block.hpp"

namespace framewire {

/// Best first.
enum class ReadbackMethod {
  pinned_memory,      // GL_AMD_pinned_memory: the GPU writes into the slot itself
  gpu_copy,           // OpenGL writes into memory of the GPU, which copies that to the slot by itself
  persistent_buffer,  // the GPU writes into one of three mapped buffers; the CPU copies to the slot
  device_memory,      // the slot is in memory of the GPU, which writes into it
};
std::string_view name(ReadbackMethod method) noexcept;

/// A picture that is not drawn yet: a compute shader may write it in place of drawing and glReadPixels. Used on the
/// context's thread.
class ReadbackSource {
 public:
  virtual ~ReadbackSource() = default;

  /// Draws it, and leaves a read framebuffer bound, as Readback::begin() reads it.
  virtual void draw_bytes() const noexcept = 0;
  /// Whether write_rows() can write it there.
  [[nodiscard]] virtual bool can_write(std::uint64_t offset_bytes) const noexcept = 0;
  /// Writes the rows from `first` until `end` to the buffer, in which row 0 begins at `offset_bytes`.
  virtual void write_rows(GLuint buffer, std::uint64_t offset_bytes, std::uint32_t first,
                          std::uint32_t end) const noexcept = 0;
};

/// Reads RGBA8 pictures of one size. Up to three may be in flight; they finish in order. Used on the context's thread.
class Readback {
 public:
  static constexpr std::size_t max_in_flight = 3;

  /// Empty `wanted`: the best method that the driver supports, with a fallback if it fails later. `slices`: how many
  /// parts of a picture finish one by one, in order. `device`: memory of the device that draws, for copies by the GPU;
  /// it outlives this; null: there are no such copies. Throws Error (failed) if the driver lacks the wanted method or
  /// has no memory.
  Readback(std::uint32_t width, std::uint32_t height, std::optional<ReadbackMethod> wanted = {},
           std::uint16_t slices = 1, const MemoryKind* device = nullptr);
  ~Readback();
  Readback(const Readback&) = delete;
  Readback& operator=(const Readback&) = delete;

  /// Starts reading the lower left width x height pixels of the bound read framebuffer into `slot`, which is at
  /// `offset_bytes` in `block` and large enough. GL's row 0 comes first: draw flipped to get the top row first. The
  /// slot must stay valid until the readback finishes. Null `block`: the slot is no part of one. Requires in_flight() <
  /// max_in_flight. Does not wait if the driver works asynchronously. With `source` that brings the picture, and
  /// nothing needs to be bound.
  void begin(const std::shared_ptr<HostBlock>& block, std::uint64_t offset_bytes, std::span<std::byte> slot,
             const ReadbackSource* source = nullptr) noexcept;

  /// The same with a slot in memory of the GPU (WrappedBlocks::why_not()). It has one slice then, whatever slices()
  /// says. False, and nothing is begun, if the driver refuses the block.
  bool begin_on_device(const std::shared_ptr<const Block>& block, std::uint64_t offset_bytes,
                       const ReadbackSource* source = nullptr) noexcept;

  /// Waits until the next slice of the oldest readback is in its slot (slice_range()), or until `deadline_ns`
  /// (monotonic). Copies if the method needs it. After the last slice the readback is no longer in flight. False at the
  /// deadline, and when none is in flight.
  bool wait_slice(std::int64_t deadline_ns) noexcept;

  /// The same for all slices of the oldest readback.
  bool wait_finished(std::int64_t deadline_ns) noexcept;

  /// The same without waiting.
  bool finished() noexcept { return wait_finished(0); }

  /// Waits until the GPU copies to no slot by itself, at most 2 s. Slots that OpenGL writes to are not waited for.
  void settle() noexcept;

  /// Whether the GPU was lost: readbacks in flight never finish.
  [[nodiscard]] bool has_failed() const noexcept { return has_failed_; }

  [[nodiscard]] std::size_t in_flight() const noexcept { return count_; }
  [[nodiscard]] ReadbackMethod method() const noexcept { return method_; }
  [[nodiscard]] std::uint16_t slices() const noexcept { return slices_; }
  [[nodiscard]] std::size_t size_bytes() const noexcept { return row_bytes() * size_.height; }

  /// Whether begin() took more than half of the total readback time over the first ten readbacks. Such a driver draws
  /// and copies inside the call, so several readbacks in flight gain nothing. The test is VirtualGL's. False before the
  /// tenth.
  [[nodiscard]] bool is_synchronous() const noexcept;

 private:
  struct Entry {
    std::span<std::byte> slot;    // empty: in memory of the GPU
    std::vector<GlFence> fences;  // of each slice
    std::uint16_t slices = 1;
    std::uint16_t slices_done = 0;
    bool must_copy = false;
    bool is_gpu_copy = false;  // in the part of download_ that has the entry's number
    std::int64_t begun_ns = 0;
  };
  struct Mapped {
    GlBuffer buffer;
    const std::byte* bytes = nullptr;
  };

  GLuint pinned_buffer(const std::shared_ptr<HostBlock>& block, std::uint64_t offset_bytes,
                       std::span<std::byte> slot) noexcept;
  void choose_method(std::optional<ReadbackMethod> wanted, const MemoryKind* device);
  bool map_buffers() noexcept;
  void begin(Entry& entry, GLuint buffer, std::uintptr_t target, std::uint16_t slices,
             const ReadbackSource* source) noexcept;
  void read_slices(GLuint buffer, std::uintptr_t target, Entry& entry, const ReadbackSource* source) const noexcept;
  GpuWait wait_gpu_copy(Entry& entry, std::int64_t deadline_ns) noexcept;
  [[nodiscard]] std::uint32_t rows_until(const Entry& entry, std::uint16_t slice) const noexcept;
  [[nodiscard]] std::size_t row_bytes() const noexcept { return std::size_t{size_.width} * 4; }
  void finish_oldest() noexcept;

  Size size_;
  std::uint16_t slices_;
  ReadbackMethod method_;
  WrappedBlocks wrapped_;
  GLuint trusted_ = 0;                     // the wrapped block for which GL writes were verified
  std::unique_ptr<GpuDownload> download_;  // null: the GPU does not copy
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
