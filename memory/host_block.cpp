#include "memory/host_block.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <fstream>
#include <limits>
#include <utility>

#include "base/error.hpp"
#include "base/text.hpp"

#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010
#endif

namespace framewire {

namespace {

std::uint64_t round_up_to_pages(std::uint64_t size_bytes) {
  const auto page_bytes = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  return (size_bytes + page_bytes - 1) / page_bytes * page_bytes;
}

Error no_room(const std::string& name, std::uint64_t size_bytes) {
  return Error::failed("not enough memory for " + name + ": " + format_bytes(size_bytes) + " are needed and " +
                       format_bytes(available_memory_bytes()) +
                       " are free; take smaller frames or messages, fewer slots or fewer viewers");
}

/// The whole pages that hold `size_bytes`. Asked before allocating: over-committed memory would end in the OOM killer,
/// not in an error.
std::uint64_t room_for(const std::string& name, std::uint64_t size_bytes) {
  const std::uint64_t whole_bytes = round_up_to_pages(size_bytes);
  const std::uint64_t available_bytes = available_memory_bytes();
  if (size_bytes == 0 || (available_bytes != 0 && whole_bytes > available_bytes)) {
    throw no_room(name, size_bytes);
  }
  return whole_bytes;
}

/// Backs a memfd with memory; 0 or the error's number.
int allocate(int memfd, off_t length) {
  int error_number = EINTR;
  while (error_number == EINTR) {
    error_number = ::posix_fallocate(memfd, 0, length);
  }
  return error_number;
}

std::span<std::byte> map_pages(int memfd, std::uint64_t size_bytes, int protection) {
  void* address = ::mmap(nullptr, size_bytes, protection, MAP_SHARED, memfd, 0);
  if (address == MAP_FAILED) {
    throw Error::from_errno("map " + format_bytes(size_bytes) + " of shared memory", errno);
  }
  // Advice only: fewer TLB misses where the kernel grants it for shared memory.
  ::madvise(address, size_bytes, MADV_HUGEPAGE);
  return {static_cast<std::byte*>(address), size_bytes};
}

}  // namespace

HostBlock::HostBlock(FileDescriptor memfd, std::span<std::byte> bytes, bool is_read_only) noexcept
    : memfd_(std::move(memfd)), bytes_(bytes), is_read_only_(is_read_only) {}

HostBlock::~HostBlock() {
  ::munmap(bytes_.data(), bytes_.size());
}

std::shared_ptr<HostBlock> HostBlock::create(const std::string& name, std::uint64_t size_bytes) {
  return make(name, size_bytes, false);
}

std::shared_ptr<HostBlock> HostBlock::create_shared_writable(const std::string& name, std::uint64_t size_bytes) {
  return make(name, size_bytes, true);
}

std::shared_ptr<HostBlock> HostBlock::create_private(const std::string& name, std::uint64_t size_bytes) {
  const std::uint64_t whole_bytes = room_for(name, size_bytes);
  void* address = ::mmap(nullptr, whole_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (address == MAP_FAILED) {
    throw no_room(name, size_bytes);
  }
  std::shared_ptr<HostBlock> block(
      new HostBlock(FileDescriptor(), {static_cast<std::byte*>(address), whole_bytes}, false));
  ::madvise(address, whole_bytes, MADV_HUGEPAGE);
  if (::madvise(address, whole_bytes, MADV_POPULATE_WRITE) != 0) {
    if (errno != EINVAL) {
      throw no_room(name, size_bytes);
    }
    std::ranges::fill(block->bytes(), std::byte{0});  // a kernel before 5.14
  }
  return block;
}

std::shared_ptr<HostBlock> HostBlock::make(const std::string& name, std::uint64_t size_bytes, bool others_may_write) {
  const std::uint64_t whole_bytes = room_for(name, size_bytes);
  FileDescriptor memfd(::memfd_create(("framewire " + name).c_str(), MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!memfd.valid()) {
    throw Error::from_errno("create shared memory for " + name, errno);
  }
  const auto length = static_cast<off_t>(whole_bytes);
  if (::ftruncate(memfd.get(), length) != 0) {
    throw Error::from_errno("size shared memory for " + name, errno);
  }
  if (const int error_number = allocate(memfd.get(), length); error_number != 0) {
    throw error_number == ENOSPC || error_number == ENOMEM
        ? no_room(name, size_bytes)
        : Error::from_errno("allocate shared memory for " + name, error_number);
  }
  const auto bytes = map_pages(memfd.get(), whole_bytes, PROT_READ | PROT_WRITE);
  // Page tables now, not by faults while frames flow; a kernel before 5.14 does not know this advice and takes the
  // faults. Whoever maps a block of ours to read it is served 16 pages by each fault, and would wait for this longer
  // than for those.
  ::madvise(bytes.data(), bytes.size(), MADV_POPULATE_WRITE);
  std::shared_ptr<HostBlock> block(new HostBlock(std::move(memfd), bytes, false));
  const int seals = F_SEAL_SHRINK | F_SEAL_GROW | (others_may_write ? 0 : F_SEAL_FUTURE_WRITE) | F_SEAL_SEAL;
  if (::fcntl(block->memfd(), F_ADD_SEALS, seals) != 0) {
    throw Error::from_errno("seal shared memory for " + name, errno);
  }
  return block;
}

std::shared_ptr<HostBlock> HostBlock::map_read_only(FileDescriptor memfd, std::uint64_t size_bytes) {
  return map(std::move(memfd), size_bytes, true);
}

std::shared_ptr<HostBlock> HostBlock::map_writable(FileDescriptor memfd, std::uint64_t size_bytes) {
  return map(std::move(memfd), size_bytes, false);
}

std::shared_ptr<HostBlock> HostBlock::map(FileDescriptor memfd, std::uint64_t size_bytes, bool read_only) {
  const int seals = ::fcntl(memfd.get(), F_GET_SEALS);
  if (seals < 0 || (seals & F_SEAL_SHRINK) == 0) {
    throw Error::failed("the peer offered shared memory whose size is not sealed; it is not used");
  }
  struct stat status {};
  if (::fstat(memfd.get(), &status) != 0 || status.st_size < 0 ||
      static_cast<std::uint64_t>(status.st_size) < size_bytes || size_bytes == 0) {
    throw Error::failed("the peer offered shared memory of " + std::to_string(status.st_size) + " bytes where " +
                        std::to_string(size_bytes) + " were announced; it is not used");
  }
  const auto bytes =
      map_pages(memfd.get(), round_up_to_pages(size_bytes), read_only ? PROT_READ : PROT_READ | PROT_WRITE);
  return std::shared_ptr<HostBlock>(new HostBlock(std::move(memfd), bytes, read_only));
}

std::uint64_t available_memory_bytes() noexcept {
  std::ifstream file("/proc/meminfo");
  std::string key;
  std::uint64_t kilobytes = 0;
  while (file >> key >> kilobytes) {
    if (key == "MemAvailable:") {
      return kilobytes * 1024;
    }
    file.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
  }
  return 0;
}

}  // namespace framewire
