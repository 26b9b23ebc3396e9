#include "tests/sim/plan.hpp"

#include <algorithm>
#include <cstddef>

namespace framewire::sim {

SecretBytes<32> key_number(std::uint8_t number) {
  SecretBytes<32> key;
  std::ranges::fill(key.bytes(), std::byte{number});
  return key;
}

EndpointOptions endpoint_of(const Plan& plan) {
  EndpointOptions endpoint;
  endpoint.allowed_links = {plan.link};
  if (plan.is_auto) {
    endpoint.allowed_links.push_back(LinkKind::tcp);
  }
  endpoint.may_choose_link = plan.is_auto;
  endpoint.native_on_loopback = true;
  endpoint.insecure = !plan.has_key;
  if (plan.has_key) {
    endpoint.one_time_key = key_number(1);
  }
  return endpoint;
}

}  // namespace framewire::sim
