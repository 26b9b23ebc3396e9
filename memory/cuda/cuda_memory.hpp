// Memory of a GPU, through CUDA: blocks that other processes of this machine can map.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/file_descriptor.hpp"
#include "base/system_files.hpp"
#include "memory/block.hpp"
#include "memory/cuda/device.hpp"
#include "memory/cuda/host_registration.hpp"
#include "memory/cuda/mapping.hpp"
#include "memory/cuda/work.hpp"
#include "memory/host_block.hpp"

namespace framewire {

class CudaMemory;

/// A block of CudaMemory: on its GPU, or imported from another one that this reads.
class CudaBlock final : public Block, public std::enable_shared_from_this<CudaBlock> {
 public:
  /// `exported`: what others import. `is_shared`: also other processes; else only OpenGL in this one.
  CudaBlock(const CudaMemory& kind, std::unique_ptr<const CudaMapping> mapping, std::uint64_t size_bytes,
            FileDescriptor exported, bool is_shared);
  ~CudaBlock() override;

  [[nodiscard]] const MemoryKind& kind() const noexcept override;
  [[nodiscard]] int descriptor() const noexcept override { return is_shared_ ? exported_.get() : -1; }
  [[nodiscard]] bool is_on_other_device() const noexcept override { return mapping_->peer() != nullptr; }
  [[nodiscard]] OpaqueMemory for_opengl() const override;
  /// As a DMA-BUF, where the driver exports one (also that for data-direct), and by its address, where nvidia-peermem
  /// would pin that.
  [[nodiscard]] RegisteredAs registered_as() const override;
  /// Flushes, where the GPU would not see by itself what RDMA devices write.
  void make_writes_visible() const override;
  /// Registers `into` with CUDA, and keeps it so, because the next copy goes there, too.
  [[nodiscard]] std::shared_ptr<Fence> copy_to_host(std::shared_ptr<HostBlock> into, CopyRange range,
                                                    std::shared_ptr<Fence> after) const override;
  /// As that: `from` stays registered.
  [[nodiscard]] std::shared_ptr<Fence> copy_from_host(std::shared_ptr<const HostBlock> from, CopyRange range) override;
  [[nodiscard]] std::shared_ptr<Fence> copy_to_device(const std::shared_ptr<Block>& into,
                                                      CopyRange range) const override;

  /// In CUDA's address space of this process.
  [[nodiscard]] cuda::Address address() const noexcept { return mapping_->address(); }

 private:
  /// What a copy needs while the GPU makes it.
  struct Kept {
    std::shared_ptr<const Block> block;
    std::shared_ptr<const void> other_end;
  };

  [[nodiscard]] FileDescriptor export_for_data_direct() const;
  void start_copy(std::byte* into, CopyRange range, const std::shared_ptr<Fence>& fence,
                  const std::shared_ptr<const Kept>& keeps) const;
  [[nodiscard]] std::shared_ptr<const Kept> kept_by_copy(std::shared_ptr<const HostBlock> host) const;

  const CudaMemory& kind_;
  const std::unique_ptr<const CudaMapping> mapping_;
  const FileDescriptor exported_;
  const bool is_shared_;

  mutable std::mutex mutex_;                                    // guards what follows
  mutable std::shared_ptr<CudaHostRegistration> registration_;  // of the host memory of the last copy
};

/// The memory of one GPU. Outlives its blocks. Any thread.
///
/// A block is one allocation of CUDA's virtual memory management (cuMemCreate), whose descriptor other processes import
/// (cuMemImportFromShareableHandle). They map it read-only, if their driver does that. Unlike a sealed memfd, the
/// descriptor would let them map it for writing, too: a sender has to trust the processes to which it gives such
/// memory.
class CudaMemory final : public MemoryKind {
 public:
  /// `files` tell whether the kernel has nvidia-peermem. Throws Error (failed), also where this GPU's memory cannot be
  /// shared.
  explicit CudaMemory(const CudaDeviceInfo& device, SystemFiles files = SystemFiles());

  [[nodiscard]] std::string_view name() const noexcept override { return "cuda"; }
  [[nodiscard]] std::optional<DeviceUuid> device_uuid() const noexcept override { return device_->info().uuid_bytes; }
  [[nodiscard]] std::optional<std::string> failure() const override;
  [[nodiscard]] std::string take_note() const override;
  [[nodiscard]] bool imports_from(const DeviceUuid& device) const noexcept override;
  /// Its bytes are 0.
  [[nodiscard]] std::shared_ptr<Block> allocate(const std::string& purpose, std::uint64_t size_bytes,
                                                const StopCheck& stop) const override;
  [[nodiscard]] std::shared_ptr<Block> allocate_private(const std::string& purpose, std::uint64_t size_bytes,
                                                        const StopCheck& stop) const override;
  /// Registers the block with CUDA.
  [[nodiscard]] std::shared_ptr<const void> prepare_copies(const std::shared_ptr<const HostBlock>& host) const override;
  /// Throws Error (failed) also if the memory is smaller, or of another GPU that this one does not read.
  [[nodiscard]] std::shared_ptr<const Block> import(FileDescriptor descriptor, std::uint64_t size_bytes) const override;

  [[nodiscard]] const std::shared_ptr<const CudaDevice>& device() const noexcept { return device_; }
  [[nodiscard]] CudaWork& work() const noexcept { return work_; }
  /// The kernel can pin addresses of CUDA for RDMA devices.
  [[nodiscard]] bool has_peer_memory() const;

 private:
  void note(const std::string& text) const;
  [[nodiscard]] std::uint64_t whole_bytes(std::uint64_t size_bytes) const;
  [[nodiscard]] std::shared_ptr<CudaBlock> make(const std::string& purpose, std::uint64_t size_bytes, bool is_shared,
                                                const StopCheck& stop) const;

  const std::shared_ptr<const CudaDevice> device_;
  const SystemFiles files_;
  const std::uint64_t granularity_bytes_;
  mutable CudaWork work_;

  mutable std::mutex mutex_;                // guards what follows
  mutable std::vector<std::string> notes_;  // each once
  mutable std::size_t notes_taken_ = 0;
};

}  // namespace framewire
