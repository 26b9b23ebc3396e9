#include "transport/link_kinds.hpp"

#include <algorithm>

namespace framewire {

namespace {

template <typename Value>
std::optional<LinkKind> kind_with(Value LinkTraits::*property, const Value& wanted) noexcept {
  const auto* const found = std::ranges::find(link_kinds, wanted, property);
  return found != link_kinds.end() ? std::optional(found->kind) : std::nullopt;
}

}  // namespace

std::optional<LinkKind> link_kind_from_name(std::string_view wanted) noexcept {
  return kind_with(&LinkTraits::name, wanted);
}

std::optional<LinkKind> link_kind_from_wire(std::string_view wire_name) noexcept {
  return kind_with(&LinkTraits::wire_name, wire_name);
}

std::optional<LinkKind> link_kind_from_number(std::uint8_t number) noexcept {
  return kind_with(&LinkTraits::number, number);
}

std::string names_of(std::span<const LinkKind> kinds) {
  std::string names;
  for (const LinkKind kind : kinds) {
    names += (names.empty() ? "" : ", ") + std::string(name(kind));
  }
  return names.empty() ? "none" : names;
}

}  // namespace framewire
