#include "transport/link_kinds.hpp"

#include <algorithm>
#include <iterator>

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

std::vector<std::string_view> names_in(std::span<const LinkKind> kinds) {
  std::vector<std::string_view> names;
  std::ranges::transform(kinds, std::back_inserter(names), [](LinkKind kind) { return name(kind); });
  return names;
}

std::string joined(const std::vector<std::string_view>& words, std::string_view separator,
                   std::string_view last_separator) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) {
    text += i == 0 ? "" : i + 1 < words.size() ? separator : last_separator;
    text += words[i];
  }
  return text;
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

std::vector<LinkKind> links_that(bool LinkTraits::*property, std::span<const LinkKind> kinds) {
  std::vector<LinkKind> found(kinds.begin(), kinds.end());
  std::erase_if(found, [property](LinkKind kind) { return !(traits(kind).*property); });
  return found;
}

std::string names_of(std::span<const LinkKind> kinds) {
  return kinds.empty() ? "none" : joined(names_in(kinds), ", ", ", ");
}

std::string all_link_names(std::string_view separator, std::string_view last_separator) {
  return joined(names_in(links_best_first()), separator, last_separator);
}

std::string names_of_links_that(bool LinkTraits::*property) {
  const std::vector<LinkKind> kinds = links_that(property, links_best_first());
  return kinds.empty() ? "none" : joined(names_in(kinds), ", ", " and ");
}

std::string transports_that(bool LinkTraits::*property) {
  std::vector<std::string_view> words = names_in(links_that(property, links_best_first()));
  words.insert(words.begin(), "auto");
  return joined(words, ", ", " or ");
}

std::string unavailable_reason(LinkKind kind) {
  const LinkProvider& link = link_provider(kind);
  return link.is_available() ? std::string() : "it has " + std::string(link.traits().missing);
}

}  // namespace framewire
