// What an exception means for the person who reads its message.
#pragma once

#include <exception>

namespace framewire {

/// error.what(), except where that has no subject: of std::bad_alloc, and of a std::thread that could not start. Then
/// it says what lacks, and what to do. Allocates nothing; lives as long as the error. Any thread.
const char* failure_text(const std::exception& error) noexcept;

}  // namespace framewire
