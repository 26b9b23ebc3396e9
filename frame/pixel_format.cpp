#include "frame/pixel_format.hpp"

#include <algorithm>
#include <cassert>

namespace framewire {

namespace {

constexpr PlaneShape none{0, 0, 0, ""};
constexpr PlaneShape y8{0, 0, 1, "Y"};
constexpr PlaneShape y16{0, 0, 2, "Y"};
constexpr PlaneShape rgba_plane{0, 0, 4, "RGBA", static_cast<std::uint32_t>(PixelFormat::rgba)};
constexpr PlaneShape depth_plane{0, 0, 4, "Z", grayf32le_plane_number};

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
constexpr PixelFormatInfo planar(PixelFormat format, std::string_view name, std::uint8_t depth, std::uint8_t log2_width,
                                 std::uint8_t log2_height) {
  const std::uint8_t bytes = depth > 8 ? 2 : 1;
  return {format,
          name,
          3,
          depth,
          true,
          {PlaneShape{0, 0, bytes, "Y"}, PlaneShape{log2_width, log2_height, bytes, "U"},
           PlaneShape{log2_width, log2_height, bytes, "V"}}};
}

/// The entry of each format. The compiler asks for the entry of a new enumerator.
constexpr PixelFormatInfo entry_of(PixelFormat format) noexcept {
  switch (format) {
    case PixelFormat::bytes:
      return {format, "bytes", 1, 8, false, {PlaneShape{0, 0, 1, "0"}, none, none}};
    case PixelFormat::rgba:
      return rgb(format, "rgba", "RGBA");
    case PixelFormat::bgra:
      return rgb(format, "bgra", "BGRA");
    case PixelFormat::rgb0:
      return rgb(format, "rgb0", "RGB0");
    case PixelFormat::bgr0:
      return rgb(format, "bgr0", "BGR0");
    case PixelFormat::rgb24:
      return rgb(format, "rgb24", "RGB");
    case PixelFormat::bgr24:
      return rgb(format, "bgr24", "BGR");
    case PixelFormat::gray8:
      return {format, "gray8", 1, 8, false, {y8, none, none}};
    case PixelFormat::nv12:
      return {format, "nv12", 2, 8, true, {y8, PlaneShape{1, 1, 2, "UV"}, none}};
    case PixelFormat::yuv420p:
      return planar(format, "yuv420p", 8, 1, 1);
    case PixelFormat::yuv422p:
      return planar(format, "yuv422p", 8, 1, 0);
    case PixelFormat::yuv444p:
      return planar(format, "yuv444p", 8, 0, 0);
    case PixelFormat::uyvy422:
      return packed_422(format, "uyvy422", "UYVY");
    case PixelFormat::yuyv422:
      return packed_422(format, "yuyv422", "YUYV");
    case PixelFormat::p010le:
      return {format, "p010le", 2, 10, true, {y16, PlaneShape{1, 1, 4, "UV"}, none}, 6};
    case PixelFormat::yuv420p10le:
      return planar(format, "yuv420p10le", 10, 1, 1);
    case PixelFormat::yuv422p10le:
      return planar(format, "yuv422p10le", 10, 1, 0);
    case PixelFormat::rgba_grayf32le:
      return {format, "rgba+grayf32le", 2, 8, false, {rgba_plane, depth_plane, none}};
  }
  return {};  // a number that is no format has no name
}

constexpr bool is_format(std::uint32_t number) noexcept {
  return !entry_of(static_cast<PixelFormat>(number)).name.empty();
}

constexpr std::uint32_t first_number = static_cast<std::uint32_t>(PixelFormat::bytes);

/// The numbers are used one after the other.
constexpr std::uint32_t last_number = [] {
  std::uint32_t number = first_number;
  while (is_format(number + 1)) {
    ++number;
  }
  return number;
}();
static_assert(
    [] {
      constexpr std::uint32_t far_beyond = 256;
      std::uint32_t number = last_number + 1;
      while (number < far_beyond && !is_format(number)) {
        ++number;
      }
      return number == far_beyond;
    }(),
    "a new pixel format has the next number");

constexpr std::array table = [] {
  std::array<PixelFormatInfo, last_number - first_number + 1> entries{};
  for (std::uint32_t i = 0; i < entries.size(); ++i) {
    entries[i] = entry_of(static_cast<PixelFormat>(first_number + i));
  }
  return entries;
}();
constexpr bool is_picture_alone(const PixelFormatInfo& entry) noexcept {
  return entry.format != PixelFormat::bytes && entry.planes[1].components != "Z";
}

constexpr std::array pictures = [] {
  std::array<PixelFormatInfo, static_cast<std::size_t>(std::ranges::count_if(table, is_picture_alone))> entries{};
  std::ranges::copy_if(table, entries.begin(), is_picture_alone);
  return entries;
}();
static_assert(std::ranges::all_of(pictures, is_drawable),
              "gl/texture_planes.cpp has textures for every picture format (is_drawable() says for which)");

}  // namespace

std::span<const PixelFormatInfo> pixel_formats() noexcept {
  return pictures;
}

const PixelFormatInfo& info(PixelFormat format) noexcept {
  const std::size_t place = static_cast<std::uint32_t>(format) - first_number;
  assert(place < table.size());
  return table[place];
}

bool has_alpha(PixelFormat format) noexcept {
  return info(format).planes.front().components.find('A') != std::string_view::npos;
}

bool is_gray(PixelFormat format) noexcept {
  return !info(format).is_yuv && info(format).planes.front().components == "Y";
}

bool has_depth(PixelFormat format) noexcept {
  return info(format).planes[1].components == "Z";
}

PixelFormat colour_format(PixelFormat format) noexcept {
  return has_depth(format) ? static_cast<PixelFormat>(info(format).planes.front().wire_number) : format;
}

bool is_subsampled(PixelFormat format) noexcept {
  const PixelFormatInfo& entry = info(format);
  return std::ranges::any_of(entry.planes,
                             [](const PlaneShape& plane) { return plane.log2_width != 0 || plane.log2_height != 0; });
}

std::optional<PixelFormat> pixel_format_from_number(std::uint32_t number) noexcept {
  const bool is_known = number >= first_number && number <= last_number;
  return is_known ? std::optional(static_cast<PixelFormat>(number)) : std::nullopt;
}

std::optional<PixelFormat> pixel_format_from_name(std::string_view name) noexcept {
  if (name == "gray") {  // FFmpeg prints this name; gray8 is its alias
    return PixelFormat::gray8;
  }
  const auto* found = std::ranges::find(table, name, &PixelFormatInfo::name);
  return found != table.end() ? std::optional(found->format) : std::nullopt;
}

std::string pixel_format_names() {
  std::string names;
  for (const PixelFormatInfo& entry : std::span(table).subspan(1)) {  // `bytes` is the first
    names += (names.empty() ? "" : ", ") + std::string(entry.name);
  }
  return names;
}

}  // namespace framewire
