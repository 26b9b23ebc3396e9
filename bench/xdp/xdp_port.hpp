// A FramePort over an AF_XDP socket (Documentation/networking/af_xdp.rst), by raw system calls.
#pragma once

#include <linux/if_xdp.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/file_descriptor.hpp"
#include "bench/xdp/frame_port.hpp"
#include "bench/xdp/network_interface.hpp"
#include "bench/xdp/xdp_program.hpp"
#include "memory/host_block.hpp"

namespace framewire {

/// A ring that the kernel shares with a socket: this side produces or consumes.
template <typename Entry>
class XdpRing {
 public:
  XdpRing() = default;
  /// Throws Error.
  XdpRing(int socket, const xdp_ring_offset& offsets, std::uint64_t page_offset, std::uint32_t entries);
  ~XdpRing();
  XdpRing(const XdpRing&) = delete;
  XdpRing& operator=(const XdpRing&) = delete;
  XdpRing(XdpRing&& other) noexcept;
  XdpRing& operator=(XdpRing&& other) noexcept;

  // The producer's side.
  [[nodiscard]] bool has_room() noexcept;
  void push(const Entry& entry) noexcept { entries_[own_++ & mask_] = entry; }
  void publish() noexcept { producer_->store(own_, std::memory_order_release); }
  /// What the kernel has not consumed yet.
  [[nodiscard]] std::uint32_t left() const noexcept { return own_ - consumer_->load(std::memory_order_acquire); }

  // The consumer's side.
  [[nodiscard]] bool has_entry() noexcept;
  const Entry& pop() noexcept { return entries_[own_++ & mask_]; }
  void release() noexcept { consumer_->store(own_, std::memory_order_release); }

  [[nodiscard]] bool needs_wakeup() const noexcept {
    return (flags_->load(std::memory_order_relaxed) & XDP_RING_NEED_WAKEUP) != 0;
  }

 private:
  void* mapped_ = nullptr;
  std::size_t mapped_bytes_ = 0;
  std::atomic<std::uint32_t>* producer_ = nullptr;
  std::atomic<std::uint32_t>* consumer_ = nullptr;
  std::atomic<std::uint32_t>* flags_ = nullptr;
  Entry* entries_ = nullptr;
  std::uint32_t mask_ = 0;
  std::uint32_t own_ = 0;    // this side's index
  std::uint32_t other_ = 0;  // the kernel's, as seen last
};

struct XdpPortOptions {
  XdpMode mode = XdpMode::generic;
  std::uint32_t row = 0;  // the number of the row's frames
  bool spins = false;     // wait() polls instead of sleeping
};

/// Sends to one other end, and takes what it sends.
class XdpPort final : public FramePort {
 public:
  /// Attaches to the interface's first queue. Throws Error: see XdpProgram, and for memory that may not be locked;
  /// refused: this kernel has no such sockets.
  XdpPort(const EthernetInterface& interface, const XdpPortOptions& options);
  ~XdpPort() override;

  /// Before the first frame is sent.
  void set_peer(const MacAddress& mac) noexcept;
  /// Whether the driver moves frames from and to the socket's memory itself.
  [[nodiscard]] bool is_zero_copy() const noexcept { return is_zero_copy_; }

  [[nodiscard]] std::size_t payload_bytes() const noexcept override { return payload_bytes_; }
  std::span<std::byte> next_to_fill() noexcept override;
  void queue(std::size_t bytes) noexcept override;
  void send_queued() override;
  std::span<const std::byte> receive() override;
  void wait(std::int64_t deadline_ns) override;

 private:
  void register_memory();
  void make_rings();
  void bind_to(std::uint32_t interface_index);
  void collect_sent() noexcept;
  void sleep_until_readable(std::int64_t deadline_ns);
  void give_back() noexcept;

  const XdpPortOptions options_;
  std::size_t payload_bytes_;
  std::shared_ptr<HostBlock> memory_;
  FileDescriptor socket_;
  XdpRing<std::uint64_t> fill_, completion_;
  XdpRing<xdp_desc> received_, sent_;
  std::vector<std::uint64_t> free_;      // frames to send
  std::vector<std::uint64_t> consumed_;  // received frames that go back to the kernel together
  std::array<std::byte, 18> header_{};
  bool is_zero_copy_ = false;
  std::optional<XdpProgram> program_;  // last: frames come once it runs
};

}  // namespace framewire
