#include "viewer/aside.hpp"

#include <chrono>
#include <system_error>

#include "base/wait.hpp"

namespace framewire {

std::future<void> run_aside(const char* name, const std::function<void()>& work) {
  try {
    return std::async(std::launch::async, [name, work] {
      set_thread_name(name);
      work();
    });
  } catch (const std::system_error&) {
    work();
    return std::async(std::launch::deferred, [] {});
  }
}

/// Deferred work is none, see above.
bool is_done(const std::future<void>& work) {
  return work.wait_for(std::chrono::seconds(0)) != std::future_status::timeout;
}

}  // namespace framewire
