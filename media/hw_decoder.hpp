// A device that decodes for libav. Internal to media/.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "frame/frame_layout.hpp"
#include "media/hw_accel.hpp"
#include "media/libav.hpp"
#include "memory/block.hpp"
#include "memory/dma_buf_reader.hpp"
#include "memory/fence.hpp"

namespace framewire::libav {

/// Used by the thread of its AvInput. Outlives the decoders that it is attached to, and their pictures.
class HwDecoder {
 public:
  /// Opens the device. `hw_accel` names one kind. `slots`: the memory that pictures will be sent from; it outlives
  /// this. `open_reader`: reads pictures of VA-API by their GPU; empty: nothing does. Throws Error that says what is
  /// missing; Error (usage) if `slots` are in the memory of another GPU.
  static std::unique_ptr<HwDecoder> open(const HwAccel& hw_accel, const MemoryKind& slots,
                                         const OpenDmaBufReader& open_reader);
  virtual ~HwDecoder() = default;
  HwDecoder(const HwDecoder&) = delete;
  HwDecoder& operator=(const HwDecoder&) = delete;

  /// libav's decoder that can use this device; null: it has none for this codec.
  [[nodiscard]] const AVCodec* find_codec(AVCodecID codec) const noexcept;
  /// Makes a decoder of find_codec() use the device. Before avcodec_open2(); this is its owner's `hardware`.
  void attach(AVCodecContext& decoder);

  /// Asked now and then while the GPU is waited for. Once it is true, nothing is waited for any more: what a GPU that
  /// hangs was to copy is under way for ever.
  void set_cancelled(std::function<bool()> is_cancelled) { is_cancelled_ = std::move(is_cancelled); }

  [[nodiscard]] HwAccelKind kind() const noexcept { return kind_; }
  [[nodiscard]] std::string_view name() const noexcept { return framewire::name(kind_); }
  /// The name, and how pictures come to slots if there is more than one way: "vaapi, DMA-BUF".
  [[nodiscard]] virtual std::string describe() const { return std::string(name()); }

  /// Whether this error of libav comes from the device, and not from a damaged input.
  [[nodiscard]] bool has_failed(int code) const noexcept;
  /// Why, in words.
  [[nodiscard]] std::string failure(const AVCodecContext& decoder, const Messages& messages, int code) const;

  /// What the device's picture lacks of the coded one, in words; empty: nothing. libav lets NVDEC decode 4:2:2 to
  /// 4:2:0.
  [[nodiscard]] static std::string loss(const AVCodecContext& decoder, const AVFrame& picture);

  /// What the picture would be in host memory, without its bytes.
  static void describe(const AVFrame& picture, AVFrame& described) noexcept;
  /// Puts the picture into host memory: mapped if the device can do that, else copied. Why that failed, in words;
  /// empty: it did not.
  [[nodiscard]] static std::string fetch(const AVFrame& picture, AVFrame& host) noexcept;

  /// The processor copies a picture of fetch() into a slot.
  static void copy(const AVFrame& host, const FrameLayout& layout, std::span<std::byte> slot) noexcept;

  /// Whether start_copy() works, as far as is known without a picture.
  [[nodiscard]] virtual bool copies_to_slots() const noexcept { return false; }
  /// Whether it works for this picture, which `described` describes. The first one may be tried, which takes a while.
  [[nodiscard]] virtual bool copies(const AVFrame& picture, const AVFrame& described) noexcept;
  /// Why the processor copies pictures from now on that the device was to copy; empty: it does not, or it was told.
  [[nodiscard]] virtual std::string take_refusal() noexcept { return {}; }
  /// The device starts to copy the picture, as `layout` has it, to `offset_bytes` of `block`, which is in host memory
  /// or of the memory kind that open() got. It keeps both alive until the fence is finished. Throws Error (failed).
  [[nodiscard]] virtual std::shared_ptr<Fence> start_copy(const AVFrame& picture, const FrameLayout& layout,
                                                          const std::shared_ptr<Block>& block,
                                                          std::uint64_t offset_bytes);

 protected:
  HwDecoder(HwAccelKind kind, BufferRef device) noexcept : kind_(kind), device_(std::move(device)) {}

  /// Waits until start_copy() may have another picture under way. libav has few, and its next call fails if the GPU
  /// still reads all of them. Throws Error (failed) that names the `gpu` if that takes longer than `longest_ns`.
  /// Returns without room once the program is to end.
  void await_room(const std::string& gpu, std::int64_t longest_ns);
  /// As wait_until_finished(), but no longer than until the program is to end.
  [[nodiscard]] FenceState await(Fence& fence, std::int64_t longest_ns);
  [[nodiscard]] bool is_cancelled() const { return is_cancelled_ && is_cancelled_(); }
  /// What start_copy() has started.
  void add_copy(std::shared_ptr<Fence> fence) { under_way_.push_back(std::move(fence)); }

 private:
  void size_pool(AVCodecContext& decoder) noexcept;
  static AVPixelFormat choose_format(AVCodecContext* decoder, const AVPixelFormat* formats) noexcept;

  const HwAccelKind kind_;
  const BufferRef device_;
  std::function<bool()> is_cancelled_;
  AVPixelFormat format_ = AV_PIX_FMT_NONE;  // of its pictures
  bool was_tried_ = false;                  // libav has begun to set the device up for this stream
  bool is_refused_ = false;
  int most_copies_ = 1;  // that may be under way, with the pictures that the decoder has
  std::deque<std::shared_ptr<Fence>> under_way_;
};

/// The reason that libav logged, without its source code: "cuvidCreateDecoder: CUDA_ERROR_NO_DEVICE: no device".
[[nodiscard]] std::string without_code(const std::string& line);

}  // namespace framewire::libav
