#include "media/y4m.hpp"

#include <array>
#include <charconv>
#include <optional>
#include <utility>

#include "base/error.hpp"
#include "base/text.hpp"

namespace framewire {

namespace {

struct ColourSpace {
  std::string_view name;
  PixelFormat format;
  ChromaLocation chroma_location = ChromaLocation::unspecified;
};

/// The first match is written. FFmpeg reads 420 as 420jpeg.
constexpr std::array colour_spaces = {
    ColourSpace{"420mpeg2", PixelFormat::yuv420p, ChromaLocation::left},
    ColourSpace{"420jpeg", PixelFormat::yuv420p, ChromaLocation::center},
    ColourSpace{"420paldv", PixelFormat::yuv420p, ChromaLocation::topleft},
    ColourSpace{"420", PixelFormat::yuv420p, ChromaLocation::center},
    ColourSpace{"422", PixelFormat::yuv422p},
    ColourSpace{"444", PixelFormat::yuv444p},
    ColourSpace{"mono", PixelFormat::gray8},
    ColourSpace{"420p10", PixelFormat::yuv420p10le},
    ColourSpace{"422p10", PixelFormat::yuv422p10le},
};

/// The default without a C tag: yuv4mpeg(5).
constexpr ColourSpace default_space = colour_spaces[1];

struct Interlacing {
  char letter;
  FieldOrder order;
};

/// The letter is the field displayed first, like the second letter of FFmpeg's names. Reading takes the first entry of
/// a letter.
constexpr std::array interlacings = {
    Interlacing{'p', FieldOrder::progressive}, Interlacing{'t', FieldOrder::tt},
    Interlacing{'t', FieldOrder::bt},          Interlacing{'b', FieldOrder::bb},
    Interlacing{'b', FieldOrder::tb},          Interlacing{'?', FieldOrder::unspecified},
    Interlacing{'m', FieldOrder::mixed},
};

/// The C tag for `format`; the closest one if none states its chroma location.
const ColourSpace* find_space(const StreamFormat& format) noexcept {
  const ColourSpace* first = nullptr;
  for (const ColourSpace& space : colour_spaces) {
    if (space.format != format.layout.format) {
      continue;
    }
    if (space.chroma_location == format.chroma_location) {
      return &space;
    }
    first = first == nullptr ? &space : first;
  }
  return first;
}

char interlacing_letter(FieldOrder order) noexcept {
  for (const Interlacing& entry : interlacings) {
    if (entry.order == order && order != FieldOrder::mixed) {
      return entry.letter;
    }
  }
  return '?';
}

Error bad_header(const std::string& what) {
  return Error::failed("the y4m header " + what);
}

std::optional<std::uint32_t> read_number(std::string_view text) {
  std::uint32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && end == text.data() + text.size() && !text.empty() ? std::optional(number)
                                                                                   : std::nullopt;
}

std::uint32_t read_side(std::string_view value, const char* what) {
  const auto side = read_number(value);
  if (!side || *side == 0 || *side > max_frame_side_pixels) {
    throw bad_header("says a " + std::string(what) + " of " + quote(value) + "; it must be 1 to 32768 pixels");
  }
  return *side;
}

/// "N:D"; 0:0 means unknown and gives nothing.
std::optional<Rational> read_fraction(std::string_view value, const char* what) {
  const auto colon = value.find(':');
  const auto numerator = colon != std::string_view::npos ? read_number(value.substr(0, colon)) : std::nullopt;
  const auto denominator = colon != std::string_view::npos ? read_number(value.substr(colon + 1)) : std::nullopt;
  if (numerator && denominator && *numerator == 0 && *denominator == 0) {
    return std::nullopt;
  }
  if (!numerator || !denominator || *numerator == 0 || *denominator == 0) {
    throw bad_header("says a " + std::string(what) + " of " + quote(value) +
                     "; it is a fraction as in 30000:1001, or 0:0 for unknown");
  }
  return Rational{*numerator, *denominator};
}

Rational read_rate(std::string_view value) {
  const auto rate = read_fraction(value, "frame rate");
  constexpr std::uint64_t max_per_s = 1'000'000;
  constexpr std::uint64_t longest_s = 3600;
  if (rate && (rate->numerator > max_per_s * rate->denominator || rate->denominator > longest_s * rate->numerator)) {
    throw bad_header("says a frame rate of " + quote(value) +
                     "; it must be between one frame an hour and a million a second");
  }
  return rate.value_or(Rational{0, 1});
}

ColourSpace read_colour_space(std::string_view value) {
  for (const ColourSpace& space : colour_spaces) {
    if (space.name == value) {
      return space;
    }
  }
  std::string names;
  for (const ColourSpace& space : colour_spaces) {
    names += (names.empty() ? "" : ", ") + std::string(space.name);
  }
  throw bad_header("says colour space " + quote(value) + ", which is not carried; it can be " + names);
}

FieldOrder read_interlacing(std::string_view value) {
  for (const Interlacing& entry : interlacings) {
    if (value.size() == 1 && entry.letter == value.front()) {
      return entry.order;
    }
  }
  throw bad_header("says interlacing " + quote(value) + "; it can be p, t, b, m or ?");
}

void read_extension(std::string_view value, Colour& colour) {
  constexpr std::string_view range = "COLORRANGE=";
  if (!value.starts_with(range)) {
    return;  // programs may add their own; only COLORRANGE describes the picture
  }
  value.remove_prefix(range.size());
  if (value != "FULL" && value != "LIMITED") {
    throw bad_header("says XCOLORRANGE=" + quote(value) + "; it can be FULL or LIMITED");
  }
  colour.range = value == "FULL" ? ColourRange::full : ColourRange::limited;
}

/// The tags of a header, each at most once (X: any number).
class Tags {
 public:
  void take(std::string_view word) {
    const char tag = word.front();
    const std::string_view value = word.substr(1);
    if (tag != 'X' && seen_.find(tag) != std::string::npos) {
      throw bad_header("says " + quote(word) + " after another " + std::string(1, tag));
    }
    seen_ += tag;
    switch (tag) {
      case 'W':
        width = read_side(value, "width");
        break;
      case 'H':
        height = read_side(value, "height");
        break;
      case 'F':
        rate = read_rate(value);
        break;
      case 'A':
        aspect = read_fraction(value, "pixel aspect").value_or(Rational{1, 1});
        break;
      case 'C':
        space = read_colour_space(value);
        break;
      case 'I':
        field_order = read_interlacing(value);
        break;
      case 'X':
        read_extension(value, colour);
        break;
      default:
        throw bad_header("has the unknown tag " + quote(word));
    }
  }

