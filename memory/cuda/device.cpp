#include "memory/cuda/device.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include "base/error.hpp"
#include "base/text.hpp"

namespace framewire {

namespace {

/// The version of CUDA that brought CU_MEM_RANGE_FLAG_DMA_BUF_MAPPING_TYPE_PCIE; perftest asks for it, too
/// (src/cuda_memory.c). Before, the flags of cuMemGetHandleForAddressRange had to be 0.
constexpr int pcie_mapping_version = 12080;

std::string in_small_letters(std::string_view text) {
  std::string small(text);
  std::ranges::transform(small, small.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return small;
}

std::string uuid_text(const cuda::Uuid& uuid) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text = "GPU-";
  for (std::size_t i = 0; i < uuid.size(); ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) {
      text += '-';
    }
    text += digits[uuid.at(i) >> 4U];
    text += digits[uuid.at(i) & 0xFU];
  }
  return text;
}

CudaDeviceInfo info_of(const cuda::Functions& cuda, int ordinal) {
  CudaDeviceInfo info;
  cuda::require(cuda.cuDeviceGet(&info.number, ordinal), "cuDeviceGet");
  std::array<char, 256> text{};
  cuda::require(cuda.cuDeviceGetName(text.data(), static_cast<int>(text.size()) - 1, info.number), "cuDeviceGetName");
  info.name = text.data();
  cuda::require(cuda.cuDeviceGetUuid(&info.uuid_bytes, info.number), "cuDeviceGetUuid");
  info.uuid = uuid_text(info.uuid_bytes);
  text = {};
  cuda::require(cuda.cuDeviceGetPCIBusId(text.data(), static_cast<int>(text.size()) - 1, info.number),
                "cuDeviceGetPCIBusId");
  info.pci_address = in_small_letters(text.data());
  std::size_t bytes = 0;
  cuda::require(cuda.cuDeviceTotalMem(&bytes, info.number), "cuDeviceTotalMem");
  info.memory_bytes = bytes;
  // A driver that does not know an attribute does not have what it stands for.
  const auto value_of = [&](cuda::Attribute attribute) {
    int value = 0;
    return cuda.cuDeviceGetAttribute(&value, attribute, info.number) == cuda::Result::success ? value : 0;
  };
  const auto has = [&](cuda::Attribute attribute) { return value_of(attribute) != 0; };
  info.shares_memory =
      has(cuda::Attribute::virtual_memory_management) && has(cuda::Attribute::posix_file_descriptor_handles);
  info.exports_dma_buf = has(cuda::Attribute::dma_buf) && cuda.cuMemGetHandleForAddressRange != nullptr;
  int version = 0;
  info.knows_pcie_mapping = info.exports_dma_buf && cuda.cuDriverGetVersion(&version) == cuda::Result::success &&
                            version >= pcie_mapping_version;
  info.makes_gpu_direct_memory = has(cuda::Attribute::gpu_direct_rdma_with_virtual_memory);
  info.takes_gpu_direct_rdma = info.makes_gpu_direct_memory && has(cuda::Attribute::gpu_direct_rdma);
  info.orders_rdma_writes =
      value_of(cuda::Attribute::gpu_direct_rdma_writes_ordering) >= cuda::writes_ordered_for_owner;
  const auto flushes = static_cast<unsigned>(value_of(cuda::Attribute::gpu_direct_rdma_flush_options));
  info.flushes_rdma_writes = (flushes & static_cast<unsigned>(cuda::flush_option_host)) != 0;
  info.shares_page_tables = has(cuda::Attribute::pageable_memory_access_uses_host_page_tables);
  return info;
}

/// Where the driver cannot say it, there is no such access.
bool reads(const cuda::Functions& cuda, const CudaDeviceInfo& reader, const CudaDeviceInfo& owner) {
  int can = 0;
  return reader.number != owner.number &&
         cuda.cuDeviceCanAccessPeer(&can, reader.number, owner.number) == cuda::Result::success && can != 0;
}

std::vector<CudaPeer> peers_of(const cuda::Functions& cuda, const CudaDeviceInfo& reader,
                               const std::vector<CudaDeviceInfo>& devices) {
  std::vector<CudaPeer> peers;
  for (const CudaDeviceInfo& owner : devices) {
    if (reads(cuda, reader, owner)) {
      peers.push_back({owner.number, owner.uuid_bytes, owner.name, owner.pci_address});
    }
  }
  return peers;
}

std::string list_of(const std::vector<CudaDeviceInfo>& devices) {
  std::string text;
  for (const CudaDeviceInfo& device : devices) {
    text += (text.empty() ? "" : ", ") + device.name + " (" + device.uuid + ", " + device.pci_address + ")";
  }
  return text;
}

}  // namespace

std::vector<CudaDeviceInfo> cuda_devices() {
  const cuda::Functions& cuda = cuda::functions();
  int count = 0;
  cuda::require(cuda.cuDeviceGetCount(&count), "cuDeviceGetCount");
  std::vector<CudaDeviceInfo> devices;
  for (int i = 0; i < count; ++i) {
    devices.push_back(info_of(cuda, i));
  }
  for (CudaDeviceInfo& device : devices) {
    device.peers = peers_of(cuda, device, devices);
  }
  return devices;
}

const CudaDeviceInfo& choose_cuda_device(const std::vector<CudaDeviceInfo>& devices, std::string_view wanted) {
  if (devices.empty()) {
    throw Error::failed(cuda::no_gpu);
  }
  if (wanted.empty()) {
    return devices.front();
  }
  const std::string small = in_small_letters(wanted);
  const auto fits = [&](const CudaDeviceInfo& device) {
    return device.pci_address == small || in_small_letters(device.uuid).starts_with(small);
  };
  const auto found = std::ranges::find_if(devices, fits);
  if (found == devices.end() || std::find_if(found + 1, devices.end(), fits) != devices.end()) {
    throw Error::failed((found == devices.end() ? "no GPU is " : "several GPUs are ") + quote(wanted) + "; CUDA has " +
                        list_of(devices));
  }
  return *found;
}

CudaDevice::CudaDevice(CudaDeviceInfo info) : functions_(cuda::functions()), info_(std::move(info)) {
  cuda::require(functions_.cuDevicePrimaryCtxRetain(&context_, info_.number), "cuDevicePrimaryCtxRetain");
}

CudaDevice::~CudaDevice() {
  functions_.cuDevicePrimaryCtxRelease(info_.number);
}

CurrentContext::CurrentContext(const CudaDevice& device) : device_(device), is_current_(true) {
  cuda::require(device_.functions().cuCtxPushCurrent(device_.context()), "cuCtxPushCurrent");
}

CurrentContext::CurrentContext(const CudaDevice& device, std::nothrow_t) noexcept
    : device_(device), is_current_(device.functions().cuCtxPushCurrent(device.context()) == cuda::Result::success) {}

CurrentContext::~CurrentContext() {
  if (is_current_) {
    cuda::Context popped = nullptr;
    device_.functions().cuCtxPopCurrent(&popped);
  }
}

}  // namespace framewire
