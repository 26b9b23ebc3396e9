// What a test asks of the stand-in for NVIDIA's driver (machine.cpp), a libcuda.so.1 of its own. A program that is
// linked with it finds it where it loads libcuda.so.1. Any thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>

namespace framewire::test::cuda_stand_in {

/// The file behind memory is laid out so that Mesa's llvmpipe imports it (glImportMemoryFdEXT): a page with its header,
/// the memory, and what llvmpipe allocates behind each buffer.
inline constexpr std::size_t bytes_before_memory = 4096;
inline constexpr std::size_t bytes_behind_memory = 65536;

/// As a process starts: one GPU with 1 GiB of memory, and no call that fails. Work that waits is forgotten.
void reset();

void set_device_count(int count);
/// Whether each device reads the memory of the others; at first none does.
void set_peer_access(bool has_peer_access);
void set_attribute(int attribute, int value);
void set_driver_version(int version);
/// Of the first device.
void set_uuid(const std::array<std::uint8_t, 16>& uuid);
/// The devices are slices of one GPU (MIG). The driver's first cuDeviceGetUuid does not tell them apart.
void set_slices(bool has_slices);
/// Whether this machine maps DMA-BUFs by PCIe where that is asked for, which drivers know from CUDA 12.8 (12080) on.
void set_pcie_mapping(bool has_pcie_mapping);
/// Whether a DMA-BUF of this driver is mapped so.
bool is_by_pcie(int descriptor);
/// What is free for new memory; 1 GiB at first.
void set_free_bytes(std::size_t bytes);

/// The call of this function after `calls_before` others gives `result`, once.
void fail(const char* function, int result, int calls_before = 0);
/// How many of these have not come yet.
std::size_t failures_to_come();
/// cuGetProcAddress does not find it; nullptr: it finds all, each from its own version on (function_versions.hpp).
void hide(const char* function);
/// From now on every call that asks or starts anything gives `result`, as after an XID; 0: the GPU works.
void lose_device(int result);
/// Work that was started waits until it is let go.
void hold_work(bool holds);

/// The memory at an address of the device, as a kernel there sees it. Null if there is none.
std::byte* memory_at(std::uint64_t address);

/// What was made and not ended, for tests that look for leaks: allocations, mappings, reserved ranges, registrations,
/// streams, events, and retained contexts.
std::size_t objects();
/// Ends them all, as the driver does when a process ends.
void end_objects();
/// How often what RDMA devices wrote was flushed, since reset().
std::size_t flushes();
/// How often each function was called since reset(), those of cuda.h by their names there, without "_v2".
std::map<std::string, std::size_t, std::less<>> calls();
/// Contexts that this thread, or any, pushed and did not pop.
std::size_t contexts_on_this_thread();
std::size_t contexts_on_all_threads();

}  // namespace framewire::test::cuda_stand_in
