#include "memory/cuda/mapping.hpp"

#include <utility>

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

}  // namespace

std::uint64_t CudaMapping::granularity_bytes(const CudaDevice& device) {
  const cuda::AllocationProperties properties = properties_of(device);
  const CurrentContext current(device);
  std::size_t bytes = 0;
  cuda::require(device.functions().cuMemGetAllocationGranularity(&bytes, &properties, cuda::granularity_minimum),
                "cuMemGetAllocationGranularity");
  return bytes;
}

CudaMapping::CudaMapping(std::shared_ptr<const CudaDevice> device, std::uint64_t size_bytes)
    : device_(std::move(device)), size_bytes_(size_bytes) {
  const CurrentContext current(*device_);
  const cuda::AllocationProperties properties = properties_of(*device_);
  const cuda::Result result = device_->functions().cuMemCreate(&handle_, size_bytes_, &properties, 0);
  if (result == cuda::Result::out_of_memory) {
    throw OutOfMemory("not enough memory on the GPU " + device_->info().name + ": " + format_bytes(size_bytes_) +
                      " are needed, and " + room_on(*device_));
  }
  cuda::require(result, "cuMemCreate");
  has_handle_ = true;
  map(cuda::Access::read_write);
}

CudaMapping::CudaMapping(std::shared_ptr<const CudaDevice> device, std::uint64_t size_bytes,
                         const FileDescriptor& exported)
    : device_(std::move(device)), size_bytes_(size_bytes) {
  const CurrentContext current(*device_);
  void* const shareable = reinterpret_cast<void*>(static_cast<std::intptr_t>(exported.get()));
  cuda::require(
      device_->functions().cuMemImportFromShareableHandle(&handle_, shareable, cuda::handle_type_posix_file_descriptor),
      "cuMemImportFromShareableHandle");
  has_handle_ = true;
  map(cuda::Access::read);
}

void CudaMapping::map(cuda::Access access) {
  const cuda::Functions& cuda = device_->functions();
  try {
    cuda::require(cuda.cuMemAddressReserve(&address_, size_bytes_, 0, 0, 0), "cuMemAddressReserve");
    cuda::require(cuda.cuMemMap(address_, size_bytes_, 0, handle_, 0), "cuMemMap");
    is_mapped_ = true;
    cuda::Result result = allow(access);
    if (access == cuda::Access::read && refuses(result)) {
      why_writable_ = cuda::words_of(result);
      result = allow(cuda::Access::read_write);
    }
    cuda::require(result, "cuMemSetAccess");
  } catch (...) {
    release();  // a constructor that throws has no destructor
    throw;
  }
}

cuda::Result CudaMapping::allow(cuda::Access access) {
  const cuda::AccessDescription description{.location = {.device = device_->info().number}, .access = access};
  return device_->functions().cuMemSetAccess(address_, size_bytes_, &description, 1);
}

/// What fails here has gone with the GPU.
void CudaMapping::release() noexcept {
  const cuda::Functions& cuda = device_->functions();
  const CurrentContext current(*device_, std::nothrow);
  if (std::exchange(is_mapped_, false)) {
    cuda.cuMemUnmap(address_, size_bytes_);
  }
  if (const cuda::Address address = std::exchange(address_, 0); address != 0) {
    cuda.cuMemAddressFree(address, size_bytes_);
  }
  if (std::exchange(has_handle_, false)) {
    cuda.cuMemRelease(handle_);
  }
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
