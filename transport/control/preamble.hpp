// The first bytes of every connection say what it is, so that one port serves control, data and unauthenticated peers.
//
// clang-format off
//
//   dialler of                     sends                                         listener answers
//   ----------                     -----                                         ----------------
//   a plain control channel        "FWCTRL01" and two empty lines                "FWREPL01"
//   a data connection              "FWDATA01" (data_hello.hpp)                   see data_hello.hpp
//   an encrypted control channel   a TLS 1.3 ClientHello; the first row inside   TLS; the first row inside
//
// clang-format on
//
// The two digits are the version of the control protocol. A server of a line-based protocol answers the two empty lines
// at once, so the dialler need not wait for its deadline. The answer differs from the greeting, so an echo is not an
// answer.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "base/file_descriptor.hpp"

namespace framewire {

inline constexpr std::size_t preamble_bytes = 8;
inline constexpr std::string_view control_preamble = "FWCTRL01";
inline constexpr std::string_view control_greeting = "FWCTRL01\r\n\r\n";
inline constexpr std::string_view reply_preamble = "FWREPL01";
inline constexpr std::string_view data_preamble = "FWDATA01";
inline constexpr int control_version = 1;

/// How long a new connection may take to say what it is, and a handshake to end.
inline constexpr std::int64_t handshake_timeout_ns = 10'000'000'000;

enum class ConnectionKind {
  plain_control,
  data,
  tls,
  other_version,  // framewire, but another version
  unrecognized,   // anything else: close it
  silent,         // too few bytes until the deadline or the peer's close: close it
};

/// Peeks at the first bytes of a connected socket and leaves them there. Allocates nothing. Any thread.
ConnectionKind identify(int fd, std::int64_t deadline_ns) noexcept;

/// The same for bytes that are already there; nothing when more bytes are needed to decide.
std::optional<ConnectionKind> identify_bytes(std::span<const std::byte> first) noexcept;

/// The version in a preamble that starts with the six letters of `expected`; nothing when it does not.
std::optional<int> preamble_version(std::span<const std::byte, preamble_bytes> bytes,
                                    std::string_view expected) noexcept;

// ---- Waiting for the rest ----

/// Waits for more bytes after those that MSG_PEEK has left in a socket. poll() returns at once for bytes that are
/// already there, and SO_RCVLOWAT does not change that on a Unix socket. An edge-triggered epoll wakes once for each
/// arrival on both kinds of socket. One thread; the caller owns the socket.
class MoreBytes {
 public:
  enum class Outcome {
    more,     // new bytes since the last return; the first call also counts earlier ones
    end,      // the same, and the peer has closed
    nothing,  // none until the deadline; or epoll failed because no descriptor was free
  };

  explicit MoreBytes(int fd) noexcept;
  Outcome wait(std::int64_t deadline_ns) noexcept;

 private:
  FileDescriptor epoll_;
};

}  // namespace framewire
