#include "media/av_input.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <thread>
#include <utility>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/saturating.hpp"
#include "base/text.hpp"
#include "media/av_format.hpp"
#include "media/av_open.hpp"
#include "media/frame_rate.hpp"
#include "media/libav.hpp"
#include "media/picture_buffers.hpp"
#include "media/presentation.hpp"

namespace framewire {

namespace {

using namespace libav;

constexpr std::int64_t silence_limit_ns = 30 * ns_per_s;  // a network or a device that is silent for longer is broken
constexpr std::int64_t guessed_duration_ns = 40 * ns_per_ms;
constexpr AVRational nanoseconds{1, static_cast<int>(ns_per_s)};
constexpr int max_errors_at_the_end = 1000;  // so that draining a broken decoder ends

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
  bool reopen();
  [[nodiscard]] std::uint32_t place_count() const noexcept;
  [[nodiscard]] std::string describe() const {
    return std::string(avcodec_get_name(decoder_->codec_id)) + ", " + framewire::describe(format_);
  }

  AvInputOptions options_;
  Log* log_;
  Interrupt interrupt_;  // declared before its users
  OpenedInput input_;
  Presentation presentation_{options_, *log_};
  StreamFormat format_;
  std::int64_t pts_ns_ = 0;
  std::int64_t duration_ns_ = guessed_duration_ns;
  std::string fault_;
  std::uint64_t error_count_ = 0;  // errors that the decoder's functions returned
  std::uint64_t frame_count_ = 0;
  PictureBuffers buffers_;
  DecoderOwner owner_{.buffers = &buffers_};  // declared before the decoder

 private:
  void open();
  bool open_again();
  void read_first();
  void seek_to_start();
  void seek_before_start(std::int64_t by_ns) noexcept;
  [[nodiscard]] bool has_timestamps() const noexcept;
  [[nodiscard]] bool is_before_start() noexcept;
  AvRead decode_next() noexcept;
  std::optional<AvRead> feed_decoder() noexcept;
  std::optional<AvRead> fetch_packet(Messages& messages) noexcept;
  void take_end(int code, const Messages& messages) noexcept;
  [[nodiscard]] bool has_unread_rest() const noexcept;
  AvRead finish() noexcept;
  bool take_picture() noexcept;
  void set_time() noexcept;
  void set_fault(const std::string& reason);
  bool seek_to_first();

