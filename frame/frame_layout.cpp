#include "frame/frame_layout.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "base/error.hpp"

namespace framewire {

namespace {

bool is_possible(std::uint32_t width, std::uint32_t height) noexcept {
  return width > 0 && height > 0 && width <= max_frame_side_pixels && height <= max_frame_side_pixels;
}

/// Of a possible size.
FrameLayout pack(PixelFormat format, std::uint32_t width, std::uint32_t height) noexcept {
  const PixelFormatInfo& shape = info(format);
  FrameLayout layout{.format = format, .width = width, .height = height, .plane_count = shape.plane_count};
  for (std::uint32_t i = 0; i < shape.plane_count; ++i) {
    const PlaneShape& plane = shape.planes.at(i);
    const std::uint32_t row_bytes = ceil_rshift(width, plane.log2_width) * plane.bytes_per_texel;
    const std::uint32_t rows = ceil_rshift(height, plane.log2_height);
    layout.planes.at(i) = {layout.size_bytes, row_bytes, row_bytes, rows};
    layout.size_bytes += std::uint64_t{row_bytes} * rows;
  }
  return layout;
}

}  // namespace

FrameLayout packed_layout(PixelFormat format, std::uint32_t width, std::uint32_t height) {
  if (!is_possible(width, height)) {
    throw Error::failed("the frame size is " + std::to_string(width) + "x" + std::to_string(height) +
                        "; each side can be 1 to 32768 pixels");
  }
  const FrameLayout layout = pack(format, width, height);
  if (layout.size_bytes > max_slot_bytes) {
    throw Error::failed("a frame of " + std::to_string(width) + "x" + std::to_string(height) + " " +
                        std::string(info(format).name) + " has " + std::to_string(layout.size_bytes) +
                        " bytes; take a size of at most " + std::to_string(max_slot_bytes));
  }
  return layout;
}

FrameLayout bytes_layout(std::uint64_t count) noexcept {
  return {.format = PixelFormat::bytes, .size_bytes = count};
}

std::optional<std::string> validate_layout(const FrameLayout& layout, std::uint64_t slot_bytes) {
  if (layout.size_bytes > slot_bytes) {
    return "a frame of " + std::to_string(layout.size_bytes) + " bytes does not fit a slot of " +
           std::to_string(slot_bytes);
  }
  if (layout.format == PixelFormat::bytes) {
    return layout.plane_count == 0 ? std::nullopt : std::optional<std::string>("a frame of bytes has no planes");
  }
  if (!is_possible(layout.width, layout.height)) {
    return "a frame of " + std::to_string(layout.width) + "x" + std::to_string(layout.height) +
           " pixels is not possible";
  }
  const FrameLayout packed = pack(layout.format, layout.width, layout.height);
  if (layout.plane_count != packed.plane_count) {
    return "a frame of " + std::string(info(layout.format).name) + " has " + std::to_string(packed.plane_count) +
           " planes, not " + std::to_string(layout.plane_count);
  }
  std::uint64_t free_from = 0;  // planes are ordered by offset
  for (std::uint32_t i = 0; i < layout.plane_count; ++i) {
    const PlaneLayout& plane = layout.planes.at(i);
    const PlaneLayout& smallest = packed.planes.at(i);
    if (plane.row_bytes != smallest.row_bytes || plane.rows != smallest.rows || plane.pitch_bytes < plane.row_bytes) {
      return "plane " + std::to_string(i) + " has rows of " + std::to_string(plane.row_bytes) +
             " bytes at a pitch of " + std::to_string(plane.pitch_bytes) + ", which is not a " +
             std::string(info(layout.format).name) + " plane";
    }
    const std::uint64_t size = std::uint64_t{plane.pitch_bytes} * (plane.rows - 1) + plane.row_bytes;
    if (plane.offset_bytes < free_from || plane.offset_bytes > layout.size_bytes ||
        size > layout.size_bytes - plane.offset_bytes) {
      return "plane " + std::to_string(i) + " lies outside its frame or over another plane";
    }
    free_from = plane.offset_bytes + size;
  }
  return std::nullopt;
}

Rational rational_rate(double frames_per_s) noexcept {
  constexpr double max_per_s = 1e6;
  if (!(frames_per_s > 0)) {
    return {0, 1};
  }
  const double rate = std::min(frames_per_s, max_per_s);
  const double whole = std::round(rate);
  constexpr double as_good_as_equal = 1e-6;
  if (std::abs(rate - whole) < as_good_as_equal && whole >= 1) {
    return {static_cast<std::uint32_t>(whole), 1};
  }
  // NTSC-derived rates are n * 1000 / 1001, and are usually written with two or three decimals.
  const double ntsc = std::round(rate * 1.001);
  constexpr double as_people_round = 0.006;
  if (ntsc >= 23 && std::abs(ntsc / 1.001 - rate) < as_people_round) {
    return {static_cast<std::uint32_t>(ntsc) * 1000, 1001};
  }
  return {static_cast<std::uint32_t>(std::max(1.0, std::round(rate * 1000))), 1000};
}

std::string describe(const StreamFormat& format) {
  std::string text;
  if (format.layout.format == PixelFormat::bytes) {
    return "bytes";
  }
  text = std::to_string(format.layout.width) + "x" + std::to_string(format.layout.height) + " " +
         std::string(info(format.layout.format).name);
  if (format.frame_rate.numerator != 0) {
    std::array<char, 32> rate{};
    std::snprintf(
        rate.data(), rate.size(), " %.5g fps",
        static_cast<double>(format.frame_rate.numerator) / static_cast<double>(format.frame_rate.denominator));
    text += rate.data();
  }
  return text;
}

std::string describe_colour(const StreamFormat& format) {
  std::string text;
  const auto say = [&text](const std::string& label, std::string_view value) {
    if (value != "unknown" && value != "unspecified") {
      text += (text.empty() ? "" : ", ") + label + std::string(value);
    }
  };
  const Colour& colour = format.colour;
  say("matrix ", name(colour.matrix));
  say("range ", name(colour.range));
  say("transfer ", name(colour.transfer));
  say("primaries ", name(colour.primaries));
  say("chroma ", name(format.chroma_location));
  say(is_interlaced(format.field_order) ? "interlaced " : "", name(format.field_order));
  say("alpha ", name(format.alpha_mode));
  return text;
}

}  // namespace framewire
