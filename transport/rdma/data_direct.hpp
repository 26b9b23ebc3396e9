// Data-direct: a second function on the PCI bus, by which an RDMA device of NVIDIA (ConnectX-8) reaches a GPU's memory
// past the tree of PCIe that the first one belongs to.
#pragma once

#include <infiniband/verbs.h>

#include <cstddef>
#include <cstdint>
#include <string>

namespace framewire {

struct DataDirect {
  std::string path;     // of the second function: "/sys/devices/pci…"; empty: there is none
  std::string why_not;  // if there is none: "the RDMA device has none"
};

/// What libmlx5.so.1 says of this device. It is loaded when this is first called, and stays: programs are built without
/// it, and machines without it, or with an older one, have no data-direct. Any thread.
DataDirect data_direct_of(ibv_context& device);

/// mlx5dv_reg_dmabuf_mr() with MLX5DV_REG_DMABUF_ACCESS_DATA_DIRECT; the arguments are those of ibv_reg_dmabuf_mr().
/// Null with errno. Only where data_direct_of() the device has a path. Any thread.
ibv_mr* register_for_data_direct(ibv_pd& protection_domain, std::uint64_t offset_bytes, std::size_t size_bytes,
                                 std::uint64_t address, int descriptor, int access) noexcept;

}  // namespace framewire
