// NVIDIA's driver by its files, and CUDA by its library, which is loaded only for the asking: nothing links it.
#include <dlfcn.h>

#include <array>
#include <memory>

#include "doctor/probe.hpp"

namespace framewire {

namespace {

/// The version in "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.14  Thu Feb 22 …": the first word that begins
/// with a digit and has a dot.
std::string driver_version(std::string_view line) {
  while (!line.empty()) {
    const std::size_t end = std::min(line.find_first_of(" \t"), line.size());
    const std::string_view word = line.substr(0, end);
    if (!word.empty() && word.front() >= '0' && word.front() <= '9' && word.find('.') != std::string_view::npos) {
      return std::string(word);
    }
    line = trimmed(line.substr(end));
  }
  return "";
}

// The part of CUDA's driver interface that is asked for; numbers as its documentation has them.
using CudaResult = int;  // 0: success
constexpr int attribute_gpu_direct_rdma_supported = 116;
constexpr int attribute_dma_buf_supported = 124;

struct CloseLibrary {
  void operator()(void* library) const { ::dlclose(library); }
};

class Cuda {
 public:
  Cuda() : library_(::dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL)) {
    if (!library_) {
      const char* why = ::dlerror();
      trouble_ = why != nullptr ? why : "libcuda.so.1 cannot be loaded";
    }
  }

  [[nodiscard]] const std::string& trouble() const { return trouble_; }

  /// False, and trouble() says why, when the function is not there or fails.
  template <typename... Arguments>
  bool call(const char* function, Arguments... arguments) {
    const auto address = find<CudaResult (*)(Arguments...)>(function);
    if (address == nullptr) {
      trouble_ = std::string("libcuda.so.1 has no ") + function;
      return false;
    }
    const CudaResult result = address(arguments...);
    if (result != 0) {
      trouble_ = std::string(function) + ": " + text_of(result);
    }
    return result == 0;
  }

 private:
  template <typename Function>
  Function find(const char* name) {
    return library_ ? reinterpret_cast<Function>(::dlsym(library_.get(), name)) : nullptr;
  }

  std::string text_of(CudaResult result) {
    const auto error_string = find<CudaResult (*)(CudaResult, const char**)>("cuGetErrorString");
    const char* text = nullptr;
    if (error_string != nullptr && error_string(result, &text) == 0 && text != nullptr) {
      return text;
    }
    return "error " + std::to_string(result);
  }

  std::unique_ptr<void, CloseLibrary> library_;
  std::string trouble_;
};

bool attribute(Cuda& cuda, int which, int device) {
  int value = 0;
  return cuda.call("cuDeviceGetAttribute", &value, which, device) && value != 0;
}

CudaDevice read_cuda_device(Cuda& cuda, int ordinal) {
  CudaDevice read;
  int device = 0;
  std::array<char, 256> text{};
  const int most = static_cast<int>(text.size()) - 1;
  if (!cuda.call("cuDeviceGet", &device, ordinal)) {
    return read;
  }
  if (cuda.call("cuDeviceGetName", text.data(), most, device)) {
    read.name = text.data();
  }
  if (cuda.call("cuDeviceGetPCIBusId", text.data(), most, device)) {
    read.address = text.data();
  }
  read.has_gpu_direct = attribute(cuda, attribute_gpu_direct_rdma_supported, device);
  read.has_dma_buf = attribute(cuda, attribute_dma_buf_supported, device);
  return read;
}

}  // namespace

GpuFacts probe_gpu_files(const SystemFiles& files, const std::string& kernel) {
  GpuFacts gpu;
  gpu.kernel_driver = driver_version(files.line("/proc/driver/nvidia/version").value_or(""));
  for (const std::string& address : files.names("/proc/driver/nvidia/gpus")) {
    const auto information = files.text("/proc/driver/nvidia/gpus/" + address + "/information").value_or("");
    gpu.cards.push_back({address, value_of(information, "Model").value_or("")});
  }
  const ModuleState peermem = module_state(files, kernel, "nvidia_peermem");
  gpu.has_peermem = peermem == ModuleState::loaded || peermem == ModuleState::built_in;
  return gpu;
}

void probe_cuda(GpuFacts& gpu) {
  Cuda cuda;
  int version = 0;
  int count = 0;
  if (cuda.trouble().empty() && cuda.call("cuInit", 0U) && cuda.call("cuDriverGetVersion", &version) &&
      cuda.call("cuDeviceGetCount", &count)) {
    gpu.cuda_version = std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
    constexpr int max_devices = 64;
    for (int ordinal = 0; ordinal < count && ordinal < max_devices; ++ordinal) {
      gpu.devices.push_back(read_cuda_device(cuda, ordinal));
    }
  } else {
    gpu.cuda_trouble = cuda.trouble();
  }
}

}  // namespace framewire
