#include "tests/sim/plan.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdlib>

namespace framewire::sim {

SeedRange chosen_seeds(std::uint64_t usual_count) {
  const char* const chosen = std::getenv("FRAMEWIRE_SEED");
  const char* const wanted = std::getenv("FRAMEWIRE_SEEDS");
  return {.first = chosen == nullptr ? 1 : std::strtoull(chosen, nullptr, 10),
          .count = wanted != nullptr   ? std::strtoull(wanted, nullptr, 10)
                   : chosen != nullptr ? 1
                                       : usual_count};
}

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
