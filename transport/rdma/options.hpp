// The options of an RDMA connection.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <string>

#include "base/log.hpp"
#include "transport/rdma/queue_sizes.hpp"
#include "transport/rdma/verbs.hpp"

namespace framewire {

/// The PD of a connection over this device.
using ProtectionDomainOf = std::function<std::shared_ptr<ibv_pd>(ibv_context* device)>;

struct RdmaOptions {
  ProtectionDomainOf protection_domain_of;
  std::int64_t peer_timeout_ns = 1'000'000'000;  // a peer whose device does not acknowledge for this long is lost
  RdmaPreferences preferences{};
  // Registered memory for each work request that can be in flight. It is allocated before the other side learns that it
  // is connected: without the memory there is no connection.
  std::uint64_t staging_bytes_per_request = 0;
  // A socket: when either side closes it, connecting ends too. It is the session's control channel, and outlives the
  // connecting.
  int cancel_fd = -1;
  // The type of service of every packet; nothing: the system's default.
  std::optional<std::uint8_t> type_of_service{};
  // True: all receives are for immediates, without memory, and are posted at once. False: the owner posts its own
  // receives before the peer may send.
  bool receives_immediates = true;
  // The device's completion vector (interrupt) for completions, modulo the number of vectors.
  std::uint32_t completion_vector = 0;
  // Logs messages about the device while the connection lasts. Called on any thread; may be empty.
  std::function<void(LogLevel level, const std::string& text)> say{};
};

/// Completion vectors for the connections of one process, in turn. Any thread.
class CompletionVectors {
 public:
  explicit CompletionVectors(std::uint32_t first) noexcept : next_(first) {}
  /// Starts at a random one, so that processes that start together use different ones. Throws std::exception.
  static CompletionVectors from_random() { return CompletionVectors(std::random_device()()); }

  std::uint32_t next() noexcept { return next_.fetch_add(1, std::memory_order_relaxed); }

 private:
  std::atomic<std::uint32_t> next_;
};

}  // namespace framewire
