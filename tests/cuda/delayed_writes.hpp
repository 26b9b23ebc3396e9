// Writes of an RDMA device that are not seen in a GPU's memory when they have completed, but when the same device has
// read from there: data-direct, and GPUs on NVLink C2C. What the real device writes goes to other pages. When a READ of
// them ends, the memory gets what they held when the READ began.
#pragma once

#include <infiniband/verbs.h>

#include <cstddef>
#include <cstdint>

namespace framewire::test::delayed_writes {

/// As a process starts.
void reset();

/// From now on a READ of `pages`, which `mr` registers, shows what they hold in `memory`. Both have this length.
void begin(ibv_mr* mr, std::byte* pages, std::byte* memory, std::size_t length);
/// `mr` ends. Returns its `memory`; null if its writes are not delayed.
std::byte* end(ibv_mr* mr);

/// READs of such memory since reset().
std::size_t reads();
/// They show nothing from now on, as if a program did without.
void show_nothing(bool shows_nothing);
/// They fail from now on: when they are posted, with this errno (0: not), or when they end.
void refuse(int error_number);
/// WRITEs to such memory by the device itself are refused so.
void refuse_writes(int error_number);
void fail(ibv_wc_status status);
/// They end, but nobody gets to know.
void hold(bool holds);
/// They end so many polls of their completion queue later than the device says; 0: at once.
void end_late(int polls);

}  // namespace framewire::test::delayed_writes
