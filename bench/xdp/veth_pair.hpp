// Two ends of a virtual Ethernet cable, each in a network namespace of its own.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "base/file_descriptor.hpp"

namespace framewire {

/// The names of the two ends, each in its own namespace, and their IPv4 addresses.
inline constexpr const char* veth_client_name = "fw-client";
inline constexpr const char* veth_server_name = "fw-server";
inline constexpr const char* veth_client_address = "169.254.77.1";  // link-local (RFC 3927)
inline constexpr const char* veth_server_address = "169.254.77.2";

/// Moves the calling thread into a new network namespace without a name. The kernel removes the namespace, and what is
/// in it, with its last thread and descriptor, however they end. Throws Error (refused: it is not allowed here).
void enter_new_network_namespace();
/// The calling thread's. Throws Error.
FileDescriptor this_network_namespace();
/// Moves the calling thread into it. Throws Error.
void enter_network_namespace(const FileDescriptor& network_namespace);

/// Makes the pair: the client's end in the calling thread's namespace, the server's in that of the process `server`.
/// Either end disappears with the other. Throws Error (refused: this kernel has none).
void make_veth_pair(pid_t server);

/// Gives the interface of the calling thread's namespace its address, and brings it up. Throws Error.
void bring_up(const std::string& name, const std::string& address);

/// Until the interface has a carrier: veth, once the other end is up, too. Throws Error (failed) at the deadline.
void await_carrier(const std::string& name, std::int64_t deadline_ns);

}  // namespace framewire
