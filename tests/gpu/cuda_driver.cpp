#include "tests/gpu/cuda_driver.hpp"

namespace framewire {

CudaDriver::CudaDriver() : library_(dlopen("libcuda.so.1", RTLD_NOW)) {
  if (library_ == nullptr) {
    throw Error::failed("there is no libcuda.so.1");
  }
  void* context = nullptr;
  call("cuInit", 0U);
  call("cuDeviceGet", &device_, 0);
  call("cuDevicePrimaryCtxRetain", &context, device_);
  call("cuCtxSetCurrent", context);
}

std::string CudaDriver::name_of(int result) const {
  const char* name = nullptr;
  if (find<int(int, const char**)>("cuGetErrorName")(result, &name) != 0 || name == nullptr) {
    return std::to_string(result);
  }
  return name;
}

}  // namespace framewire
