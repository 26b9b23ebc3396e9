// The BPF program of an AF_XDP row: the row's frames go to its socket, all others to the kernel as before.
#pragma once

#include <cstdint>

#include "base/file_descriptor.hpp"
#include "bench/xdp/network_interface.hpp"
#include "bench/xdp/xdp_mode.hpp"

namespace framewire {

/// The EtherType of the row's frames: local experimental 1 (IEEE 802-2014, 9.2.4).
inline constexpr std::uint16_t xdp_ethertype = 0x88b5;

/// A program on an interface. It is written by hand, so that neither clang nor libbpf is needed. The kernel takes it
/// off the interface when this object or its process ends, however that ends.
class XdpProgram {
 public:
  /// `row`: the number behind the EtherType of the frames to take. Throws Error (failed): another program is there, the
  /// MTU is too large for native mode, or a capability is missing; refused: the driver does not know that mode.
  XdpProgram(const EthernetInterface& interface, XdpMode mode, std::uint32_t row);

  /// Frames that arrive at this queue go to this AF_XDP socket. Throws Error.
  void set_socket(std::uint32_t queue, int socket) const;

 private:
  FileDescriptor map_;  // BPF_MAP_TYPE_XSKMAP: the socket of each queue
  FileDescriptor program_;
  FileDescriptor link_;
};

}  // namespace framewire
