// How a call of the C interface fails: an exception inside, a result and a message outside.
#pragma once

#include <cstddef>
#include <exception>
#include <string>
#include <string_view>
#include <utility>

#include "library/include/framewire/framewire.h"

namespace framewire {

/// Ends a call with this error.
class Failure : public std::exception {
 public:
  Failure(fw_result result, std::string message) : result_(result), message_(std::move(message)) {}
  [[nodiscard]] fw_result result() const noexcept { return result_; }
  [[nodiscard]] const char* what() const noexcept override { return message_.c_str(); }

 private:
  fw_result result_;
  std::string message_;
};

/// Keeps the message for fw_message() of this thread, and returns the result. Call it in a catch clause of
/// std::exception.
fw_result failed(const std::exception& error) noexcept;

/// Runs one call. Only exceptions of ours and of the standard library are caught: a thread that is cancelled unwinds.
template <typename Call>
fw_result guarded(Call&& call) {
  try {
    return std::forward<Call>(call)();
  } catch (const std::exception& error) {
    return failed(error);
  }
}

/// Throw Failure (FW_ERROR_ARGUMENT). Their callers are inlined, but not what becomes of errors.
[[noreturn, gnu::cold]] void refuse_null(const char* function, const char* argument);
[[noreturn, gnu::cold]] void refuse_struct_size(std::size_t given, const char* function, const char* name);

/// Throws Failure (FW_ERROR_ARGUMENT) if `pointer` is null: "fw_slot_view(): view is NULL".
inline void require(const void* pointer, const char* function, const char* argument) {
  if (pointer == nullptr) {
    refuse_null(function, argument);
  }
}

/// So many bytes of `text` are at most `limit_bytes`, and end with a whole character of UTF-8.
std::size_t whole_characters(std::string_view text, std::size_t limit_bytes) noexcept;

}  // namespace framewire
