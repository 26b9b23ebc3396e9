// VA-API, the decoders of Intel's and AMD's GPUs. Internal to media/.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "media/hw_decoder.hpp"

namespace framewire::libav {

/// Its pictures come to host memory by the GPU, as DMA-BUFs, if the reader can do that; else the processor maps them.
/// The first picture of each shape is read both ways, and the GPU's way is taken if they are the same.
class VaapiDecoder final : public HwDecoder {
 public:
  /// `device` as HwAccel::device. Throws as HwDecoder::open().
  static std::unique_ptr<HwDecoder> open(const std::string& device, const MemoryKind& slots,
                                         const OpenDmaBufReader& open_reader);

  /// `node`: the DRM node of the device; empty: it is not known.
  VaapiDecoder(BufferRef device, std::string node, bool has_host_slots, OpenDmaBufReader open_reader);
  ~VaapiDecoder() override;

  [[nodiscard]] std::string describe() const override;
  [[nodiscard]] bool copies_to_slots() const noexcept override { return may_copy_; }
  [[nodiscard]] bool copies(const AVFrame& picture, const AVFrame& described) noexcept override;
  [[nodiscard]] std::string take_refusal() noexcept override;
  [[nodiscard]] std::shared_ptr<Fence> start_copy(const AVFrame& picture, const FrameLayout& layout,
                                                  const std::shared_ptr<Block>& block,
                                                  std::uint64_t offset_bytes) override;

 private:
  void refuse(std::string why) noexcept;
  void try_first(const AVFrame& picture, const FrameLayout& layout);

  const std::string node_;
  const OpenDmaBufReader open_reader_;
  std::unique_ptr<DmaBufReader> reader_;
  std::optional<FrameLayout> tried_;  // the shape that the GPU reads as the processor does
  bool may_copy_;
  std::string refusal_;
};

}  // namespace framewire::libav
