#include "library/formats.hpp"

#include <algorithm>
#include <cstring>
#include <string>

#include "base/error.hpp"
#include "base/text.hpp"
#include "library/failure.hpp"
#include "library/struct_size.hpp"

namespace framewire {

namespace {

static_assert(FW_PIXEL_RGBA_GRAYF32LE == static_cast<int>(PixelFormat::rgba_grayf32le));
static_assert(FW_PIXEL_YUV422P10LE == static_cast<int>(PixelFormat::yuv422p10le));
static_assert(FW_PIXEL_BYTES == static_cast<int>(PixelFormat::bytes));
static_assert(FW_MAX_PLANES == max_wire_planes);

PixelFormat checked_pixel_format(std::int32_t number, const char* function) {
  const auto format = number > 0 ? pixel_format_from_number(static_cast<std::uint32_t>(number)) : std::nullopt;
  if (!format) {
    throw Failure(FW_ERROR_ARGUMENT, std::string(function) + "(): pixel_format is " + std::to_string(number) +
                                         "; it takes one of FW_PIXEL_...");
  }
  return *format;
}

FrameLayout packed(PixelFormat format, std::uint32_t width, std::uint32_t height, const char* function) {
  if (format != PixelFormat::bytes) {
    try {
      return packed_layout(format, width, height);
    } catch (const Error& error) {
      throw Failure(FW_ERROR_ARGUMENT, std::string(function) + "(): " + error.what());
    }
  }
  if (width == 0 || height != 1) {
    throw Failure(FW_ERROR_ARGUMENT, std::string(function) + "(): the size is " + std::to_string(width) + "x" +
                                         std::to_string(height) +
                                         "; FW_PIXEL_BYTES takes a width in bytes, and height 1");
  }
  return bytes_layout(width);
}

FrameLayout checked_layout(const fw_format& format, const char* function) {
  const PixelFormat pixel_format = checked_pixel_format(format.pixel_format, function);
  FrameLayout layout = packed(pixel_format, format.width, format.height, function);
  if (pixel_format == PixelFormat::bytes) {
    return layout;
  }
  if (format.plane_count != layout.plane_count) {
    throw Failure(FW_ERROR_ARGUMENT,
                  std::string(function) + "(): plane_count is " + std::to_string(format.plane_count) + "; " +
                      std::string(info(pixel_format).name) + " has " + std::to_string(layout.plane_count));
  }
  for (std::uint32_t i = 0; i < layout.plane_count; ++i) {
    const fw_plane_layout& plane = format.plane[i];
    layout.planes.at(i) = {.offset_bytes = plane.offset_bytes,
                           .pitch_bytes = plane.pitch_bytes,
                           .row_bytes = plane.row_bytes,
                           .rows = plane.rows};
  }
  layout.size_bytes = format.size_bytes;
  if (format.size_bytes > max_slot_bytes) {
    throw Failure(FW_ERROR_ARGUMENT, std::string(function) + "(): size_bytes is " + std::to_string(format.size_bytes) +
                                         "; a frame has at most " + std::to_string(max_slot_bytes));
  }
  if (const auto wrong = validate_layout(layout, layout.size_bytes)) {
    throw Failure(FW_ERROR_ARGUMENT, std::string(function) + "(): " + *wrong);
  }
  return layout;
}

/// Numbers of an enumeration that ends before `end`; others are an error of the program.
std::uint8_t checked_number(std::int32_t number, std::int32_t end, std::string_view field, const char* function) {
  if (number < 0 || number >= end) {
    throw Failure(FW_ERROR_ARGUMENT, std::string(function) + "(): " + std::string(field) + " is " +
                                         std::to_string(number) + "; it takes 0 to " + std::to_string(end - 1));
  }
  return static_cast<std::uint8_t>(number);
}

Rational checked_rational(const std::uint32_t (&pair)[2], std::string_view field, const char* function) {
  if (pair[1] == 0) {
    throw Failure(FW_ERROR_ARGUMENT,
                  std::string(function) + "(): the denominator of " + std::string(field) + " is 0; 0 / 1 is unknown");
  }
  return {pair[0], pair[1]};
}

}  // namespace

fw_format c_format(const StreamFormat& format) noexcept {
  fw_format made{};
  made.struct_size = sizeof made;
  made.pixel_format = static_cast<std::int32_t>(format.layout.format);
  const bool is_picture = format.layout.format != PixelFormat::bytes;
  made.width = is_picture ? format.layout.width : static_cast<std::uint32_t>(format.layout.size_bytes);
  made.height = is_picture ? format.layout.height : 1;
  made.plane_count = format.layout.plane_count;
  for (std::size_t i = 0; i < format.layout.plane_count && i < format.layout.planes.size(); ++i) {
    const PlaneLayout& plane = format.layout.planes.at(i);
    made.plane[i] = {plane.offset_bytes, plane.pitch_bytes, plane.row_bytes, plane.rows, 0};
  }
  if (!is_picture) {
    made.plane_count = 1;
    made.plane[0] = {0, made.width, made.width, 1, 0};
  }
  made.size_bytes = format.layout.size_bytes;
  made.colour_matrix = static_cast<std::int32_t>(format.colour.matrix);
  made.colour_range = static_cast<std::int32_t>(format.colour.range);
  made.colour_transfer = static_cast<std::int32_t>(format.colour.transfer);
  made.colour_primaries = static_cast<std::int32_t>(format.colour.primaries);
  made.chroma_location = static_cast<std::int32_t>(format.chroma_location);
  made.alpha_mode = static_cast<std::int32_t>(format.alpha_mode);
  made.field_order = static_cast<std::int32_t>(format.field_order);
  made.sample_aspect[0] = format.sample_aspect_ratio.numerator;
  made.sample_aspect[1] = format.sample_aspect_ratio.denominator;
  made.frame_rate[0] = format.frame_rate.numerator;
  made.frame_rate[1] = format.frame_rate.denominator;
  return made;
}

StreamFormat checked_format(const fw_format* given, const char* function) {
  const fw_format format = taken_in(given, sizeof(fw_format), function, "fw_format");
  StreamFormat checked;
  checked.layout = checked_layout(format, function);
  constexpr std::int32_t codes = 256;
  checked.colour = colour_from_numbers(checked_number(format.colour_matrix, codes, "colour_matrix", function),
                                       checked_number(format.colour_range, 3, "colour_range", function),
                                       checked_number(format.colour_transfer, codes, "colour_transfer", function),
                                       checked_number(format.colour_primaries, codes, "colour_primaries", function));
  checked.chroma_location =
      chroma_location_from_number(checked_number(format.chroma_location, 7, "chroma_location", function));
  checked.alpha_mode = static_cast<AlphaMode>(checked_number(format.alpha_mode, 3, "alpha_mode", function));
  checked.field_order = field_order_from_number(checked_number(format.field_order, 7, "field_order", function));
  checked.sample_aspect_ratio = checked_rational(format.sample_aspect, "sample_aspect", function);
  checked.frame_rate = checked_rational(format.frame_rate, "frame_rate", function);
  return checked;
}

void fill_view(fw_view& view, const FrameLayout& layout, const void* data, bool is_read_only) noexcept {
  view.struct_size = sizeof view;
  view.memory = FW_MEMORY_HOST;
  view.flags = is_read_only ? std::uint32_t{FW_VIEW_READ_ONLY} : 0U;
  view.pixel_format = static_cast<std::int32_t>(layout.format);
  view.width = layout.width;
  view.height = layout.height;
  view.plane_count = layout.plane_count;
  view.data = const_cast<void*>(data);
  view.size_bytes = layout.size_bytes;
  view.sequence = 0;
  view.epoch = 0;
  view.reserved = 0;
  view.tag = 0;
  view.pts_ns = 0;
  view.begun_ns = 0;
  view.completed_ns = 0;
  view.received_ns = 0;
  std::size_t planes = std::min<std::size_t>(layout.plane_count, layout.planes.size());
  for (std::size_t i = 0; i < planes; ++i) {
    const PlaneLayout& plane = layout.planes.at(i);
    view.plane[i] = {.data = static_cast<char*>(view.data) + plane.offset_bytes,
                     .offset_bytes = plane.offset_bytes,
                     .pitch_bytes = plane.pitch_bytes,
                     .row_bytes = plane.row_bytes,
                     .rows = plane.rows,
                     .reserved = 0};
  }
  if (layout.format == PixelFormat::bytes) {
    view.width = static_cast<std::uint32_t>(layout.size_bytes);
    view.height = 1;
    view.plane_count = 1;
    view.plane[0] = {view.data, 0, view.width, view.width, 1, 0};
    planes = 1;
  }
  // Only what is left. To set the whole view to zero first, compilers take string instructions, which are slow to
  // begin.
  std::memset(static_cast<void*>(view.plane + planes), 0, (FW_MAX_PLANES - planes) * sizeof view.plane[0]);
}

}  // namespace framewire

