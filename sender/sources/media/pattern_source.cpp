#include "sender/sources/media/pattern_source.hpp"

#include <utility>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/text.hpp"
#include "frame/test_pattern.hpp"
#include "media/frame_rate.hpp"

namespace framewire {

namespace {

constexpr std::uint32_t default_width = 3840;
constexpr std::uint32_t default_height = 2160;
constexpr double default_frames_per_s = 60;

Colour pattern_colour(PixelFormat format) {
  if (info(format).is_yuv) {
    return {ColourMatrix::bt709, ColourRange::limited, ColourTransfer::bt709, ColourPrimaries::bt709};
  }
  const ColourMatrix matrix = is_gray(format) ? ColourMatrix::unspecified : ColourMatrix::rgb;
  return {matrix, ColourRange::full, ColourTransfer::srgb, ColourPrimaries::bt709};
}

bool is_bars(const std::string& name) {
  if (name == "pattern" || name == "pattern:bars") {
    return true;
  }
  if (name == "pattern:stamped") {
    return false;
  }
  throw Error::usage("there is no source " + quote(name) + "; the patterns are pattern:bars and pattern:stamped");
}

}  // namespace

PatternSource::PatternSource(const SourceOptions& options) : name_(options.name), is_paced_(options.realtime) {
  const PixelFormat format = options.pixel_format.value_or(PixelFormat::rgba);
  if (format == PixelFormat::bytes) {
    throw Error::usage("--pix-fmt bytes is no picture; it can be " + pixel_format_names());
  }
  const bool has_bars = is_bars(name_);
  const bool has_size = options.width != 0;
  format_.layout =
      packed_layout(format, has_size ? options.width : default_width, has_size ? options.height : default_height);
  format_.colour = pattern_colour(format);
  format_.field_order = FieldOrder::progressive;
  format_.frame_rate = rational_rate(options.frames_per_s > 0 ? options.frames_per_s : default_frames_per_s);
  if (has_bars) {
    // BarsPicture averages the two pixels that a chroma sample covers, so the sample lies between them.
    format_.chroma_location = is_subsampled(format) ? ChromaLocation::center : ChromaLocation::unspecified;
    bars_.emplace(format_.layout);
  }
  slices_ = slices_of_frame(options, format_.layout.size_bytes);
}

std::string PatternSource::describe() const {
  return name_ + ", " + framewire::describe(format_);
}

void PatternSource::run(Stream& stream) {
  stream.begin_epoch(format_);
  PresentationClock presentation_clock(frame_time_ns(format_.frame_rate, 1));
  for (std::uint64_t index = 0;; ++index) {
    std::optional<ClaimedSlot> slot = stream.claim();
    if (!slot) {
      return;
    }
    const std::int64_t pts_ns = frame_time_ns(format_.frame_rate, index);
    if (is_paced_ && !stream.sleep_until(presentation_clock.due_ns(pts_ns, monotonic_ns()))) {
      return;
    }
    auto frame = stream.begin_frame(std::move(*slot),
                                    {.pts_ns = pts_ns,
                                     .user_tag = bars_ ? test_marks_tag : test_lines_tag,
                                     .has_test_pattern = true,
                                     .layout = {},
                                     .begun_ns = monotonic_ns()},
                                    slices_);
    for (std::uint16_t i = 0; frame && i < frame->slice_count(); ++i) {
      draw(*frame, index, i);
      frame->publish(i);
    }
  }
}

void PatternSource::draw(const BegunFrame& frame, std::uint64_t index, std::uint16_t slice) const noexcept {
  const ByteRange range = frame.slice(slice);
  const std::span<std::byte> bytes = frame.bytes().subspan(range.offset_bytes, range.size_bytes);
  if (bars_) {
    bars_->draw(frame.bytes(), index, range);
    write_test_marks(bytes, frame.sequence(), test_mark_bytes, range.offset_bytes);
  } else {
    write_test_lines(bytes, frame.sequence(), range.offset_bytes / test_line_bytes);
  }
}

}  // namespace framewire
