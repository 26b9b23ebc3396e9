#include "base/error.hpp"

#include <system_error>

namespace framewire {

std::string errno_text(int error_number) {
  return std::generic_category().message(error_number);
}

Error Error::from_errno(std::string_view doing, int error_number) {
  return failed("cannot " + std::string(doing) + ": " + errno_text(error_number));
}

Error Error::with_context(std::string_view context) const {
  return {status_, std::string(context) + ": " + what()};
}

}  // namespace framewire
