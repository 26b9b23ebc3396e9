// The error of an allocation.
#pragma once

#include <string>

#include "base/error.hpp"

namespace framewire {

/// There is not enough memory, of the machine, of a GPU, or within a limit of this process.
class OutOfMemory : public Error {
 public:
  explicit OutOfMemory(const std::string& message) : Error(ExitStatus::failed, message) {}
};

}  // namespace framewire
