// The rdma link, as sessions find it.
#pragma once

#include <memory>

#include "transport/link_provider.hpp"
#include "transport/rdma/connection.hpp"

namespace framewire {

/// Lives as long as the program. Any thread.
const LinkProvider& rdma_provider() noexcept;

/// The request that arrived at the listener of rdma_provider(). Throws Error for a request of another link.
RdmaConnectRequest rdma_request_of(std::unique_ptr<ConnectRequest> request);

}  // namespace framewire
