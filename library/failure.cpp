#include "library/failure.hpp"

#include <algorithm>
#include <array>
#include <new>
#include <string>
#include <string_view>
#include <system_error>

#include "base/error.hpp"
#include "base/failure_text.hpp"
#include "library/option_words.hpp"
#include "memory/out_of_memory.hpp"

namespace framewire {

namespace {

/// Never allocates: it also holds the message of a call that had no memory.
thread_local std::array<char, 1024> message{};

fw_result result_of(ExitStatus status) noexcept {
  switch (status) {
    case ExitStatus::usage:
      return FW_ERROR_ARGUMENT;
    case ExitStatus::refused:
      return FW_ERROR_REFUSED;
    case ExitStatus::lost_peer:
      return FW_ERROR_LOST;
    case ExitStatus::ok:
    case ExitStatus::failed:
      break;
  }
  return FW_ERROR_FAILED;
}

fw_result result_of(const std::exception& error) noexcept {
  if (const auto* failure = dynamic_cast<const Failure*>(&error)) {
    return failure->result();
  }
  if (const auto* own = dynamic_cast<const Error*>(&error)) {
    return dynamic_cast<const OutOfMemory*>(own) != nullptr ? FW_ERROR_MEMORY : result_of(own->status());
  }
  if (dynamic_cast<const std::system_error*>(&error) != nullptr) {
    return FW_ERROR_FAILED;  // no threads
  }
  return dynamic_cast<const std::bad_alloc*>(&error) != nullptr ? FW_ERROR_MEMORY : FW_ERROR_INTERNAL;
}

void keep(std::string_view text) noexcept {
  const std::size_t size = whole_characters(text, message.size() - 1);
  std::copy_n(text.begin(), size, message.begin());
  message.at(size) = '\0';
}

}  // namespace

std::size_t whole_characters(std::string_view text, std::size_t limit_bytes) noexcept {
  std::size_t size = std::min(text.size(), limit_bytes);
  while (size < text.size() && size > 0 && (static_cast<unsigned char>(text[size]) & 0xC0U) == 0x80U) {
    --size;
  }
  return size;
}

fw_result failed(const std::exception& error) noexcept {
  const fw_result result = result_of(error);
  const char* const text = failure_text(error);
  if (text != error.what()) {
    keep(text);
    return result;
  }
  try {
    keep(in_option_words(text));
  } catch (const std::exception&) {
    keep(text);
  }
  return result;
}

void refuse_null(const char* function, const char* argument) {
  throw Failure(FW_ERROR_ARGUMENT, std::string(function) + "(): " + argument + " is NULL");
}

void refuse_struct_size(std::size_t given, const char* function, const char* name) {
  throw Failure(FW_ERROR_ARGUMENT, std::string(function) + "(): struct_size of " + name + " is " +
                                       std::to_string(given) + "; set it to sizeof(" + name + ")");
}

}  // namespace framewire

extern "C" {

const char* fw_message(void) {
  return framewire::message.data();
}

const char* fw_version(void) {
  return FRAMEWIRE_VERSION;
}

const char* fw_result_name(fw_result result) {
  switch (result) {
#define FRAMEWIRE_NAME(name) \
  case name:                 \
    return #name
    FRAMEWIRE_NAME(FW_OK);
    FRAMEWIRE_NAME(FW_NOTHING);
    FRAMEWIRE_NAME(FW_NOBODY);
    FRAMEWIRE_NAME(FW_CHANGED);
    FRAMEWIRE_NAME(FW_WOKEN);
    FRAMEWIRE_NAME(FW_ENDED);
    FRAMEWIRE_NAME(FW_ERROR_ARGUMENT);
    FRAMEWIRE_NAME(FW_ERROR_STATE);
    FRAMEWIRE_NAME(FW_ERROR_ALL_HELD);
    FRAMEWIRE_NAME(FW_ERROR_MEMORY);
    FRAMEWIRE_NAME(FW_ERROR_REFUSED);
    FRAMEWIRE_NAME(FW_ERROR_LOST);
    FRAMEWIRE_NAME(FW_ERROR_UNSUPPORTED);
    FRAMEWIRE_NAME(FW_ERROR_FORKED);
    FRAMEWIRE_NAME(FW_ERROR_FAILED);
    FRAMEWIRE_NAME(FW_ERROR_INTERNAL);
#undef FRAMEWIRE_NAME
    default:
      return "unknown result";
  }
}

}  // extern "C"
