// The stand-in's functions of memory.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <utility>

#include "tests/cuda/machine.hpp"
#include "tests/cuda/stand_in.hpp"

namespace framewire::test::cuda_stand_in {

namespace {

/// As src/util/os_memory_fd.c of Mesa 22.3 has it. The identity is the beginning of the SHA-1 of "llvmpipe".
struct FileHeader {
  std::size_t file_bytes = 0;
  std::size_t offset_bytes = bytes_before_memory;
  std::array<std::uint8_t, 16> identity{0x6c, 0xb9, 0xee, 0x07, 0x4a, 0x0b, 0xad, 0x7b,
                                        0x01, 0x2e, 0x1b, 0xe9, 0x69, 0x7e, 0x53, 0x0f};
  cuda::Uuid device{};  // of no interest to llvmpipe
};

/// In this process, where it may have another number; -1: it is not here.
DeviceNumber device_with(const Machine& machine, const cuda::Uuid& uuid) {
  for (DeviceNumber device = 0; device < machine.device_count; ++device) {
    if (uuid_of(machine, device) == uuid) {
      return device;
    }
  }
  return -1;
}

Result memory_info(std::size_t* free_bytes, std::size_t* total_bytes) {
  return guarded("cuMemGetInfo", true, [&](Machine& machine) {
    *free_bytes = machine.free_bytes;
    *total_bytes = default_free_bytes;
    return ok;
  });
}

Result allocation_granularity(std::size_t* bytes, const cuda::AllocationProperties* properties, int option) {
  return guarded("cuMemGetAllocationGranularity", false, [&](Machine& machine) {
    *bytes = granularity;
    return option == 0 && is_device(machine, properties->location.device) ? ok : invalid_value;
  });
}

Result create(MemoryHandle* handle, std::size_t bytes, const cuda::AllocationProperties* properties,
              unsigned long long flags) {
  return guarded("cuMemCreate", false, [&](Machine& machine) {
    const bool is_valid = bytes != 0 && bytes % granularity == 0 && flags == 0 && properties->type == 1 &&
                          properties->location.type == 1 && is_device(machine, properties->location.device) &&
                          properties->is_gpu_direct_rdma_capable <= machine.attributes[110];
    if (!is_valid) {
      return invalid_value;
    }
    if (bytes > machine.free_bytes) {
      return Result::out_of_memory;
    }
    const int memfd = ::memfd_create(memory_name, MFD_CLOEXEC);
    FileHeader header{.file_bytes = bytes_before_memory + bytes + bytes_behind_memory,
                      .device = uuid_of(machine, properties->location.device)};
    if (std::getenv("FRAMEWIRE_STAND_IN_NO_IMPORT") != nullptr) {  // OpenGL is to refuse the memory
      header.identity = {};
    }
    if (memfd < 0 || ::ftruncate(memfd, static_cast<off_t>(header.file_bytes)) != 0 ||
        ::write(memfd, &header, sizeof header) != sizeof header) {
      return Result::out_of_memory;
    }
    machine.free_bytes -= bytes;
    *handle = machine.next_number++;
    machine.allocations[*handle] = {.memfd = memfd,
                                    .bytes = bytes,
                                    .is_shareable = properties->handle_types == cuda::handle_type_posix_file_descriptor,
                                    .is_for_rdma = properties->is_gpu_direct_rdma_capable != 0,
                                    .device = properties->location.device};
    return ok;
  });
}

Result release(MemoryHandle handle) {
  return guarded("cuMemRelease", false, [&](Machine& machine) {
    const auto found = machine.allocations.find(handle);
    if (found == machine.allocations.end()) {
      return invalid_value;
    }
    machine.free_bytes += found->second.is_imported ? 0 : found->second.bytes;
    ::close(found->second.memfd);
    machine.allocations.erase(found);
    return ok;
  });
}

Result reserve(Address* address, std::size_t bytes, std::size_t /*alignment*/, Address /*wanted*/,
               unsigned long long /*flags*/) {
  return guarded("cuMemAddressReserve", false, [&](Machine& machine) {
    void* range = ::mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (bytes % granularity != 0 || range == MAP_FAILED) {
      return invalid_value;
    }
    *address = reinterpret_cast<Address>(range);
    machine.reserved[*address] = bytes;
    return ok;
  });
}

Result free_range(Address address, std::size_t bytes) {
  return guarded("cuMemAddressFree", false, [&](Machine& machine) {
    const auto found = machine.reserved.find(address);
    if (found == machine.reserved.end() || found->second != bytes || machine.mappings.contains(address)) {
      return invalid_value;
    }
    ::munmap(reinterpret_cast<void*>(address), bytes);
    machine.reserved.erase(found);
    return ok;
  });
}

Result map(Address address, std::size_t bytes, std::size_t offset, MemoryHandle handle, unsigned long long /*flags*/) {
  return guarded("cuMemMap", false, [&](Machine& machine) {
    const auto found = machine.allocations.find(handle);
    const auto range = machine.reserved.find(address);
    if (found == machine.allocations.end() || range == machine.reserved.end() || range->second != bytes ||
        offset != 0 || bytes > found->second.bytes) {
      return invalid_value;
    }
    void* alias = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, found->second.memfd, bytes_before_memory);
    if (alias == MAP_FAILED) {
      return Result::out_of_memory;
    }
    machine.mappings[address] = {
        .bytes = bytes, .alias = static_cast<std::byte*>(alias), .handle = handle, .device = found->second.device};
    return ok;
  });
}

Result unmap(Address address, std::size_t bytes) {
  return guarded("cuMemUnmap", false, [&](Machine& machine) {
    const auto found = machine.mappings.find(address);
    if (found == machine.mappings.end() || found->second.bytes != bytes) {
      return invalid_value;
    }
    ::munmap(found->second.alias, bytes);
    machine.mappings.erase(found);
    return ok;
  });
}

/// The device that a mapping is for; only one has access at a time.
Result set_access(Address address, std::size_t bytes, const cuda::AccessDescription* description, std::size_t count) {
  return guarded("cuMemSetAccess", false, [&](Machine& machine) {
    const auto found = machine.mappings.find(address);
    if (count != 1 || found == machine.mappings.end() || found->second.bytes != bytes ||
        !is_device(machine, description->location.device)) {
      return invalid_value;
    }
    const DeviceNumber owner = machine.allocations.at(found->second.handle).device;
    if (description->location.device != owner && !(machine.has_peer_access && is_device(machine, owner))) {
      return invalid_device;
    }
    const bool is_read_only = description->access == cuda::Access::read;
    if (is_read_only && std::getenv("FRAMEWIRE_STAND_IN_NO_READ_ONLY") != nullptr) {
      return not_supported;
    }
    found->second.device = description->location.device;
    found->second.is_readable = true;
    found->second.is_writable = !is_read_only;
    return ok;
  });
}

Result export_handle(void* shareable, MemoryHandle handle, int type, unsigned long long flags) {
  return guarded("cuMemExportToShareableHandle", false, [&](Machine& machine) {
    const auto found = machine.allocations.find(handle);
    if (found == machine.allocations.end() || !found->second.is_shareable || type != 1 || flags != 0) {
      return invalid_value;
    }
    const int descriptor = ::fcntl(found->second.memfd, F_DUPFD_CLOEXEC, 0);
    std::memcpy(shareable, &descriptor, sizeof descriptor);
    return descriptor >= 0 ? ok : Result{304};
  });
}

/// Any memfd but the driver's own is refused, as any other descriptor. FRAMEWIRE_STAND_IN_NO_SHARING: all are.
Result import_handle(MemoryHandle* handle, void* shareable, int type) {
  return guarded("cuMemImportFromShareableHandle", false, [&](Machine& machine) {
    if (std::getenv("FRAMEWIRE_STAND_IN_NO_SHARING") != nullptr) {
      return not_supported;
    }
    const int given = static_cast<int>(reinterpret_cast<std::intptr_t>(shareable));
    std::array<char, 64> name{};
    const std::string link = "/proc/self/fd/" + std::to_string(given);
    struct stat status {};
    FileHeader header;
    if (type != 1 || ::readlink(link.c_str(), name.data(), name.size() - 1) < 0 ||
        !std::string_view(name.data()).starts_with(std::string("/memfd:") + memory_name) ||
        ::fstat(given, &status) != 0 || ::pread(given, &header, sizeof header, 0) != sizeof header) {
      return invalid_value;
    }
    *handle = machine.next_number++;
    machine.allocations[*handle] = {
        .memfd = ::fcntl(given, F_DUPFD_CLOEXEC, 0),
        .bytes = static_cast<std::size_t>(status.st_size) - bytes_before_memory - bytes_behind_memory,
        .is_imported = true,
        .device = device_with(machine, header.device)};
    return ok;
  });
}

Result allocation_properties(cuda::AllocationProperties* properties, MemoryHandle handle) {
  return guarded("cuMemGetAllocationPropertiesFromHandle", false, [&](Machine& machine) {
    const auto found = machine.allocations.find(handle);
    if (found == machine.allocations.end()) {
      return invalid_value;
    }
    *properties = {.handle_types = cuda::handle_type_posix_file_descriptor,
                   .location = {.device = found->second.device}};
    return ok;
  });
}

/// A descriptor of the file behind the memory, in place of a DMA-BUF, which would have no header before it. Of whole
/// mappings only, because it could not begin within one.
/// Another open file of the same memory, that is_by_pcie() tells apart.
int open_by_pcie(int memfd) {
  return ::open(("/proc/self/fd/" + std::to_string(memfd)).c_str(), O_RDWR | O_CLOEXEC | O_APPEND);
}

Result range_handle(void* handle, Address address, std::size_t bytes, int type, unsigned long long flags) {
  return guarded("cuMemGetHandleForAddressRange", true, [&](Machine& machine) {
    constexpr std::size_t page_bytes = 4096;
    const bool is_by_pcie = flags == 1;
    const bool knows_flags = flags == 0 || (is_by_pcie && machine.driver_version >= 12080);
    if (type != 1 || !knows_flags || address % page_bytes != 0 || bytes % page_bytes != 0) {
      return invalid_value;
    }
    const auto found = machine.mappings.find(address);
    if (found == machine.mappings.end() || found->second.bytes != bytes || !found->second.is_readable ||
        found->second.device != current_device()) {
      return invalid_value;
    }
    const auto allocation = machine.allocations.find(found->second.handle);
    if (machine.attributes[124] == 0 || allocation == machine.allocations.end() || !allocation->second.is_for_rdma) {
      return not_supported;
    }
    if (is_by_pcie && !machine.has_pcie_mapping) {
      return not_supported;
    }
    const int memfd = allocation->second.memfd;
    const int descriptor = is_by_pcie ? open_by_pcie(memfd) : ::fcntl(memfd, F_DUPFD_CLOEXEC, 0);
    std::memcpy(handle, &descriptor, sizeof descriptor);
    return descriptor >= 0 ? ok : Result{304};
  });
}

/// Whether this process may write to the page, as the kernel says (proc(5)).
bool is_writable(const void* address) {
  std::ifstream maps("/proc/self/maps");
  const auto wanted = reinterpret_cast<std::uintptr_t>(address);
  for (std::string line; std::getline(maps, line);) {
    std::uintptr_t begin = 0;
    std::uintptr_t end = 0;
    std::array<char, 5> access{};
    if (std::sscanf(line.c_str(), "%lx-%lx %4s", &begin, &end, access.data()) == 3 && wanted >= begin && wanted < end) {
      return access[1] == 'w';
    }
  }
  return false;
}

Result register_host(void* address, std::size_t bytes, unsigned flags) {
  return guarded("cuMemHostRegister", true, [&](Machine& machine) {
    constexpr unsigned read_only = 8;
    if (address == nullptr || bytes == 0 || ((flags & read_only) == 0 && !is_writable(address))) {
      return invalid_value;
    }
    return machine.registered.emplace(reinterpret_cast<std::uintptr_t>(address), bytes).second ? ok
                                                                                               : already_registered;
  });
}

Result unregister_host(void* address) {
  return guarded("cuMemHostUnregister", true, [&](Machine& machine) {
    return machine.registered.erase(reinterpret_cast<std::uintptr_t>(address)) == 1 ? ok : not_registered;
  });
}

}  // namespace

