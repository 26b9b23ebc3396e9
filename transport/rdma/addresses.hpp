// Which of this machine's addresses belong to RDMA devices.
#pragma once

#include <sys/socket.h>

#include <functional>
#include <string>
#include <vector>

#include "transport/rdma/verbs.hpp"

namespace framewire {

/// Called with an address that accepts RDMA connections, and with the rdma_cm id that is bound to it (its device and
/// port). Both are valid until the call returns.
using OnRdmaAddress = std::function<void(const sockaddr& address, const rdma_cm_id& bound)>;

/// Asks rdma_cm about every address of this process's network namespace. The result is not cached. False when rdma_cm
/// is not available, or no longer available: some addresses may then be missing. Any thread.
bool for_each_rdma_address(const OnRdmaAddress& on_address);

/// The addresses alone. Empty without a device or without rdma_cm. Any thread.
std::vector<sockaddr_storage> rdma_addresses();

/// The address as text, without port and interface; "an unknown address" for null and for other families than IP.
std::string text_of(const sockaddr* address);

}  // namespace framewire
