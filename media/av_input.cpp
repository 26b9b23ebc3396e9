#include "media/av_input.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <thread>
#include <utility>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/text.hpp"
#include "media/av_convert.hpp"
#include "media/av_format.hpp"
#include "media/av_open.hpp"
#include "media/frame_rate.hpp"
#include "media/libav.hpp"

namespace framewire {

namespace {

using namespace libav;

constexpr std::int64_t silence_limit_ns = 30 * ns_per_s;  // of a network or a device, before it counts as broken
constexpr std::int64_t guessed_duration_ns = 40 * ns_per_ms;
constexpr int most_errors_at_the_end = 1000;  // a decoder that is being emptied must come to an end

}  // namespace

class AvInput::Implementation {
 public:
  Implementation(AvInputOptions options, Log& log) : options_(std::move(options)), log_(&log) {
    interrupt_.set_cancelled(std::exchange(options_.is_cancelled, {}));
    open();
    read_first();
  }

  AvRead read() noexcept;
  bool rewind();
  void copy_to(std::span<std::byte> slot) const noexcept;
  [[nodiscard]] std::string describe() const;

  Interrupt interrupt_;  // before what refers to it
  OpenedInput input_;
  StreamFormat format_;
  std::int64_t pts_ns_ = 0;
  std::int64_t duration_ns_ = guessed_duration_ns;
  std::string fault_;
  std::uint64_t error_count_ = 0;              // that the decoder's functions returned
  std::atomic<std::uint64_t> complaints_ = 0;  // that it logged
  std::uint64_t frame_count_ = 0;

 private:
  void open();
  void read_first();
  AvRead decode_next() noexcept;
  std::optional<AvRead> feed() noexcept;
  std::optional<AvRead> fetch_packet(Messages& messages) noexcept;
  [[nodiscard]] bool has_unread_rest() const noexcept;
  AvRead finish() noexcept;
  bool take_picture() noexcept;
  void describe_samples() noexcept;
  bool convert(PixelFormat target) noexcept;
  void set_time() noexcept;
  void set_fault(const std::string& reason);
  bool seek_to_first();

