// Headers of y4m streams, and the layouts of raw frames by their options.
//
// Input: one byte that selects a part, then the line; or a pixel format's number and two sides.
#include "media/y4m.hpp"

#include "frame/pixel_format.hpp"
#include "tests/fuzz/fuzz.hpp"

namespace framewire::fuzz {
namespace {

void check_line(std::string_view line) {
  if (is_y4m_frame_line(line)) {
    require(line.starts_with(y4m_frame_magic), "a frame begins with its word");
  }
  succeeds([&] {
    const StreamFormat format = parse_y4m_header(line);
    require(format.layout.size_bytes <= max_slot_bytes, "a frame fits the largest slot");
    require(!validate_layout(format.layout, format.layout.size_bytes), "its layout is possible");
    require(y4m_format(format.layout.format) == format.layout.format, "y4m keeps the formats that it names");
    require(format.frame_rate.denominator != 0 && format.sample_aspect_ratio.denominator != 0,
            "a fraction has a denominator");
    require_printable(describe(format) + describe_colour(format));
    std::string written = y4m_header(format);
    require(written.ends_with('\n') && written.size() <= max_y4m_line_bytes, "a header is one line");
    written.pop_back();
    StreamFormat again = parse_y4m_header(written);
    if (!y4m_says_chroma_location(format) || format.chroma_location == ChromaLocation::unspecified) {
      again.chroma_location = format.chroma_location;
    }
    if (format.field_order == FieldOrder::mixed) {
      again.field_order = format.field_order;
    }
    require(again == format, "a header comes back as it went");
  });
}

void check_raw(std::uint32_t number, std::uint32_t width, std::uint32_t height) {
  const auto format = pixel_format_from_number(number);
  if (!format || *format == PixelFormat::bytes) {  // packed_layout() is for pictures
    return;
  }
  require(pixel_format_from_name(info(*format).name) == *format, "a format is found by its name");
  succeeds([&] {
    const FrameLayout layout = packed_layout(*format, width, height);
    require(layout.size_bytes <= max_slot_bytes, "a frame fits the largest slot");
    require(!validate_layout(layout, layout.size_bytes), "a packed layout is possible");
    require(layout.size_bytes == 0 || validate_layout(layout, layout.size_bytes - 1).has_value(),
            "it needs all of its bytes");
  });
}

}  // namespace

std::vector<std::string> seeds() {
  return {std::string(1, '\0') + "YUV4MPEG2 W64 H48 F30000:1001 Ip A1:1 C420mpeg2 XYSCSS=420MPEG2 XCOLORRANGE=LIMITED",
          std::string(1, '\0') + "YUV4MPEG2 W1920 H1080 F25:1 It A0:0 C422p10",
          std::string(1, '\0') + "YUV4MPEG2 H2 W2 F0:0 Im Cmono",
          std::string(1, '\0') + "FRAME Ixyz",
          "\1" + bytes_of(std::uint32_t{1}) + bytes_of(std::uint32_t{640}) + bytes_of(std::uint32_t{480}),
          "\1" + bytes_of(std::uint32_t{5}) + bytes_of(std::uint32_t{32768}) + bytes_of(std::uint32_t{32768}),
          "\1" + bytes_of(std::uint32_t{18}) + bytes_of(std::uint32_t{32768}) + bytes_of(std::uint32_t{32768})};
}

}  // namespace framewire::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace framewire;
  fuzz::Input input(data, size);
  if (input.take<std::uint8_t>() == 0) {
    fuzz::check_line(input.take_text());
  } else {
    const auto number = input.take<std::uint32_t>();
    const auto width = input.take<std::uint32_t>();
    fuzz::check_raw(number, width, input.take<std::uint32_t>());
  }
  return 0;
}
