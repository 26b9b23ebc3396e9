// GPUs: the NVIDIA driver from its files, CUDA from its library (loaded at run time, never linked), OpenGL from
// framewire-doctor-gl.
#include <dlfcn.h>
#include <unistd.h>

#include <array>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/clock.hpp"
#include "doctor/child_output.hpp"
#include "doctor/probe.hpp"
#include "transport/json_fields.hpp"

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

// The used part of CUDA's driver API; numbers from its documentation.
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

  /// Returns false if the function is missing or fails; trouble() says why.
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

CudaDeviceFacts read_cuda_device(Cuda& cuda, int ordinal) {
  CudaDeviceFacts read;
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

// ---- OpenGL, in a separate program, so that the doctor runs without OpenGL and survives a driver that crashes ----

namespace {

using Json = nlohmann::json;

std::string text_field(const Json& json, const char* field) {
  const std::string* text = find_text(json, field);
  return text != nullptr ? *text : "";
}

bool flag_field(const Json& json, const char* field) {
  return find_flag(json, field).value_or(false);
}

}  // namespace

OpenGlFacts parse_opengl_output(const std::string& output, bool has_ended_well) {
  OpenGlFacts opengl;
  opengl.is_installed = true;
  const Json json = Json::parse(output, nullptr, false);
  if (!json.is_object()) {
    opengl.trouble = "framewire-doctor-gl said nothing that can be read";
    return opengl;
  }
  opengl.trouble = text_field(json, "error");
  opengl.vendor = text_field(json, "vendor");
  opengl.renderer = text_field(json, "renderer");
  opengl.version = text_field(json, "version");
  opengl.is_software = flag_field(json, "is_software");
  opengl.has_pinned_memory = flag_field(json, "has_pinned_memory");
  if (opengl.trouble.empty() && (!has_ended_well || opengl.renderer.empty())) {
    opengl.trouble = "framewire-doctor-gl named no renderer";
  }
  return opengl;
}

void probe_render_nodes(const SystemFiles& files, OpenGlFacts& opengl) {
  for (const std::string& name : files.names("/dev/dri")) {
    if (name.starts_with("renderD")) {
      opengl.has_render_node = true;
      const std::string path = files.real_path("/dev/dri/" + name);
      opengl.may_use_node = opengl.may_use_node || ::access(path.c_str(), R_OK | W_OK) == 0;
    }
  }
}

OpenGlFacts probe_opengl(const SystemFiles& files) {
  const std::string folder = own_folder(files);
  const std::string helper = folder + "framewire-doctor-gl";
  if (folder.empty() || ::access(helper.c_str(), X_OK) != 0) {
    return {};
  }
  constexpr std::int64_t timeout_ns = 10 * ns_per_s;  // waking a GPU takes a driver up to 2 s
  const ChildOutput output = child_output(helper, {}, timeout_ns);
  if (output.has_ended_well || !output.text.empty()) {
    return parse_opengl_output(output.text, output.has_ended_well);
  }
  OpenGlFacts opengl;
  opengl.is_installed = true;
  opengl.trouble = "asking the driver failed (framewire-doctor-gl): " + output.trouble;
  return opengl;
}

}  // namespace framewire
