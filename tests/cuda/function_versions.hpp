// Which variant of a function of CUDA's driver exists from which version on. cuda.h has them by the newest names
// (cuMemGetInfo_v2), cuGetProcAddress by one name and a version.
#pragma once

#include <array>
#include <string_view>

namespace framewire::test::cuda_stand_in {

struct Variant {
  std::string_view name;
  int first_version;           // 11030: of CUDA 11.3
  std::string_view name_here;  // of the stand-in's function
};

constexpr Variant variant(std::string_view name, int first_version) {
  return {.name = name, .first_version = first_version, .name_here = name};
}

/// Those that memory/cuda/driver.hpp declares. Older ones take other arguments, and the stand-in has none of them.
inline constexpr std::array variants{
    variant("cuInit", 2000),
    variant("cuDriverGetVersion", 2020),
    variant("cuGetErrorName", 6000),
    variant("cuGetErrorString", 6000),
    variant("cuDeviceGetCount", 2000),
    variant("cuDeviceGet", 2000),
    variant("cuDeviceGetName", 2000),
    variant("cuDeviceGetUuid", 9020),
    Variant{.name = "cuDeviceGetUuid", .first_version = 11040, .name_here = "cuDeviceGetUuid_v2"},
    variant("cuDeviceGetPCIBusId", 4010),
    variant("cuDeviceGetAttribute", 2000),
    variant("cuDeviceTotalMem", 3020),
    variant("cuDeviceCanAccessPeer", 4000),
    variant("cuDevicePrimaryCtxRetain", 7000),
    variant("cuDevicePrimaryCtxRelease", 11000),
    variant("cuCtxPushCurrent", 4000),
    variant("cuCtxPopCurrent", 4000),
    variant("cuMemGetInfo", 3020),
    variant("cuMemGetAllocationGranularity", 10020),
    variant("cuMemCreate", 10020),
    variant("cuMemRelease", 10020),
    variant("cuMemAddressReserve", 10020),
    variant("cuMemAddressFree", 10020),
    variant("cuMemMap", 10020),
    variant("cuMemUnmap", 10020),
    variant("cuMemSetAccess", 10020),
    variant("cuMemExportToShareableHandle", 10020),
    variant("cuMemImportFromShareableHandle", 10020),
    variant("cuMemGetAllocationPropertiesFromHandle", 10020),
    variant("cuMemGetHandleForAddressRange", 11070),
    variant("cuMemHostRegister", 6050),
    variant("cuMemHostUnregister", 4000),
    variant("cuMemsetD8Async", 3020),
    variant("cuMemcpyDtoHAsync", 3020),
    variant("cuMemcpyHtoDAsync", 3020),
    variant("cuMemcpyDtoDAsync", 3020),
    variant("cuMemcpy2DAsync", 3020),
    variant("cuFlushGPUDirectRDMAWrites", 11030),
    variant("cuStreamCreate", 2000),
    variant("cuStreamQuery", 2000),
    variant("cuStreamDestroy", 4000),
    variant("cuEventCreate", 2000),
    variant("cuEventRecord", 2000),
    variant("cuEventQuery", 2000),
    variant("cuEventDestroy", 4000),
};

/// What a caller gets that asks with this version: the newest one that is not newer. Null: there is none.
constexpr const Variant* find_variant(std::string_view name, int version) {
  const Variant* newest = nullptr;
  for (const Variant& one : variants) {
    if (one.name == name && one.first_version <= version &&
        (newest == nullptr || one.first_version > newest->first_version)) {
      newest = &one;
    }
  }
  return newest;
}

}  // namespace framewire::test::cuda_stand_in
