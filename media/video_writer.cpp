#include "media/video_writer.hpp"

#include <array>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/text.hpp"
#include "media/av_convert.hpp"
#include "media/av_format.hpp"
#include "media/libav.hpp"
#include "media/y4m.hpp"

namespace framewire {

namespace {

using namespace libav;

void free_nothing(void* /*opaque*/, std::uint8_t* /*data*/) {}

/// Whether `layout` is the same as rawvideo's.
bool is_packed(const FrameLayout& layout) {
  return layout.planes == packed_layout(layout.format, layout.width, layout.height).planes;
}

/// With the matrix and range that readers assume where nothing is said.
Colour assumed_colour(Colour colour, const FrameLayout& layout) {
  if (colour.matrix == ColourMatrix::unspecified) {
    colour.matrix = likely_matrix(layout.height);
  }
  if (colour.range == ColourRange::unspecified) {
    colour.range = is_gray(layout.format) ? ColourRange::full : ColourRange::limited;
  }
  return colour;
}

/// Whether the same samples are the same colours. Other primaries and transfer functions cannot be converted.
bool have_same_colours(const Colour& one, const Colour& other, const FrameLayout& layout) {
  if (!info(layout.format).is_yuv && !is_gray(layout.format)) {
    return true;
  }
  const Colour a = assumed_colour(one, layout);
  const Colour b = assumed_colour(other, layout);
  const LumaWeights a_weights = luma_weights(a.matrix, layout.height);
  const LumaWeights b_weights = luma_weights(b.matrix, layout.height);
  return a.range == b.range &&
         (is_gray(layout.format) || (a_weights.kr == b_weights.kr && a_weights.kb == b_weights.kb));
}

}  // namespace

class VideoWriter::Implementation {
 public:
  Implementation(std::string target, Log* log, std::function<bool()> is_stopping, int fd_for_dash)
      : target_(std::move(target)),
        is_y4m_(target_ == "-" || target_.ends_with(".y4m")),
        log_(log),
        file_(target_, std::move(is_stopping), fd_for_dash) {
    prepare();
  }

  WriteResult write(const StreamFormat& format, const FrameLayout& layout, std::span<const std::byte> payload,
                    std::uint32_t times);
  [[nodiscard]] bool states_rate() const noexcept { return is_y4m_; }

  std::uint64_t frames_written_ = 0;
  std::string message_;
  StreamFormat output_;  // of every frame in the file

 private:
  void say(const std::string& text) {
    if (log_ != nullptr) {
      log_->info(text);
    }
  }
  void begin(const StreamFormat& format);
  void say_change(const StreamFormat& format, const FrameLayout& layout);
  [[nodiscard]] bool is_as_the_first(const StreamFormat& format, const FrameLayout& layout) const;
  std::span<const std::byte> bytes_to_write(const StreamFormat& format, const FrameLayout& layout,
                                            std::span<const std::byte> payload);
  WriteResult fail(WriteResult result, const std::string& reason);

