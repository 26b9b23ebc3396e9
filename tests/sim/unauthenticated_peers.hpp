// Unauthenticated peers of a simulated listener.
#pragma once

#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "tests/sim/world.hpp"

namespace framewire::sim {

/// Each connects once and says nothing, garbage, a part of what a peer says, or the beginning of a handshake that it
/// does not finish. Then it closes, at once or after some seconds. Nobody may notice them. Those that stay say nothing,
/// and close after twice the time in which a listener identifies a peer.
class UnauthenticatedPeers {
 public:
  /// Starts `count` of them within `within_ns`, as a process of their own.
  UnauthenticatedPeers(World& world, std::uint64_t count, std::uint16_t port, std::int64_t within_ns, bool stay);
  /// Waits for their ends.
  ~UnauthenticatedPeers();
  UnauthenticatedPeers(const UnauthenticatedPeers&) = delete;
  UnauthenticatedPeers& operator=(const UnauthenticatedPeers&) = delete;

 private:
  void visit(std::int64_t after_ns) const;
  [[nodiscard]] std::string says() const;
  [[nodiscard]] int connected_fd() const;

  World& world_;
  const std::uint16_t port_;
  const bool stay_;
  std::vector<std::thread> threads_;
};

}  // namespace framewire::sim
