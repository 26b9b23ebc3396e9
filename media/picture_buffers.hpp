// Makes a decoder write into PictureMemory. Internal to media/.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>

#include "media/libav.hpp"
#include "media/picture_memory.hpp"

namespace framewire::libav {

/// The buffer allocator of successive decoders. Outlives the decoders.
///
/// After decoding, the buffers are marked read-only for libav. A decoder that modifies its last picture (some codecs
/// code only differences) gets a new buffer with a copy of it.
class PictureBuffers {
 public:
  /// Call it before the decoder is opened, with `this` as DecoderOwner::buffers. Does nothing for codecs without
  /// AV_CODEC_CAP_DR1: only libav may allocate their pictures.
  static void attach(AVCodecContext& decoder) noexcept;

  /// Call it between reads. Null: libav's own memory.
  void set_memory(std::shared_ptr<PictureMemory> memory);

  /// The buffer size that the last picture needed; 0 if pictures cannot be decoded into a buffer.
  [[nodiscard]] std::uint64_t wanted_bytes() const noexcept { return wanted_bytes_; }

  /// Where a decoded picture is, if it was placed and its rows can be sent unchanged: not upside down, and with at most
  /// an eighth of padding, because padding is sent too. `packed`: its layout without padding.
  [[nodiscard]] std::optional<PlacedPicture> find(const AVFrame& picture, const FrameLayout& packed) const noexcept;

 private:
  static int get(AVCodecContext* decoder, AVFrame* picture, int flags) noexcept;
  static void release(void* buffer, std::uint8_t* bytes) noexcept;
  bool give_buffer(AVCodecContext& decoder, AVFrame& picture) noexcept;

  std::atomic<std::uint64_t> wanted_bytes_ = 0;
  mutable std::mutex mutex_;  // guards memory_, which the decoder's threads read
  std::shared_ptr<PictureMemory> memory_;
};

}  // namespace framewire::libav
