// OpenGL, CUDA, and whether a network card could reach a GPU's memory.
#include <fmt/format.h>

#include <algorithm>

#include "doctor/judge.hpp"

namespace framewire {

namespace {

constexpr const char* area = "Graphics";

/// Drawing on the processor works, and is slow; the way out depends on what is in the way.
void explain_software(const OpenGlFacts& opengl, Finding& finding) {
  finding.level = Level::note;
  finding.text = "This draws on the processor, which is slow for 4K. ";
  if (!opengl.has_render_node) {
    finding.text += "No GPU shows up here (/dev/dri).";
  } else if (opengl.may_use_node) {
    finding.text += "There is a GPU (/dev/dri), but no OpenGL driver for it.";
    finding.fix = {"sudo apt-get install libgl1-mesa-dri"};
  } else {
    finding.text += "There is a GPU (/dev/dri), which this user may not open.";
    finding.fix = {"sudo usermod --append --groups render,video \"$USER\"   # from the next login on"};
  }
}

/// Every viewer draws with it, those without a window, too.
Finding opengl_finding(const OpenGlFacts& opengl) {
  Finding finding{.area = area, .name = "OpenGL"};
  if (!opengl.is_installed) {
    finding.level = Level::note;
    finding.value = "not looked at";
    finding.text = "framewire-doctor-gl, which asks for it, does not stand beside this program.";
  } else if (!opengl.trouble.empty()) {
    finding.level = Level::problem;
    finding.value = "none";
    finding.text = fmt::format("framewire view and the sources gl:… need OpenGL 4.5: {}.", opengl.trouble);
    finding.fix = {"sudo apt-get install libegl1 libgl1 libegl-mesa0 libgl1-mesa-dri"};
  } else {
    finding.value = opengl.renderer;
    finding.details = {fmt::format("{}, {}", opengl.vendor, opengl.version),
                       opengl.has_pinned_memory ? "GL_AMD_pinned_memory: frames are drawn and read back without a copy"
                                                : "no GL_AMD_pinned_memory: one copy per frame more"};
    if (opengl.is_software) {
      explain_software(opengl, finding);
    }
  }
  return finding;
}

Finding cuda_finding(const GpuFacts& gpu) {
  Finding finding{.area = area, .name = "CUDA"};
  for (const CudaDevice& device : gpu.devices) {
    finding.details.push_back(fmt::format("{} at {}", device.name, device.address));
  }
  if (gpu.cuda_trouble.empty() && !gpu.devices.empty()) {
    finding.value = fmt::format("{}, driver {} (CUDA {})", gpu.devices.front().name,
                                gpu.kernel_driver.empty() ? "not known" : gpu.kernel_driver, gpu.cuda_version);
    if (gpu.devices.size() > 1) {
      finding.value += fmt::format(", and {} more", gpu.devices.size() - 1);
    }
    return finding;
  }
  finding.level = Level::note;
  if (gpu.kernel_driver.empty() && gpu.cards.empty()) {
    finding.value = "no NVIDIA driver";
    finding.text = "Frames stay in host memory.";
    return finding;
  }
  finding.level = Level::warning;
  finding.value =
      fmt::format("driver {}, {}", gpu.kernel_driver, gpu.cards.empty() ? "no card" : gpu.cards.front().model);
  finding.text = fmt::format("The kernel has the driver, but CUDA does not work: {}.",
                             gpu.cuda_trouble.empty() ? "it lists no device" : gpu.cuda_trouble);
  finding.fix = {"sudo apt-get install libcuda1   # of the driver's own version"};
  return finding;
}

/// The ladder that perftest and NCCL climb down: a dma-buf, then nvidia_peermem, then host memory.
Finding gpu_direct_finding(const MachineFacts& machine) {
  const GpuFacts& gpu = machine.gpu;
  Finding finding{.area = area, .name = "GPUDirect"};
  const auto takes = [](const RdmaAdapter& adapter) { return adapter.device && adapter.device->takes_dma_buf == true; };
  const bool gives_dma_buf = std::ranges::any_of(gpu.devices, &CudaDevice::has_dma_buf);
  const bool is_possible = std::ranges::any_of(gpu.devices, &CudaDevice::has_gpu_direct);
  const bool has_adapter = !machine.rdma.adapters.empty();
  if (gives_dma_buf && std::ranges::any_of(machine.rdma.adapters, takes)) {
    finding.value = "by dma-buf";
    return finding;
  }
  if (is_possible && has_adapter && gpu.has_peermem) {
    finding.value = "by nvidia_peermem";
    return finding;
  }
  finding.level = Level::note;
  finding.value = !has_adapter ? "no RDMA device to use it" : is_possible ? "not set up" : "this GPU does not have it";
  finding.text = fmt::format("The GPU {} its memory as a dma-buf; nvidia_peermem is {}. Frames go through host memory.",
                             gives_dma_buf ? "can give" : "cannot give", gpu.has_peermem ? "loaded" : "not loaded");
  if (is_possible && has_adapter) {
    finding.fix = gpu.can_load_peermem
                      ? std::vector<std::string>{"sudo modprobe nvidia_peermem"}
                      : std::vector<std::string>{"sudo apt-get install nvidia-open-kernel-dkms   # gives dma-bufs"};
  }
  return finding;
}

}  // namespace

Findings judge_gpu(const MachineFacts& machine) {
  Findings findings = {opengl_finding(machine.opengl), cuda_finding(machine.gpu)};
  if (!machine.gpu.devices.empty()) {
    findings.push_back(gpu_direct_finding(machine));
  }
  return findings;
}

}  // namespace framewire
