// Has a decoder write into PictureMemory. Internal to media/.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>

#include "media/libav.hpp"
#include "media/picture_memory.hpp"

namespace framewire::libav {

/// The buffers of one decoder after another. Outlives the decoders.
///
/// Pictures in such buffers are read-only for libav once they are decoded: the buffers are marked so, and a decoder
/// that wants to change its last picture (as some do that code only differences) gets a new buffer with a copy of it.
class PictureBuffers {
 public:
  /// Before the decoder is opened, with `this` as DecoderOwner::buffers. Does nothing for codecs whose pictures libav
  /// alone may allocate (without AV_CODEC_CAP_DR1).
  static void attach(AVCodecContext& decoder) noexcept;

  /// Between reads. Null: libav's own memory.
  void set_memory(std::shared_ptr<PictureMemory> memory);

  /// How large a place the last picture needed; 0 where nothing can be placed.
  [[nodiscard]] std::uint64_t wanted_bytes() const noexcept { return wanted_bytes_; }

  /// Where a decoded picture lies, if it was placed and its rows can be sent as they lie: not upside down, and with at
  /// most an eighth of padding, since that travels, too. `packed`: its layout without padding.
  [[nodiscard]] std::optional<PlacedPicture> find(const AVFrame& picture, const FrameLayout& packed) const noexcept;

 private:
  static int get(AVCodecContext* decoder, AVFrame* picture, int flags) noexcept;
  static void release(void* place, std::uint8_t* bytes) noexcept;
  bool place(AVCodecContext& decoder, AVFrame& picture) noexcept;

  std::atomic<std::uint64_t> wanted_bytes_ = 0;
  mutable std::mutex mutex_;  // guards the pointer: threads of the decoder read it
  std::shared_ptr<PictureMemory> memory_;
};

}  // namespace framewire::libav
