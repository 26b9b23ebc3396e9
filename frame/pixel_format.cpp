#include "frame/pixel_format.hpp"

#include <algorithm>
#include <cassert>

namespace framewire {

namespace {

constexpr PlaneShape none{0, 0, 0};
constexpr PlaneShape full8{0, 0, 1};
constexpr PlaneShape full16{0, 0, 2};

constexpr PixelFormatInfo byte_stream{PixelFormat::bytes, "bytes", 1, 8, false, {full8, none, none}};

constexpr std::array table = {
    PixelFormatInfo{PixelFormat::rgba, "rgba", 1, 8, false, {PlaneShape{0, 0, 4}, none, none}},
    PixelFormatInfo{PixelFormat::bgra, "bgra", 1, 8, false, {PlaneShape{0, 0, 4}, none, none}},
    PixelFormatInfo{PixelFormat::rgb0, "rgb0", 1, 8, false, {PlaneShape{0, 0, 4}, none, none}},
    PixelFormatInfo{PixelFormat::bgr0, "bgr0", 1, 8, false, {PlaneShape{0, 0, 4}, none, none}},
    PixelFormatInfo{PixelFormat::rgb24, "rgb24", 1, 8, false, {PlaneShape{0, 0, 3}, none, none}},
    PixelFormatInfo{PixelFormat::bgr24, "bgr24", 1, 8, false, {PlaneShape{0, 0, 3}, none, none}},
    PixelFormatInfo{PixelFormat::gray8, "gray8", 1, 8, false, {full8, none, none}},
    PixelFormatInfo{PixelFormat::nv12, "nv12", 2, 8, true, {full8, PlaneShape{1, 1, 2}, none}},
    PixelFormatInfo{PixelFormat::yuv420p, "yuv420p", 3, 8, true, {full8, PlaneShape{1, 1, 1}, PlaneShape{1, 1, 1}}},
    PixelFormatInfo{PixelFormat::yuv422p, "yuv422p", 3, 8, true, {full8, PlaneShape{1, 0, 1}, PlaneShape{1, 0, 1}}},
    PixelFormatInfo{PixelFormat::yuv444p, "yuv444p", 3, 8, true, {full8, full8, full8}},
    PixelFormatInfo{PixelFormat::uyvy422, "uyvy422", 1, 8, true, {PlaneShape{1, 0, 4}, none, none}},
    PixelFormatInfo{PixelFormat::yuyv422, "yuyv422", 1, 8, true, {PlaneShape{1, 0, 4}, none, none}},
    PixelFormatInfo{PixelFormat::p010le, "p010le", 2, 10, true, {full16, PlaneShape{1, 1, 4}, none}},
    PixelFormatInfo{
        PixelFormat::yuv420p10le, "yuv420p10le", 3, 10, true, {full16, PlaneShape{1, 1, 2}, PlaneShape{1, 1, 2}}},
    PixelFormatInfo{
        PixelFormat::yuv422p10le, "yuv422p10le", 3, 10, true, {full16, PlaneShape{1, 0, 2}, PlaneShape{1, 0, 2}}},
};

}  // namespace

std::span<const PixelFormatInfo> pixel_formats() noexcept {
  return table;
}

const PixelFormatInfo& info(PixelFormat format) noexcept {
  if (format == PixelFormat::bytes) {
    return byte_stream;
  }
  const auto* found = std::ranges::find(table, format, &PixelFormatInfo::format);
  assert(found != table.end());
  return *found;
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
  if (name == "gray") {  // FFmpeg prints this name and takes gray8 as its alias
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
