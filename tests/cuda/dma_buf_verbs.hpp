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
  bool is_by_data_direct = false;  // of those by DMA-BUF
  std::uint64_t iova = 0;          // the address for work requests
  std::uint64_t size_bytes = 0;
  unsigned access = 0;  // ibv_access_flags
};

/// As a process starts: the device takes DMA-BUFs, it is none of libmlx5, and the kernel cannot pin a GPU's addresses.
void reset();

/// Which libmlx5.so.1 a program finds that is linked with this.
enum class Mlx5Library { usual, old, missing };
void set_mlx5_library(Mlx5Library library);
/// The device is one of libmlx5, as every device is of an old one.
void set_is_mlx5(bool is_mlx5);
/// Whether it has data-direct: asking for the path of its second function gives this errno; 0: it has.
void set_data_direct(int error_number);
/// Registering for data-direct fails with this errno; 0: it works.
void refuse_data_direct(int error_number);
/// All of it: a device with data-direct.
void offer_data_direct();
/// Registering a DMA-BUF fails with this errno, as where a driver does not know it; 0: it works.
void refuse_dma_buf(int error_number);
/// After so many, ENOMEM: the GPU's BAR1 window is full.
void refuse_dma_buf_after(int registrations);
/// The kernel can pin a GPU's addresses, as with nvidia-peermem.
void pin_addresses(bool can_pin);
/// The kernel could pin them, but fails with this errno.
void refuse_addresses(int error_number);
/// So many more registrations for data-direct work. Then they fail, as where a GPU's BAR1 window has no more room.
void refuse_data_direct_after(int registrations);
/// What the device writes to DMA-BUFs, or to addresses, that are registered from now on goes elsewhere.
void lead_astray(bool leads_astray);
void lead_addresses_astray(bool leads_astray);

/// Also what is written otherwise than by data-direct is seen only after a READ (delayed_writes.hpp).
void delay_writes(bool delays);

/// What was registered since reset().
std::vector<Registered> registered();
/// Registrations of a GPU's memory that have not ended, now, and the most at one time since reset().
std::size_t living();
std::size_t most_living();

/// A protection domain of the device "rxe0", which is not there: registrations in it do nothing.
ibv_pd& domain_without_device();

}  // namespace framewire::test::dma_buf_verbs
