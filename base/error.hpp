// The exception type of set-up code, and the exit statuses of the programs.
#pragma once

#include <exception>
#include <stdexcept>
#include <string>
#include <string_view>

namespace framewire {

/// Exit statuses of every program here. rdpipe adds 125 for its own failures.
enum class ExitStatus : int { ok = 0, failed = 1, usage = 2, refused = 3, lost_peer = 4 };

/// Set-up code throws this; streaming code returns enums and optionals instead.
/// what() is one sentence for a person: what failed, the value, what to do.
class Error : public std::runtime_error {
 public:
  Error(ExitStatus status, const std::string& message) : std::runtime_error(message), status_(status) {}

  static Error failed(const std::string& message) { return {ExitStatus::failed, message}; }
  static Error usage(const std::string& message) { return {ExitStatus::usage, message}; }
  static Error refused(const std::string& message) { return {ExitStatus::refused, message}; }
  static Error lost_peer(const std::string& message) { return {ExitStatus::lost_peer, message}; }

  /// "cannot <doing>: <text of error_number>".
  static Error from_errno(std::string_view doing, int error_number);

  /// The same error with "<context>: " before its sentence.
  [[nodiscard]] Error with_context(std::string_view context) const;

  [[nodiscard]] ExitStatus status() const noexcept { return status_; }

 private:
  ExitStatus status_;
};

/// The status for an exception that is caught at the end of a thread or of main(): that of an Error, else `failed` (no
/// memory, no threads).
ExitStatus exit_status_of(const std::exception& error) noexcept;

/// The system's text for an errno value. Any thread.
std::string errno_text(int error_number);

}  // namespace framewire
