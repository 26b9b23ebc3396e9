// Which way leads from one host of a pipeline to another.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "pipe/plan.hpp"
#include "transport/endpoint_options.hpp"

namespace framewire {

/// What a host says of itself, for others to dial it.
struct HostFacts {
  std::string machine{};                 // the same for all who are on it; empty: not known
  std::string reached_at{};              // the address that ssh has reached; empty: it was not by ssh
  std::vector<std::string> addresses{};  // of its interfaces, without loopback and link-local ones
};
HostFacts own_facts();

/// The addresses to try, the best first: only the one that the user named, where there is one; else loopback on the
/// same machine, what ssh has reached, the host's name, and what its interfaces have. From this machine, where the name
/// `is_known_here`, it comes before the address behind it.
std::vector<std::string> addresses_of(const HostFacts& listener, const HostFacts& dialler, const std::string& name,
                                      bool is_known_here, const std::string& data_address);

/// The first of the addresses that takes a TCP connection on the port; each is given a head start over the next, as in
/// RFC 8305 ("happy eyeballs"). Throws Error (lost_peer) that names them all.
HostPort reach(const HopTarget& target, std::int64_t deadline_ns);

}  // namespace framewire
