#include "base/failure_text.hpp"

#include <new>
#include <system_error>

namespace framewire {

const char* failure_text(const std::exception& error) noexcept {
  if (dynamic_cast<const std::bad_alloc*>(&error) != nullptr) {
    return "there is no memory left; end other programs, or raise 'ulimit -v'";
  }
  const auto* const system = dynamic_cast<const std::system_error*>(&error);
  if (system != nullptr && system->code() == std::errc::resource_unavailable_try_again) {
    return "cannot start a thread: Resource temporarily unavailable; raise 'ulimit -u' or 'ulimit -v', or free memory";
  }
  return error.what();
}

}  // namespace framewire
