// The list of links.
#pragma once

#include <span>

#include "transport/link_provider.hpp"

namespace framewire {

/// Every link of this program, in the order in which `--transport auto` prefers them. The one place to which a new link
/// is added. Any thread.
[[nodiscard]] std::span<const LinkProvider* const> link_providers() noexcept;

/// The provider of this kind; null when the list has none. Any thread.
[[nodiscard]] const LinkProvider* find_link_provider(LinkKind kind) noexcept;
/// The same. Throws Error (failed) when the list has none.
[[nodiscard]] const LinkProvider& link_provider(LinkKind kind);

}  // namespace framewire
