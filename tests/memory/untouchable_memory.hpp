// A kind of memory that the processor may not touch, without a GPU: the product knows a block only by an address that
// has no access rights, and the stand-in for a device has the same pages mapped a second time.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "memory/host_block.hpp"

namespace framewire::test {

/// A device of its own for each object. Its copies finish late, and out of order. Until a copy is finished, its
/// destination is poisoned. Any system call that gets an address of its blocks fails with EFAULT, and any access by the
/// processor is a signal. Outlives its blocks; ends its copies in its destructor. Any thread.
class UntouchableMemory final : public MemoryKind {
 public:
  explicit UntouchableMemory(std::string name = "untouchable", std::uint64_t seed = 1);
  ~UntouchableMemory() override;

  [[nodiscard]] std::string_view name() const noexcept override { return name_; }
  [[nodiscard]] std::shared_ptr<Block> allocate(const std::string& purpose, std::uint64_t size_bytes,
                                                const StopCheck& stop) const override;
  [[nodiscard]] std::shared_ptr<Block> allocate_private(const std::string& purpose, std::uint64_t size_bytes,
                                                        const StopCheck& stop) const override;
  [[nodiscard]] std::shared_ptr<const Block> import(FileDescriptor descriptor, std::uint64_t size_bytes) const override;

  /// The bytes of one of its blocks, as the device sees them.
  static std::span<std::byte> on_device(const Block& block);

  /// What a kernel of the device does later: calls `work` on the device's thread, in its own order, and then finishes
  /// the fence with `state`.
  void run_later(std::function<void()> work, const std::shared_ptr<Fence>& fence,
                 FenceState state = FenceState::done) const;

  /// Copies to and from host memory that were begun. The other two are for its blocks.
  [[nodiscard]] std::uint64_t copies() const { return copies_.load(); }
  [[nodiscard]] std::uint64_t copies_from_host() const { return copies_from_host_.load(); }
  void count_copy() const { ++copies_; }
  void count_copy_from_host() const { ++copies_from_host_; }
  /// Copies and kernels fail from now on.
  void break_down() const;
  /// The same, because the device is lost.
  void lose() const;
  [[nodiscard]] std::optional<std::string> failure() const override;
  /// No block of another process is imported any more.
  void refuse_imports() const;
  /// No copy begins any more, but for so many.
  void refuse_copies(std::uint64_t but_for = 0) const;
  [[nodiscard]] bool refuses_copies() const;

  /// From now on the device does nothing by itself: work waits until end_held(), on whose thread it is done then.
  void hold() const;
  [[nodiscard]] std::size_t held() const;
  /// Ends the work at `index`, the oldest being 0, as it would end, or with this state.
  void end_held(std::size_t index, std::optional<FenceState> state = std::nullopt) const;

 private:
  class Device;
  const std::string name_;
  mutable std::atomic<bool> is_lost_ = false;
  mutable std::atomic<bool> refuses_imports_ = false;
  mutable std::atomic<std::uint64_t> most_copies_ = UINT64_MAX;  // of both kinds
  mutable std::atomic<std::uint64_t> copies_ = 0;
  mutable std::atomic<std::uint64_t> copies_from_host_ = 0;
  const std::unique_ptr<Device> device_;
};

}  // namespace framewire::test
