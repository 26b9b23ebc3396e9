#include "media/picture_buffers.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "media/av_format.hpp"

namespace framewire::libav {

namespace {

constexpr std::size_t plane_alignment_bytes = 64;  // the widest vectors of all processors that libav supports
constexpr std::size_t overread_bytes = 16 + plane_alignment_bytes - 1;  // as in avcodec_default_get_buffer2

/// The offsets of a picture's planes in its buffer, and their row pitches.
struct Planes {
  std::array<int, AV_NUM_DATA_POINTERS> pitches_bytes{};
  std::array<std::size_t, 4> offsets_bytes{};
  std::uint64_t size_bytes = 0;
};

/// The layout that decoders require: see avcodec_align_dimensions2() and AVCodecContext.get_buffer2.
std::optional<Planes> planes_for(AVCodecContext& decoder, const AVFrame& picture) noexcept {
  const auto format = static_cast<AVPixelFormat>(picture.format);
  int width = picture.width;
  int height = picture.height;
  std::array<int, AV_NUM_DATA_POINTERS> alignments{};
  avcodec_align_dimensions2(&decoder, &width, &height, alignments.data());
  Planes planes;
  const auto is_aligned = [&] {
    return std::equal(planes.pitches_bytes.begin(), planes.pitches_bytes.begin() + 4, alignments.begin(),
                      [](int pitch, int alignment) { return alignment <= 1 || pitch % alignment == 0; });
  };
  do {
    if (av_image_fill_linesizes(planes.pitches_bytes.data(), format, width) < 0) {
      return std::nullopt;
    }
    width += width & -width;  // to the next multiple of a higher power of two
  } while (!is_aligned());
  std::array<std::ptrdiff_t, 4> pitches{};
  std::copy_n(planes.pitches_bytes.begin(), 4, pitches.begin());
  std::array<std::size_t, 4> sizes{};
  if (av_image_fill_plane_sizes(sizes.data(), format, height, pitches.data()) < 0) {
    return std::nullopt;
  }
  for (std::size_t i = 0; i < sizes.size() && sizes.at(i) > 0; ++i) {
    constexpr std::size_t mask = plane_alignment_bytes - 1;
    planes.offsets_bytes.at(i) = (planes.size_bytes + mask) & ~mask;
    planes.size_bytes = planes.offsets_bytes.at(i) + sizes.at(i) + overread_bytes;
  }
  return planes;
}

}  // namespace

void PictureBuffers::attach(AVCodecContext& decoder) noexcept {
  if ((decoder.codec->capabilities & AV_CODEC_CAP_DR1) == 0) {
    return;
  }
  decoder.get_buffer2 = get;
#if LIBAVCODEC_VERSION_MAJOR < 60  // implied from version 60 on
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
  decoder.thread_safe_callbacks = 1;
#pragma GCC diagnostic pop
#endif
}

void PictureBuffers::set_memory(std::shared_ptr<PictureMemory> memory) {
  const std::scoped_lock lock(mutex_);
  memory_.swap(memory);
}

int PictureBuffers::get(AVCodecContext* decoder, AVFrame* picture, int flags) noexcept {
  auto* buffers = static_cast<DecoderOwner*>(decoder->opaque)->buffers;
  return buffers->give_buffer(*decoder, *picture) ? 0 : avcodec_default_get_buffer2(decoder, picture, flags);
}

void PictureBuffers::release(void* buffer, std::uint8_t* /*bytes*/) noexcept {
  auto& taken = *static_cast<PictureMemory::Buffer*>(buffer);
  const std::shared_ptr<PictureMemory> owner = std::move(taken.owner);  // may be the last reference
  owner->released(taken);
}

bool PictureBuffers::give_buffer(AVCodecContext& decoder, AVFrame& picture) noexcept {
  const bool fits = decoder.hw_frames_ctx == nullptr && carried(static_cast<AVPixelFormat>(picture.format));
  const std::optional<Planes> planes = fits ? planes_for(decoder, picture) : std::nullopt;
  wanted_bytes_ = planes && planes->size_bytes <= max_slot_bytes ? planes->size_bytes : 0;
  if (wanted_bytes_ == 0) {
    return false;
  }
  std::shared_ptr<PictureMemory> memory;
  {
    const std::scoped_lock lock(mutex_);
    memory = memory_;
  }
  PictureMemory::Buffer* buffer = memory ? memory->take(planes->size_bytes) : nullptr;
  if (buffer == nullptr) {
    return false;
  }
  auto* bytes = reinterpret_cast<std::uint8_t*>(buffer->bytes.data());
  picture.buf[0] = av_buffer_create(bytes, planes->size_bytes, release, buffer, AV_BUFFER_FLAG_READONLY);
  if (picture.buf[0] == nullptr) {
    release(buffer, bytes);
    return false;
  }
  for (std::size_t i = 0; i < planes->offsets_bytes.size(); ++i) {
    const bool is_there = planes->pitches_bytes.at(i) > 0;
    picture.data[i] = is_there ? bytes + planes->offsets_bytes.at(i) : nullptr;
    picture.linesize[i] = planes->pitches_bytes.at(i);
  }
  picture.extended_data = picture.data;
  return true;
}

std::optional<PlacedPicture> PictureBuffers::find(const AVFrame& picture, const FrameLayout& packed) const noexcept {
  const std::scoped_lock lock(mutex_);
  const auto* bytes = reinterpret_cast<const std::byte*>(picture.data[0]);
  const PictureMemory::Buffer* buffer = memory_ && picture.buf[1] == nullptr ? memory_->find(bytes) : nullptr;
  if (buffer == nullptr) {
    return std::nullopt;
  }
  PlacedPicture placed{buffer->number, packed};
  std::uint64_t end_bytes = 0;
  for (std::uint32_t i = 0; i < packed.plane_count; ++i) {
    PlaneLayout& plane = placed.layout.planes.at(i);
    const std::ptrdiff_t offset = reinterpret_cast<const std::byte*>(picture.data[i]) - buffer->bytes.data();
    if (offset < static_cast<std::ptrdiff_t>(end_bytes) || picture.linesize[i] < static_cast<int>(plane.row_bytes)) {
      return std::nullopt;
    }
    plane.offset_bytes = static_cast<std::uint64_t>(offset);
    plane.pitch_bytes = static_cast<std::uint32_t>(picture.linesize[i]);
    end_bytes = plane.offset_bytes + std::uint64_t{plane.pitch_bytes} * (plane.rows - 1) + plane.row_bytes;
  }
  placed.layout.size_bytes = end_bytes;
  const bool may_travel = end_bytes <= buffer->bytes.size() && end_bytes - end_bytes / 9 <= packed.size_bytes;
  return may_travel ? std::optional(placed) : std::nullopt;
}

}  // namespace framewire::libav
