#include "tests/vaapi/surface.hpp"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "tests/nvdec/pattern.hpp"

namespace framewire::test {

namespace {

constexpr std::byte poison{0xA5};
constexpr unsigned padding_bytes = 64;               // behind each row
constexpr unsigned rows_between = 8;                 // of luma and chroma
constexpr std::uint64_t tiled = 0x0100000000000001;  // I915_FORMAT_MOD_X_TILED

// The kernel's drm_mode.h and drm.h.
struct CreateDumb {
  std::uint32_t height, width, bits_per_pixel, flags, handle, pitch;
  std::uint64_t size;
};
struct MapDumb {
  std::uint32_t handle, unused;
  std::uint64_t offset;
};
struct PrimeHandle {
  std::uint32_t handle, flags;
  std::int32_t descriptor;
};
constexpr unsigned long create_dumb = _IOWR('d', 0xB2, CreateDumb);
constexpr unsigned long map_dumb = _IOWR('d', 0xB3, MapDumb);
constexpr unsigned long prime_to_descriptor = _IOWR('d', 0x2D, PrimeHandle);

constexpr std::uint32_t fourcc(std::string_view text) noexcept {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    value |= static_cast<std::uint32_t>(text[i]) << (8 * i);
  }
  return value;
}

bool exports(std::string_view what) noexcept {
  const char* const wanted = std::getenv("FRAMEWIRE_STAND_IN_VA_EXPORT");
  return wanted != nullptr && what == wanted;
}

}  // namespace

std::unique_ptr<DumbBuffer> DumbBuffer::create(const char* node, unsigned width_bytes, unsigned rows) {
  const int opened = ::open(node, O_RDWR | O_CLOEXEC);
  CreateDumb create{
      .height = rows, .width = width_bytes, .bits_per_pixel = 8, .flags = 0, .handle = 0, .pitch = 0, .size = 0};
  if (opened < 0 || ::ioctl(opened, create_dumb, &create) != 0) {
    return nullptr;
  }
  MapDumb map{.handle = create.handle, .unused = 0, .offset = 0};
  if (::ioctl(opened, map_dumb, &map) != 0) {
    return nullptr;
  }
  void* const address =
      ::mmap(nullptr, create.size, PROT_READ | PROT_WRITE, MAP_SHARED, opened, static_cast<off_t>(map.offset));
  if (address == MAP_FAILED) {
    return nullptr;
  }
  return std::unique_ptr<DumbBuffer>(
      new DumbBuffer(opened, create.handle, create.pitch, {static_cast<std::byte*>(address), create.size}));
}

DumbBuffer::~DumbBuffer() {
  ::munmap(bytes_.data(), bytes_.size());
  ::close(node_);
}

int DumbBuffer::export_dma_buf() const noexcept {
  PrimeHandle prime{.handle = handle_, .flags = O_CLOEXEC, .descriptor = -1};
  return ::ioctl(node_, prime_to_descriptor, &prime) == 0 ? prime.descriptor : -1;
}

void Surface::find_memory() {
  if (const char* const card = std::getenv("FRAMEWIRE_STAND_IN_VA_CARD"); card != nullptr) {
    memory = DumbBuffer::create(card, width * component_bytes + padding_bytes, height * 3 / 2 + rows_between);
  }
}

std::uint32_t Surface::chroma_offset_bytes() const noexcept {
  return memory->pitch_bytes() * (height + rows_between);
}

void Surface::write_row(unsigned plane, unsigned y, std::span<std::byte> row) const noexcept {
  if (!is_decoded || !is_awaited) {
    std::ranges::fill(row, poison);
    return;
  }
  for (unsigned x = 0; x < width; ++x) {
    if (component_bytes == 1) {
      row[x] = static_cast<std::byte>(decoded_8_bit(number, plane, x, y));
    } else {
      const std::uint16_t sample = decoded_10_bit(number, plane, x, y);
      std::memcpy(&row[std::size_t{2} * x], &sample, sizeof sample);
    }
  }
}

void Surface::paint() const noexcept {
  for (unsigned plane = 0; memory != nullptr && plane < 2; ++plane) {
    for (unsigned y = 0; y < height >> plane; ++y) {
      write_row(
          plane, y,
          memory->bytes().subspan(std::size_t{plane} * chroma_offset_bytes() + std::size_t{y} * memory->pitch_bytes(),
                                  std::size_t{width} * component_bytes));
    }
  }
}

bool Surface::describe(PrimeDescriptor& descriptor) const noexcept {
  if (memory == nullptr) {
    return false;
  }
  const auto size = static_cast<std::uint32_t>(memory->bytes().size());
  const std::uint32_t pitch = memory->pitch_bytes();
  const bool is_wide = component_bytes == 2;
  descriptor = {};
  descriptor.fourcc = fourcc(is_wide ? "P010" : "NV12");
  descriptor.width = width;
  descriptor.height = height;
  descriptor.object_count = exports("objects") ? 2 : 1;
  for (std::uint32_t i = 0; i < descriptor.object_count; ++i) {
    descriptor.objects.at(i) = {memory->export_dma_buf(), exports("size") ? size * 2 : size,
                                exports("modifier") ? tiled : 0};
  }
  const std::uint32_t second = exports("object") ? 3 : descriptor.object_count - 1;
  const std::uint32_t at = exports("offset")    ? size - pitch
                           : exports("shifted") ? chroma_offset_bytes() + pitch
                                                : chroma_offset_bytes();
  const std::uint32_t wrong_pitch = exports("pitch") ? width / 2 : pitch;
  if (exports("composed")) {
    descriptor.layer_count = 1;
    descriptor.layers[0] = {descriptor.fourcc, 2, {0, second}, {0, at}, {pitch, wrong_pitch}};
    return true;
  }
  descriptor.layer_count = exports("layers") ? 4 : 2;
  descriptor.layers[0] = {fourcc(is_wide ? "R16 " : "R8  "), 1, {0}, {0}, {pitch}};
  descriptor.layers[1] = {fourcc(exports("format") ? "R8  "
                                 : is_wide         ? "GR32"
                                                   : "GR88"),
                          1,
                          {second},
                          {at},
                          {wrong_pitch}};
  return true;
}

}  // namespace framewire::test