  const std::string target_;
  const bool is_y4m_;
  Log* log_;  // null: nothing is told
  OutputFile file_;
  bool has_begun_ = false;
  bool said_change_ = false;
  std::string header_;  // not yet written
  Converter converter_;
  Frame wrapper_ = make_frame();
  std::vector<std::byte> packed_;  // one frame, if it cannot be written from its own memory
  WriteResult result_ = WriteResult::written;
};

void VideoWriter::Implementation::begin(const StreamFormat& format) {
  const PixelFormat given = format.layout.format;
  const PixelFormat wanted = is_y4m_ ? y4m_format(given) : given;
  output_ = format;
  output_.layout = packed_layout(wanted, format.layout.width, format.layout.height);
  output_.colour = converted_colour(format.colour, to_av(given), wanted, format.layout.height);
  output_.chroma_location = converted_chroma_location(format.chroma_location, to_av(given), wanted);
  if (is_y4m_) {
    header_ = y4m_header(output_);
    if (!y4m_says_chroma_location(output_)) {
      say("--output: y4m has no word for chroma that lies at " + std::string(name(output_.chroma_location)) + " in " +
          std::string(info(wanted).name) + "; readers of the file will assume another place");
    }
    if (output_.field_order == FieldOrder::mixed) {
      say("--output: which frames are interlaced changes from frame to frame; the file says that it is unknown");
    }
  }
  if (wanted == PixelFormat::yuv444p && given != wanted) {
    say("--output: y4m carries no " + std::string(info(given).name) +
        "; the frames are converted to yuv444p (a FILE of another name gets them unchanged)");
  }
  has_begun_ = true;
}

bool VideoWriter::Implementation::is_as_the_first(const StreamFormat& format, const FrameLayout& layout) const {
  const FrameLayout& first = output_.layout;
  return layout.format == first.format && layout.width == first.width && layout.height == first.height &&
         have_same_colours(format.colour, output_.colour, first);
}

std::span<const std::byte> VideoWriter::Implementation::bytes_to_write(const StreamFormat& format,
                                                                       const FrameLayout& layout,
                                                                       std::span<const std::byte> payload) {
  const bool is_the_same = is_as_the_first(format, layout);
  if (is_the_same && is_packed(layout)) {
    return payload.first(output_.layout.size_bytes);
  }
  if (!is_the_same && has_depth(output_.layout.format)) {
    return {};  // libav has no such format
  }
  av_frame_unref(wrapper_.get());
  describe_memory(layout, payload.data(), *wrapper_);
  const AVFrame* picture = wrapper_.get();
  if (!is_the_same) {
    // A reference that frees nothing. Without it libswscale would copy the picture first.
    wrapper_->buf[0] =
        av_buffer_create(wrapper_->data[0], payload.size(), free_nothing, nullptr, AV_BUFFER_FLAG_READONLY);
    picture = converter_.convert(*wrapper_, assumed_colour(format.colour, layout),
                                 {output_.layout.format, output_.layout.width, output_.layout.height,
                                  assumed_colour(output_.colour, output_.layout)});
    if (picture == nullptr) {
      return {};
    }
  }
  packed_.resize(output_.layout.size_bytes);
  copy_packed(*picture, output_.layout, packed_.data());
  return packed_;
}

/// Says once that frames of another size or colour follow.
void VideoWriter::Implementation::say_change(const StreamFormat& format, const FrameLayout& layout) {
  const FrameLayout& first = output_.layout;
  const bool is_other_size = layout.width != first.width || layout.height != first.height;
  const bool is_other_colour =
      layout.format == first.format && !have_same_colours(format.colour, output_.colour, first);
  if (said_change_ || (!is_other_size && !is_other_colour)) {
    return;
  }
  const auto description = [&](const StreamFormat& of) {
    return framewire::describe(of) + (is_other_colour ? " (" + describe_colour(of) + ")" : "");
  };
  said_change_ = true;
  say("--output: the stream changed to " + description(format) + "; its frames are converted to " +
      description(output_) + ", with which the file began");
}

WriteResult VideoWriter::Implementation::write(const StreamFormat& format, const FrameLayout& layout,
                                               std::span<const std::byte> payload, std::uint32_t times) {
  if (result_ != WriteResult::written) {
    return result_;
  }
  if (layout.format == PixelFormat::bytes) {
    return fail(WriteResult::failed, "the stream carries bytes, not pictures; there is nothing to record");
  }
  if (const auto fault = validate_layout(layout, payload.size())) {
    return fail(WriteResult::failed, *fault);
  }
  if (!has_begun_) {
    begin(format);
  } else {
    say_change(format, layout);
  }
  const std::span<const std::byte> frame = bytes_to_write(format, layout, payload);
  if (frame.empty()) {
    return fail(WriteResult::failed, "a frame of " + std::string(info(layout.format).name) + " could not be converted");
  }
  constexpr std::string_view frame_line = "FRAME\n";
  const std::array parts = {std::as_bytes(std::span(header_)),
                            is_y4m_ ? std::as_bytes(std::span(frame_line)) : std::span<const std::byte>{}, frame};
  const std::span<const std::span<const std::byte>> all(parts);
  for (std::uint32_t i = 0; i < times; ++i) {
    const WriteResult result = file_.write(i == 0 ? all : all.subspan(1));
    if (result != WriteResult::written) {
      return fail(result, result == WriteResult::stopped ? "stopped while its reader did not read"
                                                         : errno_text(file_.error_number()));
    }
    ++frames_written_;
  }
  header_.clear();
  return WriteResult::written;
}

WriteResult VideoWriter::Implementation::fail(WriteResult result, const std::string& reason) {
  const std::string name = target_ == "-" ? "standard output" : quote(target_, 200);
  message_ = (result == WriteResult::reader_gone ? "the reader of " + name + " has gone"
                                                 : "cannot write " + name + ": " + reason) +
             "; it got " + std::to_string(frames_written_) + (frames_written_ == 1 ? " whole frame" : " whole frames");
  result_ = result;
  packed_ = {};
  return result;
}

VideoWriter::VideoWriter(std::string target, Log& log, std::function<bool()> is_stopping, int fd_for_dash,
                         bool tells_conversions)
    : implementation_(std::make_unique<Implementation>(std::move(target), tells_conversions ? &log : nullptr,
                                                       std::move(is_stopping), fd_for_dash)) {}
VideoWriter::~VideoWriter() = default;
WriteResult VideoWriter::write(const StreamFormat& format, const FrameLayout& layout,
                               std::span<const std::byte> payload, std::uint32_t times) noexcept {
  return implementation_->write(format, layout, payload, times);
}
bool VideoWriter::states_rate() const noexcept {
  return implementation_->states_rate();
}
Rational VideoWriter::frame_rate() const noexcept {
  return implementation_->output_.frame_rate;
}
std::uint64_t VideoWriter::frames_written() const noexcept {
  return implementation_->frames_written_;
}
const std::string& VideoWriter::message() const noexcept {
  return implementation_->message_;
}

}  // namespace framewire
