// Sleeping until the work of a device has ended.
#pragma once

#include <cstdint>
#include <functional>

#include "memory/fence.hpp"

namespace framewire {

/// Sleeps until the fence is finished, `deadline_ns` of monotonic_ns() has passed, or `is_cancelled` returns true,
/// which is asked now and then on this thread (empty: never). Returns the fence's state: `pending` in the last two
/// cases. Not on the thread that finishes the fence. May throw std::bad_alloc.
FenceState wait_until_finished(Fence& fence, std::int64_t deadline_ns, const std::function<bool()>& is_cancelled = {});

}  // namespace framewire
