// The viewer's side of the local link: reads frames in place, in the sender's pool.
#pragma once

#include <atomic>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/file_descriptor.hpp"
#include "transport/link.hpp"
#include "transport/local/shared_pages.hpp"
#include "transport/slice_assembly.hpp"

namespace framewire {

class LocalReceiver final : public ReceiverLink {
 public:
  /// Takes the authenticated data connection and waits for the shared pages. Throws Error at the deadline and when the
  /// peer breaks the protocol.
  LocalReceiver(FileDescriptor socket, std::int64_t deadline_ns);
  ~LocalReceiver() override;

  [[nodiscard]] LinkKind kind() const noexcept override { return LinkKind::local; }
  /// It imports the sender's pool, so any kind.
  [[nodiscard]] bool takes(const MemoryKind&) const noexcept override { return true; }
  LinkDescription begin_epoch(std::uint32_t epoch, std::uint64_t slot_bytes, std::uint32_t ring_slots,
                              const LinkDescription& pool) override;
  std::optional<IncomingFrame> poll() noexcept override;
  bool arm() noexcept override;
  [[nodiscard]] int descriptor() const noexcept override {
    return has_hung_up() ? -1 : wake_socket_.get();  // a closed socket would stay readable
  }
  void return_credit(const FrameHeader& header) noexcept override;
  [[nodiscard]] bool is_withdrawn() const noexcept override;
  [[nodiscard]] std::uint64_t frames_withdrawn() const noexcept override {
    return frames_withdrawn_.load(std::memory_order_relaxed);
  }
  [[nodiscard]] LinkState state() const noexcept override;
  [[nodiscard]] std::string fault() const override;

 private:
  struct MappedPool {
    std::uint32_t epoch = 0;
    std::uint64_t slot_bytes = 0;
    std::uint64_t stride_bytes = 0;
    std::uint32_t slot_count = 0;
    std::shared_ptr<const Block> block;
    std::vector<SliceAssembly> assemblies;  // of the slots
  };

  [[nodiscard]] bool has_hung_up() const noexcept { return sender_hung_up_.load(std::memory_order_relaxed); }
  [[nodiscard]] const LocalCells& cells() const noexcept;
  [[nodiscard]] LocalAcknowledgements& acknowledgements() const noexcept;
  [[nodiscard]] MappedPool* find_pool(std::uint32_t epoch) noexcept;
  [[nodiscard]] std::shared_ptr<const Block> import(FileDescriptor descriptor, std::uint64_t size_bytes) const;
  void await_pool(std::int64_t deadline_ns) const;
  std::optional<IncomingFrame> take_slice() noexcept;
  std::nullopt_t fail(std::string why) noexcept;

  FileDescriptor socket_;
  std::shared_ptr<HostBlock> cells_block_;
  std::shared_ptr<HostBlock> acknowledgements_block_;
  FileDescriptor wake_socket_;

  // The receiving thread's; the subscriber's takes what a lost session has left, while the other one may be in arm().
  std::atomic<std::uint32_t> taken_ = 0;
  MappedPool current_;
  std::atomic<std::uint64_t> frames_withdrawn_ = 0;  // as taken_

  std::mutex credit_mutex_;  // never held over a system call
  std::uint32_t given_back_ = 0;

  mutable std::mutex mutex_;     // begin_epoch() runs on the subscriber's thread
  std::list<MappedPool> pools_;  // announced and not used yet
  std::string fault_;
  std::atomic<bool> is_broken_ = false;
  std::atomic<bool> sender_hung_up_ = false;
};

}  // namespace framewire
