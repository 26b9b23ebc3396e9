// What every fuzz target has: its seeds, the bytes of one run, and the promises that it checks.
//
// A target includes this header and defines seeds() and LLVMFuzzerTestOneInput(). main.cpp has the rest of its program.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/text.hpp"

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer calls it so
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace framewire::fuzz {

/// Good inputs, from which the fuzzer starts. Each is a file of the seed corpus.
std::vector<std::string> seeds();

/// Ends the program, so that the fuzzer keeps the input.
inline void require(bool is_kept, std::string_view promise) {
  if (!is_kept) {
    std::fprintf(stderr, "broken promise: %.*s\n", static_cast<int>(promise.size()), promise.data());
    std::abort();
  }
}

/// An error message stands on one line and controls no terminal.
inline void require_printable(std::string_view text) {
  if (printable(text) != text) {
    std::fprintf(stderr, "this is not printable: %s\n", printable(text).c_str());
    std::abort();
  }
}

/// FRAMEWIRE_FUZZ_LOG in the environment: a run prints its errors, and the log of the code that it tests.
inline bool is_verbose() {
  static const bool is_set = std::getenv("FRAMEWIRE_FUZZ_LOG") != nullptr;
  return is_set;
}

/// Whether `action` succeeds. It may only throw Error, with a message that can be printed; anything else ends the
/// program.
template <std::invocable Action>
bool succeeds(Action&& action) {
  try {
    std::forward<Action>(action)();
    return true;
  } catch (const Error& error) {
    require_printable(error.what());
    require(error.what()[0] != '\0', "an error says something");
    if (is_verbose()) {
      std::fprintf(stderr, "Error: %s\n", error.what());
    }
    return false;
  }
}

/// The bytes of one run, taken from their start. When they are used up, all that follows is zero or empty.
class Input {
 public:
  Input(const std::uint8_t* data, std::size_t size) : rest_(std::as_bytes(std::span(data, size))) {}

  template <typename Value>
  requires std::is_trivially_copyable_v<Value> Value take() {
    Value value{};
    const auto bytes = take_bytes(sizeof value);
    if (!bytes.empty()) {
      std::memcpy(&value, bytes.data(), bytes.size());
    }
    return value;
  }
  std::span<const std::byte> take_bytes(std::size_t count) {
    const auto bytes = rest_.first(std::min(count, rest_.size()));
    rest_ = rest_.subspan(bytes.size());
    return bytes;
  }
  std::span<const std::byte> take_all() { return take_bytes(rest_.size()); }
  std::string_view take_text() { return as_text(take_all()); }
  /// Up to the next `separator`, which is dropped.
  std::string_view take_until(char separator) {
    const std::string_view all = as_text(rest_);
    const std::size_t end = std::min(all.find(separator), all.size());
    rest_ = rest_.subspan(std::min(end + 1, rest_.size()));
    return all.substr(0, end);
  }
  [[nodiscard]] bool is_empty() const { return rest_.empty(); }

 private:
  static std::string_view as_text(std::span<const std::byte> bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  std::span<const std::byte> rest_;
};

/// The bytes of a value as text, to compose seeds.
template <typename Value>
requires std::is_trivially_copyable_v<Value> std::string bytes_of(const Value& value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

inline std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace framewire::fuzz
