// CUDA's driver interface, loaded when a program first asks for it: programs are built without CUDA's toolkit, and run
// on machines without a GPU. Names, numbers and structures are those of NVIDIA's cuda.h.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

namespace framewire::cuda {

using Address = std::uint64_t;       // CUdeviceptr
using DeviceNumber = int;            // CUdevice
using MemoryHandle = std::uint64_t;  // CUmemGenericAllocationHandle
struct ContextObject;
struct StreamObject;
struct EventObject;
using Context = ContextObject*;  // CUcontext
using Stream = StreamObject*;    // CUstream
using Event = EventObject*;      // CUevent
using Uuid = std::array<std::uint8_t, 16>;

/// CUresult: those that are told apart.
enum class Result : int { success = 0, out_of_memory = 2, no_device = 100, not_ready = 600 };

/// What to say where CUDA shows this process no GPU: cuInit() fails with no_device, or cuDeviceGetCount() gives 0.
inline constexpr const char* no_gpu = "CUDA has no GPU here; CUDA_VISIBLE_DEVICES may hide it";

/// CUdevice_attribute.
enum class Attribute : int {
  pageable_memory_access_uses_host_page_tables = 100,
  virtual_memory_management = 102,
  posix_file_descriptor_handles = 103,
  gpu_direct_rdma_with_virtual_memory = 110,
  gpu_direct_rdma = 116,
  gpu_direct_rdma_flush_options = 117,
  gpu_direct_rdma_writes_ordering = 118,
  dma_buf = 124,
};

inline constexpr int handle_type_posix_file_descriptor = 1;    // CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR
inline constexpr int granularity_minimum = 0;                  // CU_MEM_ALLOC_GRANULARITY_MINIMUM
inline constexpr unsigned stream_non_blocking = 1;             // CU_STREAM_NON_BLOCKING
inline constexpr unsigned event_disable_timing = 2;            // CU_EVENT_DISABLE_TIMING
inline constexpr unsigned host_register_portable = 1;          // CU_MEMHOSTREGISTER_PORTABLE
inline constexpr unsigned host_register_read_only = 8;         // CU_MEMHOSTREGISTER_READ_ONLY
inline constexpr int range_handle_type_dma_buf = 1;            // CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD
inline constexpr unsigned long long range_mapped_by_pcie = 1;  // CU_MEM_RANGE_FLAG_DMA_BUF_MAPPING_TYPE_PCIE
inline constexpr int flush_option_host = 1;                    // CU_FLUSH_GPU_DIRECT_RDMA_WRITES_OPTION_HOST
inline constexpr int flush_target_current_context = 0;         // CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TARGET_CURRENT_CTX
inline constexpr int flush_to_owner = 100;                     // CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_OWNER
inline constexpr int writes_ordered_for_owner = 100;           // CU_GPU_DIRECT_RDMA_WRITES_ORDERING_OWNER

/// CUmemLocation.
struct Location {
  int type = 1;  // CU_MEM_LOCATION_TYPE_DEVICE
  DeviceNumber device = 0;
};

/// CUmemAllocationProp.
struct AllocationProperties {
  int type = 1;  // CU_MEM_ALLOCATION_TYPE_PINNED
  int handle_types = 0;
  Location location{};
  void* windows_only = nullptr;
  std::uint8_t compression = 0;
  std::uint8_t is_gpu_direct_rdma_capable = 0;
  std::uint16_t usage = 0;
  std::array<std::uint8_t, 4> reserved{};
};

/// CUmemAccess_flags.
enum class Access : int { read = 1, read_write = 3 };

/// CUmemAccessDesc.
struct AccessDescription {
  Location location{};
  Access access = Access::read;
};

/// CUmemorytype, of the ends of a copy.
enum class MemoryType : int { host = 1, device = 2 };

/// One end of a Copy2D: rows `pitch_bytes` apart. The order of members is that of cuda.h.
struct Copy2DEnd {
  std::size_t first_column_bytes = 0;
  std::size_t first_row = 0;
  MemoryType type = MemoryType::device;
  void* host = nullptr;
  Address device = 0;
  void* array = nullptr;
  std::size_t pitch_bytes = 0;
};

/// CUDA_MEMCPY2D.
struct Copy2D {
  Copy2DEnd from{};
  Copy2DEnd to{};
  std::size_t row_bytes = 0;
  std::size_t rows = 0;
};

/// The functions that are used, by cuda.h's names. Any thread. Most need a current context (CurrentContext).
struct Functions {
  Result (*cuInit)(unsigned flags);
  Result (*cuDriverGetVersion)(int* version);
  Result (*cuGetErrorName)(Result error, const char** text);
  Result (*cuGetErrorString)(Result error, const char** text);
  Result (*cuDeviceGetCount)(int* count);
  Result (*cuDeviceGet)(DeviceNumber* device, int ordinal);
  Result (*cuDeviceGetName)(char* name, int name_bytes, DeviceNumber device);
  Result (*cuDeviceGetUuid)(Uuid* uuid, DeviceNumber device);
  Result (*cuDeviceGetPCIBusId)(char* text, int text_bytes, DeviceNumber device);
  Result (*cuDeviceGetAttribute)(int* value, Attribute attribute, DeviceNumber device);
  Result (*cuDeviceTotalMem)(std::size_t* bytes, DeviceNumber device);
  Result (*cuDeviceCanAccessPeer)(int* can, DeviceNumber reader, DeviceNumber owner);
  Result (*cuDevicePrimaryCtxRetain)(Context* context, DeviceNumber device);
  Result (*cuDevicePrimaryCtxRelease)(DeviceNumber device);
  Result (*cuCtxPushCurrent)(Context context);
  Result (*cuCtxPopCurrent)(Context* context);
  Result (*cuMemGetInfo)(std::size_t* free_bytes, std::size_t* total_bytes);
  Result (*cuMemGetAllocationGranularity)(std::size_t* bytes, const AllocationProperties* properties, int option);
  Result (*cuMemCreate)(MemoryHandle* handle, std::size_t bytes, const AllocationProperties* properties,
                        unsigned long long flags);
  Result (*cuMemRelease)(MemoryHandle handle);
  Result (*cuMemAddressReserve)(Address* address, std::size_t bytes, std::size_t alignment, Address wanted,
                                unsigned long long flags);
  Result (*cuMemAddressFree)(Address address, std::size_t bytes);
  Result (*cuMemMap)(Address address, std::size_t bytes, std::size_t offset, MemoryHandle handle,
                     unsigned long long flags);
  Result (*cuMemUnmap)(Address address, std::size_t bytes);
  Result (*cuMemSetAccess)(Address address, std::size_t bytes, const AccessDescription* descriptions,
                           std::size_t count);
  Result (*cuMemExportToShareableHandle)(void* shareable, MemoryHandle handle, int type, unsigned long long flags);
  Result (*cuMemImportFromShareableHandle)(MemoryHandle* handle, void* shareable, int type);
  Result (*cuMemGetAllocationPropertiesFromHandle)(AllocationProperties* properties, MemoryHandle handle);
  /// Null where the driver is older than CUDA 11.7.
  Result (*cuMemGetHandleForAddressRange)(void* handle, Address address, std::size_t bytes, int type,
                                          unsigned long long flags);
  Result (*cuMemHostRegister)(void* address, std::size_t bytes, unsigned flags);
  Result (*cuMemHostUnregister)(void* address);
  Result (*cuMemsetD8Async)(Address address, unsigned char value, std::size_t bytes, Stream stream);
  Result (*cuMemcpyDtoHAsync)(void* to, Address from, std::size_t bytes, Stream stream);
  Result (*cuMemcpyHtoDAsync)(Address to, const void* from, std::size_t bytes, Stream stream);
  Result (*cuMemcpyDtoDAsync)(Address to, Address from, std::size_t bytes, Stream stream);
  Result (*cuMemcpy2DAsync)(const Copy2D* copy, Stream stream);
  Result (*cuFlushGPUDirectRDMAWrites)(int target, int scope);
  Result (*cuStreamCreate)(Stream* stream, unsigned flags);
  Result (*cuStreamQuery)(Stream stream);
  Result (*cuStreamDestroy)(Stream stream);
  Result (*cuEventCreate)(Event* event, unsigned flags);
  Result (*cuEventRecord)(Event event, Stream stream);
  Result (*cuEventQuery)(Event event);
  Result (*cuEventDestroy)(Event event);
};

/// Loads libcuda.so.1, which then stays. Throws Error (failed) that says what is missing: the library, a function of
/// it, or a GPU.
Functions load_functions();

/// What load_functions() gave at the first call that succeeded. Any thread. Throws as that does.
const Functions& functions();

/// Up to which version of CUDA the driver goes: "13.0". Throws as functions().
std::string driver_version();

/// Whether the driver gives this error for all further work of this process once it has given it: a fault of the GPU
/// itself, or of what ran there.
[[nodiscard]] bool ends_all_work(Result result) noexcept;

/// Throws Error (failed) unless `result` is success: "cuMemCreate: out of memory (CUDA_ERROR_OUT_OF_MEMORY)".
void require(Result result, const char* function);

/// "out of memory (CUDA_ERROR_OUT_OF_MEMORY)".
std::string words_of(Result result);

}  // namespace framewire::cuda
