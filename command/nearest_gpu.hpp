// Which GPU is nearest to the RDMA devices that a program's sessions may use.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include "base/pci_route.hpp"
#include "base/system_files.hpp"
#include "transport/endpoint_options.hpp"

namespace framewire {

/// A GPU and an RDMA device.
struct NearestGpu {
  std::size_t index = 0;  // among those that were asked about
  std::string rdma_device{};
  PciDistance distance = PciDistance::unknown;
};

/// Of the GPUs at these PCI addresses, the one with the least PCIe distance to an RDMA device that one of the sessions
/// may use; of equals the first. If a session's address is given in figures, only the device that has this machine's
/// address on that way counts; otherwise, or if no device has it, every one with an active port.
///
/// Nothing: no session may use rdma, there is no such device, or no distance is known. Asks the kernel only, opens no
/// device and sends nothing. What it does not tell, or garbles, is not known: never throws Error.
std::optional<NearestGpu> nearest_gpu(std::span<const std::string> gpus,
                                      std::span<const EndpointOptions* const> sessions, const SystemFiles& files);

}  // namespace framewire
