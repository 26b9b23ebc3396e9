#include "frame/pixel_format.hpp"

#include <algorithm>
#include <cassert>

namespace framewire {

namespace {

constexpr PlaneShape none{0, 0, 0, ""};
constexpr PlaneShape y8{0, 0, 1, "Y"};
constexpr PlaneShape y16{0, 0, 2, "Y"};

/// One plane of RGB; a texel is one pixel.
constexpr PixelFormatInfo rgb(PixelFormat format, std::string_view name, std::string_view components) {
  const auto bytes = static_cast<std::uint8_t>(components.size());
  return {format, name, 1, 8, false, {PlaneShape{0, 0, bytes, components}, none, none}};
}

/// Packed 4:2:2: a texel is two pixels.
constexpr PixelFormatInfo packed_422(PixelFormat format, std::string_view name, std::string_view components) {
  return {format, name, 1, 8, true, {PlaneShape{1, 0, 4, components}, none, none}};
}

/// Planes of Y, U and V.
constexpr PixelFormatInfo planar(PixelFormat format, std::string_view name, std::uint8_t bits, std::uint8_t log2_width,
                                 std::uint8_t log2_height) {
  const std::uint8_t bytes = bits > 8 ? 2 : 1;
  return {format,
          name,
          3,
          bits,
          true,
          {PlaneShape{0, 0, bytes, "Y"}, PlaneShape{log2_width, log2_height, bytes, "U"},
           PlaneShape{log2_width, log2_height, bytes, "V"}}};
}

constexpr PixelFormatInfo byte_stream{PixelFormat::bytes, "bytes", 1, 8, false, {PlaneShape{0, 0, 1, "0"}, none, none}};

constexpr std::array table = {
    rgb(PixelFormat::rgba, "rgba", "RGBA"),
    rgb(PixelFormat::bgra, "bgra", "BGRA"),
    rgb(PixelFormat::rgb0, "rgb0", "RGB0"),
    rgb(PixelFormat::bgr0, "bgr0", "BGR0"),
    rgb(PixelFormat::rgb24, "rgb24", "RGB"),
    rgb(PixelFormat::bgr24, "bgr24", "BGR"),
    PixelFormatInfo{PixelFormat::gray8, "gray8", 1, 8, false, {y8, none, none}},
    PixelFormatInfo{PixelFormat::nv12, "nv12", 2, 8, true, {y8, PlaneShape{1, 1, 2, "UV"}, none}},
    planar(PixelFormat::yuv420p, "yuv420p", 8, 1, 1),
    planar(PixelFormat::yuv422p, "yuv422p", 8, 1, 0),
    planar(PixelFormat::yuv444p, "yuv444p", 8, 0, 0),
    packed_422(PixelFormat::uyvy422, "uyvy422", "UYVY"),
    packed_422(PixelFormat::yuyv422, "yuyv422", "YUYV"),
    PixelFormatInfo{PixelFormat::p010le, "p010le", 2, 10, true, {y16, PlaneShape{1, 1, 4, "UV"}, none}, 6},
    planar(PixelFormat::yuv420p10le, "yuv420p10le", 10, 1, 1),
    planar(PixelFormat::yuv422p10le, "yuv422p10le", 10, 1, 0),
};

/// Lists every enumerator, so that the compiler warns about a new one, which the table needs, too.
constexpr std::size_t place_in_table(PixelFormat format) noexcept {
  switch (format) {
    case PixelFormat::bytes:
      return table.size();
    case PixelFormat::rgba:
    case PixelFormat::bgra:
    case PixelFormat::rgb0:
    case PixelFormat::bgr0:
    case PixelFormat::rgb24:
    case PixelFormat::bgr24:
    case PixelFormat::gray8:
    case PixelFormat::nv12:
    case PixelFormat::yuv420p:
    case PixelFormat::yuv422p:
    case PixelFormat::yuv444p:
    case PixelFormat::uyvy422:
    case PixelFormat::yuyv422:
    case PixelFormat::p010le:
    case PixelFormat::yuv420p10le:
    case PixelFormat::yuv422p10le:
      break;
  }
  // The wire's numbers have no gaps, and the table is in their order.
  return static_cast<std::size_t>(format) - static_cast<std::size_t>(PixelFormat::rgba);
}

constexpr bool is_table_in_order() noexcept {
  for (std::size_t i = 0; i < table.size(); ++i) {
    if (place_in_table(table[i].format) != i) {
      return false;
    }
  }
  return place_in_table(PixelFormat::yuv422p10le) + 1 == table.size();  // the last one
}
static_assert(is_table_in_order(), "the table has an entry for every pixel format, in the order of their numbers");

}  // namespace

std::span<const PixelFormatInfo> pixel_formats() noexcept {
  return table;
}

const PixelFormatInfo& info(PixelFormat format) noexcept {
  if (format == PixelFormat::bytes) {
    return byte_stream;
  }
  const std::size_t place = place_in_table(format);
  assert(place < table.size());
  return table[place];
}

bool has_alpha(PixelFormat format) noexcept {
  return info(format).planes.front().components.find('A') != std::string_view::npos;
}

bool is_gray(PixelFormat format) noexcept {
  return !info(format).is_yuv && info(format).planes.front().components == "Y";
}

bool is_subsampled(PixelFormat format) noexcept {
  const PixelFormatInfo& entry = info(format);
  return std::ranges::any_of(entry.planes,
                             [](const PlaneShape& plane) { return plane.log2_width != 0 || plane.log2_height != 0; });
}

std::optional<PixelFormat> pixel_format_from_number(std::uint32_t number) noexcept {
  const auto wanted = static_cast<PixelFormat>(number);
  if (wanted == PixelFormat::bytes || std::ranges::find(table, wanted, &PixelFormatInfo::format) != table.end()) {
    return wanted;
  }
  return std::nullopt;
}

std::optional<PixelFormat> pixel_format_from_name(std::string_view name) noexcept {
  if (name == byte_stream.name) {
    return PixelFormat::bytes;
  }
  if (name == "gray") {  // FFmpeg prints this name; gray8 is its alias
    return PixelFormat::gray8;
  }
  const auto* found = std::ranges::find(table, name, &PixelFormatInfo::name);
  return found != table.end() ? std::optional(found->format) : std::nullopt;
}

std::string pixel_format_names() {
  std::string names;
  for (const PixelFormatInfo& entry : table) {
    names += (names.empty() ? "" : ", ") + std::string(entry.name);
  }
  return names;
}

}  // namespace framewire
