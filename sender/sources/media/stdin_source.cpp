#include "sender/sources/media/stdin_source.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/pipe.hpp"
#include "base/text.hpp"
#include "media/frame_rate.hpp"
#include "media/y4m.hpp"
#include "transport/slice_count.hpp"

namespace framewire {

namespace {

ReadResult checked(ReadResult result, const StreamReader& reader) {
  if (result == ReadResult::failed) {
    throw Error::from_errno("read standard input", reader.error_number());
  }
  return result;
}

}  // namespace

StdinSource::StdinSource(SourceOptions options, int fd) : options_(std::move(options)), fd_(fd) {
  const int flags = ::fcntl(fd_, F_GETFL);
  if (flags < 0 || (flags & O_ACCMODE) == O_WRONLY) {  // a closed one: reserve_standard_fds() has replaced it
    throw Error::failed("standard input is closed; pipe y4m or raw frames into it, or name a file as SOURCE");
  }
  if (::isatty(fd_) == 1) {
    throw Error::usage(
        "standard input is a terminal; pipe frames into it, as in: ffmpeg -i FILE -f yuv4mpegpipe - | framewire send "
        "-");
  }
  if (options_.loop) {
    throw Error::usage("--loop does not work with standard input, which comes only once; name a file as SOURCE");
  }
  if (options_.pixel_format == PixelFormat::bytes) {
    throw Error::usage("--pix-fmt bytes is no picture; it can be " + pixel_format_names());
  }
  if (options_.width != 0 && options_.pixel_format) {
    format_.layout = packed_layout(*options_.pixel_format, options_.width, options_.height);
  }
  enlarge_pipe(fd_);
}

std::string StdinSource::describe() const {
  if (format_.layout.width != 0) {
    return "standard input, " + framewire::describe(format_);
  }
  return options_.width != 0     ? "standard input, as y4m (raw frames need --pix-fmt, too)"
         : options_.pixel_format ? "standard input, as y4m (raw frames need --size, too)"
                                 : "standard input";
}

void StdinSource::run(Stream& stream) {
  // With --frames the stream is already stopping once the last frame is claimed, but that frame must still be read.
  // While a slot is claimed, only stop() ends reading; sleep_until checks for that.
  StreamReader reader(fd_, [&] { return has_slot_ ? !stream.sleep_until(0) : stream.is_stopping(); });
  if (!recognise(reader)) {
    return;
  }
  stream.begin_epoch(format_);
  while (await_frame(reader) && send_frame(stream, reader)) {
  }
  if (frames_sent_ == 0 && !stream.is_stopping()) {
    throw Error::failed(is_y4m_ ? "standard input ended after the y4m header; there was no frame"
                                : "standard input ended before the first frame");
  }
}

/// Detects the input's format and sets format_. False when stopped before that.
bool StdinSource::recognise(StreamReader& reader) {
  std::array<std::byte, y4m_magic.size()> first{};
  if (checked(reader.fill(first), reader) == ReadResult::stopped) {
    return false;
  }
  const std::string beginning(reinterpret_cast<const char*>(first.data()), reader.filled_bytes());
  if (beginning.empty()) {
    throw Error::failed("nothing came on standard input; it takes y4m, or raw frames with --size WxH --pix-fmt NAME");
  }
  reader.put_back(beginning);
  is_y4m_ = beginning == y4m_magic;
  if (is_y4m_ && !take_y4m_header(reader)) {
    return false;
  }
  if (!is_y4m_) {
    take_raw_format(beginning);
  }
  if (options_.frames_per_s > 0) {
    format_.frame_rate = rational_rate(options_.frames_per_s);
  }
  if (format_.frame_rate.numerator != 0) {
    presentation_clock_ = PresentationClock(frame_time_ns(format_.frame_rate, 1));
  }
  return true;
}

bool StdinSource::take_y4m_header(StreamReader& reader) {
  std::string line;
  const ReadResult result = checked(reader.read_line(line, max_y4m_line_bytes), reader);
  if (result == ReadResult::ended) {
    throw Error::failed("standard input ended in the middle of the y4m header");
  }
  if (result == ReadResult::too_long) {
    throw Error::failed("the y4m header on standard input has no end within " + std::to_string(max_y4m_line_bytes) +
                        " bytes");
  }
  if (result == ReadResult::stopped) {
    return false;
  }
  format_ = parse_y4m_header(line);
  check_against_options();
  return true;
}

void StdinSource::take_raw_format(const std::string& beginning) {
  if (options_.width == 0 || !options_.pixel_format) {
    throw Error::failed("standard input begins with " + quote(beginning) +
                        ", so it is not y4m (YUV4MPEG2); for raw frames say --size WxH and --pix-fmt NAME");
  }
  const bool is_yuv = info(*options_.pixel_format).is_yuv;
  const bool is_rgb = !is_yuv && !is_gray(*options_.pixel_format);
  format_.colour.matrix = is_rgb ? ColourMatrix::rgb : ColourMatrix::unspecified;
  format_.colour.range = is_yuv ? ColourRange::unspecified : ColourRange::full;
}

void StdinSource::check_against_options() const {
  const FrameLayout& layout = format_.layout;
  if (options_.width != 0 && (options_.width != layout.width || options_.height != layout.height)) {
    throw Error::usage("--size " + std::to_string(options_.width) + "x" + std::to_string(options_.height) +
                       " was asked, but y4m frames of " + std::to_string(layout.width) + "x" +
                       std::to_string(layout.height) + " come on standard input; leave out --size");
  }
  if (options_.pixel_format && *options_.pixel_format != layout.format) {
    throw Error::usage("--pix-fmt " + std::string(info(*options_.pixel_format).name) +
                       " was asked, but y4m frames of " + std::string(info(layout.format).name) +
                       " come on standard input; leave out --pix-fmt");
  }
}

/// Waits for the next frame without claiming a slot. In y4m also reads the frame header. False at the end of the input.
bool StdinSource::await_frame(StreamReader& reader) {
  if (!is_y4m_) {
    std::array<std::byte, 1> first{};
    const ReadResult result = checked(reader.fill(first), reader);
    reader.put_back(std::string(reinterpret_cast<const char*>(first.data()), reader.filled_bytes()));
    return result == ReadResult::whole;
  }
  std::string line;
  const ReadResult result = checked(reader.read_line(line, max_y4m_line_bytes), reader);
  if (result == ReadResult::stopped || (result == ReadResult::ended && line.empty())) {
    return false;
  }
  if (result == ReadResult::ended) {
    throw Error::failed("standard input ended in the line before frame " + std::to_string(frames_sent_ + 1) + so_far());
  }
  if (result == ReadResult::too_long || !is_y4m_frame_line(line)) {
    throw Error::failed("standard input has " + quote(line, 20) + " where y4m has FRAME, before frame " +
                        std::to_string(frames_sent_ + 1) + so_far());
  }
  return true;
}

/// A frame that is due leaves while it is read; one that comes early waits in its slot. The first one waits for a
/// viewer that gets it. False when the stream is stopping.
bool StdinSource::send_frame(Stream& stream, StreamReader& reader) {
  if (frames_sent_ == 0 && !stream.wait_for_ready_viewer()) {
    return false;
  }
  std::optional<ClaimedSlot> slot = stream.claim();
  if (!slot) {
    return false;
  }
  const std::span<std::byte> bytes = slot->bytes().first(format_.layout.size_bytes);
  const std::uint16_t slices = slices_of_frame(options_.slices, bytes.size());
  const bool has_rate = format_.frame_rate.numerator != 0;
  const std::int64_t pts_ns = has_rate ? frame_time_ns(format_.frame_rate, frames_sent_) : 0;
  const std::int64_t due_ns =
      has_rate && options_.realtime ? presentation_clock_.due_ns(pts_ns, monotonic_ns()) : INT64_MIN;
  std::optional<BegunFrame> frame;
  std::uint16_t published = 0;
  for (std::uint16_t i = 0; i < slices; ++i) {
    const ByteRange range = slice_range(bytes.size(), slices, i);
    if (!fill(reader, bytes.subspan(range.offset_bytes, range.size_bytes), range.offset_bytes)) {
      return false;
    }
    const bool is_last = i + 1 == slices;
    if (is_last && !frame && due_ns != INT64_MIN && !stream.sleep_until(due_ns)) {
      return false;
    }
    if (!frame && (is_last || monotonic_ns() >= due_ns)) {
      frame = stream.begin_frame(std::move(*slot), {.pts_ns = pts_ns, .layout = {}}, slices);
    }
    for (; frame && published <= i; ++published) {
      frame->publish(published);
    }
  }
  ++frames_sent_;
  return true;
}

/// Reads a part of a frame, of which `before_bytes` have come. False when the stream is stopping.
bool StdinSource::fill(StreamReader& reader, std::span<std::byte> slice, std::uint64_t before_bytes) {
  has_slot_ = true;
  const ReadResult result = checked(reader.fill(slice), reader);
  has_slot_ = false;
  if (result == ReadResult::ended) {
    throw Error::failed("standard input ended in the middle of frame " + std::to_string(frames_sent_ + 1) + " (" +
                        std::to_string(before_bytes + reader.filled_bytes()) + " of " +
                        std::to_string(format_.layout.size_bytes) + " bytes)" + so_far());
  }
  return result == ReadResult::whole;
}

std::string StdinSource::so_far() const {
  return "; " + std::to_string(frames_sent_) + (frames_sent_ == 1 ? " frame was sent" : " frames were sent");
}

}  // namespace framewire
