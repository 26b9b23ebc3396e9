// Work that the main thread does not wait for.
#pragma once

#include <functional>
#include <future>

namespace framewire {

/// Does `work` on a thread with this name, or on the caller's if there are no more threads. The future waits for it.
std::future<void> run_aside(const char* name, const std::function<void()>& work);

/// Whether it is done.
bool is_done(const std::future<void>& work);

}  // namespace framewire
