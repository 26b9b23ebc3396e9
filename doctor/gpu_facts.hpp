// What the doctor knows of a machine's GPUs, for CUDA and for OpenGL.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace framewire {

/// An NVIDIA card as its kernel driver lists it.
struct NvidiaCard {
  std::string address;  // "0000:65:00.0"
  std::string model;
};

/// A device as CUDA lists it.
struct CudaDevice {
  std::string name;
  std::string address;
  bool has_gpu_direct = false;  // other devices of the machine may reach its memory
  bool has_dma_buf = false;     // its memory can be handed to them by a descriptor
};

struct GpuFacts {
  std::string kernel_driver;      // "550.54.14"; empty: no NVIDIA driver
  std::vector<NvidiaCard> cards;  // by the kernel driver
  bool has_peermem = false;       // the module nvidia_peermem
  std::string cuda_trouble;       // why libcuda.so.1 is of no use; empty: it is
  std::string cuda_version;       // the driver's: "12.4"
  std::vector<CudaDevice> devices;
};

/// What framewire-doctor-gl said.
struct OpenGlFacts {
  bool is_installed = false;  // the helper stands beside this program
  std::string trouble;        // why there is no OpenGL 4.5; empty: there is
  std::string vendor;
  std::string renderer;
  std::string version;
  bool is_software = false;
  bool has_render_node = false;    // /dev/dri/renderD…: a GPU whose driver is there
  bool may_use_node = false;       // this user may open it
  bool has_pinned_memory = false;  // GL_AMD_pinned_memory: frames without a copy
};

}  // namespace framewire
