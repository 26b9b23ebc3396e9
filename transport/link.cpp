#include "transport/link.hpp"
#include "transport/subscriber_queue.hpp"

namespace framewire {

std::string_view name(LinkKind kind) noexcept {
  switch (kind) {
    case LinkKind::local:
      return "local";
    case LinkKind::tcp:
      return "tcp";
    case LinkKind::rdma:
      return "rdma";
  }
  return "unknown";
}

std::optional<LinkKind> link_kind_from_name(std::string_view wanted) noexcept {
  for (const LinkKind kind : {LinkKind::local, LinkKind::tcp, LinkKind::rdma}) {
    if (wanted == name(kind)) {
      return kind;
    }
  }
  return std::nullopt;
}

std::string names_of(std::span<const LinkKind> kinds) {
  std::string names;
  for (const LinkKind kind : kinds) {
    names += (names.empty() ? "" : ", ") + std::string(name(kind));
  }
  return names.empty() ? "none" : names;
}

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
