#include "sender/sources/media/pattern_source.hpp"

#include <utility>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/text.hpp"
#include "frame/test_pattern.hpp"
#include "media/frame_rate.hpp"
#include "transport/slice_count.hpp"

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

/// The presentation times of frames, in the stream's rate or as a viewer asks for it.
class PatternTimes {
 public:
  explicit PatternTimes(const Rational& rate) noexcept : rate_(rate) {}

  [[nodiscard]] std::int64_t pts_ns(std::uint64_t index) const noexcept {
    const std::uint64_t since = index - first_index_;
    return first_pts_ns_ +
           (period_ns_ == 0 ? frame_time_ns(rate_, since) : static_cast<std::int64_t>(since) * period_ns_);
  }
  /// How much later than by its presentation time a frame is made.
  [[nodiscard]] std::int64_t shift_ns() const noexcept { return shift_ns_; }

  /// From the frame `index` on.
  void change(std::uint64_t index, const CadenceRequest& request) noexcept {
    const std::uint64_t last = index == 0 ? 0 : index - 1;
    first_pts_ns_ = pts_ns(last);
    first_index_ = last;
    period_ns_ = request.period_ns;
    shift_ns_ += request.shift_ns;
  }

 private:
  const Rational rate_;
  std::uint64_t first_index_ = 0;
  std::int64_t first_pts_ns_ = 0;
  std::int64_t period_ns_ = 0;  // 0: as the rate says
  std::int64_t shift_ns_ = 0;
};

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
  slices_ = slices_of_frame(options.slices, format_.layout.size_bytes);
}

std::string PatternSource::describe() const {
  return name_ + ", " + framewire::describe(format_);
}

void PatternSource::run(Stream& stream) {
  stream.begin_epoch(format_);
  PresentationClock presentation_clock(frame_time_ns(format_.frame_rate, 1));
  PatternTimes times(format_.frame_rate);
  if (is_paced_) {
    stream.cadence().offer(frame_time_ns(format_.frame_rate, 1));
  }
  for (std::uint64_t index = 0;; ++index) {
    std::optional<ClaimedSlot> slot = stream.claim();
    if (!slot) {
      return;
    }
    if (const auto change = stream.cadence().take_change()) {
      times.change(index, *change);
    }
    const std::int64_t pts_ns = times.pts_ns(index);
    if (is_paced_ && !stream.sleep_until(presentation_clock.due_ns(pts_ns + times.shift_ns(), monotonic_ns()))) {
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
