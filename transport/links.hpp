// The list of links, from which every program knows what links there are.
#pragma once

#include <span>

#include "transport/link_provider.hpp"

namespace framewire {

/// Every link of this program, in the order in which `--transport auto` prefers them. A new link is added here: the
/// programs ask this list. ARCHITECTURE.md says what else it takes. Any thread.
[[nodiscard]] std::span<const LinkProvider* const> link_providers() noexcept;

/// The link of this kind; null when it is not in the list. Any thread.
[[nodiscard]] const LinkProvider* find_link_provider(LinkKind kind) noexcept;
/// The same. Throws Error (failed) when it is not in the list.
[[nodiscard]] const LinkProvider& link_provider(LinkKind kind);

}  // namespace framewire
