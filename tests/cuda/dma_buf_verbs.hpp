// What RDMA devices do with a GPU's memory, without a GPU. The linker puts these functions in front of libibverbs's
// (--wrap). They register what the stand-in for NVIDIA's driver has at that place; all the rest of a device is real.
#pragma once

#include <infiniband/verbs.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace framewire::test::dma_buf_verbs {

/// A registration of a GPU's memory.
struct Registered {
  bool is_by_dma_buf = false;
  std::uint64_t iova = 0;  // the address for work requests
  std::uint64_t size_bytes = 0;
  unsigned access = 0;  // ibv_access_flags
};

/// As a process starts: the device takes DMA-BUFs, and the kernel cannot pin a GPU's addresses.
void reset();
/// Registering a DMA-BUF fails with this errno, as where a driver does not know it; 0: it works.
void refuse_dma_buf(int error_number);
/// The kernel can pin a GPU's addresses, as with nvidia-peermem.
void pin_addresses(bool can_pin);
/// The kernel could pin them, but fails with this errno.
void refuse_addresses(int error_number);
/// What the device writes to DMA-BUFs that are registered from now on goes elsewhere.
void lead_astray(bool leads_astray);

/// What was registered since reset().
std::vector<Registered> registered();
/// Registrations of a GPU's memory that have not ended.
std::size_t living();

/// A protection domain of the device "rxe0", which is not there: registrations in it do nothing.
ibv_pd& domain_without_device();

}  // namespace framewire::test::dma_buf_verbs
