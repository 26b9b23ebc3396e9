// How sessions are established: which side dials, which address, and which proof is required. Common to sender and
// viewer.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/secret_bytes.hpp"
#include "transport/link_kinds.hpp"

namespace framewire {

inline constexpr std::uint16_t default_frame_port = 5290;
inline constexpr std::uint16_t default_bytes_port = 5291;

/// HOST:PORT. The host is a name or an address. An IPv6 address needs brackets when a port follows.
struct HostPort {
  std::string host;
  std::uint16_t port = default_frame_port;
};

struct EndpointOptions {
  std::optional<HostPort> dial;         // either this or `listen` is set
  std::optional<HostPort> listen;       // host empty: the default (loopback, or all addresses when a key exists)
  std::uint16_t last_port = 0;          // above listen's port: take the first free port of this range
  std::optional<std::string> key_file;  // when set, it is always used, also over the Unix socket
  std::optional<SecretBytes<32>> one_time_key{};  // for this run, instead of a file; always used
  bool insecure = false;
  // The data connection uses TLS, too. Of allowed_links only those remain that can be encrypted (tcp). The
  // peer must agree, or the session fails. When only the peer asks for encryption, this side encrypts without the
  // option.
  bool encrypt = false;
  std::vector<LinkKind> allowed_links = links_best_first();  // best first
  // A session may fall back to a lesser one of allowed_links, and says why. Otherwise a link that does not work is an
  // error.
  bool may_choose_link = true;
  // A peer that is silent for so long counts as lost. Over a native connection (rdma) the time can be
  // shorter: the device answers even when its host is busy.
  std::int64_t peer_timeout_ns = 5'000'000'000;
  std::int64_t native_timeout_ns = 1'000'000'000;
  // A listener on loopback also accepts connections of links with a listener of their own (rdma), where the machine has
  // what they need. Only authenticated sessions can use them.
  bool native_on_loopback = false;
  // A device may write to a ring's memory in any order, where it supports that. The completion still comes last.
  bool relaxed_ordering = true;
  // The type of service of every packet that a link sends over a network. Nothing: the system's default.
  std::optional<std::uint8_t> type_of_service{};
  // Readable when the program is to end: ends the look-up of a name to listen on. -1: nothing ends it.
  int stop_fd = -1;
  // The address of the listening end for native connections. The end that listens accepts them only
  // there; the end that dials tries only this one. Empty: the address that TCP reached, else one that the listener
  // announces.
  std::string native_address{};
  // > 0: the viewer pulls: it reads frames from the sender's pool at this interval, and the sender sends none. Only
  // over links that can be pulled (rdma).
  std::int64_t pull_interval_ns = 0;
};

}  // namespace framewire
