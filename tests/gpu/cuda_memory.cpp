#include "tests/gpu/cuda_memory.hpp"

#include <cstdint>

namespace framewire {

namespace {

constexpr int posix_file_descriptor = 1;  // CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR
constexpr int minimum_granularity = 0;    // CU_MEM_ALLOC_GRANULARITY_MINIMUM

/// CUmemLocation.
struct Location {
  int type = 1;  // CU_MEM_LOCATION_TYPE_DEVICE
  int device = 0;
};

/// CUmemAllocationProp.
struct AllocationProperties {
  int type = 1;  // CU_MEM_ALLOCATION_TYPE_PINNED
  int handle_types = posix_file_descriptor;
  Location location;
  void* windows_only = nullptr;
  std::uint8_t compression = 0;
  std::uint8_t is_gpu_direct_rdma_capable = 0;
  std::uint16_t usage = 0;
  std::uint8_t reserved[4] = {};
};
static_assert(sizeof(AllocationProperties) == 32);

/// CUmemAccessDesc.
struct AccessDescription {
  Location location;
  ProbedMemory::Access access;
};
static_assert(sizeof(AccessDescription) == 12);

AllocationProperties properties_of(const CudaDriver& cuda, ProbedMemory::Use use) {
  AllocationProperties properties;
  properties.location.device = cuda.device();
  properties.is_gpu_direct_rdma_capable = use == ProbedMemory::Use::gpu_and_rdma ? 1 : 0;
  return properties;
}

}  // namespace

std::size_t ProbedMemory::granularity_bytes(const CudaDriver& cuda, Use use) {
  const AllocationProperties properties = properties_of(cuda, use);
  std::size_t granularity_bytes = 0;
  cuda.call("cuMemGetAllocationGranularity", &granularity_bytes, &properties, minimum_granularity);
  return granularity_bytes;
}

std::size_t ProbedMemory::size_for(const CudaDriver& cuda, std::size_t bytes, Use use) {
  const std::size_t unit_bytes = granularity_bytes(cuda, use);
  return (bytes + unit_bytes - 1) / unit_bytes * unit_bytes;
}

ProbedMemory::ProbedMemory(const CudaDriver& cuda, std::size_t size_bytes, Use use) : ProbedMemory(cuda, size_bytes) {
  const AllocationProperties properties = properties_of(cuda, use);
  cuda_.call("cuMemCreate", &handle_, size_bytes_, &properties, std::uint64_t{0});
  map(Access::read_write);
}

ProbedMemory::ProbedMemory(const CudaDriver& cuda, std::size_t size_bytes, const FileDescriptor& exported,
                           Access access)
    : ProbedMemory(cuda, size_bytes) {
  cuda_.call("cuMemImportFromShareableHandle", &handle_,
             reinterpret_cast<void*>(static_cast<std::intptr_t>(exported.get())), posix_file_descriptor);
  map(access);
}

ProbedMemory::~ProbedMemory() {
  if (is_mapped_) {
    cuda_.release("cuMemUnmap", address_, size_bytes_);
  }
  if (address_ != 0) {
    cuda_.release("cuMemAddressFree", address_, size_bytes_);
  }
  if (handle_ != 0) {
    cuda_.release("cuMemRelease", handle_);
  }
}

void ProbedMemory::map(Access access) {
  cuda_.call("cuMemAddressReserve", &address_, size_bytes_, std::size_t{0}, CudaAddress{0}, std::uint64_t{0});
  cuda_.call("cuMemMap", address_, size_bytes_, std::size_t{0}, handle_, std::uint64_t{0});
  is_mapped_ = true;
  const AccessDescription description{.location = {.device = cuda_.device()}, .access = access};
  cuda_.call("cuMemSetAccess", address_, size_bytes_, &description, std::size_t{1});
}

FileDescriptor ProbedMemory::export_descriptor() const {
  int descriptor = -1;
  cuda_.call("cuMemExportToShareableHandle", static_cast<void*>(&descriptor), handle_, posix_file_descriptor,
             std::uint64_t{0});
  return FileDescriptor(descriptor);
}

}  // namespace framewire
