#include "transport/link_kinds.hpp"

#include <algorithm>

#include "transport/links.hpp"

namespace framewire {

namespace {

constexpr LinkTraits unknown_link{.kind = LinkKind{0}, .name = "unknown", .wire_name = "unknown"};

template <typename Value>
std::optional<LinkKind> kind_with(Value LinkTraits::*property, const Value& wanted) noexcept {
  for (const LinkProvider* const link : link_providers()) {
    if (link->traits().*property == wanted) {
      return link->traits().kind;
    }
  }
  return std::nullopt;
}

}  // namespace

const LinkTraits& traits(LinkKind kind) noexcept {
  const LinkProvider* const link = find_link_provider(kind);
  return link != nullptr ? link->traits() : unknown_link;
}

std::string_view name(LinkKind kind) noexcept {
  return traits(kind).name;
}

std::vector<LinkKind> links_best_first() {
  std::vector<LinkKind> kinds;
  for (const LinkProvider* const link : link_providers()) {
    kinds.push_back(link->traits().kind);
  }
  return kinds;
}

std::optional<LinkKind> link_kind_from_name(std::string_view wanted) noexcept {
  return kind_with(&LinkTraits::name, wanted);
}

std::optional<LinkKind> link_kind_from_wire(std::string_view wire_name) noexcept {
  return kind_with(&LinkTraits::wire_name, wire_name);
}

std::optional<LinkKind> link_kind_from_number(std::uint8_t number) noexcept {
  return kind_with(&LinkTraits::kind, LinkKind{number});
}

std::optional<LinkKind> first_link_that(bool LinkTraits::*property, std::span<const LinkKind> kinds) noexcept {
  const auto found = std::ranges::find_if(kinds, [property](LinkKind kind) { return traits(kind).*property; });
  return found != kinds.end() ? std::optional(*found) : std::nullopt;
}

std::string names_of(std::span<const LinkKind> kinds) {
  std::string names;
  for (const LinkKind kind : kinds) {
    names += (names.empty() ? "" : ", ") + std::string(name(kind));
  }
  return names.empty() ? "none" : names;
}

std::string all_link_names(std::string_view separator, std::string_view last_separator) {
  std::string names;
  const std::vector<LinkKind> kinds = links_best_first();
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    names += i == 0 ? "" : i + 1 < kinds.size() ? separator : last_separator;
    names += name(kinds[i]);
  }
  return names;
}

std::string names_of_links_that(bool LinkTraits::*property) {
  std::vector<LinkKind> kinds = links_best_first();
  std::erase_if(kinds, [property](LinkKind kind) { return !(traits(kind).*property); });
  return names_of(kinds);
}

}  // namespace framewire
