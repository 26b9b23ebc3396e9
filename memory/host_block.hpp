// Host memory for payload: a mapping of a sealed memfd, which can be passed to another process, or private pages.
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
#include "memory/block.hpp"

namespace framewire {

/// The size of one step between two calls of the StopCheck. A step takes a few tens of milliseconds.
inline constexpr std::uint64_t allocation_chunk_bytes = std::uint64_t{32} << 20;

/// One contiguous block of page-aligned host memory. Constant after construction; the owners that share it (pool, ring)
/// guard the bytes. Unmapped when the last shared_ptr goes. On either side lies at least one inaccessible guard page:
/// an access out of bounds ends the process by a signal, instead of corrupting other memory.
class HostBlock final : public Block, public std::enable_shared_from_this<HostBlock> {
 public:
  /// Creates a block of at least `size_bytes` (rounded up to pages). All of it is backed by memory before this returns,
  /// so that a machine with too little memory fails here and not later by a signal. Asks for huge pages. The memfd is
  /// sealed: its size is fixed and nobody else can map it writable. Throws Error that names the size and what is free.
  /// Throws AllocationStopped if `stop` cancels it; nothing stays allocated then.
  static std::shared_ptr<HostBlock> create(const std::string& name, std::uint64_t size_bytes,
                                           const StopCheck& stop = {});

  /// As create, but for this process only, without a memfd. The kernel gives such memory huge pages far more often, and
  /// sets it up several times faster. (A ring is created while the viewer waits for its first picture.)
  static std::shared_ptr<HostBlock> create_private(const std::string& name, std::uint64_t size_bytes,
                                                   const StopCheck& stop = {});

  /// As create, but others may map it writable (the acknowledgement page of the local link).
  static std::shared_ptr<HostBlock> create_shared_writable(const std::string& name, std::uint64_t size_bytes);

  /// Maps a peer's memfd read-only. Throws Error if its size is not sealed, or is smaller than `size_bytes`, or if it
  /// has huge pages or holes: reading past the end of a file that shrank would raise a signal.
  static std::shared_ptr<HostBlock> map_read_only(FileDescriptor memfd, std::uint64_t size_bytes);
  static std::shared_ptr<HostBlock> map_writable(FileDescriptor memfd, std::uint64_t size_bytes);

  ~HostBlock() override;

  [[nodiscard]] const MemoryKind& kind() const noexcept override;
  [[nodiscard]] const HostBlock* host() const noexcept override { return this; }
  [[nodiscard]] int descriptor() const noexcept override { return memfd(); }
  [[nodiscard]] RegisteredAs registered_as() const noexcept override;
  [[nodiscard]] std::shared_ptr<Fence> copy_to_host(std::shared_ptr<HostBlock> into, CopyRange range,
                                                    std::shared_ptr<Fence> after) const override;
  [[nodiscard]] std::shared_ptr<Fence> copy_from_host(std::shared_ptr<const HostBlock> from, CopyRange range) override;

  /// Puts a copy of this range in its place, which nobody else can write to; the address stays, and the range is
  /// read-only. Other threads may read it meanwhile. `offset_bytes` is a multiple of the page size; the last page goes
  /// along whole. Throws Error (no memory).
  void copy_in_place(std::uint64_t offset_bytes, std::uint64_t size_bytes) const;

  /// Writing to a block from map_read_only raises a signal.
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
  std::span<std::byte> reserved_;  // address space: bytes_ and its guard pages
  std::span<std::byte> bytes_;
  bool is_read_only_;
};

/// The memory of this machine's processors.
const MemoryKind& host_memory() noexcept;

}  // namespace framewire
