// Memory that frames lie in, of any kind: a block, the kind that makes it, and a range of it.
//
// Only host memory has bytes that the processor may touch (memory/host_block.hpp). Of another kind, a program can only
// hand the block to a device, pass it to another process, or have the device copy from and to host memory.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "base/file_descriptor.hpp"
#include "memory/fence.hpp"

namespace framewire {

class HostBlock;
class MemoryKind;

/// Called between two steps of an allocation, on the allocating thread; true cancels it. Empty: never cancelled.
using StopCheck = std::function<bool()>;

/// A StopCheck cancelled an allocation, or a trial of what was allocated.
class AllocationStopped : public Error {
 public:
  explicit AllocationStopped(const std::string& name)
      : AllocationStopped(Error::failed("interrupted while memory for " + name + " was allocated")) {}
  /// `memory`: "the memory of the GPU NVIDIA H200 by DMA-BUF".
  static AllocationStopped in_trial_of(const std::string& memory) {
    return AllocationStopped(Error::failed("interrupted during a trial of " + memory));
  }

 private:
  explicit AllocationStopped(const Error& error) : Error(error) {}
};

/// How an RDMA device registers a block. `address` is what work requests call its first byte; nobody else uses it.
struct RegisteredAs {
  std::uint64_t address = 0;
  /// The same memory at an address that the kernel can pin, by itself or by a module of that memory's device. Null:
  /// there is none.
  void* pinned = nullptr;

  // ---- Only of a device's memory ----

  /// The same memory, to be registered rather than `pinned`. It begins at this offset, which has the place in its page
  /// that `address` has. Invalid: there is none.
  FileDescriptor dma_buf{};
  std::uint64_t dma_buf_offset_bytes = 0;
  /// For messages: "the GPU NVIDIA H200". Empty: host memory.
  std::string device{};
  std::string no_dma_buf{};  // why there is none
  /// Exports the same memory with the same offset, in the mapping that data-direct needs. Registered in any other way,
  /// it would fail only when it is used. Called while the block lives. Throws Error that says why there is none.
  std::function<FileDescriptor()> export_for_data_direct{};
  std::string not_pinned{};  // why `pinned` is null
  /// Block::make_writes_visible() says nothing of what an RDMA device wrote there: that is seen for certain once the
  /// same device has read from there.
  bool needs_read_back = false;
};

/// Memory as OpenGL imports it: an opaque descriptor (GL_EXT_memory_object_fd) of the whole allocation.
struct OpaqueMemory {
  FileDescriptor descriptor{};
  std::uint64_t size_bytes = 0;
};

/// A device, as OpenGL names it (GL_DEVICE_UUID_EXT).
using DeviceUuid = std::array<std::uint8_t, 16>;

/// A copy between two blocks.
struct CopyRange {
  std::uint64_t from_offset_bytes = 0;
  std::uint64_t to_offset_bytes = 0;
  std::uint64_t size_bytes = 0;

  /// To the place that the bytes have in their own block.
  static CopyRange at(std::uint64_t offset_bytes, std::uint64_t size_bytes) noexcept {
    return {.from_offset_bytes = offset_bytes, .to_offset_bytes = offset_bytes, .size_bytes = size_bytes};
  }
};

/// One contiguous block of memory. Constant after construction; the owners that share it (pool, ring) guard its
/// content. Freed when the last shared_ptr goes. Any thread.
class Block {
 public:
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;
  virtual ~Block() = default;

  [[nodiscard]] virtual const MemoryKind& kind() const noexcept = 0;
  [[nodiscard]] std::uint64_t size_bytes() const noexcept { return size_bytes_; }

  /// This block, if the processor may touch its bytes; else null.
  [[nodiscard]] virtual const HostBlock* host() const noexcept { return nullptr; }

  /// What another process of this machine needs for MemoryKind::import(); -1 if only this process can use the block.
  [[nodiscard]] virtual int descriptor() const noexcept { return -1; }

  /// The block lies on another device; that of its kind reads it there.
  [[nodiscard]] virtual bool is_on_other_device() const noexcept { return false; }

  /// For a context of OpenGL on the device that kind().device_uuid() names. Throws Error (failed) if OpenGL cannot
  /// import such memory, as that of another device, or there are too many descriptors.
  [[nodiscard]] virtual OpaqueMemory for_opengl() const;

  /// Throws std::bad_alloc. What a device refuses is no error here: the result says it.
  [[nodiscard]] virtual RegisteredAs registered_as() const = 0;

  /// Another device, which writes into this block, has told this process that it has written: makes that visible to
  /// whatever reads the block from now on, except where RegisteredAs::needs_read_back. Takes microseconds. Throws Error
  /// (failed): what the block holds is unknown.
  virtual void make_writes_visible() const {}