  int stream_index_ = 0;
  CodecContext decoder_;
  Packet packet_ = make_packet();
  Frame frame_ = make_frame();
  Rational frame_rate_{0, 1};
  bool counts_time_ = false;     // times come from frame_rate_, not from timestamps
  bool first_is_ready_ = false;  // decoded, but not yet returned by read()
  bool is_draining_ = false;
  bool is_over_ = false;
  bool is_lost_ = false;  // it ended by a loss
  std::optional<std::int64_t> first_timestamp_;
  std::optional<std::int64_t> start_timestamp_;         // earlier pictures are dropped
  std::optional<std::int64_t> sought_before_start_ns_;  // how far before; until the first picture after the seek
  std::int64_t passed_over_ns_ = 0;                     // dropped so far, for inputs without timestamps
  std::optional<std::int64_t> resumes_after_;           // first timestamp of a lost recording
  std::uint64_t frames_this_round_ = 0;
  std::int64_t last_packet_end_bytes_ = 0;
  std::string read_problem_;  // why the last packet is damaged or missing
};

void AvInput::Implementation::open() {
  decoder_.reset();
  { const OpenedInput closed = std::move(input_); }  // closes the device before it is reopened
  input_ = open_input(options_, interrupt_, *log_);
  stream_index_ = find_video(options_.name, *input_.context);
  AVStream& stream = *input_.context->streams[stream_index_];
  decoder_ = open_decoder(options_.name, stream, input_, owner_);
  frame_rate_ = to_rational(av_guess_frame_rate(input_.context.get(), &stream, nullptr)).value_or(Rational{0, 1});
  counts_time_ = options_.frames_per_s > 0 && !input_.takes_frame_rate;
  if (counts_time_) {
    frame_rate_ = rational_rate(options_.frames_per_s);
  }
  duration_ns_ = frame_rate_.numerator != 0 ? frame_time_ns(frame_rate_, 1) : guessed_duration_ns;
  is_draining_ = is_over_ = is_lost_ = false;
  frames_this_round_ = 0;
  first_timestamp_ = resumes_after_;
  start_timestamp_.reset();
  sought_before_start_ns_.reset();
  read_problem_.clear();
  seek_to_start();
}

/// Seeks to the key frame before options_.start_ns. If the input cannot seek, earlier pictures are decoded and dropped.
void AvInput::Implementation::seek_to_start() {
  passed_over_ns_ = 0;
  if (options_.start_ns == 0 && !resumes_after_) {
    return;
  }
  if (input_.is_live) {
    throw Error::usage("--start does not work with " + quote(options_.name, 200) +
                       ", which is live and has no beginning; leave out --start");
  }
  const AVStream& stream = *input_.context->streams[stream_index_];
  const std::int64_t begin = stream.start_time != AV_NOPTS_VALUE ? stream.start_time : 0;
  start_timestamp_ =
      resumes_after_
          ? saturating_add(saturating_add(*resumes_after_, av_rescale_q(pts_ns_, nanoseconds, stream.time_base)), 1)
          : saturating_add(begin, av_rescale_q(options_.start_ns, nanoseconds, stream.time_base));
  if (has_timestamps()) {
    seek_before_start(0);
  }
}

/// libav invents the times of raw H.264, without a defined start; for it, pictures are counted instead.
bool AvInput::Implementation::has_timestamps() const noexcept {
  return input_.context->streams[stream_index_]->start_time != AV_NOPTS_VALUE &&
         (input_.context->iformat->flags & AVFMT_NOTIMESTAMPS) == 0;
}

void AvInput::Implementation::seek_before_start(std::int64_t by_ns) noexcept {
  const AVStream& stream = *input_.context->streams[stream_index_];
  const std::int64_t begin = stream.start_time != AV_NOPTS_VALUE ? stream.start_time : 0;
  const std::int64_t to =
      std::max(begin, saturating_subtract(*start_timestamp_, av_rescale_q(by_ns, nanoseconds, stream.time_base)));
  const bool has_sought = avformat_seek_file(input_.context.get(), stream_index_, INT64_MIN, to, to, 0) >= 0;
  sought_before_start_ns_ = has_sought && to > begin ? std::optional(by_ns) : std::nullopt;
}

/// Whether to drop the decoded picture. If the seek led behind the wanted picture (mpegts), seeks again, further back.
bool AvInput::Implementation::is_before_start() noexcept {
  if (!start_timestamp_) {
    return false;
  }
  if (has_timestamps() && frame_->best_effort_timestamp != AV_NOPTS_VALUE) {
    const std::optional<std::int64_t> sought_ns = std::exchange(sought_before_start_ns_, std::nullopt);
    if (frame_->best_effort_timestamp > *start_timestamp_ && sought_ns) {
      seek_before_start(*sought_ns == 0 ? ns_per_s : saturating_multiply(4, *sought_ns));
      avcodec_flush_buffers(decoder_.get());
      is_draining_ = false;
      read_problem_.clear();
      return true;
    }
    return frame_->best_effort_timestamp < *start_timestamp_;
  }
  const bool is_before = passed_over_ns_ < options_.start_ns;
  passed_over_ns_ = saturating_add(passed_over_ns_, is_before ? duration_ns_ : 0);
  return is_before;
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
  if (start_timestamp_ && !resumes_after_ && fault_.empty()) {
    throw Error::failed(start + "it ends before " + std::to_string(options_.start_ns / ns_per_s) +
                        " s, where --start is; choose an earlier time");
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
    if (code == 0 && is_before_start()) {
      continue;
    }
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
      if (is_draining_ && ++errors_at_the_end > max_errors_at_the_end) {
        return finish();
      }
    }
    if (!is_draining_) {
      if (const std::optional<AvRead> result = feed_decoder()) {
        return *result;
      }
    } else if (code == AVERROR(EAGAIN)) {
      return finish();
    }
  }
  is_over_ = true;
  return is_lost_ ? AvRead::lost : AvRead::end;
}

