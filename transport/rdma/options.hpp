// What is asked of an RDMA connection, and what a device gave.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/log.hpp"
#include "transport/rdma/queue_sizes.hpp"
#include "transport/rdma/verbs.hpp"

namespace framewire {

/// Which protection domain a connection over this device gets.
using ProtectionDomainOf = std::function<std::shared_ptr<ibv_pd>(ibv_context* device)>;

struct RdmaOptions {
  ProtectionDomainOf protection_domain_of;
  std::int64_t peer_timeout_ns = 1'000'000'000;  // a peer whose device does not answer for so long is lost
  RdmaPreferences preferences{};
  // Registered memory for each request that can be under way, made before the other side hears that it is connected:
  // what cannot be had is a reason not to connect.
  std::uint64_t staging_bytes_per_request = 0;
  // A socket whose end, at either side, also ends the connecting: the session's control channel. It outlives that.
  int cancel_fd = -1;
  // Of every packet that is sent; nothing: the system's.
  std::optional<std::uint8_t> type_of_service{};
  // Receives without memory, for immediates: all are posted at once. Without them the owner posts its own, before the
  // peer may send.
  bool receives_immediates = true;
  // Which of the device's completion vectors, that is of its interrupts, tells of completions: modulo how many it has.
  std::uint32_t completion_vector = 0;
  // What a person should hear of the device while the connection lasts. Any thread; none: nobody listens.
  std::function<void(LogLevel level, const std::string& text)> say{};
};

/// What the device gave, which may be less than was asked for.
struct RdmaCapabilities {
  std::uint32_t send_depth = 0;     // work requests that may be posted and not completed
  std::uint32_t receive_depth = 0;  // immediates that may come in before the next one is taken
  std::uint32_t inline_bytes = 0;
  std::uint64_t chunk_bytes = 0;  // the longest single write
  bool has_immediate = true;      // RDMA WRITE WITH IMMEDIATE: not on iWARP
  bool has_windows = false;       // type 2B memory windows, as the device says
};

}  // namespace framewire
