#include "media/vaapi_decoder.hpp"

#include <dlfcn.h>
#include <unistd.h>

#include <cstring>
#include <utility>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "media/av_format.hpp"
#include "media/drm_picture.hpp"

namespace framewire::libav {

namespace {

constexpr std::int64_t longest_read_ns = 12 * ns_per_s;        // the reader gives up before
constexpr std::int64_t longest_first_read_ns = 30 * ns_per_s;  // with the start of OpenGL, and its shader
constexpr int most_nodes = 8;                                  // as libav

/// AVVAAPIDeviceContext of libavutil/hwcontext_vaapi.h, which includes libva's header.
struct VaapiDeviceContext {
  void* display = nullptr;
  unsigned driver_quirks = 0;
};

using SyncSurface = int (*)(void* display, unsigned surface);

/// libav's export does not wait for the decoder: newer versions do, that of Debian 12 does not. Its libva is loaded.
/// Throws Error (failed).
void await_decoder(const AVFrame& picture, const AVHWFramesContext& surfaces) {
  const std::unique_ptr<void, int (*)(void*)> libva(::dlopen("libva.so.2", RTLD_NOW | RTLD_NOLOAD), ::dlclose);
  const auto sync = libva == nullptr ? nullptr : reinterpret_cast<SyncSurface>(::dlsym(libva.get(), "vaSyncSurface"));
  if (sync == nullptr) {
    throw Error::failed("libva.so.2 has no vaSyncSurface");
  }
  void* const display = static_cast<const VaapiDeviceContext*>(surfaces.device_ctx->hwctx)->display;
  const auto surface = static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(picture.data[3]));
  if (const int status = sync(display, surface); status != 0) {
    throw Error::failed("vaSyncSurface failed (status " + std::to_string(status) + ")");
  }
}

/// A picture, and what libav has mapped of it.
class VaapiPicture final : public DevicePicture {
 public:
  /// Throws Error if memory runs out.
  VaapiPicture(const AVFrame& picture, const FrameLayout& layout)
      : picture_(av_frame_clone(&picture)), layout_(layout) {
    if (!picture_) {
      throw Error::failed("out of memory for a decoded picture");
    }
  }

  DmaBufPicture export_planes() override {
    const auto& surface = *reinterpret_cast<const AVHWFramesContext*>(picture_->hw_frames_ctx->data);
    await_decoder(*picture_, surface);
    mapped_ = make_frame();
    mapped_->format = AV_PIX_FMT_DRM_PRIME;
    const Messages messages;
    if (const int code = av_hwframe_map(mapped_.get(), picture_.get(), AV_HWFRAME_MAP_READ); code < 0) {
      throw Error::failed("the VA-API driver exports no DMA-BUF (" +
                          (messages.first().empty() ? error_text(code) : messages.first()) + ")");
    }
    return picture_in(*reinterpret_cast<const AVDRMFrameDescriptor*>(mapped_->data[0]),
                      {.surface_width = static_cast<std::uint32_t>(surface.width),
                       .surface_height = static_cast<std::uint32_t>(surface.height),
                       .left = static_cast<std::uint32_t>(picture_->crop_left),
                       .top = static_cast<std::uint32_t>(picture_->crop_top)},
                      layout_);
  }

  std::string copy_to(std::span<std::byte> slot) noexcept override {
    const Frame host(av_frame_alloc());
    if (!host || slot.size() < layout_.size_bytes) {
      return "there is no room for it";
    }
    std::string fault = HwDecoder::fetch(*picture_, *host);
    if (fault.empty()) {
      HwDecoder::copy(*host, layout_, slot);
    }
    return fault;
  }

 private:
  Frame picture_;
  Frame mapped_;  // goes before the picture
  FrameLayout layout_;
};

BufferRef open_device(const char* path, std::string& why) {
  const Messages messages;
  AVBufferRef* device = nullptr;
  if (av_hwdevice_ctx_create(&device, AV_HWDEVICE_TYPE_VAAPI, path, nullptr, 0) < 0) {
    why = messages.last();
  }
  return BufferRef(device);
}

}  // namespace

