// The first bytes of every connection say what it is, so that one port serves control, data and unauthenticated peers.
//   dialler of a plain control channel  "FWCTRL01" and two empty lines, at which a server that speaks in lines answers
//   at once
//                                       its listener answers "FWREPL01" (an echo is no answer)
//   dialler of a data connection        "FWDATA01"     see token.hpp
//   dialler of an encrypted channel     a TLS 1.3 ClientHello; the same greeting and answer then follow inside
// The two digits are the version of the control protocol.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

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
  other_version,  // framewire, but of another version
  unrecognized,   // anything else: close it
  silent,         // nothing, or not enough, until the deadline, or closed before: close it
};

/// Looks at the first bytes of a connected socket without taking them off. Nothing is allocated. Any thread.
ConnectionKind identify(int fd, std::int64_t deadline_ns) noexcept;

/// The same of bytes already there; nothing when they are the beginning of something that they could still become.
std::optional<ConnectionKind> identify_bytes(std::span<const std::byte> first) noexcept;

/// The version in a preamble that begins with the six letters of `expected`; nothing when it is none.
std::optional<int> preamble_version(std::span<const std::byte, preamble_bytes> bytes,
                                    std::string_view expected) noexcept;

}  // namespace framewire