/// Sends the decoder its next packet, or the end of the input. Returns a result only if none is available, or if
/// cancelled.
std::optional<AvRead> AvInput::Implementation::feed_decoder() noexcept {
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

/// Reads our stream's next packet into packet_. At the end sets is_draining_; read_problem_, too, if the end is
/// irregular.
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
    take_end(code, messages);
    return std::nullopt;
  }
}

/// No more packets come: finds the reason, and whether reopening the input is worthwhile.
void AvInput::Implementation::take_end(int code, const Messages& messages) noexcept {
  const AVIOContext* io = input_.context->pb;
  const int io_error = io != nullptr && io->error < 0 && io->error != AVERROR_EOF ? io->error : 0;
  is_draining_ = true;
  resumes_after_ = input_.is_live || counts_time_ || !has_timestamps() ? std::nullopt : first_timestamp_;
  is_lost_ = input_.is_network && (code != AVERROR_EOF || io_error != 0 || input_.ends_by_closing);
  if (interrupt_.is_late()) {
    read_problem_ = "nothing came for 30 s";
  } else if (code != AVERROR_EOF || !messages.last().empty()) {
    read_problem_ = messages.reason(code);
  } else if (io_error != 0) {
    read_problem_ = error_text(io_error);
  } else if (has_unread_rest()) {
    read_problem_ = "the last picture is cut off";
  } else if (is_lost_) {
    read_problem_ = "the connection was closed";
  }
}

/// libav silently ignores a cut-off last picture in y4m. Other formats may have other data after the last picture.
bool AvInput::Implementation::has_unread_rest() const noexcept {
  const AVFormatContext& context = *input_.context;
  return std::string_view(context.iformat->name) == "yuv4mpegpipe" && avio_size(context.pb) > last_packet_end_bytes_;
}

AvRead AvInput::Implementation::finish() noexcept {
  is_over_ = true;
  if (!read_problem_.empty()) {
    set_fault(read_problem_);
  }
  return is_lost_ ? AvRead::lost : AvRead::end;
}

void AvInput::Implementation::set_fault(const std::string& reason) {
  fault_ = quote(options_.name, 200) + " breaks off after " + std::to_string(frames_this_round_) +
           (frames_this_round_ == 1 ? " frame: " : " frames: ") + reason;
}

/// Sets format_ and the time of frame_. If the picture is not supported, returns false and sets fault_.
bool AvInput::Implementation::take_picture() noexcept {
  if ((frame_->flags & AV_FRAME_FLAG_CORRUPT) != 0 || frame_->decode_error_flags != 0) {
    ++error_count_;
  }
  AVStream* stream = input_.context->streams[stream_index_];
  if (!presentation_.take(*frame_, *stream)) {
    set_fault(presentation_.fault());
    return false;
  }
  format_.layout = presentation_.layout();
  format_.colour = presentation_.colour();
  format_.chroma_location = presentation_.chroma_location();
  format_.alpha_mode = presentation_.alpha_mode();
  if (frame_count_ == 0) {
    format_.field_order = field_order_of(*stream->codecpar, *frame_);
  }
  format_.frame_rate = frame_rate_;
  AVRational aspect{1, 1};
  if (!presentation_.is_scaled()) {
    aspect = av_guess_sample_aspect_ratio(input_.context.get(), stream, frame_.get());
    aspect = presentation_.is_transposed() ? AVRational{aspect.den, aspect.num} : aspect;
  }
  format_.sample_aspect_ratio = to_rational(aspect).value_or(Rational{1, 1});
  set_time();
  ++frame_count_;
  ++frames_this_round_;
  return true;
}

