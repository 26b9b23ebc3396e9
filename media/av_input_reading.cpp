// The next picture of an input: packets, their decoder, and what is said where one of them fails.
#include <algorithm>
#include <string_view>
#include <utility>

#include "base/clock.hpp"
#include "base/saturating.hpp"
#include "base/text.hpp"
#include "media/av_format.hpp"
#include "media/av_input_implementation.hpp"
#include "media/frame_rate.hpp"

namespace framewire {

namespace {

using namespace libav;

constexpr int max_errors_at_the_end = 1000;  // so that draining a broken decoder ends

}  // namespace

AvRead AvInput::Implementation::read() noexcept {
  if (std::exchange(first_is_ready_, false)) {
    return AvRead::frame;
  }
  return decode_next();
}

AvRead AvInput::Implementation::decode_next() noexcept {
  int errors_at_the_end = 0;
  while (!is_over_) {
    const int code = decoder_.receive(*frame_);
    if (code == 0) {
      AVFrame* const picture = is_before_start() ? nullptr : presentable();
      if (picture == nullptr) {
        continue;
      }
      if (take_picture(*picture)) {
        return AvRead::frame;
      }
      break;
    }
    if (code == AVERROR_EOF) {
      if (seek_further_back()) {
        continue;
      }
      return finish();
    }
    if (!decoder_.device_fault().empty()) {
      set_fault(decoder_.device_fault());
      break;
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
  if (is_lost_ && resumes_ && options_.resumes) {
    // Without the packets to come, the decoder would leave out pictures that precede those that it still holds.
    return finish();
  }
  send_packet();
  return std::nullopt;
}

/// Sends what fetch_packet() has found: packet_, or the end.
void AvInput::Implementation::send_packet() noexcept {
  const int code = decoder_.send(is_draining_ ? nullptr : packet_.get());
  if (code < 0 && !is_draining_) {
    ++error_count_;
    if (!read_problem_.empty()) {
      read_problem_ = "the last picture is cut off";
    }
  }
  av_packet_unref(packet_.get());
}

/// Reads our stream's next packet into packet_. At the end sets is_draining_; read_problem_, too, if the end is
/// irregular.
std::optional<AvRead> AvInput::Implementation::fetch_packet(Messages& messages) noexcept {
  interrupt_.set_deadline_ns(input_.is_network ? monotonic_ns() + silence_limit_ns : 0);
  for (;;) {
    messages.clear();
    const int code = av_read_frame(input_.context.get(), packet_.get());
    if (code == 0 && input_.is_network && !input_.is_live && input_.io_error() != 0) {
      // libav has given up the connection. This packet may be cut off, or come after others that are missing: a format
      // looks for the next thing that it knows, and asks the server for it anew.
      av_packet_unref(packet_.get());
      if (interrupt_.is_cancelled()) {
        return AvRead::cancelled;
      }
      take_end(input_.io_error(), messages);
      return std::nullopt;
    }
    if (code == 0 && packet_->stream_index == stream_index_) {
      last_packet_end_bytes_ = packet_->pos + packet_->size;
      first_packet_ = first_packet_.value_or(PacketPlace(*packet_));
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
  is_draining_ = true;
  is_lost_ = input_.is_network && (code != AVERROR_EOF || input_.io_error() != 0 || input_.ends_by_closing);
  resumes_ = resumes_ || (is_lost_ && !input_.is_live);
  if (interrupt_.is_late()) {
    read_problem_ = "nothing came for 30 s";
  } else if (code != AVERROR_EOF || !messages.last().empty()) {
    read_problem_ = resumes_ && !messages.first().empty() ? messages.first() : messages.reason(code);
  } else if (input_.io_error() != 0) {
    read_problem_ = error_text(input_.io_error());
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

/// Once, that the processor copies what the device was to copy.
void AvInput::Implementation::tell_refusal() {
  HwDecoder* const device = decoder_.device();
  const std::string why = device != nullptr ? device->take_refusal() : "";
  if (!why.empty()) {
    log_->line(frame_count_ == 0 ? LogLevel::info : LogLevel::warning,
               quote(options_.name, 200) + " is decoded by " + std::string(device->name()) +
                   ", and the processor copies its pictures: " + why);
  }
}

AvRead AvInput::Implementation::finish() noexcept {
  tell_refusal();
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

/// The picture as Presentation takes it. A device that copies its pictures keeps one that needs no other change; it is
/// delivered by start_copy(). Null if the device does not give it: then the decoder gives it anew, or says why it
/// fails.
AVFrame* AvInput::Implementation::presentable() noexcept {
  is_on_device_ = false;
  if (frame_->hw_frames_ctx == nullptr || decoder_.device() == nullptr) {
    decoder_.confirm();
    return frame_.get();
  }
  HwDecoder& device = *decoder_.device();
  if (device.copies_to_slots()) {
    HwDecoder::describe(*frame_, *host_frame_);
    is_on_device_ = !presentation_.changes(*host_frame_, *input_.context->streams[stream_index_]) &&
                    device.copies(*frame_, *host_frame_);
  }
  tell_refusal();
  if (is_on_device_) {
    return host_frame_.get();
  }
  if (const std::string fault = HwDecoder::fetch(*frame_, *host_frame_); !fault.empty()) {
    av_frame_unref(host_frame_.get());
    decoder_.refuse(*frame_, fault);
    return nullptr;
  }
  decoder_.confirm();
  return host_frame_.get();
}

/// Sets format_ and the time of frame_. If the picture is not supported, returns false and sets fault_.
bool AvInput::Implementation::take_picture(AVFrame& picture) noexcept {
  if ((frame_->flags & AV_FRAME_FLAG_CORRUPT) != 0 || frame_->decode_error_flags != 0) {
    ++error_count_;
  }
  AVStream* stream = input_.context->streams[stream_index_];
  if (!presentation_.take(picture, *stream)) {
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
  const std::int64_t timestamp = frame_->best_effort_timestamp;
  if (timestamp != AV_NOPTS_VALUE) {
    last_timestamp_ = timestamp;
    first_timestamp_ = first_timestamp_.value_or(timestamp);
  }
  if (counts_time_) {
    pts_ns_ = frame_time_ns(frame_rate_, frames_this_round_);
    return;
  }
  if (timestamp == AV_NOPTS_VALUE) {
    pts_ns_ = frames_this_round_ == 0 ? 0 : saturating_add(pts_ns_, duration_ns_);
    return;
  }
  const std::int64_t since_first = saturating_subtract(timestamp, *first_timestamp_);
  // Timestamps in a file may be nonsense. av_rescale_q() returns INT64_MIN for a result that does not fit.
  pts_ns_ = std::max<std::int64_t>(
      0, av_rescale_q(since_first, input_.context->streams[stream_index_]->time_base, nanoseconds));
}

}  // namespace framewire
