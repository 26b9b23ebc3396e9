#include "memory/cuda/driver.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <array>

#include "base/error.hpp"

namespace framewire::cuda {

namespace {

/// The version of CUDA whose variants of functions are asked for. The newest function that is needed is of 11.3;
/// drivers of that version came with Linux branch 465.
constexpr int wanted_version = 11030;
/// The version whose cuDeviceGetUuid tells the slices of a GPU (MIG) apart. The one before gives them all the UUID of
/// the whole GPU, so that memory of one would pass for that of another.
constexpr int slice_uuid_version = 11040;
/// The version that brought DMA-BUF, which older drivers do without.
constexpr int dma_buf_version = 11070;
constexpr const char* needed = "; framewire needs NVIDIA's driver 465 or newer for CUDA";

std::string version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

/// libcuda.so.1; never unloaded, because its threads and its handlers at exit would outlive it.
class Library {
 public:
  Library() : handle_(::dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL)) {
    if (handle_ == nullptr) {
      throw Error::failed("this machine has no libcuda.so.1" + std::string(needed));
    }
    find_ = reinterpret_cast<Find*>(::dlsym(handle_, "cuGetProcAddress"));
    if (find_ == nullptr) {
      throw Error::failed("libcuda.so.1 has no cuGetProcAddress: it is too old" + std::string(needed));
    }
  }

  template <typename Function>
  void load(Function*& function, const char* name) const {
    if (!load_if_there(function, name, wanted_version)) {
      throw Error::failed("libcuda.so.1 has no " + std::string(name) + ": it is too old" + needed);
    }
  }

  template <typename Function>
  bool load_if_there(Function*& function, const char* name, int version) const {
    void* address = nullptr;
    const bool is_there = find_(name, &address, version, 0) == Result::success && address != nullptr;
    function = is_there ? reinterpret_cast<Function*>(address) : nullptr;
    return is_there;
  }

 private:
  using Find = Result(const char* name, void** address, int version, std::uint64_t flags);

