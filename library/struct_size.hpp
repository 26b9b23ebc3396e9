// Structures of the C interface, which grow: the caller's may be older and smaller, or newer and larger.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "library/failure.hpp"

namespace framewire {

/// Throws Failure (FW_ERROR_ARGUMENT) if the size is less than the first version of the structure had, or so large that
/// it is none: a structure that was not initialised.
inline void check_struct_size(std::size_t given, std::size_t first_version, const char* function, const char* name) {
  constexpr std::size_t largest = 65'536;
  if (given < first_version || given > largest) {
    refuse_struct_size(given, function, name);
  }
}

/// Gives the caller as much of `value` as it has room for, and zeros behind it. `value` begins with struct_size.
template <typename Struct>
void hand_out(const Struct& value, Struct* into, std::size_t struct_size, const char* function, const char* name) {
  require(into, function, name);
  check_struct_size(struct_size, sizeof(Struct), function, name);
  std::memcpy(into, &value, std::min(struct_size, sizeof(Struct)));
  std::memcpy(into, &struct_size, sizeof struct_size);
  if (struct_size > sizeof(Struct)) {
    std::memset(reinterpret_cast<char*>(into) + sizeof(Struct), 0, struct_size - sizeof(Struct));
  }
}

/// The same, of what `fill` puts into the caller's structure at once. `fill` sets all of it, or throws first.
template <typename Struct, typename Fill>
void fill_out(Fill&& fill, Struct* into, std::size_t struct_size, const char* function, const char* name) {
  require(into, function, name);
  check_struct_size(struct_size, sizeof(Struct), function, name);
  fill(*into);
  into->struct_size = struct_size;
  if (struct_size > sizeof(Struct)) {
    std::memset(reinterpret_cast<char*>(into) + sizeof(Struct), 0, struct_size - sizeof(Struct));
  }
}

/// What the caller gave, of any version: fields that it does not have are 0. It begins with struct_size.
template <typename Struct>
Struct taken_in(const Struct* given, std::size_t first_version, const char* function, const char* name) {
  require(given, function, name);
  std::size_t size = 0;
  std::memcpy(&size, given, sizeof size);
  check_struct_size(size, first_version, function, name);
  Struct value{};
  if (size == sizeof(Struct)) {  // as in most programs: a copy of a known size needs no call
    std::memcpy(&value, given, sizeof(Struct));
  } else {
    std::memcpy(&value, given, std::min(size, sizeof(Struct)));
  }
  return value;
}

}  // namespace framewire
