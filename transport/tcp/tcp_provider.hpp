// The tcp link, as sessions find it.
#pragma once

#include "transport/link_provider.hpp"

namespace framewire {

/// Lives as long as the program. Any thread.
const LinkProvider& tcp_provider() noexcept;

}  // namespace framewire