void AvInput::Implementation::set_time() noexcept {
  if (counts_time_) {
    pts_ns_ = frame_time_ns(frame_rate_, frames_this_round_);
    return;
  }
  const std::int64_t timestamp = frame_->best_effort_timestamp;
  if (timestamp == AV_NOPTS_VALUE) {
    pts_ns_ = frames_this_round_ == 0 ? 0 : saturating_add(pts_ns_, duration_ns_);
    return;
  }
  if (!first_timestamp_) {
    first_timestamp_ = timestamp;
  }
  const std::int64_t since_first = saturating_subtract(timestamp, *first_timestamp_);
  // Timestamps in a file may be nonsense. av_rescale_q() returns INT64_MIN for a result that does not fit.
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
  resumes_after_.reset();
  return seek_to_first() || open_again();
}

/// A recording continues after the last picture read.
bool AvInput::Implementation::reopen() {
  fault_.clear();
  return open_again() && fault_.empty();
}

/// False, with a fault, when it cannot be opened or has no picture.
bool AvInput::Implementation::open_again() {
  try {
    open();
    read_first();
    return true;
  } catch (const Error& error) {
    fault_ = error.what();
    is_over_ = true;
    return false;
  }
}

std::uint32_t AvInput::Implementation::place_count() const noexcept {
  const AVCodecContext& decoder = *decoder_;
  const AVCodecDescriptor* codec = avcodec_descriptor_get(decoder.codec_id);
  const bool is_intra_only = codec != nullptr && (codec->props & AV_CODEC_PROP_INTRA_ONLY) != 0;
  constexpr int shown_and_next = 2;
  // A decoder does not report in advance how many pictures it keeps. Standards allow 16 small ones, fewer large ones.
  constexpr std::uint64_t small_bytes = 4'000'000;
  const int references = format_.layout.size_bytes <= small_bytes ? 16 : 8;
  const int threads = (decoder.active_thread_type & FF_THREAD_FRAME) != 0 ? decoder.thread_count : 0;
  const int reordered = std::clamp(decoder.has_b_frames, 0, 16);
  return static_cast<std::uint32_t>(shown_and_next + threads + (is_intra_only ? 0 : references + reordered));
}

/// Reopening always returns to the first picture, but is slow. A seek is used if it leads to exactly that picture.
bool AvInput::Implementation::seek_to_first() {
  if (!first_timestamp_ ||
      avformat_seek_file(input_.context.get(), stream_index_, INT64_MIN, *first_timestamp_, *first_timestamp_, 0) < 0) {
    return false;
  }
  avcodec_flush_buffers(decoder_.get());
  const std::int64_t first = *first_timestamp_;
  is_draining_ = is_over_ = is_lost_ = false;
  frames_this_round_ = 0;
  read_problem_.clear();
  first_is_ready_ = decode_next() == AvRead::frame && frame_->best_effort_timestamp == first;
  return first_is_ready_;
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
  implementation_->presentation_.copy_to(slot);
}
void AvInput::set_memory(std::shared_ptr<PictureMemory> memory) {
  implementation_->buffers_.set_memory(std::move(memory));
}
std::optional<PlacedPicture> AvInput::placed() const noexcept {
  const AVFrame* picture = implementation_->presentation_.unchanged();
  return picture != nullptr ? implementation_->buffers_.find(*picture, implementation_->format_.layout) : std::nullopt;
}
std::uint64_t AvInput::place_bytes() const noexcept {
  return implementation_->presentation_.unchanged() != nullptr ? implementation_->buffers_.wanted_bytes() : 0;
}
std::uint32_t AvInput::place_count() const noexcept {
  return implementation_->place_count();
}
bool AvInput::reopen() {
  return implementation_->reopen();
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
  return std::max(implementation_->error_count_, implementation_->owner_.complaints.load());
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
