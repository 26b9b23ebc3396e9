// Which way leads from one host of a pipeline to another.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "rdpipe/plan.hpp"
#include "transport/endpoint_options.hpp"

namespace framewire {

/// What a host says of itself, for others to dial it.
struct HostAddresses {
  std::string machine{};                     // the same for all who are on it; empty: not known
  std::string reached_at{};                  // the address that ssh has reached; empty: it was not by ssh
  std::vector<std::string> addresses{};      // of its interfaces, without loopback and link-local ones
  std::vector<std::string> rdma_networks{};  // "192.168.77.1/24": of those with RDMA
};
HostAddresses own_host_addresses();

/// What is known of the way, besides the two hosts.
struct AddressHints {
  std::string name{};          // of the listener, as the user or ssh's configuration has it
  bool is_known_here = false;  // the dialler is this machine: the name comes before the address behind it
  std::string data_address{};  // that the user named: no other one is tried
  bool may_be_rdma = true;     // the bytes may go that way
};

/// The addresses to try, the best first: only the one that the user named, where there is one; else loopback on the
/// same machine, those in a network that both hosts have by RDMA, what ssh has reached, the host's name, and what its
/// interfaces have.
std::vector<std::string> addresses_of(const HostAddresses& listener, const HostAddresses& dialler,
                                      const AddressHints& hints);

/// The first of the addresses that takes a TCP connection on the port; each is given a head start over the next, as in
/// RFC 8305 ("happy eyeballs"). Throws Error (lost_peer) that names them all.
HostPort find_reachable(const HopTarget& target, std::int64_t deadline_ns);

}  // namespace framewire
