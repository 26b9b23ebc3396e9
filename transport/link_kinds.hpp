// The kinds of links: what a session, a command line and the wire need to know of each.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace framewire {

/// The value is the link's number in the hello of a data connection. Only links that a program asks for by name have
/// an enumerator; a further link takes a number that is free, as in LinkKind{4}.
enum class LinkKind : std::uint8_t { local = 1, tcp = 2, rdma = 3 };

/// Sessions ask for these properties and never for a kind by its name. Each link's provider has one.
struct LinkTraits {
  LinkKind kind{};
  // In --transport, in messages to people, in the proof of a data connection, and before the link's own fields of a
  // control message: rdma_port.
  std::string_view name{};
  std::string_view wire_name{};   // in offer and choose; an incompatible version of a link gets a new one
  bool needs_same_host = false;   // and so the Unix control channel
  bool has_own_listener = false;  // its connections arrive at a listener of its own, not at the control channel's port
  std::string_view missing{};     // what a machine lacks that cannot use it: "no RDMA device"
  bool may_prove_unusable = false;  // it may connect, and its memory may then not be had: a session takes another link
  bool can_be_pulled = false;       // the viewer can read the sender's pool
  bool can_be_encrypted = false;    // its data connection can be TLS; not with a listener of its own
};

// All of these read the one list of links, link_providers() of transport/links.hpp. Any thread.

/// For a kind that is not in the list, traits whose name is "unknown".
[[nodiscard]] const LinkTraits& traits(LinkKind kind) noexcept;
[[nodiscard]] std::string_view name(LinkKind kind) noexcept;
/// All links, in the order in which `--transport auto` prefers them and messages list them.
std::vector<LinkKind> links_best_first();
std::optional<LinkKind> link_kind_from_name(std::string_view wanted) noexcept;
/// By LinkTraits::wire_name.
std::optional<LinkKind> link_kind_from_wire(std::string_view wire_name) noexcept;
/// By the number in the hello of a data connection.
std::optional<LinkKind> link_kind_from_number(std::uint8_t number) noexcept;
/// The first of `kinds` that has the property; nothing when none has it.
std::optional<LinkKind> first_link_that(bool LinkTraits::*property, std::span<const LinkKind> kinds) noexcept;
/// "local, tcp"; "none".
std::string names_of(std::span<const LinkKind> kinds);
/// All links with `separator` between them, and `last_separator` before the last: "local|rdma|tcp".
std::string all_link_names(std::string_view separator, std::string_view last_separator);
/// The names of those links that have the property: "rdma".
std::string names_of_links_that(bool LinkTraits::*property);

}  // namespace framewire
