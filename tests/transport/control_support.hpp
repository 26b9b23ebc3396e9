// Helpers for the tests of the control channel: socket pairs, temporary folders, errors as values.
#pragma once

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/file_descriptor.hpp"
#include "tests/base/temporary_folder.hpp"

namespace framewire::test {

/// Long enough for a loaded machine. No test passes by reaching this timeout.
inline std::int64_t soon_ns() {
  return monotonic_ns() + 20 * ns_per_s;
}

inline std::pair<FileDescriptor, FileDescriptor> socket_pair() {
  int fds[2] = {-1, -1};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) != 0) {
    throw Error::from_errno("make a socket pair", errno);
  }
  return {FileDescriptor(fds[0]), FileDescriptor(fds[1])};
}

/// Returns the Error that the action throws; nothing if it throws none.
template <typename Action>
std::optional<Error> error_of(Action&& action) {
  try {
    std::forward<Action>(action)();
  } catch (const Error& error) {
    return error;
  }
  return std::nullopt;
}

inline void expect_error(const std::optional<Error>& error, ExitStatus status, std::string_view words) {
  ASSERT_TRUE(error.has_value()) << "no error; expected one with: " << words;
  EXPECT_EQ(error->status(), status) << error->what();
  EXPECT_NE(std::string_view(error->what()).find(words), std::string_view::npos) << error->what();
}

inline void send_text(int fd, std::string_view text) {
  ASSERT_EQ(::send(fd, text.data(), text.size(), MSG_NOSIGNAL), static_cast<ssize_t>(text.size()));
}

inline std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

}  // namespace framewire::test
