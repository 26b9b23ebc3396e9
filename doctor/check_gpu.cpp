// OpenGL, which viewers draw with, and what there is of CUDA.
#include <fmt/format.h>

#include <algorithm>

#include "doctor/check.hpp"

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
    finding.remedy = {"sudo apt-get install libgl1-mesa-dri"};
  } else {
    finding.text += "There is a GPU (/dev/dri), which this user may not open.";
    finding.remedy = {"sudo usermod --append --groups render,video \"$USER\"   # from the next login on"};
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
    finding.remedy = {"sudo apt-get install libegl1 libgl1 libegl-mesa0 libgl1-mesa-dri"};
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

/// What there is of NVIDIA's, as a fact: frames stay in host memory in this version, so that nothing of it is needed,
/// and nothing that is missing harms.
Finding cuda_finding(const GpuFacts& gpu) {
  Finding finding{.area = area, .name = "CUDA"};
  const std::string card = !gpu.devices.empty() ? gpu.devices.front().name
                           : !gpu.cards.empty() ? gpu.cards.front().model
                                                : "no card";
  const std::size_t count = std::max(gpu.devices.size(), gpu.cards.size());
  finding.value = fmt::format("not used by this version; {}{}, driver {}", card,
                              count > 1 ? fmt::format(" and {} more", count - 1) : "",
                              gpu.kernel_driver.empty() ? "not known" : gpu.kernel_driver);
  finding.text = "Frames stay in host memory.";
  for (const CudaDevice& device : gpu.devices) {
    finding.details.push_back(fmt::format("{} at {}, CUDA {}", device.name, device.address, gpu.cuda_version));
  }
  return finding;
}

/// Whether a network card could take frames out of the GPU's memory: by a descriptor of that memory (DMA-BUF), which
/// the card's driver has to take, or by NVIDIA's module that lets all of them reach it. A fact, like CUDA.
Finding gpu_direct_finding(const MachineFacts& machine) {
  const GpuFacts& gpu = machine.gpu;
  Finding finding{.area = area, .name = "GPUDirect"};
  finding.text = "Not used by this version.";
  const auto is_card = [](const RdmaAdapter& one) { return one.pci && one.device; };
  const auto takes_dma_buf = [&](const RdmaAdapter& one) { return is_card(one) && one.device->takes_dma_buf == true; };
  const auto may_take_it = [&](const RdmaAdapter& one) { return is_card(one) && !one.device->takes_dma_buf; };
  const bool has_dma_buf = std::ranges::any_of(gpu.devices, &CudaDevice::has_dma_buf);
  const bool may_be_reached = std::ranges::any_of(gpu.devices, &CudaDevice::has_gpu_direct);
  if (gpu.devices.empty()) {
    finding.value = gpu.cuda_trouble.empty() ? "CUDA lists no device" : "not known: " + gpu.cuda_trouble;
  } else if (std::ranges::none_of(machine.rdma.adapters, is_card)) {
    finding.value = "no RDMA card here that could reach the GPU's memory";
  } else if (has_dma_buf && std::ranges::any_of(machine.rdma.adapters, takes_dma_buf)) {
    finding.value = "possible, by DMA-BUF";
  } else if (may_be_reached && gpu.has_peermem) {
    finding.value = "possible, by nvidia_peermem";
  } else if (has_dma_buf && std::ranges::any_of(machine.rdma.adapters, may_take_it)) {
    finding.value = "not known: whether the RDMA card takes DMA-BUF";
  } else if (may_be_reached) {
    finding.value = "possible where the module nvidia_peermem can be loaded";
  } else {
    finding.value = "not possible: neither DMA-BUF at both cards, nor does the GPU let others reach its memory";
  }
  return finding;
}

}  // namespace

Findings check_gpu(const MachineFacts& machine) {
  Findings findings = {opengl_finding(machine.opengl)};
  const GpuFacts& gpu = machine.gpu;
  if (!gpu.kernel_driver.empty() || !gpu.cards.empty() || !gpu.devices.empty()) {
    findings.push_back(cuda_finding(gpu));
    findings.push_back(gpu_direct_finding(machine));
  }
  return findings;
}

}  // namespace framewire
