// Host memory for payload: a sealed memfd that can be handed to another process and one mapping of it, or private
// pages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "base/error.hpp"
#include "base/file_descriptor.hpp"
#include "memory/available_memory.hpp"

namespace framewire {

/// Where payload lives. `cuda` joins as one more kind of block.
enum class MemoryKind { host, cuda };

/// Asked while a block is being allocated, between pieces of it, on the allocating thread: true gives it up. Empty:
/// nobody does.
using StopCheck = std::function<bool()>;

/// An allocation was given up because its StopCheck said so.
class AllocationStopped : public Error {
 public:
  explicit AllocationStopped(const std::string& name)
      : Error(ExitStatus::failed, "interrupted while memory for " + name + " was allocated") {}
};

/// Between two looks at the StopCheck no more than this is allocated: a few tens of milliseconds.
inline constexpr std::uint64_t allocation_piece_bytes = std::uint64_t{32} << 20;

/// One contiguous block of page-aligned host memory. Constant after construction; the bytes themselves are guarded by
/// whoever shares them (pool, ring). Unmapped when the last shared_ptr goes. In front of it and behind it lies at least
/// a page that nobody can read or write: whoever strays out of it ends by a signal, and does not touch other memory.
class HostBlock {
 public:
  /// Makes a block of at least `size_bytes` (rounded up to pages), all of it backed by memory before this returns, so
  /// that a machine without room fails here and not by a signal later. Asks for huge pages. The memfd is sealed: its
  /// size is fixed and nobody else can map it writable. Throws Error that names the size and what is free;
  /// AllocationStopped when `stop` says so, and then nothing is kept.
  static std::shared_ptr<HostBlock> create(const std::string& name, std::uint64_t size_bytes,
                                           const StopCheck& stop = {});

  /// As create, but for this process alone, without a memfd: the kernel gives such memory huge pages far more often,
  /// and sets it up several times faster (a ring is made while a viewer waits for its first picture).
  static std::shared_ptr<HostBlock> create_private(const std::string& name, std::uint64_t size_bytes,
                                                   const StopCheck& stop = {});

  /// As create, but others may map it writable (the acknowledgement page of the local link).
  static std::shared_ptr<HostBlock> create_shared_writable(const std::string& name, std::uint64_t size_bytes);

  /// Maps a peer's memfd read-only. Refuses (Error) one whose size is not sealed, or that is smaller than `size_bytes`:
  /// reading past the end of a file that shrank would be a signal.
  static std::shared_ptr<HostBlock> map_read_only(FileDescriptor memfd, std::uint64_t size_bytes);
  static std::shared_ptr<HostBlock> map_writable(FileDescriptor memfd, std::uint64_t size_bytes);

  HostBlock(const HostBlock&) = delete;
  HostBlock& operator=(const HostBlock&) = delete;
  ~HostBlock();

  /// Writing through a block from map_read_only is a fault.
  [[nodiscard]] std::span<std::byte> bytes() const noexcept { return bytes_; }
  /// -1 for a private block.
  [[nodiscard]] int memfd() const noexcept { return memfd_.get(); }
  [[nodiscard]] bool is_read_only() const noexcept { return is_read_only_; }

 private:
  HostBlock(FileDescriptor memfd, std::span<std::byte> reserved, std::uint64_t size_bytes, bool is_read_only) noexcept;
  static std::shared_ptr<HostBlock> make(const std::string& name, std::uint64_t size_bytes, bool others_may_write,
                                         const StopCheck& stop);
  static std::shared_ptr<HostBlock> map(FileDescriptor memfd, std::uint64_t size_bytes, bool read_only);

  FileDescriptor memfd_;
  std::span<std::byte> reserved_;  // of the address space: bytes_, and what guards them
  std::span<std::byte> bytes_;
  bool is_read_only_;
};

}  // namespace framewire