using namespace framewire;

extern "C" {

const char* fw_pixel_format_name(int32_t pixel_format) {
  const auto format =
      pixel_format > 0 ? pixel_format_from_number(static_cast<std::uint32_t>(pixel_format)) : std::nullopt;
  return format ? info(*format).name.data() : nullptr;
}

fw_result fw_pixel_format_from_name(const char* name, int32_t* pixel_format) {
  return guarded([&]() -> fw_result {
    require(name, "fw_pixel_format_from_name", "name");
    require(pixel_format, "fw_pixel_format_from_name", "pixel_format");
    const auto format = pixel_format_from_name(name);
    if (!format) {
      throw Failure(FW_ERROR_ARGUMENT, "fw_pixel_format_from_name(): the pixel format is " + quote(name) +
                                           "; it takes bytes, " + pixel_format_names());
    }
    *pixel_format = static_cast<std::int32_t>(*format);
    return FW_OK;
  });
}

fw_result fw_format_init(fw_format* format, size_t struct_size, int32_t pixel_format, uint32_t width, uint32_t height) {
  return guarded([&]() -> fw_result {
    StreamFormat made;
    made.layout = packed(checked_pixel_format(pixel_format, "fw_format_init"), width, height, "fw_format_init");
    hand_out(c_format(made), format, struct_size, "fw_format_init", "fw_format");
    return FW_OK;
  });
}

}  // extern "C"