  AvInputOptions options_;
  Log* log_;
  int stream_index_ = 0;
  CodecContext decoder_;
  Packet packet_ = make_packet();
  Frame frame_ = make_frame();
  Converter converter_;
  const AVFrame* picture_ = nullptr;  // frame_, or what the converter made of it
  Rational frame_rate_{0, 1};
  bool counts_time_ = false;     // by frame_rate_, not by timestamps
  bool first_is_ready_ = false;  // decoded already, not yet handed out
  bool is_draining_ = false;
  bool is_over_ = false;
  bool said_conversion_ = false;
  std::optional<std::int64_t> first_timestamp_;
  std::uint64_t frames_this_round_ = 0;
  std::int64_t last_packet_end_bytes_ = 0;
  std::string read_problem_;  // why the last packet is not whole, or none came
};

void AvInput::Implementation::open() {
  decoder_.reset();
  input_ = open_input(options_, interrupt_);
  stream_index_ = find_video(options_.name, *input_.context);
  AVStream& stream = *input_.context->streams[stream_index_];
  if (const int degrees = rotation_degrees(stream); degrees != 0 && frame_count_ == 0) {
    log_->warning(
        quote(options_.name, 200) + " asks to be turned by " + std::to_string(degrees) +
        " degrees, and is shown as it is coded; to turn it: ffmpeg -i FILE -f yuv4mpegpipe - | framewire send -");
  }
  decoder_ = open_decoder(options_.name, stream, input_.is_live, complaints_);
  frame_rate_ = to_rational(av_guess_frame_rate(input_.context.get(), &stream, nullptr)).value_or(Rational{0, 1});
  counts_time_ = options_.frames_per_s > 0 && !input_.takes_frame_rate;
  if (counts_time_) {
    frame_rate_ = rational_rate(options_.frames_per_s);
  }
  duration_ns_ = frame_rate_.numerator != 0 ? frame_time_ns(frame_rate_, 1) : guessed_duration_ns;
  is_draining_ = is_over_ = false;
  frames_this_round_ = 0;
  first_timestamp_.reset();
  read_problem_.clear();
}

void AvInput::Implementation::read_first() {
  const std::int64_t deadline_ns = monotonic_ns() + silence_limit_ns;
  AvRead result = AvRead::none_yet;
  while ((result = decode_next()) == AvRead::none_yet && monotonic_ns() < deadline_ns && !interrupt_.is_cancelled()) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  if (result == AvRead::frame) {
    first_is_ready_ = true;
    return;
  }
  const std::string start = "cannot play " + quote(options_.name, 200) + ": ";
  if (result == AvRead::cancelled) {
    throw Error::failed(start + "it was stopped before the first picture");
  }
  if (result == AvRead::none_yet) {
    throw Error::failed(start + "the device gave no picture within 30 s; look whether another program uses it");
  }
  throw Error::failed(start + "not one picture of its " + avcodec_get_name(decoder_->codec_id) +
                      " video could be decoded" + (fault_.empty() ? "" : " (" + fault_ + ")"));
}

AvRead AvInput::Implementation::read() noexcept {
  if (std::exchange(first_is_ready_, false)) {
    return AvRead::frame;
  }
  return decode_next();
}

AvRead AvInput::Implementation::decode_next() noexcept {
  int errors_at_the_end = 0;
  while (!is_over_) {
    const int code = avcodec_receive_frame(decoder_.get(), frame_.get());
    if (code == 0) {
      if (take_picture()) {
        return AvRead::frame;
      }
      break;
    }
    if (code == AVERROR_EOF) {
      return finish();
    }
    if (code != AVERROR(EAGAIN)) {
      ++error_count_;
      if (is_draining_ && ++errors_at_the_end > most_errors_at_the_end) {
        return finish();
      }
    }
    if (!is_draining_) {
      if (const std::optional<AvRead> result = feed()) {
        return *result;
      }
    } else if (code == AVERROR(EAGAIN)) {
      return finish();
    }
  }
  is_over_ = true;
  return AvRead::end;
}

/// Gives the decoder its next packet, or the end of the input. A result: nothing can be had now, or it was cancelled.
std::optional<AvRead> AvInput::Implementation::feed() noexcept {
  Messages messages;
  if (const std::optional<AvRead> result = fetch_packet(messages)) {
    return result;
  }
  const int code = avcodec_send_packet(decoder_.get(), is_draining_ ? nullptr : packet_.get());
  if (code < 0 && !is_draining_) {
    ++error_count_;
    if (!read_problem_.empty()) {
      read_problem_ = "the last picture is cut off";
    }
  }
  av_packet_unref(packet_.get());
  return std::nullopt;
}

/// The next packet of our stream in packet_; or is_draining_, with read_problem_ if that is no regular end.
std::optional<AvRead> AvInput::Implementation::fetch_packet(Messages& messages) noexcept {
  interrupt_.set_deadline_ns(input_.is_network ? monotonic_ns() + silence_limit_ns : 0);
  for (;;) {
    messages.clear();
    const int code = av_read_frame(input_.context.get(), packet_.get());
    if (code == 0 && packet_->stream_index == stream_index_) {
      last_packet_end_bytes_ = packet_->pos + packet_->size;
      const bool is_cut = (packet_->flags & AV_PKT_FLAG_CORRUPT) != 0;
      read_problem_ = !is_cut ? "" : messages.last().empty() ? "the last picture is cut off" : messages.last();
      return std::nullopt;
    }
    if (code == 0) {
      av_packet_unref(packet_.get());
      continue;
    }
    if (code == AVERROR(EAGAIN)) {
      return AvRead::none_yet;
    }
    if (interrupt_.is_cancelled()) {
      return AvRead::cancelled;
    }
    if (interrupt_.is_late()) {
      read_problem_ = "nothing came for 30 s";
    } else if (code != AVERROR_EOF || !messages.last().empty()) {
      read_problem_ = messages.reason(code);
    } else if (has_unread_rest()) {
      read_problem_ = "the last picture is cut off";
    }
    is_draining_ = true;
    return std::nullopt;
  }
}

/// libav passes over the beginning of a picture at the end of a y4m file without a word. Other formats have more than
/// pictures.
bool AvInput::Implementation::has_unread_rest() const noexcept {
  const AVFormatContext& context = *input_.context;
  return std::string_view(context.iformat->name) == "yuv4mpegpipe" && avio_size(context.pb) > last_packet_end_bytes_;
}

AvRead AvInput::Implementation::finish() noexcept {
  is_over_ = true;
  if (!read_problem_.empty()) {
    set_fault(read_problem_);
  }
  return AvRead::end;
}

void AvInput::Implementation::set_fault(const std::string& reason) {
  fault_ = quote(options_.name, 200) + " breaks off after " + std::to_string(frames_this_round_) +
           (frames_this_round_ == 1 ? " frame: " : " frames: ") + reason;
}

/// Makes picture_, format_ and the time of frame_. False, with fault_, when this picture cannot be carried.
bool AvInput::Implementation::take_picture() noexcept {
  if ((frame_->flags & AV_FRAME_FLAG_CORRUPT) != 0 || frame_->decode_error_flags != 0) {
    ++error_count_;
  }
  const auto coded = static_cast<AVPixelFormat>(frame_->format);
  const auto most = static_cast<int>(max_frame_side_pixels);
  if (frame_->width < 1 || frame_->height < 1 || frame_->width > most || frame_->height > most) {
    set_fault("the next picture is " + std::to_string(frame_->width) + "x" + std::to_string(frame_->height) +
              "; framewire carries sides up to 32768 pixels");
    return false;
  }
  const PixelFormat target = options_.pixel_format.value_or(carried(coded).value_or(nearest_carried(coded)));
  const bool has_size = options_.size.width == 0 || (frame_->width == static_cast<int>(options_.size.width) &&
                                                     frame_->height == static_cast<int>(options_.size.height));
  picture_ = frame_.get();
  format_.colour = colour_of(*frame_);
  describe_samples();
  frame_->format = without_range(coded);
  if ((carried(coded) != target || !has_size) && !convert(target)) {
    return false;
  }
  AVStream* stream = input_.context->streams[stream_index_];
  format_.layout =
      packed_layout(target, static_cast<std::uint32_t>(picture_->width), static_cast<std::uint32_t>(picture_->height));
  format_.frame_rate = frame_rate_;
  format_.sample_aspect = has_size
                              ? to_rational(av_guess_sample_aspect_ratio(input_.context.get(), stream, frame_.get()))
                                    .value_or(Rational{1, 1})
                              : Rational{1, 1};
  set_time();
  ++frame_count_;
  ++frames_this_round_;
  return true;
}

/// What frame_ says of its chroma, fields and alpha.
void AvInput::Implementation::describe_samples() noexcept {
  const AVCodecParameters& stream = *input_.context->streams[stream_index_]->codecpar;
  format_.chroma_location = chroma_location_of(*frame_, stream);
  format_.alpha_mode = alpha_mode_of(*frame_, stream.codec_id);
  if (frame_count_ == 0) {
    format_.field_order = field_order_of(stream, *frame_);
  }
}

bool AvInput::Implementation::convert(PixelFormat target) noexcept {
  const auto coded = static_cast<AVPixelFormat>(frame_->format);
  const bool is_scaled = options_.size.width != 0;
  PictureTarget wanted{.format = target,
                       .width = is_scaled ? options_.size.width : static_cast<std::uint32_t>(frame_->width),
                       .height = is_scaled ? options_.size.height : static_cast<std::uint32_t>(frame_->height),
                       .colour = {}};
  wanted.colour = converted_colour(format_.colour, coded, target, wanted.height);
  picture_ = converter_.convert(*frame_, format_.colour, wanted);
  if (picture_ == nullptr) {
    set_fault("libswscale cannot convert " + std::string(name(coded)) + " to " + std::string(info(target).name));
    return false;
  }
  format_.colour = wanted.colour;
  format_.chroma_location = converted_chroma_location(format_.chroma_location, coded, target);
  format_.alpha_mode = has_alpha(target) ? format_.alpha_mode : AlphaMode::unspecified;
  if (!std::exchange(said_conversion_, true) && !options_.pixel_format && !carried(coded)) {
    log_->info("source pixel format " + std::string(name(coded)) + " is not carried; converted to " +
               std::string(info(target).name));
  }
  return true;
}

void AvInput::Implementation::set_time() noexcept {
  if (counts_time_) {
    pts_ns_ = frame_time_ns(frame_rate_, frames_this_round_);
    return;
  }
  const std::int64_t timestamp = frame_->best_effort_timestamp;
  if (timestamp == AV_NOPTS_VALUE) {
    pts_ns_ = frames_this_round_ == 0 ? 0 : pts_ns_ + duration_ns_;
    return;
  }
  if (!first_timestamp_) {
    first_timestamp_ = timestamp;
  }
  std::int64_t since_first = 0;
  if (__builtin_sub_overflow(timestamp, *first_timestamp_, &since_first)) {
    since_first = 0;  // a file may claim anything
  }
  constexpr AVRational nanoseconds{1, static_cast<int>(ns_per_s)};
  pts_ns_ = std::max<std::int64_t>(
      0, av_rescale_q(since_first, input_.context->streams[stream_index_]->time_base, nanoseconds));
}

bool AvInput::Implementation::rewind() {
  const bool comes_once =
      input_.is_live || (input_.context->pb != nullptr && input_.context->pb->seekable == 0 && !input_.is_network);
  if (comes_once) {
    fault_ = quote(options_.name, 200) + " cannot be played again: what it gives comes only once";
    return false;
  }
  fault_.clear();
  if (seek_to_first()) {
    return true;
  }
  try {
    open();
    read_first();
  } catch (const Error& error) {
    fault_ = error.what();
    is_over_ = true;
    return false;
  }
  return true;
}

/// Opening again always gets the first picture, but takes time; a seek is used where it leads to the very same one.
bool AvInput::Implementation::seek_to_first() {
  if (!first_timestamp_ ||
      avformat_seek_file(input_.context.get(), stream_index_, INT64_MIN, *first_timestamp_, *first_timestamp_, 0) < 0) {
    return false;
  }
  avcodec_flush_buffers(decoder_.get());
  const std::int64_t first = *first_timestamp_;
  is_draining_ = is_over_ = false;
  frames_this_round_ = 0;
  read_problem_.clear();
  first_is_ready_ = decode_next() == AvRead::frame && frame_->best_effort_timestamp == first;
  return first_is_ready_;
}

void AvInput::Implementation::copy_to(std::span<std::byte> slot) const noexcept {
  copy_packed(*picture_, format_.layout, slot.data());
}

std::string AvInput::Implementation::describe() const {
  return std::string(avcodec_get_name(decoder_->codec_id)) + ", " + framewire::describe(format_);
}

AvInput::AvInput(AvInputOptions options, Log& log)
    : implementation_(std::make_unique<Implementation>(std::move(options), log)) {}
AvInput::~AvInput() = default;
AvRead AvInput::read() noexcept {
  return implementation_->read();
}
const StreamFormat& AvInput::format() const noexcept {
  return implementation_->format_;
}
std::int64_t AvInput::pts_ns() const noexcept {
  return implementation_->pts_ns_;
}
std::int64_t AvInput::duration_ns() const noexcept {
  return implementation_->duration_ns_;
}
void AvInput::copy_to(std::span<std::byte> slot) const noexcept {
  implementation_->copy_to(slot);
}
bool AvInput::rewind() {
  return implementation_->rewind();
}
bool AvInput::is_live() const noexcept {
  return implementation_->input_.is_live;
}
const std::string& AvInput::fault() const noexcept {
  return implementation_->fault_;
}
std::uint64_t AvInput::error_count() const noexcept {
  return std::max(implementation_->error_count_, implementation_->complaints_.load());
}
std::uint64_t AvInput::frame_count() const noexcept {
  return implementation_->frame_count_;
}
std::string AvInput::describe() const {
  return implementation_->describe();
}
void AvInput::set_cancelled(std::function<bool()> is_cancelled) {
  implementation_->interrupt_.set_cancelled(std::move(is_cancelled));
}

}  // namespace framewire
