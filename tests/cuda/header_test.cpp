// What memory/cuda/driver.hpp declares is what NVIDIA's cuda.h declares, and the stand-in has the functions from the
// same versions on. Compiled where they are installed.
#include <cuda.h>
#include <cudaTypedefs.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>
#include <type_traits>

#include "memory/cuda/driver.hpp"
#include "tests/cuda/function_versions.hpp"

namespace framewire::cuda {
namespace {

static_assert(sizeof(Address) == sizeof(CUdeviceptr));
static_assert(sizeof(DeviceNumber) == sizeof(CUdevice));
static_assert(sizeof(MemoryHandle) == sizeof(CUmemGenericAllocationHandle));
static_assert(sizeof(Uuid) == sizeof(CUuuid));

static_assert(static_cast<int>(Result::success) == CUDA_SUCCESS);
static_assert(static_cast<int>(Result::out_of_memory) == CUDA_ERROR_OUT_OF_MEMORY);
static_assert(static_cast<int>(Result::no_device) == CUDA_ERROR_NO_DEVICE);
static_assert(static_cast<int>(Result::not_ready) == CUDA_ERROR_NOT_READY);

static_assert(static_cast<int>(Attribute::virtual_memory_management) ==
              CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED);
static_assert(static_cast<int>(Attribute::posix_file_descriptor_handles) ==
              CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED);
static_assert(static_cast<int>(Attribute::pageable_memory_access_uses_host_page_tables) ==
              CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES);
static_assert(static_cast<int>(Attribute::gpu_direct_rdma_with_virtual_memory) ==
              CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED);
static_assert(static_cast<int>(Attribute::gpu_direct_rdma) == CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_SUPPORTED);
static_assert(static_cast<int>(Attribute::gpu_direct_rdma_flush_options) ==
              CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_FLUSH_WRITES_OPTIONS);
static_assert(static_cast<int>(Attribute::gpu_direct_rdma_writes_ordering) ==
              CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WRITES_ORDERING);
static_assert(static_cast<int>(Attribute::dma_buf) == CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED);

static_assert(handle_type_posix_file_descriptor == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
static_assert(granularity_minimum == CU_MEM_ALLOC_GRANULARITY_MINIMUM);
static_assert(stream_non_blocking == CU_STREAM_NON_BLOCKING);
static_assert(event_disable_timing == CU_EVENT_DISABLE_TIMING);
static_assert(host_register_portable == CU_MEMHOSTREGISTER_PORTABLE);
static_assert(host_register_read_only == CU_MEMHOSTREGISTER_READ_ONLY);
static_assert(range_handle_type_dma_buf == CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD);
#if CUDA_VERSION >= 12080
static_assert(range_mapped_by_pcie == CU_MEM_RANGE_FLAG_DMA_BUF_MAPPING_TYPE_PCIE);
#endif
static_assert(flush_option_host == CU_FLUSH_GPU_DIRECT_RDMA_WRITES_OPTION_HOST);
static_assert(flush_target_current_context == CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TARGET_CURRENT_CTX);
static_assert(flush_to_owner == CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_OWNER);
static_assert(writes_ordered_for_owner == CU_GPU_DIRECT_RDMA_WRITES_ORDERING_OWNER);

static_assert(sizeof(Location) == sizeof(CUmemLocation));
static_assert(offsetof(Location, device) == offsetof(CUmemLocation, id));
static_assert(Location{}.type == CU_MEM_LOCATION_TYPE_DEVICE);

static_assert(sizeof(AllocationProperties) == sizeof(CUmemAllocationProp));
static_assert(offsetof(AllocationProperties, handle_types) == offsetof(CUmemAllocationProp, requestedHandleTypes));
static_assert(offsetof(AllocationProperties, location) == offsetof(CUmemAllocationProp, location));
static_assert(offsetof(AllocationProperties, is_gpu_direct_rdma_capable) ==
              offsetof(CUmemAllocationProp, allocFlags.gpuDirectRDMACapable));
static_assert(AllocationProperties{}.type == CU_MEM_ALLOCATION_TYPE_PINNED);

static_assert(sizeof(AccessDescription) == sizeof(CUmemAccessDesc));
static_assert(offsetof(AccessDescription, access) == offsetof(CUmemAccessDesc, flags));
static_assert(static_cast<int>(Access::read) == CU_MEM_ACCESS_FLAGS_PROT_READ);
static_assert(static_cast<int>(Access::read_write) == CU_MEM_ACCESS_FLAGS_PROT_READWRITE);

static_assert(sizeof(Copy2D) == sizeof(CUDA_MEMCPY2D));
static_assert(offsetof(Copy2D, from.first_row) == offsetof(CUDA_MEMCPY2D, srcY));
static_assert(offsetof(Copy2D, from.type) == offsetof(CUDA_MEMCPY2D, srcMemoryType));
static_assert(offsetof(Copy2D, from.host) == offsetof(CUDA_MEMCPY2D, srcHost));
static_assert(offsetof(Copy2D, from.device) == offsetof(CUDA_MEMCPY2D, srcDevice));
static_assert(offsetof(Copy2D, from.pitch_bytes) == offsetof(CUDA_MEMCPY2D, srcPitch));
static_assert(offsetof(Copy2D, to.type) == offsetof(CUDA_MEMCPY2D, dstMemoryType));
static_assert(offsetof(Copy2D, to.host) == offsetof(CUDA_MEMCPY2D, dstHost));
static_assert(offsetof(Copy2D, to.device) == offsetof(CUDA_MEMCPY2D, dstDevice));
static_assert(offsetof(Copy2D, to.pitch_bytes) == offsetof(CUDA_MEMCPY2D, dstPitch));
static_assert(offsetof(Copy2D, row_bytes) == offsetof(CUDA_MEMCPY2D, WidthInBytes));
static_assert(offsetof(Copy2D, rows) == offsetof(CUDA_MEMCPY2D, Height));
static_assert(static_cast<int>(MemoryType::host) == CU_MEMORYTYPE_HOST);
static_assert(static_cast<int>(MemoryType::device) == CU_MEMORYTYPE_DEVICE);

// ---- Functions ----

template <typename Type>
constexpr bool is_number = std::is_integral_v<Type> || std::is_enum_v<Type>;

template <typename Type>
concept Complete = requires {
  sizeof(Type);
};

/// Types of either header may be opaque, or void.
template <typename Ours, typename Theirs>
consteval bool point_to_the_same() {
  if constexpr (Complete<Ours> && Complete<Theirs>) {
    // They may be pointers themselves. NOLINTNEXTLINE(bugprone-sizeof-expression)
    return sizeof(Ours) == sizeof(Theirs) && std::is_const_v<Ours> == std::is_const_v<Theirs>;
  } else {
    return Complete<Ours> == Complete<Theirs> && std::is_const_v<Ours> == std::is_const_v<Theirs>;
  }
}

/// Both go the same way from a caller to a function, and mean numbers or memory of the same size.
template <typename Ours, typename Theirs>
consteval bool are_passed_alike() {
  if constexpr (std::is_pointer_v<Ours> && std::is_pointer_v<Theirs>) {
    return point_to_the_same<std::remove_pointer_t<Ours>, std::remove_pointer_t<Theirs>>();
  } else if constexpr (is_number<Ours> && is_number<Theirs>) {
    return sizeof(Ours) == sizeof(Theirs);
  } else {
    return false;
  }
}

template <typename Ours, typename Theirs>
struct SameCall : std::false_type {};  // another number of parameters

template <typename OurResult, typename... Ours, typename TheirResult, typename... Theirs>
requires(sizeof...(Ours) == sizeof...(Theirs)) struct SameCall<OurResult (*)(Ours...), TheirResult (*)(Theirs...)>
    : std::bool_constant<are_passed_alike<OurResult, TheirResult>() && (are_passed_alike<Ours, Theirs>() && ...)> {
};

static_assert(SameCall<Result (*)(int, void*), CUresult (*)(unsigned, void*)>::value);
static_assert(!SameCall<Result (*)(int), CUresult (*)(int, int)>::value);
static_assert(!SameCall<Result (*)(int), CUresult (*)(std::size_t)>::value);
static_assert(!SameCall<Result (*)(std::size_t), CUresult (*)(void*)>::value);
static_assert(!SameCall<Result (*)(unsigned*), CUresult (*)(std::size_t*)>::value, "as in cuDeviceTotalMem, once");
static_assert(!SameCall<Result (*)(int*), CUresult (*)(const int*)>::value);
static_assert(!SameCall<void (*)(), CUresult (*)()>::value);

/// `Versioned`: as cuGetProcAddress gives it to who asks with this version, or a newer one.
template <typename Ours, typename Theirs, typename Versioned>
consteval bool compare(std::string_view name, int first_version) {
  static_assert(SameCall<Ours, Theirs>::value, "driver.hpp declares another function than cuda.h does");
  static_assert(SameCall<Ours, Versioned>::value, "driver.hpp declares another variant than that of this version");
  const auto* const here = test::cuda_stand_in::find_variant(name, first_version);
  return here != nullptr && here->first_version == first_version;
}

/// Names of cuda.h may be macros: for the newest variant, such as cuMemGetInfo_v2. Here they name the members, too.
#define FRAMEWIRE_COMPARE(function, version) \
  compare<decltype(Functions::function), decltype(&::function), PFN_##function##_v##version>(#function, version)

constexpr std::array compared{
    FRAMEWIRE_COMPARE(cuInit, 2000),
    FRAMEWIRE_COMPARE(cuDriverGetVersion, 2020),
    FRAMEWIRE_COMPARE(cuGetErrorName, 6000),
    FRAMEWIRE_COMPARE(cuGetErrorString, 6000),
    FRAMEWIRE_COMPARE(cuDeviceGetCount, 2000),
    FRAMEWIRE_COMPARE(cuDeviceGet, 2000),
    FRAMEWIRE_COMPARE(cuDeviceGetName, 2000),
    FRAMEWIRE_COMPARE(cuDeviceGetUuid, 11040),
    FRAMEWIRE_COMPARE(cuDeviceGetPCIBusId, 4010),
    FRAMEWIRE_COMPARE(cuDeviceGetAttribute, 2000),
    FRAMEWIRE_COMPARE(cuDeviceTotalMem, 3020),
    FRAMEWIRE_COMPARE(cuDeviceCanAccessPeer, 4000),
    FRAMEWIRE_COMPARE(cuDevicePrimaryCtxRetain, 7000),
    FRAMEWIRE_COMPARE(cuDevicePrimaryCtxRelease, 11000),
    FRAMEWIRE_COMPARE(cuCtxPushCurrent, 4000),
    FRAMEWIRE_COMPARE(cuCtxPopCurrent, 4000),
    FRAMEWIRE_COMPARE(cuMemGetInfo, 3020),
    FRAMEWIRE_COMPARE(cuMemGetAllocationGranularity, 10020),
    FRAMEWIRE_COMPARE(cuMemCreate, 10020),
    FRAMEWIRE_COMPARE(cuMemRelease, 10020),
    FRAMEWIRE_COMPARE(cuMemAddressReserve, 10020),
    FRAMEWIRE_COMPARE(cuMemAddressFree, 10020),
    FRAMEWIRE_COMPARE(cuMemMap, 10020),
    FRAMEWIRE_COMPARE(cuMemUnmap, 10020),
    FRAMEWIRE_COMPARE(cuMemSetAccess, 10020),
    FRAMEWIRE_COMPARE(cuMemExportToShareableHandle, 10020),
    FRAMEWIRE_COMPARE(cuMemImportFromShareableHandle, 10020),
    FRAMEWIRE_COMPARE(cuMemGetAllocationPropertiesFromHandle, 10020),
    FRAMEWIRE_COMPARE(cuMemGetHandleForAddressRange, 11070),
    FRAMEWIRE_COMPARE(cuMemHostRegister, 6050),
    FRAMEWIRE_COMPARE(cuMemHostUnregister, 4000),
    FRAMEWIRE_COMPARE(cuMemsetD8Async, 3020),
    FRAMEWIRE_COMPARE(cuMemcpyDtoHAsync, 3020),
    FRAMEWIRE_COMPARE(cuMemcpyHtoDAsync, 3020),
    FRAMEWIRE_COMPARE(cuMemcpyDtoDAsync, 3020),
    FRAMEWIRE_COMPARE(cuMemcpy2DAsync, 3020),
    FRAMEWIRE_COMPARE(cuFlushGPUDirectRDMAWrites, 11030),
    FRAMEWIRE_COMPARE(cuStreamCreate, 2000),
    FRAMEWIRE_COMPARE(cuStreamQuery, 2000),
    FRAMEWIRE_COMPARE(cuStreamDestroy, 4000),
    FRAMEWIRE_COMPARE(cuEventCreate, 2000),
    FRAMEWIRE_COMPARE(cuEventRecord, 2000),
    FRAMEWIRE_COMPARE(cuEventQuery, 2000),
    FRAMEWIRE_COMPARE(cuEventDestroy, 4000),
};
static_assert(sizeof(Functions) == compared.size() * sizeof(&::cuInit), "a function is missing here");
static_assert(std::ranges::all_of(compared, [](bool is_same) { return is_same; }), "function_versions.hpp differs");

#undef FRAMEWIRE_COMPARE

TEST(CudaHeader, DeclaresWhatIsUsed) {
  SUCCEED() << "the compiler has compared them";
}

TEST(CudaHeader, ErrorsThatStayAreThoseOfAGpuOrOfWhatRanThere) {
  for (const int error :
       {CUDA_ERROR_DEVICE_UNAVAILABLE, CUDA_ERROR_ECC_UNCORRECTABLE, CUDA_ERROR_NVLINK_UNCORRECTABLE,
        CUDA_ERROR_ILLEGAL_ADDRESS, CUDA_ERROR_LAUNCH_TIMEOUT, CUDA_ERROR_CONTEXT_IS_DESTROYED, CUDA_ERROR_ASSERT,
        CUDA_ERROR_HARDWARE_STACK_ERROR, CUDA_ERROR_ILLEGAL_INSTRUCTION, CUDA_ERROR_MISALIGNED_ADDRESS,
        CUDA_ERROR_INVALID_ADDRESS_SPACE, CUDA_ERROR_INVALID_PC, CUDA_ERROR_LAUNCH_FAILED, CUDA_ERROR_UNKNOWN}) {
    EXPECT_TRUE(ends_all_work(Result{error})) << error;
  }
  for (const int error : {CUDA_SUCCESS, CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_OUT_OF_MEMORY, CUDA_ERROR_INVALID_CONTEXT,
                          CUDA_ERROR_INVALID_HANDLE, CUDA_ERROR_NOT_READY, CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES,
                          CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED, CUDA_ERROR_NOT_SUPPORTED}) {
    EXPECT_FALSE(ends_all_work(Result{error})) << error;
  }
}

}  // namespace
}  // namespace framewire::cuda
