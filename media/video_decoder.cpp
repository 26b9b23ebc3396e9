#include "media/video_decoder.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/error.hpp"
#include "base/text.hpp"

namespace framewire::libav {

namespace {

/// The next one last.
std::vector<HwAccelKind> kinds_to_try(HwAccelKind wanted) {
  switch (wanted) {
    case HwAccelKind::none:
      return {};
    case HwAccelKind::automatic:
      return {HwAccelKind::vaapi, HwAccelKind::cuda};
    case HwAccelKind::cuda:
    case HwAccelKind::vaapi:
      break;
  }
  return {wanted};
}

}  // namespace

void VideoDecoder::open(const AVStream& stream, const OpenedInput& input) {
  close();
  stream_ = &stream;
  input_ = &input;
  const AVCodecParameters& coded = *stream.codecpar;
  const Coding coding{.codec = coded.codec_id,
                      .profile = coded.profile,
                      .width = coded.width,
                      .height = coded.height,
                      .pixel_format = coded.format};
  if (options_.hw_accel.kind != HwAccelKind::automatic || coding_ != coding) {
    untried_ = kinds_to_try(options_.hw_accel.kind);
    reasons_.clear();
  } else if (device_) {
    untried_.push_back(device_->kind());
  }
  coding_ = coding;
  open_next();
}

void VideoDecoder::close() noexcept {
  decoder_.reset();
  replay_.stop();
  again_.clear();
  has_picture_ = false;
  if (!device_fault_.empty()) {  // what has failed is not used again, and the choice is made anew
    device_fault_.clear();
    owner_.hardware = nullptr;
    device_.reset();
    coding_.reset();
  }
}

/// Opens a decoder on the next device that can, or else on the processor.
void VideoDecoder::open_next() {
  const bool is_automatic = options_.hw_accel.kind == HwAccelKind::automatic;
  while (!untried_.empty()) {
    const HwAccelKind kind = untried_.back();
    untried_.pop_back();
    try {
      open_on_device(kind);
      return;
    } catch (const Error& error) {
      if (error.status() == ExitStatus::usage) {
        throw;
      }
      if (!is_automatic) {
        device_fault_ = "cannot decode " + quote(options_.name, 200) + " by " + std::string(name(kind)) + ": " +
                        error.what() + std::string(advice(options_.hw_accel.kind));
        throw Error::failed(device_fault_);
      }
      reasons_ += (reasons_.empty() ? "" : "; ") + std::string(name(kind)) + ": " + error.what();
    }
  }
  owner_.hardware = nullptr;
  device_.reset();
  const std::string line = quote(options_.name, 200) + " is decoded by the processor (" + reasons_ + ")";
  if (is_automatic && std::exchange(said_, line) != line) {
    log_.info(line);
  }
  decoder_ = open_decoder(options_.name, *stream_, *input_, owner_, nullptr);
}

/// The device of the last stream also decodes the next one, without a new context on the GPU.
void VideoDecoder::open_on_device(HwAccelKind kind) {
  if (!device_ || device_->kind() != kind) {
    device_ = HwDecoder::open({.kind = kind, .device = options_.hw_accel.device}, *options_.slots_memory,
                              options_.open_dma_buf_reader);
    device_->set_cancelled(options_.is_cancelled);
  }
  const AVCodec* const decoding = device_->find_codec(coding_->codec);
  if (decoding == nullptr) {
    throw Error::failed("libav does not decode " + std::string(avcodec_get_name(coding_->codec)) + " by it");
  }
  owner_.hardware = device_.get();
  decoder_ = open_decoder(options_.name, *stream_, *input_, owner_, decoding);
  if (options_.hw_accel.kind == HwAccelKind::automatic) {
    replay_.start();
  }
}

int VideoDecoder::send(const AVPacket* packet) noexcept {
  if (!decoder_) {
    return AVERROR_EXTERNAL;
  }
  if (!replay_.add(packet)) {
    if (!has_picture_) {
      give_up_device("it gave no picture from " + std::to_string(replay_.size()) + " packets");
      return device_fault_.empty() ? 0 : AVERROR_EXTERNAL;
    }
    replay_.stop();  // it does decode; nobody has wanted its pictures so far (--start)
  }
  const Messages messages;
  const int code = avcodec_send_packet(decoder_.get(), packet);
  return has_failed(code, messages) && device_fault_.empty() ? 0 : code;
}

int VideoDecoder::receive(AVFrame& picture) noexcept {
  while (decoder_ && device_fault_.empty()) {
    const Messages messages;
    const int code = avcodec_receive_frame(decoder_.get(), &picture);
    if (code == 0 && accepts(picture)) {
      return code;
    }
    if (code == 0) {
      continue;
    }
    if (code == AVERROR(EAGAIN) && !again_.empty()) {
      const Packet packet = std::move(again_.front());
      again_.pop_front();
      static_cast<void>(send(packet.get()));  // its error was told when it was sent first
      continue;
    }
    if (!has_failed(code, messages) || !device_fault_.empty()) {
      return code;
    }
  }
  return AVERROR_EXTERNAL;
}

/// Whether the device gives all of the picture.
bool VideoDecoder::accepts(AVFrame& picture) {
  const std::string loss = device_ ? HwDecoder::loss(*decoder_, picture) : "";
  if (!loss.empty()) {
    refuse(picture, loss);
    return false;
  }
  has_picture_ = true;
  return true;
}

void VideoDecoder::confirm() {
  if (replay_.is_recording() && !std::exchange(said_, {}).empty()) {
    log_.info(quote(options_.name, 200) + " is decoded by " + std::string(device_->name()) + " now");
  }
  replay_.stop();
}

bool VideoDecoder::refuse(AVFrame& picture, const std::string& reason) {
  av_frame_unref(&picture);  // it does not outlive the device
  give_up_device(reason);
  return device_fault_.empty();
}

void VideoDecoder::flush() noexcept {
  if (decoder_) {
    avcodec_flush_buffers(decoder_.get());
  }
  if (replay_.is_recording()) {
    replay_.start();
  }
  again_.clear();
}

/// Whether the device has failed: then another one has taken its place, or device_fault_ says why.
bool VideoDecoder::has_failed(int code, const Messages& messages) {
  if (code >= 0 || code == AVERROR(EAGAIN) || code == AVERROR_EOF || !device_ || !device_->has_failed(code)) {
    return false;
  }
  give_up_device(device_->failure(*decoder_, messages, code));
  return true;
}

void VideoDecoder::give_up_device(const std::string& reason) {
  if (is_replaceable()) {
    replace_device(reason);
  } else {
    fail(reason);
  }
}

void VideoDecoder::fail(const std::string& reason) {
  device_fault_ = std::string(device_->name()) + " failed: " + reason;
}

/// No picture was delivered: what has been sent is sent to the next decoder.
void VideoDecoder::replace_device(const std::string& reason) {
  reasons_ += (reasons_.empty() ? "" : "; ") + std::string(device_->name()) + ": " + reason;
  std::deque<Packet> sent = replay_.take();
  again_.insert(again_.begin(), std::make_move_iterator(sent.begin()), std::make_move_iterator(sent.end()));
  decoder_.reset();
  owner_.complaints = 0;
  has_picture_ = false;
  ++replays_;
  try {
    open_next();
  } catch (const Error& error) {
    decoder_.reset();
    device_fault_ = error.what();
  }
}

std::string VideoDecoder::describe() const {
  const std::string codec = avcodec_get_name(coding_ ? coding_->codec : AV_CODEC_ID_NONE);
  return device_ ? codec + " (" + device_->describe() + ")" : codec;
}

std::uint32_t VideoDecoder::place_count(std::uint64_t picture_bytes) const noexcept {
  const AVCodecContext& decoder = *decoder_;
  const AVCodecDescriptor* codec = avcodec_descriptor_get(decoder.codec_id);
  const bool is_intra_only = codec != nullptr && (codec->props & AV_CODEC_PROP_INTRA_ONLY) != 0;
  constexpr int shown_and_next = 2;
  // A decoder does not report in advance how many pictures it keeps. Standards allow 16 small ones, fewer large ones.
  constexpr std::uint64_t small_bytes = 4'000'000;
  const int references = picture_bytes <= small_bytes ? 16 : 8;
  const int threads = (decoder.active_thread_type & FF_THREAD_FRAME) != 0 ? decoder.thread_count : 0;
  const int reordered = std::clamp(decoder.has_b_frames, 0, 16);
  return static_cast<std::uint32_t>(shown_and_next + threads + (is_intra_only ? 0 : references + reordered));
}

}  // namespace framewire::libav