Address Machine::allocate(std::size_t bytes) {
  constexpr std::size_t page_bytes = 4096;
  const std::size_t whole = (bytes + page_bytes - 1) / page_bytes * page_bytes;
  void* range = ::mmap(nullptr, whole, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  void* alias = ::mmap(nullptr, whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (bytes == 0 || whole > free_bytes || range == MAP_FAILED || alias == MAP_FAILED) {
    return 0;
  }
  free_bytes -= whole;
  const auto address = reinterpret_cast<Address>(range);
  mappings[address] = {.bytes = whole,
                       .alias = static_cast<std::byte*>(alias),
                       .is_readable = true,
                       .is_writable = true,
                       .device = current_device()};
  return address;
}

bool Machine::free(Address address) {
  const auto found = mappings.find(address);
  if (found == mappings.end() || found->second.handle != 0) {
    return false;
  }
  free_bytes += found->second.bytes;
  ::munmap(found->second.alias, found->second.bytes);
  ::munmap(reinterpret_cast<void*>(address), found->second.bytes);
  mappings.erase(found);
  return true;
}

void end_objects() {
  Machine& machine = Machine::get();
  const std::scoped_lock lock(machine.mutex);
  machine.streams.clear();
  machine.events.clear();
  machine.registered.clear();
  machine.retained.clear();
  for (const auto& [address, mapping] : std::exchange(machine.mappings, {})) {
    ::munmap(mapping.alias, mapping.bytes);
    if (mapping.handle == 0) {
      ::munmap(reinterpret_cast<void*>(address), mapping.bytes);
    }
  }
  for (const auto& [address, bytes] : std::exchange(machine.reserved, {})) {
    ::munmap(reinterpret_cast<void*>(address), bytes);
  }
  for (const auto& [handle, allocation] : std::exchange(machine.allocations, {})) {
    machine.free_bytes += allocation.is_imported ? 0 : allocation.bytes;
    ::close(allocation.memfd);
  }
}

void add_memory_functions(FunctionTable& functions) {
  functions["cuMemGetInfo"] = address_of(memory_info);
  functions["cuMemGetAllocationGranularity"] = address_of(allocation_granularity);
  functions["cuMemCreate"] = address_of(create);
  functions["cuMemRelease"] = address_of(release);
  functions["cuMemAddressReserve"] = address_of(reserve);
  functions["cuMemAddressFree"] = address_of(free_range);
  functions["cuMemMap"] = address_of(map);
  functions["cuMemUnmap"] = address_of(unmap);
  functions["cuMemSetAccess"] = address_of(set_access);
  functions["cuMemExportToShareableHandle"] = address_of(export_handle);
  functions["cuMemImportFromShareableHandle"] = address_of(import_handle);
  functions["cuMemGetAllocationPropertiesFromHandle"] = address_of(allocation_properties);
  functions["cuMemGetHandleForAddressRange"] = address_of(range_handle);
  functions["cuMemHostRegister"] = address_of(register_host);
  functions["cuMemHostUnregister"] = address_of(unregister_host);
}

}  // namespace framewire::test::cuda_stand_in