  std::uint32_t width = 0;
  std::uint32_t height = 0;
  Rational rate{0, 1};
  Rational aspect{1, 1};
  ColourSpace space = default_space;
  FieldOrder field_order = FieldOrder::unspecified;
  Colour colour;

 private:
  std::string seen_;
};

}  // namespace

StreamFormat parse_y4m_header(std::string_view line) {
  if (!line.starts_with(y4m_magic) || (line.size() > y4m_magic.size() && line.at(y4m_magic.size()) != ' ')) {
    throw Error::failed("this is not y4m: it begins with " + quote(line, 20) + " instead of YUV4MPEG2");
  }
  line.remove_prefix(y4m_magic.size());
  Tags tags;
  while (!line.empty()) {
    line.remove_prefix(1);  // the space
    const std::string_view word = line.substr(0, line.find(' '));
    line.remove_prefix(word.size());
    if (!word.empty()) {
      tags.take(word);
    }
  }
  if (tags.width == 0 || tags.height == 0) {
    throw bad_header("says no " + std::string(tags.width == 0 ? "width (W)" : "height (H)"));
  }
  if (is_gray(tags.space.format) && tags.colour.range == ColourRange::unspecified) {
    tags.colour.range = ColourRange::full;  // untagged grey is full range, as in libswscale
  }
  return {.layout = packed_layout(tags.space.format, tags.width, tags.height),
          .colour = tags.colour,
          .sample_aspect_ratio = tags.aspect,
          .frame_rate = tags.rate,
          .chroma_location = tags.space.chroma_location,
          .field_order = tags.field_order};
}

bool is_y4m_frame_line(std::string_view line) noexcept {
  return line.starts_with(y4m_frame_magic) &&
         (line.size() == y4m_frame_magic.size() || line[y4m_frame_magic.size()] == ' ');
}

std::string y4m_header(const StreamFormat& format) {
  const ColourSpace* space = find_space(format);
  const bool rate_is_known = format.frame_rate.numerator != 0;
  std::string line =
      std::string(y4m_magic) + " W" + std::to_string(format.layout.width) + " H" +
      std::to_string(format.layout.height) + " F" + std::to_string(format.frame_rate.numerator) + ":" +
      std::to_string(rate_is_known ? format.frame_rate.denominator : 0) + " I" +
      interlacing_letter(format.field_order) + " A" + std::to_string(format.sample_aspect_ratio.numerator) + ":" +
      std::to_string(format.sample_aspect_ratio.denominator) + " C" + std::string(space != nullptr ? space->name : "");
  if (format.colour.range != ColourRange::unspecified) {
    line += format.colour.range == ColourRange::full ? " XCOLORRANGE=FULL" : " XCOLORRANGE=LIMITED";
  }
  return line + "\n";
}

bool y4m_says_chroma_location(const StreamFormat& format) noexcept {
  if (!is_subsampled(format.layout.format)) {
    return true;  // no chroma location to state
  }
  const auto location =
      format.chroma_location == ChromaLocation::unspecified ? ChromaLocation::left : format.chroma_location;
  const ColourSpace* space = find_space(format);
  return space != nullptr &&
         (space->chroma_location == ChromaLocation::unspecified ? ChromaLocation::left : space->chroma_location) ==
             location;
}

PixelFormat y4m_format(PixelFormat format) noexcept {
  const PixelFormatInfo& wanted = info(format);
  for (const ColourSpace& space : colour_spaces) {
    const PixelFormatInfo& entry = info(space.format);
    if (space.format == format) {
      return format;
    }
    // Chroma is in the last plane; packed 4:2:2 has only one plane.
    const PlaneShape& ours = wanted.planes.at(wanted.plane_count - 1U);
    const PlaneShape& theirs = entry.planes.at(entry.plane_count - 1U);
    if (wanted.is_yuv && entry.is_yuv && entry.depth == wanted.depth && theirs.log2_width == ours.log2_width &&
        theirs.log2_height == ours.log2_height) {
      return space.format;
    }
  }
  return PixelFormat::yuv444p;
}

}  // namespace framewire
