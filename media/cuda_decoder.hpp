// NVDEC, the decoder of NVIDIA's GPUs. Internal to media/.
#pragma once

#include <memory>
#include <string>

#include "media/hw_decoder.hpp"
#include "memory/cuda/cuda_memory.hpp"

namespace framewire::libav {

/// AVCUDADeviceContext of libavutil/hwcontext_cuda.h, which includes CUDA's header.
struct CudaDeviceContext {
  cuda::Context context = nullptr;
  cuda::Stream stream = nullptr;
  void* internal = nullptr;
};

/// Decodes in the context, and in the stream of work, of the GPU that the frames' memory is of; or of another GPU if
/// that is host memory. The GPU copies pictures into the slots of either.
class CudaDecoder final : public HwDecoder {
 public:
  /// `gpu` as HwAccel::device. Throws as HwDecoder::open().
  static std::unique_ptr<HwDecoder> open(const std::string& gpu, const MemoryKind& slots);

  /// `work` outlives this; null: this makes its own.
  CudaDecoder(BufferRef device_context, std::shared_ptr<const CudaDevice> device, std::unique_ptr<CudaWork> own_work,
              CudaWork& work);
  ~CudaDecoder() override;

  [[nodiscard]] bool copies_to_slots() const noexcept override { return true; }
  /// Throws also if a copy that was started long ago has not ended.
  [[nodiscard]] std::shared_ptr<Fence> start_copy(const AVFrame& picture, const FrameLayout& layout,
                                                  const std::shared_ptr<Block>& block,
                                                  std::uint64_t offset_bytes) override;

 private:
  [[nodiscard]] cuda::Copy2DEnd end_in(const Block& block, std::uint64_t offset_bytes);
  void register_with_cuda(const HostBlock& host);

  const std::shared_ptr<const CudaDevice> device_;
  const std::unique_ptr<CudaWork> own_work_;  // null: another's
  CudaWork& work_;
  std::shared_ptr<CudaHostRegistration> registration_;  // of the slots, if they are in host memory
};

/// The copy of one plane from libav's picture to where `layout` has it behind `to`. Throws Error (failed) if the
/// picture is smaller than it says, or has no such plane.
[[nodiscard]] cuda::Copy2D plane_copy(const AVFrame& picture, const FrameLayout& layout, std::uint32_t plane,
                                      const cuda::Copy2DEnd& to);

}  // namespace framewire::libav
