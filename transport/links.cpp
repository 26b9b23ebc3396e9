#include "transport/links.hpp"

#include <array>

#include "transport/local/local_provider.hpp"
#include "transport/rdma/rdma_provider.hpp"
#include "transport/tcp/tcp_provider.hpp"

namespace framewire {

// A program may be linked with a list of its own instead (tests/transport/added_link_test.cpp): so nothing else is
// defined in this file.
std::span<const LinkProvider* const> link_providers() noexcept {
  static const std::array<const LinkProvider*, 3> links{&local_provider(), &rdma_provider(), &tcp_provider()};
  return links;
}

}  // namespace framewire
