// CUDA's driver interface, found by name in libcuda.so.1. Numbers and structures are those of cuda.h, which is not
// needed.
#pragma once

#include <dlfcn.h>

#include <cstdint>
#include <string>

#include "base/error.hpp"

namespace framewire {

/// CUdeviceptr: an address in the memory that devices reach.
using CudaAddress = std::uint64_t;

/// CUDA's first device. Its primary context is current on the thread that made this object, which alone uses it.
class CudaDriver {
 public:
  /// Throws Error if there is no driver or no device.
  CudaDriver();

  /// Calls a function of libcuda.so.1. Nobody checks the arguments: make each as wide as cuda.h declares it. Throws
  /// Error that names the function and what it returned.
  template <typename... Arguments>
  void call(const char* function, Arguments... arguments) const {
    const int result = find<int(Arguments...)>(function)(arguments...);
    if (result != 0) {
      throw Error::failed(std::string(function) + " gave " + name_of(result));
    }
  }

  /// The same, but says what it returned: "CUDA_SUCCESS".
  template <typename... Arguments>
  [[nodiscard]] std::string result_of(const char* function, Arguments... arguments) const {
    return name_of(find<int(Arguments...)>(function)(arguments...));
  }

  /// The same for destructors: whatever it returns is ignored.
  template <typename... Arguments>
  void release(const char* function, Arguments... arguments) const noexcept {
    void* address = dlsym(library_, function);
    if (address != nullptr) {
      reinterpret_cast<int (*)(Arguments...)>(address)(arguments...);
    }
  }

  /// CUdevice.
  [[nodiscard]] int device() const noexcept { return device_; }

 private:
  template <typename Signature>
  Signature* find(const char* function) const {
    void* address = dlsym(library_, function);
    if (address == nullptr) {
      throw Error::failed(std::string("libcuda.so.1 has no ") + function);
    }
    return reinterpret_cast<Signature*>(address);
  }
  [[nodiscard]] std::string name_of(int result) const;

  void* library_;
  int device_ = 0;
};

}  // namespace framewire
