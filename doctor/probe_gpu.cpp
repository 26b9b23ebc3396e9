// GPUs: the NVIDIA driver from its files, CUDA from its library (loaded at run time, never linked), OpenGL from
// framewire-doctor-gl.
#include <unistd.h>

#include <exception>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/clock.hpp"
#include "doctor/child_output.hpp"
#include "doctor/probe.hpp"
#include "memory/cuda/device.hpp"
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

void probe_cuda(const SystemFiles& files, GpuFacts& gpu) {
  try {
    gpu.cuda_version = cuda::driver_version();
    for (CudaDeviceInfo& info : cuda_devices()) {
      PciRoute route = read_pci_route(files, info.pci_address);
      gpu.devices.push_back({.info = std::move(info), .route = std::move(route)});
    }
  } catch (const std::exception& error) {
    gpu.cuda_trouble = error.what();
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
