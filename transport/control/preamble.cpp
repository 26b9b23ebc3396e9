#include "transport/control/preamble.hpp"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

#include "base/wait.hpp"

namespace framewire {

namespace {

constexpr std::size_t word_letters = 6;  // without the version

bool is_digit(char letter) noexcept {
  return letter >= '0' && letter <= '9';
}

enum class Match { no, so_far, yes };

/// Matches the ClientHello of a framewire peer: one record with a handshake message shorter than 16 KiB. Longer ones
/// are refused before OpenSSL allocates memory for them. RFC 8446, sections 4 and 5.1: type 22, version 3.x, length 16
/// bits; message type 1, length 24 bits.
Match match_tls(std::string_view first) noexcept {
  constexpr std::string_view expected("\x16\x03\0\0\0\x01\0\0", preamble_bytes);
  for (std::size_t i = 0; i < first.size(); ++i) {
    const bool is_free = i >= 2 && i <= 4;
    const bool is_length = i == 7;
    if (is_length ? static_cast<unsigned char>(first[i]) >= 0x40 : !is_free && first[i] != expected[i]) {
      return Match::no;
    }
  }
  return first.size() == preamble_bytes ? Match::yes : Match::so_far;
}

Match match_word(std::string_view first, std::string_view preamble) noexcept {
  const std::string_view word = preamble.substr(0, word_letters);
  const std::size_t letters = std::min(first.size(), word_letters);
  if (first.substr(0, letters) != word.substr(0, letters)) {
    return Match::no;
  }
  for (std::size_t i = word_letters; i < first.size(); ++i) {
    if (!is_digit(first[i])) {
      return Match::no;
    }
  }
  return first.size() == preamble_bytes ? Match::yes : Match::so_far;
}

}  // namespace

std::optional<ConnectionKind> identify_bytes(std::span<const std::byte> first) noexcept {
  const std::string_view text(reinterpret_cast<const char*>(first.data()), std::min(first.size(), preamble_bytes));
  const Match tls = match_tls(text);
  const Match control = match_word(text, control_preamble);
  const Match data = match_word(text, data_preamble);
  if (tls == Match::yes) {
    return ConnectionKind::tls;
  }
  if (control == Match::yes) {
    return text == control_preamble ? ConnectionKind::plain_control : ConnectionKind::other_version;
  }
  if (data == Match::yes) {
    return text == data_preamble ? ConnectionKind::data : ConnectionKind::other_version;
  }
  const bool may_become = tls == Match::so_far || control == Match::so_far || data == Match::so_far;
  return may_become ? std::nullopt : std::optional(ConnectionKind::unrecognized);
}

ConnectionKind identify(int fd, std::int64_t deadline_ns) noexcept {
  if (!wait_for(fd, POLLIN, deadline_ns)) {
    return ConnectionKind::silent;
  }
  std::optional<MoreBytes> more;  // a framewire peer sends all eight bytes at once
  for (bool has_ended = false;;) {
    std::array<std::byte, preamble_bytes> first{};
    const ssize_t got = ::recv(fd, first.data(), first.size(), MSG_PEEK | MSG_DONTWAIT);
    if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) {
      return ConnectionKind::silent;
    }
    if (got > 0) {
      if (const auto kind = identify_bytes(std::span(first).first(static_cast<std::size_t>(got)))) {
        return *kind;
      }
    }
    if (has_ended) {
      return ConnectionKind::silent;
    }
    if (!more) {
      more.emplace(fd);
    }
    const MoreBytes::Outcome outcome = more->wait(deadline_ns);
    if (outcome == MoreBytes::Outcome::nothing) {
      return ConnectionKind::silent;
    }
    has_ended = outcome == MoreBytes::Outcome::end;  // bytes before the end still count
  }
}

std::optional<int> preamble_version(std::span<const std::byte, preamble_bytes> bytes,
                                    std::string_view expected) noexcept {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (match_word(text, expected) != Match::yes) {
    return std::nullopt;
  }
  return (text[word_letters] - '0') * 10 + (text[word_letters + 1] - '0');
}

// ---- Waiting for the rest ----

MoreBytes::MoreBytes(int fd) noexcept : epoll_(FileDescriptor::from([] { return ::epoll_create1(EPOLL_CLOEXEC); })) {
  epoll_event wanted{};
  wanted.events = EPOLLIN | EPOLLRDHUP | EPOLLET;
  if (epoll_.valid() && ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &wanted) != 0) {
    epoll_.reset();
  }
}

MoreBytes::Outcome MoreBytes::wait(std::int64_t deadline_ns) noexcept {
  epoll_event event{};
  if (!epoll_.valid() || !wait_for(epoll_.get(), POLLIN, deadline_ns) ||
      ::epoll_wait(epoll_.get(), &event, 1, 0) != 1) {
    return Outcome::nothing;
  }
  return (event.events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0 ? Outcome::end : Outcome::more;
}

}  // namespace framewire
