// What a program can ask about its links: their names, their numbers, and what each can do. All of it comes from the
// one list of links (transport/links.hpp).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace framewire {

/// Identifies a link. The value is its number in the first bytes of a data connection (docs/wire.md). Other releases
/// know that number, so it never changes. The links that some program asks for by name have an enumerator. A new link
/// needs none: it takes the next free number of docs/wire.md, as in `inline constexpr LinkKind new_link{4}`.
enum class LinkKind : std::uint8_t { local = 1, tcp = 2, rdma = 3 };

/// What a link is called and what it can do. Its provider has one. Sessions and programs decide by these properties;
/// they ask for a kind by its name only where nothing but that link will do.
struct LinkTraits {
  LinkKind kind{};
  /// Small letters and digits. People read it and type it (--transport). It is also on the wire: in the proof and the
  /// TLS key of every data connection, and before the link's own fields of a message ("rdma_port"). Once a release has
  /// it, it never changes.
  std::string_view name{};
  /// How an offer and a choice name the link. A version of the link that earlier releases do not understand gets a new
  /// wire name and keeps its name: then two ends of different releases take another link.
  std::string_view wire_name{};
  bool needs_same_host = false;  // both ends are on one machine; the data connection is a Unix socket
  /// Data connections arrive at a listener of the link's own, which its provider makes. False: they arrive at the port
  /// of the control channel.
  bool has_own_listener = false;
  /// What a machine lacks that cannot use the link, to be read after "it has": "no RDMA device". Empty if every machine
  /// can use it.
  std::string_view missing{};
  /// The link may fail after its data connection stands, when it sets up its memory. Then a session takes another link.
  bool may_prove_unusable = false;
  /// Each end's memory is registered with a device while the link exists. The next session may need that memory.
  bool holds_registered_memory = false;
  bool shares_memory = false;     // the viewer reads the frames where the sender wrote them: a rate says nothing
  bool can_be_pulled = false;     // --pull: the viewer can read the sender's pool
  bool can_be_encrypted = false;  // --encrypt: its data connection can be TLS; never with a listener of its own
};

// All of these read the list. Any thread.

/// For a kind that is not in the list, traits whose name is "unknown".
[[nodiscard]] const LinkTraits& traits(LinkKind kind) noexcept;
[[nodiscard]] std::string_view name(LinkKind kind) noexcept;
/// All links, in the order in which `--transport auto` prefers them and messages list them.
std::vector<LinkKind> links_best_first();
/// By LinkTraits::name.
std::optional<LinkKind> link_kind_from_name(std::string_view wanted) noexcept;
/// By LinkTraits::wire_name.
std::optional<LinkKind> link_kind_from_wire(std::string_view wire_name) noexcept;
/// By the number in the first bytes of a data connection.
std::optional<LinkKind> link_kind_from_number(std::uint8_t number) noexcept;
/// The first of `kinds` that has the property; nothing when none has it.
std::optional<LinkKind> first_link_that(bool LinkTraits::*property, std::span<const LinkKind> kinds) noexcept;
/// Those of `kinds` that have the property, in their order.
std::vector<LinkKind> links_that(bool LinkTraits::*property, std::span<const LinkKind> kinds);
/// "local, tcp"; "none".
std::string names_of(std::span<const LinkKind> kinds);
/// All links with `separator` between them, and `last_separator` before the last: "local|rdma|tcp".
std::string all_link_names(std::string_view separator, std::string_view last_separator);
/// Of all links, the names of those that have the property: "rdma", "tcp and quic"; "none".
std::string names_of_links_that(bool LinkTraits::*property);
/// The values of --transport that leave a link with the property: "auto or rdma", "auto, tcp or quic".
std::string transports_that(bool LinkTraits::*property);

/// Why this machine cannot use the link, as in "it has no RDMA device"; empty if it can. May ask the system.
std::string unavailable_reason(LinkKind kind);

}  // namespace framewire