/// Without a name libav would take the first node that it can open, and not say which.
std::unique_ptr<HwDecoder> VaapiDecoder::open(const std::string& device, const MemoryKind& slots,
                                              const OpenDmaBufReader& open_reader) {
  std::string why;
  for (int i = 0; i < most_nodes && device.empty(); ++i) {
    const std::string node = "/dev/dri/renderD" + std::to_string(128 + i);
    if (::access(node.c_str(), R_OK | W_OK) != 0) {
      continue;
    }
    if (BufferRef opened = open_device(node.c_str(), why)) {
      return std::make_unique<VaapiDecoder>(std::move(opened), node, slots.is_host(), open_reader);
    }
  }
  BufferRef opened = open_device(device.empty() ? nullptr : device.c_str(), why);
  if (!opened) {
    throw Error::failed(!why.empty() ? why
                                     : "libva opens no display by " +
                                           (device.empty() ? "a render node (/dev/dri/renderD*)" : device));
  }
  return std::make_unique<VaapiDecoder>(std::move(opened), device.starts_with('/') ? device : "", slots.is_host(),
                                        open_reader);
}

VaapiDecoder::VaapiDecoder(BufferRef device, std::string node, bool has_host_slots, OpenDmaBufReader open_reader)
    : HwDecoder(HwAccelKind::vaapi, std::move(device)),
      node_(std::move(node)),
      open_reader_(std::move(open_reader)),
      may_copy_(open_reader_ != nullptr && has_host_slots) {}

VaapiDecoder::~VaapiDecoder() = default;

std::string VaapiDecoder::describe() const {
  return std::string(name()) + (may_copy_ && tried_ ? ", DMA-BUF" : "");
}

std::string VaapiDecoder::take_refusal() noexcept {
  if (may_copy_ && reader_) {
    if (std::string failure = reader_->failure(); !failure.empty()) {
      refuse(std::move(failure));
    }
  }
  return std::exchange(refusal_, {});
}

void VaapiDecoder::refuse(std::string why) noexcept {
  may_copy_ = false;
  refusal_ = std::move(why);
}

bool VaapiDecoder::copies(const AVFrame& picture, const AVFrame& described) noexcept {
  if (!may_copy_) {
    return false;
  }
  try {
    const std::optional<PixelFormat> format = carried(static_cast<AVPixelFormat>(described.format));
    if (!format || !has_dma_buf_planes(*format)) {
      throw Error::failed("OpenGL reads nv12 and p010le, not " +
                          std::string(libav::name(static_cast<AVPixelFormat>(described.format))));
    }
    const FrameLayout layout = packed_layout(*format, static_cast<std::uint32_t>(described.width),
                                             static_cast<std::uint32_t>(described.height));
    if (!reader_ || !reader_->failure().empty() || tried_ != layout) {
      try_first(picture, layout);
      tried_ = layout;
    }
  } catch (const std::exception& error) {
    refuse(error.what());
  }
  return may_copy_;
}

/// Throws Error that says why the GPU does not read such pictures. A failure of the processor's way is told by who
/// takes that way next.
void VaapiDecoder::try_first(const AVFrame& picture, const FrameLayout& layout) {
  if (node_.empty()) {
    throw Error::failed("the device was not named by a node (/dev/dri/renderD*), which would say what GPU it is");
  }
  if (!reader_) {
    reader_ = open_reader_(node_);
  }
  const auto by_gpu = HostBlock::create("the first decoded picture", layout.size_bytes + 4);
  const auto by_processor = HostBlock::create_private("the first decoded picture", layout.size_bytes);
  const auto fence = reader_->start(std::make_shared<VaapiPicture>(picture, layout), by_gpu, 0);
  const FenceState state = await(*fence, longest_first_read_ns);
  if (state == FenceState::pending && is_cancelled()) {
    return;  // the processor would wait for the same GPU
  }
  if (const std::string failure = reader_->failure(); !failure.empty() || state != FenceState::done) {
    throw Error::failed(failure.empty() ? "the GPU did not read the first picture" : failure);
  }
  if (VaapiPicture(picture, layout).copy_to(by_processor->bytes()).empty() &&
      std::memcmp(by_gpu->bytes().data(), by_processor->bytes().data(), layout.size_bytes) != 0) {
    throw Error::failed("OpenGL read other bytes than the processor");
  }
}

std::shared_ptr<Fence> VaapiDecoder::start_copy(const AVFrame& picture, const FrameLayout& layout,
                                                const std::shared_ptr<Block>& block, std::uint64_t offset_bytes) {
  auto host = std::dynamic_pointer_cast<HostBlock>(block);
  if (!reader_ || !host || offset_bytes > host->size_bytes() || layout.size_bytes > host->size_bytes() - offset_bytes) {
    throw Error::failed("a decoded picture does not fit its slot");
  }
  await_room("the GPU " + node_, longest_read_ns);
  auto fence = reader_->start(std::make_shared<VaapiPicture>(picture, layout), std::move(host), offset_bytes);
  add_copy(fence);
  return fence;
}

}  // namespace framewire::libav
