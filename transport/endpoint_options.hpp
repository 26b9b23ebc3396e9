// Where a session comes from: who dials, whom, and what must be proven. Common to both ends.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "transport/link.hpp"

namespace framewire {

inline constexpr std::uint16_t default_frame_port = 5290;
inline constexpr std::uint16_t default_bytes_port = 5291;

/// The links in the order in which `--transport auto` wants them, and everybody names them.
inline constexpr std::array links_best_first{LinkKind::local, LinkKind::rdma, LinkKind::tcp};

/// HOST:PORT. The host is a name or an address; an IPv6 address stands in brackets where a port follows.
struct HostPort {
  std::string host;
  std::uint16_t port = default_frame_port;
};

struct EndpointOptions {
  std::optional<HostPort> dial;         // one of these two
  std::optional<HostPort> listen;       // host empty: the default (loopback, or all addresses when a key exists)
  std::uint16_t last_port = 0;          // where it is above listen's port: whichever of these ports is free
  std::optional<std::string> key_file;  // --key: then always used
  std::optional<std::array<std::byte, 32>> one_time_key{};  // of this run, instead of any file; always used, too
  bool insecure = false;
  // --encrypt: the data, too, go inside TLS; that is over tcp, whatever else allowed_links has. The peer then does so
  // as well, or there is no session. Where it is the peer that asks, this end does it without having been told.
  bool encrypt = false;
  std::vector<LinkKind> allowed_links{links_best_first.begin(), links_best_first.end()};  // of --transport; best first
  bool transport_is_auto = true;
  // --timeout: silence after which a peer counts as lost. An RDMA device answers by itself, however busy its host is.
  std::int64_t peer_timeout_ns = 5'000'000'000;
  std::int64_t rdma_timeout_ns = 1'000'000'000;
  // A listener on loopback takes RDMA connections, too, where there is a device: of sessions that prove themselves.
  bool rdma_for_loopback = false;
  // RDMA writes may reach a ring's memory in any order, where the device can do that; their completion never comes
  // first.
  bool relaxed_ordering = true;
  // --tos: of every packet that is sent, by whichever link goes over a network. Nothing: the system's.
  std::optional<std::uint8_t> type_of_service{};
  // --rdma-address: of the end that listens, where RDMA connections are taken or dialled. Empty: that which TCP
  // reached, or else one that the listener tells of.
  std::string rdma_address{};
  // > 0: a viewer reads frames from the sender's pool itself, so often, instead of being sent them. Over rdma alone.
  std::int64_t pull_interval_ns = 0;
};

}  // namespace framewire