  /// The device starts to copy `range` of this block into `into`, once `after` is done (null: at once). Nobody writes
  /// these bytes of either block until the fence is finished. It fails if `after` does. The device keeps both blocks
  /// alive meanwhile. Throws Error (failed).
  [[nodiscard]] virtual std::shared_ptr<Fence> copy_to_host(std::shared_ptr<HostBlock> into, CopyRange range,
                                                            std::shared_ptr<Fence> after) const = 0;

  /// The device starts to copy `range` of `from` into this block. Nobody writes these bytes of either block until the
  /// fence is finished. The device keeps both blocks alive meanwhile. Not of an imported block. Throws Error (failed).
  [[nodiscard]] virtual std::shared_ptr<Fence> copy_from_host(std::shared_ptr<const HostBlock> from,
                                                              CopyRange range) = 0;

  /// The device starts to copy `range` of this block into `into`, which is of the same kind and was not imported.
  /// Nobody writes these bytes of either block until the fence is finished. The device keeps both blocks alive
  /// meanwhile. Throws Error (failed), also if no such copies are made in memory of this kind.
  [[nodiscard]] virtual std::shared_ptr<Fence> copy_to_device(const std::shared_ptr<Block>& into,
                                                              CopyRange range) const;

 protected:
  explicit Block(std::uint64_t size_bytes) noexcept : size_bytes_(size_bytes) {}

 private:
  const std::uint64_t size_bytes_;
};

/// Where blocks come from: host memory, or the memory of one device. Outlives its blocks. Any thread.
class MemoryKind {
 public:
  virtual ~MemoryKind() = default;

  /// Small letters and digits, at most 16: "host". On the wire and in start lines.
  [[nodiscard]] virtual std::string_view name() const noexcept = 0;
  [[nodiscard]] bool is_host() const noexcept { return name() == "host"; }

  /// Why the device is lost, for the user: nothing that it is asked for will be done any more. Nothing: it is not, as
  /// far as work that has failed until now has told. One piece of work that fails is no loss. Costs a load. Any thread.
  [[nodiscard]] virtual std::optional<std::string> failure() const { return std::nullopt; }
  /// Throws Error (failed) that says so if the device is lost.
  void require_device() const;

  /// What the log is to say of this memory, each thing once, the oldest first; empty: nothing more.
  [[nodiscard]] virtual std::string take_note() const { return {}; }

  /// The device whose OpenGL imports such blocks; nothing if none does.
  [[nodiscard]] virtual std::optional<DeviceUuid> device_uuid() const noexcept { return std::nullopt; }
  /// Whether import() takes the memory of this device: of its own, or of another one whose memory it reads in place.
  /// Asks nobody.
  [[nodiscard]] virtual bool imports_from(const DeviceUuid& device) const noexcept { return device_uuid() == device; }

  /// A block that other processes of this machine can import read-only. At least `size_bytes`, rounded up to pages.
  /// `purpose` is for messages: "16 frame slots". Throws Error that names the size, and AllocationStopped if `stop`
  /// cancels it.
  [[nodiscard]] virtual std::shared_ptr<Block> allocate(const std::string& purpose, std::uint64_t size_bytes,
                                                        const StopCheck& stop) const = 0;
  /// As allocate(), for this process only; cheaper.
  [[nodiscard]] virtual std::shared_ptr<Block> allocate_private(const std::string& purpose, std::uint64_t size_bytes,
                                                                const StopCheck& stop) const = 0;
  /// Prepares copies between blocks of this kind and `host`, which may take a second. The first copy does it, too, if
  /// nobody did. It stays so as long as the result lives. Null: there is nothing to do. Throws Error (failed).
  [[nodiscard]] virtual std::shared_ptr<const void> prepare_copies(const std::shared_ptr<const HostBlock>& host) const;

  /// The block of another process, from its descriptor(), read-only. What the peer shares is checked before it is used.
  /// Throws Error (failed).
  [[nodiscard]] virtual std::shared_ptr<const Block> import(FileDescriptor descriptor,
                                                            std::uint64_t size_bytes) const = 0;
};

/// Opens the memory of a device; null: there is no such memory. May take a second. Any thread. Throws Error.
using OpenDeviceMemory = std::function<std::unique_ptr<const MemoryKind>(const DeviceUuid& device)>;

/// A range of a block. The function that hands it on says how long the block lives.
struct Payload {
  const Block* block = nullptr;
  std::uint64_t offset_bytes = 0;
  std::uint64_t size_bytes = 0;

  [[nodiscard]] bool is_on_host() const noexcept { return block != nullptr && block->host() != nullptr; }
  /// Only of a host block.
  [[nodiscard]] std::span<const std::byte> bytes() const noexcept;
};

}  // namespace framewire
