// The kinds of links, in one table: what a session, a command line and the wire need to know of each.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace framewire {

enum class LinkKind { local, tcp, rdma };

/// Sessions ask for these properties and never for a kind by its name.
struct LinkTraits {
  LinkKind kind = LinkKind::tcp;
  std::string_view name{};          // in --transport, in messages to people, and in the proof of a data connection
  std::string_view wire_name{};     // in offer and choose; an incompatible version of a link gets a new one
  std::uint8_t number = 0;          // in the hello of a data connection
  bool needs_same_host = false;     // and so the Unix control channel
  bool has_own_listener = false;    // its connections arrive at an RDMA listener, not at the control channel's port
  bool may_prove_unusable = false;  // it may connect, and its memory may then not be had: a session takes another link
  bool can_be_pulled = false;       // the viewer can read the sender's pool
  bool can_be_encrypted = false;    // its data connection can be TLS
};

/// In the order in which `--transport auto` prefers them and messages list them.
inline constexpr std::array link_kinds{
    LinkTraits{.kind = LinkKind::local, .name = "local", .wire_name = "local2", .number = 1, .needs_same_host = true},
    LinkTraits{.kind = LinkKind::rdma,
               .name = "rdma",
               .wire_name = "rdma",
               .number = 3,
               .has_own_listener = true,
               .may_prove_unusable = true,
               .can_be_pulled = true},
    LinkTraits{.kind = LinkKind::tcp, .name = "tcp", .wire_name = "tcp", .number = 2, .can_be_encrypted = true}};

[[nodiscard]] constexpr const LinkTraits& traits(LinkKind kind) noexcept {
  for (const LinkTraits& one : link_kinds) {
    if (one.kind == kind) {
      return one;
    }
  }
  return link_kinds.back();  // not reached: a test holds that every kind has its entry
}

[[nodiscard]] constexpr std::string_view name(LinkKind kind) noexcept {
  return traits(kind).name;
}
std::optional<LinkKind> link_kind_from_name(std::string_view wanted) noexcept;
/// By LinkTraits::wire_name.
std::optional<LinkKind> link_kind_from_wire(std::string_view wire_name) noexcept;
/// By LinkTraits::number.
std::optional<LinkKind> link_kind_from_number(std::uint8_t number) noexcept;
/// "local, tcp"; "none".
std::string names_of(std::span<const LinkKind> kinds);

}  // namespace framewire
