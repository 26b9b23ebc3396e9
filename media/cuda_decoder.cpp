#include "media/cuda_decoder.hpp"

#include <array>
#include <utility>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/text.hpp"
#include "media/av_format.hpp"

namespace framewire::libav {

namespace {

constexpr std::int64_t longest_copy_ns = 2 * ns_per_s;

void release_device(AVHWDeviceContext* context) noexcept {
  delete static_cast<std::shared_ptr<const CudaDevice>*>(context->user_opaque);
}

/// libav works in our context and stream: so what it puts there is done before the copies that follow.
BufferRef device_context(const std::shared_ptr<const CudaDevice>& device, cuda::Stream stream) {
  const Messages messages;
  BufferRef reference(av_hwdevice_ctx_alloc(AV_HWDEVICE_TYPE_CUDA));
  if (!reference) {
    throw Error::failed("this libav was built without it");
  }
  auto& context = *reinterpret_cast<AVHWDeviceContext*>(reference->data);
  auto& cuda = *static_cast<CudaDeviceContext*>(context.hwctx);
  cuda.context = device->context();
  cuda.stream = stream;
  context.user_opaque = new std::shared_ptr<const CudaDevice>(device);
  context.free = release_device;
  if (const int code = av_hwdevice_ctx_init(reference.get()); code < 0) {
    throw Error::failed(messages.first().empty() ? error_text(code) : without_code(messages.first()));
  }
  return reference;
}

const CudaMemory* cuda_memory_of(const MemoryKind& slots, const std::string& gpu) {
  const auto* memory = dynamic_cast<const CudaMemory*>(&slots);
  if (memory != nullptr && !gpu.empty() &&
      choose_cuda_device(cuda_devices(), gpu).uuid != memory->device()->info().uuid) {
    throw Error::usage("--hwaccel cuda:" + gpu + " is another GPU than that of --memory cuda, " +
                       memory->device()->info().uuid + "; name the same one");
  }
  return memory;
}

struct Kept {
  Frame picture;
  std::shared_ptr<Block> block;
  std::shared_ptr<CudaHostRegistration> registration;  // null: a slot on the GPU
};

}  // namespace

std::unique_ptr<HwDecoder> CudaDecoder::open(const std::string& gpu, const MemoryKind& slots) {
  if (const CudaMemory* memory = cuda_memory_of(slots, gpu); memory != nullptr) {
    return std::make_unique<CudaDecoder>(device_context(memory->device(), memory->work().stream()), memory->device(),
                                         nullptr, memory->work());
  }
  const auto device = std::make_shared<const CudaDevice>(choose_cuda_device(cuda_devices(), gpu));
  auto work = std::make_unique<CudaWork>(device);
  BufferRef context = device_context(device, work->stream());
  CudaWork& own = *work;
  return std::make_unique<CudaDecoder>(std::move(context), device, std::move(work), own);
}

CudaDecoder::CudaDecoder(BufferRef device_context, std::shared_ptr<const CudaDevice> device,
                         std::unique_ptr<CudaWork> own_work, CudaWork& work)
    : HwDecoder(HwAccelKind::cuda, std::move(device_context)),
      device_(std::move(device)),
      own_work_(std::move(own_work)),
      work_(work) {}

CudaDecoder::~CudaDecoder() = default;

std::shared_ptr<Fence> CudaDecoder::start_copy(const AVFrame& picture, const FrameLayout& layout,
                                               const std::shared_ptr<Block>& block, std::uint64_t offset_bytes) {
  if (offset_bytes > block->size_bytes() || layout.size_bytes > block->size_bytes() - offset_bytes) {
    throw Error::failed("a decoded picture does not fit its slot");
  }
  const cuda::Copy2DEnd to = end_in(*block, offset_bytes);
  std::array<cuda::Copy2D, 3> copies{};
  for (std::uint32_t i = 0; i < layout.plane_count; ++i) {
    copies.at(i) = plane_copy(picture, layout, i, to);
  }
  await_room("the GPU " + device_->info().name, longest_copy_ns);
  Frame held(av_frame_clone(&picture));
  if (!held) {
    throw Error::failed("out of memory for a decoded picture");
  }
  auto fence = std::make_shared<Fence>();
  const auto copy = [&](cuda::Stream stream) {
    for (std::uint32_t i = 0; i < layout.plane_count; ++i) {
      cuda::require(device_->functions().cuMemcpy2DAsync(&copies.at(i), stream), "cuMemcpy2DAsync");
    }
  };
  work_.start(copy, fence, std::make_shared<const Kept>(Kept{std::move(held), block, registration_}));
  add_copy(fence);
  return fence;
}

cuda::Copy2DEnd CudaDecoder::end_in(const Block& block, std::uint64_t offset_bytes) {
  if (const HostBlock* host = block.host(); host != nullptr) {
    register_with_cuda(*host);
    return {.type = cuda::MemoryType::host, .host = host->bytes().data() + offset_bytes};
  }
  const auto& on_gpu = dynamic_cast<const CudaBlock&>(block);
  return {.type = cuda::MemoryType::device, .device = on_gpu.address() + offset_bytes};
}

/// Copies to other memory would wait for the GPU.
void CudaDecoder::register_with_cuda(const HostBlock& host) {
  if (registration_ == nullptr || registration_->host() != &host) {
    registration_ = CudaHostRegistration::find_or_create(device_, host.shared_from_this());
  }
  registration_->require();
}

cuda::Copy2D plane_copy(const AVFrame& picture, const FrameLayout& layout, std::uint32_t plane,
                        const cuda::Copy2DEnd& to) {
  const auto& surface = *reinterpret_cast<const AVHWFramesContext*>(picture.hw_frames_ctx->data);
  const AVPixFmtDescriptor* format = av_pix_fmt_desc_get(surface.sw_format);
  const PlaneLayout& wanted = layout.planes.at(plane);
  const std::size_t mask_x = (std::size_t{1} << format->log2_chroma_w) - 1;
  const std::size_t mask_y = (std::size_t{1} << format->log2_chroma_h) - 1;
  const std::size_t left = picture.crop_left & ~mask_x;
  const std::size_t top = picture.crop_top & ~mask_y;
  const int first_column_bytes =
      av_image_get_linesize(surface.sw_format, static_cast<int>(left), static_cast<int>(plane));
  const int pitch_bytes = picture.linesize[plane];
  if (picture.data[plane] == nullptr || first_column_bytes < 0 ||
      left + layout.width > static_cast<std::size_t>(surface.width) ||
      top + layout.height > static_cast<std::size_t>(surface.height) ||
      pitch_bytes < first_column_bytes + static_cast<int>(wanted.row_bytes)) {
    throw Error::failed("a decoded picture is smaller than the " + std::to_string(layout.width) + "x" +
                        std::to_string(layout.height) + " that it is said to have");
  }
  cuda::Copy2D copy;
  copy.from = {.first_column_bytes = static_cast<std::size_t>(first_column_bytes),
               .first_row = plane == 0 ? top : top >> format->log2_chroma_h,
               .type = cuda::MemoryType::device,
               .device = reinterpret_cast<cuda::Address>(picture.data[plane]),
               .pitch_bytes = static_cast<std::size_t>(pitch_bytes)};
  copy.to = to;
  copy.to.host = to.host != nullptr ? static_cast<std::byte*>(to.host) + wanted.offset_bytes : nullptr;
  copy.to.device = to.device != 0 ? to.device + wanted.offset_bytes : 0;
  copy.to.pitch_bytes = wanted.pitch_bytes;
  copy.row_bytes = wanted.row_bytes;
  copy.rows = wanted.rows;
  return copy;
}

}  // namespace framewire::libav
