// A FramePort over UDP: what a careful user gets from the kernel's stack, beside XDP.
#pragma once

#include <sys/socket.h>
#include <sys/uio.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/file_descriptor.hpp"
#include "bench/xdp/frame_port.hpp"

namespace framewire {

/// One datagram for each frame. Up to a batch of them goes to the kernel, and comes from it, in one call.
class UdpPort final : public FramePort {
 public:
  /// Addresses are IPv4; both ends take the same port. Throws Error.
  UdpPort(const std::string& own, const std::string& peer, std::uint16_t port, std::uint32_t batch,
          std::uint32_t mtu_bytes, bool spins);

  [[nodiscard]] std::size_t payload_bytes() const noexcept override { return payload_bytes_; }
  std::span<std::byte> next_to_fill() noexcept override;
  void queue(std::size_t bytes) noexcept override;
  void send_queued() override;
  std::span<const std::byte> receive() override;
  void wait(std::int64_t deadline_ns) override;

 private:
  /// Places for a batch, and what sendmmsg() and recvmmsg() want of them.
  struct Batch {
    Batch(std::uint32_t count, std::size_t bytes_each);
    std::vector<std::byte> bytes;
    std::vector<iovec> parts;
    std::vector<mmsghdr> messages;
    std::size_t used = 0;  // filled to send; arrived
    std::size_t next = 0;  // arrived and not returned yet
  };

  /// Whether a datagram is there.
  bool take_arrived() noexcept;

  const std::size_t payload_bytes_;
  const bool spins_;
  FileDescriptor socket_;
  Batch to_send_, arrived_;
};

}  // namespace framewire
