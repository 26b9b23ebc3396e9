// Surfaces of the stand-in for a driver of VA-API: in no memory, or in that of a DRM node, which exports it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace framewire::test {

/// Memory of a DRM node that makes dumb buffers (the kernel's vgem).
class DumbBuffer {
 public:
  /// Null: the node makes none.
  static std::unique_ptr<DumbBuffer> create(const char* node, unsigned width_bytes, unsigned rows);
  ~DumbBuffer();
  DumbBuffer(const DumbBuffer&) = delete;
  DumbBuffer& operator=(const DumbBuffer&) = delete;

  [[nodiscard]] std::span<std::byte> bytes() const noexcept { return bytes_; }
  [[nodiscard]] unsigned pitch_bytes() const noexcept { return pitch_bytes_; }
  /// A descriptor of its own; -1: the kernel refuses.
  [[nodiscard]] int export_dma_buf() const noexcept;

 private:
  DumbBuffer(int node, unsigned handle, unsigned pitch_bytes, std::span<std::byte> bytes) noexcept
      : node_(node), handle_(handle), pitch_bytes_(pitch_bytes), bytes_(bytes) {}

  int node_;
  unsigned handle_;
  unsigned pitch_bytes_;
  std::span<std::byte> bytes_;
};

/// struct VADRMPRIMESurfaceDescriptor of va_drmcommon.h.
struct PrimeDescriptor {
  struct Object {
    int descriptor;
    std::uint32_t size_bytes;
    std::uint64_t modifier;
  };
  struct Layer {
    std::uint32_t format;
    std::uint32_t planes;
    std::array<std::uint32_t, 4> objects;
    std::array<std::uint32_t, 4> offsets;
    std::array<std::uint32_t, 4> pitches;
  };
  std::uint32_t fourcc;
  std::uint32_t width;
  std::uint32_t height;
  std::uint32_t object_count;
  std::array<Object, 4> objects;
  std::uint32_t layer_count;
  std::array<Layer, 4> layers;
};
static_assert(sizeof(PrimeDescriptor) == 312);

struct Surface {
  unsigned width = 0;
  unsigned height = 0;
  unsigned component_bytes = 1;  // 2: p010
  unsigned number = 0;           // of the picture
  bool is_decoded = false;
  bool is_awaited = false;
  std::unique_ptr<DumbBuffer> memory{};  // null: only the processor reads it

  /// Puts it into memory of the node that FRAMEWIRE_STAND_IN_VA_CARD names, if it does.
  void find_memory();
  /// The surface's bytes are poison until its picture is decoded and waited for.
  void paint() const noexcept;
  /// A row of a plane as it is now.
  void write_row(unsigned plane, unsigned y, std::span<std::byte> row) const noexcept;
  /// As FRAMEWIRE_STAND_IN_VA_EXPORT says: "composed", "objects" (a buffer for each plane), or with nonsense: "pitch",
  /// "offset", "object", "layers", "format", "size", "modifier", "shifted" (by a row). False: there is nothing to
  /// export.
  bool describe(PrimeDescriptor& descriptor) const noexcept;

 private:
  [[nodiscard]] std::uint32_t chroma_offset_bytes() const noexcept;
};

}  // namespace framewire::test
