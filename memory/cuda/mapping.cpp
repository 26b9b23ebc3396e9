#include "memory/cuda/mapping.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/text.hpp"
#include "memory/out_of_memory.hpp"

namespace framewire {

namespace {

cuda::AllocationProperties properties_of(const CudaDevice& device) noexcept {
  cuda::AllocationProperties properties;
  properties.handle_types = cuda::handle_type_posix_file_descriptor;
  properties.location.device = device.info().number;
  // Asking for it where it is missing would make cuMemCreate fail.
  properties.is_gpu_direct_rdma_capable = device.info().makes_gpu_direct_memory ? 1 : 0;
  return properties;
}

/// "12.0 MB of 80.0 GB are free".
std::string room_on(const CudaDevice& device) {
  std::size_t free_bytes = 0;
  std::size_t total_bytes = 0;
  if (device.functions().cuMemGetInfo(&free_bytes, &total_bytes) != cuda::Result::success) {
    return "how much is free is not known";
  }
  return format_bytes(free_bytes) + " of " + format_bytes(total_bytes) + " are free";
}

/// Rather than that it could not do anything else either.
bool refuses(cuda::Result result) noexcept {
  return result != cuda::Result::success && result != cuda::Result::out_of_memory && !cuda::ends_all_work(result);
}

cuda::MemoryHandle create(const CudaDevice& device, std::uint64_t size_bytes) {
  const CurrentContext current(device);
  const cuda::AllocationProperties properties = properties_of(device);
  cuda::MemoryHandle handle = 0;
  const cuda::Result result = device.functions().cuMemCreate(&handle, size_bytes, &properties, 0);
  if (result == cuda::Result::out_of_memory) {
    throw OutOfMemory("not enough memory on the GPU " + device.info().name + ": " + format_bytes(size_bytes) +
                      " are needed, and " + room_on(device));
  }
  cuda::require(result, "cuMemCreate");
  return handle;
}

cuda::MemoryHandle import(const CudaDevice& device, const FileDescriptor& exported) {
  const CurrentContext current(device);
  void* const shareable = reinterpret_cast<void*>(static_cast<std::intptr_t>(exported.get()));
  cuda::MemoryHandle handle = 0;
  cuda::require(
      device.functions().cuMemImportFromShareableHandle(&handle, shareable, cuda::handle_type_posix_file_descriptor),
      "cuMemImportFromShareableHandle");
  return handle;
}

}  // namespace

std::uint64_t CudaMapping::granularity_bytes(const CudaDevice& device) {
  const cuda::AllocationProperties properties = properties_of(device);
  const CurrentContext current(device);
  std::size_t bytes = 0;
  cuda::require(device.functions().cuMemGetAllocationGranularity(&bytes, &properties, cuda::granularity_minimum),
                "cuMemGetAllocationGranularity");
  return bytes;
}

CudaMapping::CudaMapping(std::shared_ptr<const CudaDevice> device, std::uint64_t size_bytes,
                         cuda::MemoryHandle handle) noexcept
    : device_(std::move(device)), size_bytes_(size_bytes), handle_(handle) {}

CudaMapping::CudaMapping(const std::shared_ptr<const CudaDevice>& device, std::uint64_t size_bytes)
    : CudaMapping(device, size_bytes, create(*device, size_bytes)) {
  map(cuda::Access::read_write);
}

CudaMapping::CudaMapping(const std::shared_ptr<const CudaDevice>& device, std::uint64_t size_bytes,
                         const FileDescriptor& exported)
    : CudaMapping(device, size_bytes, import(*device, exported)) {
  peer_ = find_peer();
  map(cuda::Access::read);
}

/// What fails here has gone with the GPU.
CudaMapping::~CudaMapping() {
  const cuda::Functions& cuda = device_->functions();
  const CurrentContext current(*device_, std::nothrow);
  if (is_mapped_) {
    cuda.cuMemUnmap(address_, size_bytes_);
  }
  if (address_ != 0) {
    cuda.cuMemAddressFree(address_, size_bytes_);
  }
  cuda.cuMemRelease(handle_);
}

/// A GPU without peers maps only its own memory: map() fails for any other.
const CudaPeer* CudaMapping::find_peer() const {
  const std::vector<CudaPeer>& peers = device_->info().peers;
  if (peers.empty()) {
    return nullptr;
  }
  const CurrentContext current(*device_);
  cuda::AllocationProperties properties;
  cuda::require(device_->functions().cuMemGetAllocationPropertiesFromHandle(&properties, handle_),
                "cuMemGetAllocationPropertiesFromHandle");
  const auto found = std::ranges::find(peers, properties.location.device, &CudaPeer::number);
  return found == peers.end() ? nullptr : &*found;
}

void CudaMapping::map(cuda::Access access) {
  const cuda::Functions& cuda = device_->functions();
  const CurrentContext current(*device_);
  cuda::require(cuda.cuMemAddressReserve(&address_, size_bytes_, 0, 0, 0), "cuMemAddressReserve");
  cuda::require(cuda.cuMemMap(address_, size_bytes_, 0, handle_, 0), "cuMemMap");
  is_mapped_ = true;
  cuda::Result result = allow(access);
  if (access == cuda::Access::read && refuses(result)) {
    why_writable_ = cuda::words_of(result);
    result = allow(cuda::Access::read_write);
  }
  cuda::require(result, "cuMemSetAccess");
}

cuda::Result CudaMapping::allow(cuda::Access access) {
  const cuda::AccessDescription description{.location = {.device = device_->info().number}, .access = access};
  return device_->functions().cuMemSetAccess(address_, size_bytes_, &description, 1);
}

FileDescriptor CudaMapping::export_descriptor() const {
  const CurrentContext current(*device_);
  int descriptor = -1;
  cuda::require(device_->functions().cuMemExportToShareableHandle(&descriptor, handle_,
                                                                  cuda::handle_type_posix_file_descriptor, 0),
                "cuMemExportToShareableHandle");
  return FileDescriptor(descriptor);
}

FileDescriptor CudaMapping::export_dma_buf(DmaBufMapping as) const {
  const CurrentContext current(*device_);
  int descriptor = -1;
  cuda::require(device_->functions().cuMemGetHandleForAddressRange(
                    &descriptor, address_, size_bytes_, cuda::range_handle_type_dma_buf,
                    as == DmaBufMapping::by_pcie ? cuda::range_mapped_by_pcie : 0),
                "cuMemGetHandleForAddressRange");
  return FileDescriptor(descriptor);
}

}  // namespace framewire
