// Which of this machine's addresses belong to RDMA devices.
#pragma once

#include <sys/socket.h>

#include <functional>
#include <string>
#include <vector>

#include "transport/rdma/verbs.hpp"

namespace framewire {

/// An address that RDMA connections can be made to, and the connection manager's id that is bound to it: its device and
/// port. Both until the call returns.
using OnRdmaAddress = std::function<void(const sockaddr& address, const rdma_cm_id& bound)>;

/// Asks the connection manager about every address of this process's network, as the devices have them now. False where
/// there is no way to ask, or none any more: then some may be missing. Any thread.
bool for_each_rdma_address(const OnRdmaAddress& on_address);

/// The addresses alone. Empty where there is no device, or no way to ask. Any thread.
std::vector<sockaddr_storage> rdma_addresses();

/// Without port and interface; "an unknown address" for none, or one that is not of IP.
std::string text_of(const sockaddr* address);

}  // namespace framewire
