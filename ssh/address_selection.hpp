// Selects the address by which one host reaches another, past ssh.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "transport/address.hpp"
#include "transport/endpoint_options.hpp"

namespace framewire {

/// What a host reports of itself, so that others can dial it.
struct HostAddresses {
  std::string machine{};                     // its network_id(); empty: not known
  std::string reached_at{};                  // the address that ssh connected to; empty: not reached by ssh
  std::vector<std::string> addresses{};      // of its interfaces; no loopback or link-local ones
  std::vector<std::string> rdma_networks{};  // "192.168.77.1/24": those with RDMA
};
HostAddresses own_host_addresses();
inline constexpr std::size_t max_reported_addresses = 64;  // a host may have one for each of its containers
/// Fields of a message, with the first addresses and networks if there are more than a message may have.
/// host_addresses_from() throws Error (failed) that names what is wrong: each address has to be a numeric one.
nlohmann::json to_json(const HostAddresses& host);
HostAddresses host_addresses_from(const nlohmann::json& message);

/// What is known besides the addresses of the two hosts.
struct AddressHints {
  std::string name{};          // of the listener, as in the user's command line or ssh's configuration
  bool is_known_here = false;  // the dialler is this machine: try the name before the address behind it
  std::string data_address{};  // given by the user: no other one is tried
  bool may_be_rdma = true;     // the transport may be rdma
};

/// The addresses to try, best first. With hints.data_address only that one. Otherwise in this order: loopback on the
/// same machine; addresses in a network where both hosts have RDMA; the address that ssh connected to; the host's name;
/// the addresses of its interfaces.
std::vector<std::string> addresses_of(const HostAddresses& listener, const HostAddresses& dialler,
                                      const AddressHints& hints);

/// The first address that accepts a TCP connection on the port. Each address has a head start over the next one, as in
/// RFC 8305 ("happy eyeballs"). `stop` ends it, a name look-up included. Throws Error (lost_peer) at `stop`, and one
/// that names them all at the deadline, and then the `remedy`.
HostPort find_reachable(const std::vector<std::string>& addresses, std::uint16_t port, std::int64_t deadline_ns,
                        const std::string& remedy, const StopWait& stop = {});

}  // namespace framewire