  void* handle_;
  Find* find_ = nullptr;
};

void load_devices(const Library& library, Functions& to) {
  library.load(to.cuInit, "cuInit");
  library.load(to.cuDriverGetVersion, "cuDriverGetVersion");
  library.load(to.cuGetErrorName, "cuGetErrorName");
  library.load(to.cuGetErrorString, "cuGetErrorString");
  library.load(to.cuDeviceGetCount, "cuDeviceGetCount");
  library.load(to.cuDeviceGet, "cuDeviceGet");
  library.load(to.cuDeviceGetName, "cuDeviceGetName");
  if (!library.load_if_there(to.cuDeviceGetUuid, "cuDeviceGetUuid", slice_uuid_version)) {
    library.load(to.cuDeviceGetUuid, "cuDeviceGetUuid");
  }
  library.load(to.cuDeviceGetPCIBusId, "cuDeviceGetPCIBusId");
  library.load(to.cuDeviceGetAttribute, "cuDeviceGetAttribute");
  library.load(to.cuDeviceTotalMem, "cuDeviceTotalMem");
  library.load(to.cuDeviceCanAccessPeer, "cuDeviceCanAccessPeer");
  library.load(to.cuDevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain");
  library.load(to.cuDevicePrimaryCtxRelease, "cuDevicePrimaryCtxRelease");
  library.load(to.cuCtxPushCurrent, "cuCtxPushCurrent");
  library.load(to.cuCtxPopCurrent, "cuCtxPopCurrent");
}

void load_memory(const Library& library, Functions& to) {
  library.load(to.cuMemGetInfo, "cuMemGetInfo");
  library.load(to.cuMemGetAllocationGranularity, "cuMemGetAllocationGranularity");
  library.load(to.cuMemCreate, "cuMemCreate");
  library.load(to.cuMemRelease, "cuMemRelease");
  library.load(to.cuMemAddressReserve, "cuMemAddressReserve");
  library.load(to.cuMemAddressFree, "cuMemAddressFree");
  library.load(to.cuMemMap, "cuMemMap");
  library.load(to.cuMemUnmap, "cuMemUnmap");
  library.load(to.cuMemSetAccess, "cuMemSetAccess");
  library.load(to.cuMemExportToShareableHandle, "cuMemExportToShareableHandle");
  library.load(to.cuMemImportFromShareableHandle, "cuMemImportFromShareableHandle");
  library.load(to.cuMemGetAllocationPropertiesFromHandle, "cuMemGetAllocationPropertiesFromHandle");
  library.load_if_there(to.cuMemGetHandleForAddressRange, "cuMemGetHandleForAddressRange", dma_buf_version);
  library.load(to.cuMemHostRegister, "cuMemHostRegister");
  library.load(to.cuMemHostUnregister, "cuMemHostUnregister");
}

void load_work(const Library& library, Functions& to) {
  library.load(to.cuMemsetD8Async, "cuMemsetD8Async");
  library.load(to.cuMemcpyDtoHAsync, "cuMemcpyDtoHAsync");
  library.load(to.cuMemcpyHtoDAsync, "cuMemcpyHtoDAsync");
  library.load(to.cuMemcpyDtoDAsync, "cuMemcpyDtoDAsync");
  library.load(to.cuMemcpy2DAsync, "cuMemcpy2DAsync");
  library.load(to.cuFlushGPUDirectRDMAWrites, "cuFlushGPUDirectRDMAWrites");
  library.load(to.cuStreamCreate, "cuStreamCreate");
  library.load(to.cuStreamQuery, "cuStreamQuery");
  library.load(to.cuStreamDestroy, "cuStreamDestroy");
  library.load(to.cuEventCreate, "cuEventCreate");
  library.load(to.cuEventRecord, "cuEventRecord");
  library.load(to.cuEventQuery, "cuEventQuery");
  library.load(to.cuEventDestroy, "cuEventDestroy");
}

std::string words_by(const Functions& by, Result result) {
  const char* name = nullptr;
  const char* text = nullptr;
  if (by.cuGetErrorName(result, &name) != Result::success || name == nullptr) {
    return "error " + std::to_string(static_cast<int>(result));
  }
  if (by.cuGetErrorString(result, &text) != Result::success || text == nullptr) {
    return name;
  }
  return std::string(text) + " (" + name + ")";
}

}  // namespace

/// cuInit() tells a driver without a GPU, or whose kernel module is missing or of another version.
Functions load_functions() {
  const Library library;
  Functions loaded{};
  load_devices(library, loaded);
  if (const Result result = loaded.cuInit(0); result != Result::success) {
    throw Error::failed(result == Result::no_device ? no_gpu
                                                    : "NVIDIA's driver cannot be used: " + words_by(loaded, result));
  }
  if (int version = 0; loaded.cuDriverGetVersion(&version) == Result::success && version < wanted_version) {
    throw Error::failed("the driver's CUDA " + version_text(version) + " is too old" + needed);
  }
  load_memory(library, loaded);
  load_work(library, loaded);
  return loaded;
}

const Functions& functions() {
  static const Functions loaded = load_functions();  // again at the next call, if it throws
  return loaded;
}

std::string driver_version() {
  int version = 0;
  require(functions().cuDriverGetVersion(&version), "cuDriverGetVersion");
  return version_text(version);
}

/// Those of cuda.h of which it says so, and what drivers give for a GPU that does not answer any more.
bool ends_all_work(Result result) noexcept {
  constexpr std::array sticky = {
      46,                            // the device is unavailable
      214, 220, 226,                 // uncorrectable errors of its memory, of NVLink; an error that was contained
      700, 702, 709, 710,            // an illegal address, a time-out, a destroyed context, an assertion
      714, 715, 716, 717, 718, 719,  // a fault of the hardware, or of a kernel
      999,                           // unknown, as for a GPU that has left the bus
  };
  return std::ranges::find(sticky, static_cast<int>(result)) != sticky.end();
}

void require(Result result, const char* function) {
  if (result != Result::success) {
    throw Error::failed(std::string(function) + ": " + words_of(result));
  }
}

std::string words_of(Result result) {
  return words_by(functions(), result);
}

}  // namespace framewire::cuda
