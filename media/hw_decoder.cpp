#include "media/hw_decoder.hpp"

#include <algorithm>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "media/av_format.hpp"
#include "media/cuda_decoder.hpp"
#include "media/vaapi_decoder.hpp"
#include "memory/fence_wait.hpp"

namespace framewire::libav {

namespace {

/// One copies, one is next, one waits for the GPU. A decoder with a full pool has fewer.
constexpr int wanted_copies = 3;
/// One picture is shown, one has been copied but not returned yet.
constexpr int pictures_besides_copies = 2;
constexpr int wanted_pictures = wanted_copies + pictures_besides_copies;
/// cuvidCreateDecoder() takes no more.
constexpr int most_cuda_pictures = 32;
/// libav adds them to the size that avcodec_get_hw_frames_parameters() gives.
constexpr int pictures_added_by_libav = 3;

AVHWDeviceType device_type(HwAccelKind kind) noexcept {
  return kind == HwAccelKind::cuda ? AV_HWDEVICE_TYPE_CUDA : AV_HWDEVICE_TYPE_VAAPI;
}

/// The pixel format of the pictures that `codec` leaves on such a device; none if it cannot use it.
AVPixelFormat format_on_device(const AVCodec& codec, AVHWDeviceType type) noexcept {
  for (int i = 0;; ++i) {
    const AVCodecHWConfig* config = avcodec_get_hw_config(&codec, i);
    if (config == nullptr) {
      return AV_PIX_FMT_NONE;
    }
    if (config->device_type == type && (config->methods & AV_CODEC_HW_CONFIG_METHOD_HW_DEVICE_CTX) != 0) {
      return config->pix_fmt;
    }
  }
}

}  // namespace

std::unique_ptr<HwDecoder> HwDecoder::open(const HwAccel& hw_accel, const MemoryKind& slots,
                                           const OpenDmaBufReader& open_reader) {
  prepare();
  return hw_accel.kind == HwAccelKind::cuda ? CudaDecoder::open(hw_accel.device, slots)
                                            : VaapiDecoder::open(hw_accel.device, slots, open_reader);
}

/// Not the one that libav would take by itself, if that cannot use the device (AV1). Nor one that hands the whole
/// stream to a foreign library (h264_cuvid).
const AVCodec* HwDecoder::find_codec(AVCodecID codec) const noexcept {
  void* position = nullptr;
  while (const AVCodec* one = av_codec_iterate(&position)) {
    if (one->id == codec && av_codec_is_decoder(one) != 0 && one->wrapper_name == nullptr &&
        format_on_device(*one, device_type(kind_)) != AV_PIX_FMT_NONE) {
      return one;
    }
  }
  return nullptr;
}

void HwDecoder::attach(AVCodecContext& decoder) {
  format_ = format_on_device(*decoder.codec, device_type(kind_));
  was_tried_ = is_refused_ = false;
  decoder.hw_device_ctx = av_buffer_ref(device_.get());
  if (decoder.hw_device_ctx == nullptr) {
    throw Error::failed("out of memory for a decoder");
  }
  decoder.get_format = choose_format;
  decoder.thread_count = 1;  // the device does the work; and all that libav says is said on one thread
#ifdef AV_HWACCEL_FLAG_UNSAFE_OUTPUT
  decoder.hwaccel_flags |= AV_HWACCEL_FLAG_UNSAFE_OUTPUT;  // no copy in libav: so many pictures are held at most
#endif
}

/// An H.264 film with many references, or that does not say how far it reorders, leaves little room. What is not asked
/// for is made up by waiting for copies sooner: libav's own count has five pictures more than the film needs, which
/// hold the one that is decoded, and one copy with the pictures besides. Called by libav, which then makes the pool.
void HwDecoder::size_pool(AVCodecContext& decoder) noexcept {
  decoder.extra_hw_frames = wanted_pictures;
  AVBufferRef* parameters = nullptr;
  if (kind_ == HwAccelKind::cuda &&
      avcodec_get_hw_frames_parameters(&decoder, decoder.hw_device_ctx, format_, &parameters) >= 0) {
    const BufferRef owner(parameters);
    const int size =
        reinterpret_cast<const AVHWFramesContext*>(parameters->data)->initial_pool_size + pictures_added_by_libav;
    decoder.extra_hw_frames -= std::clamp(size - most_cuda_pictures, 0, wanted_pictures);
  }
  most_copies_ = std::max(decoder.extra_hw_frames - pictures_besides_copies, 1);
}

/// libav asks again, without the device's format, if it could not set the device up.
AVPixelFormat HwDecoder::choose_format(AVCodecContext* decoder, const AVPixelFormat* formats) noexcept {
  HwDecoder& self = *static_cast<DecoderOwner*>(decoder->opaque)->hardware;
  for (const AVPixelFormat* format = formats; *format != AV_PIX_FMT_NONE; ++format) {
    if (*format == self.format_) {
      self.was_tried_ = true;
      self.size_pool(*decoder);
      return *format;
    }
  }
  self.is_refused_ = true;
  return AV_PIX_FMT_NONE;
}

/// What libav's code for devices gives: AVERROR_EXTERNAL for CUDA, EIO for VA-API, ENOMEM where pictures run out.
bool HwDecoder::has_failed(int code) const noexcept {
  return is_refused_ || code == AVERROR_EXTERNAL || code == AVERROR_UNKNOWN || code == AVERROR(EIO) ||
         code == AVERROR(ENOMEM);
}

std::string HwDecoder::failure(const AVCodecContext& decoder, const Messages& messages, int code) const {
  if (is_refused_ && !was_tried_) {
    return "libav does not decode " + std::string(avcodec_get_name(decoder.codec_id)) + " in " +
           libav::name(decoder.sw_pix_fmt) + " by it";
  }
  return messages.first().empty() ? error_text(code) : without_code(messages.first());
}

std::string HwDecoder::loss(const AVCodecContext& decoder, const AVFrame& picture) {
  const AVPixFmtDescriptor* coded = av_pix_fmt_desc_get(decoder.sw_pix_fmt);
  if (picture.hw_frames_ctx == nullptr || coded == nullptr) {
    return {};
  }
  const AVPixelFormat format = reinterpret_cast<const AVHWFramesContext*>(picture.hw_frames_ctx->data)->sw_format;
  const AVPixFmtDescriptor* given = av_pix_fmt_desc_get(format);
  const bool has_less_chroma = coded->nb_components > 1 && (given->log2_chroma_w > coded->log2_chroma_w ||
                                                            given->log2_chroma_h > coded->log2_chroma_h);
  const bool is_less = has_less_chroma || given->comp[0].depth < coded->comp[0].depth;
  return is_less ? std::string("it gives ") + libav::name(format) + " for " + libav::name(decoder.sw_pix_fmt) : "";
}

void HwDecoder::describe(const AVFrame& picture, AVFrame& described) noexcept {
  av_frame_unref(&described);
  av_frame_copy_props(&described, &picture);
  described.format = reinterpret_cast<const AVHWFramesContext*>(picture.hw_frames_ctx->data)->sw_format;
  // libav has cut off what is right and below, and leaves what is left and above to who reads the picture.
  described.width = picture.width - static_cast<int>(picture.crop_left);
  described.height = picture.height - static_cast<int>(picture.crop_top);
  described.crop_left = described.crop_top = 0;
}

std::string HwDecoder::fetch(const AVFrame& picture, AVFrame& host) noexcept {
  const AVPixelFormat format = reinterpret_cast<const AVHWFramesContext*>(picture.hw_frames_ctx->data)->sw_format;
  const Messages mapping;
  av_frame_unref(&host);
  host.format = format;
  if (av_hwframe_map(&host, &picture, AV_HWFRAME_MAP_READ) < 0) {
    av_frame_unref(&host);
    host.format = format;
    const Messages copying;
    // libav 5.1 reports success also where CUDA failed to copy, and then only logs it.
    if (const int code = av_hwframe_transfer_data(&host, &picture, 0); code < 0 || !copying.first().empty()) {
      const std::string& reason = mapping.first().empty() ? copying.first() : mapping.first();
      return reason.empty() ? error_text(code) : without_code(reason);
    }
  }
  const bool is_whole =
      av_frame_copy_props(&host, &picture) >= 0 && av_frame_apply_cropping(&host, AV_FRAME_CROP_UNALIGNED) >= 0;
  return is_whole ? "" : "its picture cannot be read";
}

void HwDecoder::copy(const AVFrame& host, const FrameLayout& layout, std::span<std::byte> slot) noexcept {
  for (std::uint32_t i = 0; i < layout.plane_count; ++i) {
    const PlaneLayout& plane = layout.planes.at(i);
    av_image_copy_plane(reinterpret_cast<std::uint8_t*>(slot.data() + plane.offset_bytes),
                        static_cast<int>(plane.pitch_bytes), host.data[i], host.linesize[i],
                        static_cast<int>(plane.row_bytes), static_cast<int>(plane.rows));
  }
}

bool HwDecoder::copies(const AVFrame& /*picture*/, const AVFrame& /*described*/) noexcept {
  return copies_to_slots();
}

void HwDecoder::await_room(const std::string& gpu, std::int64_t longest_ns) {
  while (!under_way_.empty() && under_way_.front()->state() != FenceState::pending) {
    under_way_.pop_front();
  }
  while (under_way_.size() >= static_cast<std::size_t>(most_copies_)) {
    if (await(*under_way_.front(), longest_ns) == FenceState::pending) {
      if (is_cancelled()) {
        return;
      }
      throw Error::failed(gpu + " did not copy a decoded picture within " + std::to_string(longest_ns / ns_per_s) +
                          " s");
    }
    under_way_.pop_front();
  }
}

FenceState HwDecoder::await(Fence& fence, std::int64_t longest_ns) {
  return wait_until_finished(fence, monotonic_ns() + longest_ns, is_cancelled_);
}

std::shared_ptr<Fence> HwDecoder::start_copy(const AVFrame& /*picture*/, const FrameLayout& /*layout*/,
                                             const std::shared_ptr<Block>& /*block*/, std::uint64_t /*offset_bytes*/) {
  throw Error::failed(std::string(name()) + " does not copy pictures by itself");
}

/// "decoder->cvdl->cuvidMapVideoFrame(decoder->decoder, …) failed -> CUDA_ERROR_…: …" (libavutil/cuda_check.h).
std::string without_code(const std::string& line) {
  constexpr std::string_view failed = ") failed";
  constexpr std::string_view arrow = "->";
  const std::size_t ends = line.find(failed);
  const std::size_t opens = line.find('(');
  if (ends == std::string::npos || opens > ends) {
    return line;
  }
  const std::size_t last_arrow = line.rfind(arrow, opens);
  const std::size_t begins = last_arrow == std::string::npos ? 0 : last_arrow + arrow.size();
  const std::string call = line.substr(begins, opens - begins);
  const std::string rest = line.substr(ends + failed.size());
  constexpr std::string_view why = " -> ";
  return rest.starts_with(why) ? call + ": " + rest.substr(why.size()) : call + " failed" + rest;
}

}  // namespace framewire::libav
