#include "transport/subscriber_queue.hpp"

namespace framewire {

std::string_view name(Delivery delivery) noexcept {
  return delivery == Delivery::latest ? "latest" : "every";
}

std::optional<Delivery> delivery_from_name(std::string_view wanted) noexcept {
  for (const Delivery delivery : {Delivery::latest, Delivery::every}) {
    if (wanted == name(delivery)) {
      return delivery;
    }
  }
  return std::nullopt;
}

}  // namespace framewire
