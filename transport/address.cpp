#include "transport/address.hpp"

#include <arpa/inet.h>
#include <fmt/core.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <thread>

#include "base/error.hpp"
#include "base/file_descriptor.hpp"
#include "base/text.hpp"
#include "base/wait.hpp"

namespace framewire {

namespace {

[[noreturn]] void not_an_address(std::string_view text) {
  throw Error::usage(fmt::format(
      "{} is no address; it takes HOST, HOST:PORT, [IPv6]:PORT or :PORT, with a port up to 65535", quote(text)));
}

std::uint16_t parse_port(std::string_view digits, std::string_view whole) {
  std::uint16_t port = 0;
  const char* end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, port);
  if (error != std::errc{} || stop != end) {
    not_an_address(whole);
  }
  return port;
}

bool is_host_text(std::string_view host) {
  for (const char letter : host) {
    const auto byte = static_cast<unsigned char>(letter);
    if (byte <= ' ' || byte == 0x7f || letter == '/' || letter == '[' || letter == ']') {
      return false;
    }
  }
  // The longest DNS name.
  return host.size() <= 253;
}

in_addr ipv4_of(const SocketAddress& address) noexcept {
  sockaddr_in v4{};
  std::memcpy(&v4, &address.storage, sizeof v4);
  return v4.sin_addr;
}

sockaddr_in6 ipv6_of(const SocketAddress& address) noexcept {
  sockaddr_in6 v6{};
  std::memcpy(&v6, &address.storage, sizeof v6);
  return v6;
}

/// Converts IPv4-mapped IPv6 addresses to IPv4, so that one comparison serves both.
SocketAddress unmapped(const SocketAddress& address) noexcept {
  if (address.family() != AF_INET6) {
    return address;
  }
  const sockaddr_in6 v6 = ipv6_of(address);
  if (!IN6_IS_ADDR_V4MAPPED(&v6.sin6_addr)) {
    return address;
  }
  sockaddr_in v4{};
  v4.sin_family = AF_INET;
  v4.sin_port = v6.sin6_port;
  std::memcpy(&v4.sin_addr, &v6.sin6_addr.s6_addr[12], sizeof v4.sin_addr);
  SocketAddress plain;
  std::memcpy(&plain.storage, &v4, sizeof v4);
  plain.size_bytes = sizeof v4;
  return plain;
}

SocketAddress copy_of(const sockaddr* address, socklen_t size_bytes) noexcept {
  SocketAddress copy;
  copy.size_bytes = std::min<socklen_t>(size_bytes, sizeof copy.storage);
  std::memcpy(&copy.storage, address, copy.size_bytes);
  return copy;
}

bool is_same_host(const SocketAddress& a, const SocketAddress& b) noexcept {
  if (a.family() != b.family()) {
    return false;
  }
  if (a.family() == AF_INET) {
    return ipv4_of(a).s_addr == ipv4_of(b).s_addr;
  }
  const sockaddr_in6 a6 = ipv6_of(a);
  const sockaddr_in6 b6 = ipv6_of(b);
  if (IN6_IS_ADDR_LINKLOCAL(&a6.sin6_addr) && a6.sin6_scope_id != b6.sin6_scope_id) {
    return false;  // a link-local address may be in use on two networks
  }
  return std::memcmp(&a6.sin6_addr, &b6.sin6_addr, sizeof a6.sin6_addr) == 0;
}

}  // namespace

HostPort parse_host_port(std::string_view text, std::uint16_t default_port) {
  HostPort at{.host = {}, .port = default_port};
  std::string_view host = text;
  const auto first_colon = text.find(':');
  if (text.starts_with('[')) {
    const auto bracket = text.find(']');
    if (bracket == std::string_view::npos || bracket == 1) {
      not_an_address(text);
    }
    host = text.substr(1, bracket - 1);
    const std::string_view rest = text.substr(bracket + 1);
    if (!rest.empty()) {
      if (rest.front() != ':') {
        not_an_address(text);
      }
      at.port = parse_port(rest.substr(1), text);
    }
  } else if (first_colon != std::string_view::npos && text.find(':', first_colon + 1) == std::string_view::npos) {
    host = text.substr(0, first_colon);
    at.port = parse_port(text.substr(first_colon + 1), text);
  }
  if (text.empty() || !is_host_text(host)) {
    not_an_address(text);
  }
  if (host == text && text.find_first_not_of("0123456789") == std::string_view::npos) {
    throw Error::usage(
        fmt::format("{} is a number and no host; a port is written as :{}, or HOST:{}", quote(text), text, text));
  }
  at.host = host;
  return at;
}

std::string format_host_port(const HostPort& at) {
  const bool is_v6 = at.host.find(':') != std::string::npos;
  return is_v6 ? fmt::format("[{}]:{}", at.host, at.port) : fmt::format("{}:{}", at.host, at.port);
}

namespace {

/// One call of the system's resolver, which cannot be interrupted.
class Lookup {
 public:
  explicit Lookup(const HostPort& at) : at_(at), port_(std::to_string(at.port)) {}
  ~Lookup() {
    if (found_ != nullptr) {
      ::freeaddrinfo(found_);
    }
  }
  Lookup(const Lookup&) = delete;
  Lookup& operator=(const Lookup&) = delete;

  /// Whether the host is empty or numeric, so that no name server is needed.
  [[nodiscard]] bool is_numeric() {
    ask(at_.host, AI_NUMERICHOST);
    return at_.host.empty() || result_ == 0;
  }
  void run() noexcept {
    ask(at_.host, 0);
    if (result_ != 0 && at_.host == "localhost") {
      ask({}, 0);  // a container may have no /etc/hosts
    }
  }
  [[nodiscard]] std::vector<SocketAddress> addresses() const;

 private:
  void ask(const std::string& host, int flags) noexcept {
    addrinfo hints{};
    hints.ai_family = AF_UNSPEC;
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = AI_NUMERICSERV | flags;
    result_ = ::getaddrinfo(host.empty() ? nullptr : host.c_str(), port_.c_str(), &hints, &found_);
    error_number_ = errno;
  }

  const HostPort at_;
  const std::string port_;
  addrinfo* found_ = nullptr;
  int result_ = 0;
  int error_number_ = 0;
};

std::vector<SocketAddress> Lookup::addresses() const {
  if (result_ != 0) {
    const std::string why = result_ == EAI_SYSTEM ? errno_text(error_number_) : ::gai_strerror(result_);
    throw Error::failed(
        fmt::format("the host {} is not known: {}; check the name, or give its address", quote(at_.host), why));
  }
  std::vector<SocketAddress> addresses;
  for (const addrinfo* one = found_; one != nullptr; one = one->ai_next) {
    if (one->ai_family == AF_INET || one->ai_family == AF_INET6) {
      addresses.push_back(copy_of(one->ai_addr, one->ai_addrlen));
    }
  }
  if (addresses.empty()) {
    throw Error::failed(fmt::format("the host {} has neither an IPv4 nor an IPv6 address", quote(at_.host)));
  }
  return addresses;
}

/// Shared by the waiting thread and the resolving thread; the last one frees it.
struct LookupThread {
  explicit LookupThread(const HostPort& at) : lookup(at), done(make_eventfd()) {}
  Lookup lookup;
  FileDescriptor done;
  std::atomic<bool> is_done = false;
};

/// Throws Error (lost_peer) at `stop`, and std::system_error when no thread can be started.
void run_until(const std::shared_ptr<LookupThread>& asked, const std::string& host, const StopWait& stop) {
  std::thread([asked] {
    set_thread_name("fw-lookup");
    asked->lookup.run();
    asked->is_done.store(true, std::memory_order_release);
    signal_eventfd(asked->done.get());
  }).detach();
  std::array both{pollfd{.fd = asked->done.get(), .events = POLLIN, .revents = 0},
                  pollfd{.fd = stop.fd, .events = stop.events, .revents = 0}};
  wait_until(both, INT64_MAX);
  if (!asked->is_done.load(std::memory_order_acquire)) {
    throw Error::lost_peer(fmt::format("the host {} was still being looked up: {}", quote(host), stop.why));
  }
}

}  // namespace

std::vector<SocketAddress> resolve(const HostPort& at, const StopWait& stop) {
  const auto asked = std::make_shared<LookupThread>(at);
  if (asked->lookup.is_numeric()) {
    return asked->lookup.addresses();
  }
  if (stop.fd < 0) {
    asked->lookup.run();
  } else {
    run_until(asked, at.host, stop);
  }
  return asked->lookup.addresses();
}

HostPort parse_dialled(std::string_view text, std::uint16_t default_port) {
  HostPort at = parse_host_port(text, default_port);
  if (at.port == 0) {
    throw Error::usage(
        fmt::format("{} names port 0, where nobody listens; leave it out for port {}", quote(text), default_port));
  }
  return at;
}

bool is_loopback(const SocketAddress& address) noexcept {
  const SocketAddress plain = unmapped(address);
  if (plain.family() == AF_INET) {
    constexpr std::uint32_t loopback_net = 127;
    return ntohl(ipv4_of(plain).s_addr) >> 24 == loopback_net;
  }
  const sockaddr_in6 v6 = ipv6_of(plain);
  return plain.family() == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&v6.sin6_addr);
}

bool is_this_host(const SocketAddress& address) noexcept {
  if (is_loopback(address)) {
    return true;
  }
  ifaddrs* interfaces = nullptr;
  if (::getifaddrs(&interfaces) != 0) {
    return false;
  }
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owner(interfaces, &::freeifaddrs);
  const SocketAddress wanted = unmapped(address);
  for (const ifaddrs* one = interfaces; one != nullptr; one = one->ifa_next) {
    if (one->ifa_addr == nullptr || (one->ifa_addr->sa_family != AF_INET && one->ifa_addr->sa_family != AF_INET6)) {
      continue;
    }
    const socklen_t size_bytes = one->ifa_addr->sa_family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
    if (is_same_host(copy_of(one->ifa_addr, size_bytes), wanted)) {
      return true;
    }
  }
  return false;
}

std::string format_address(const SocketAddress& address) {
  if (address.family() == AF_UNIX) {
    return "this machine";
  }
  const SocketAddress plain = unmapped(address);
  std::array<char, NI_MAXHOST> host{};
  if (::getnameinfo(plain.get(), plain.size_bytes, host.data(), host.size(), nullptr, 0, NI_NUMERICHOST) != 0) {
    return "an unknown address";
  }
  return format_host_port({.host = host.data(), .port = port_of(plain)});
}

SocketAddress unix_address(std::uint16_t port) {
  const std::string name = fmt::format("framewire-{}-{}", ::geteuid(), port);
  sockaddr_un un{};
  un.sun_family = AF_UNIX;
  std::memcpy(&un.sun_path[1], name.data(), name.size());
  SocketAddress address;
  // The address length is part of an abstract name: the name ends where the address ends.
  address.size_bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  std::memcpy(&address.storage, &un, address.size_bytes);
  return address;
}

std::uint16_t port_of(const SocketAddress& address) noexcept {
  if (address.family() == AF_INET6) {
    return ntohs(ipv6_of(address).sin6_port);
  }
  sockaddr_in v4{};
  std::memcpy(&v4, &address.storage, sizeof v4);
  return address.family() == AF_INET ? ntohs(v4.sin_port) : std::uint16_t{0};
}

void set_port(SocketAddress& address, std::uint16_t port) noexcept {
  const std::uint16_t wire = htons(port);
  // The port has the same offset in both.
  static_assert(offsetof(sockaddr_in, sin_port) == offsetof(sockaddr_in6, sin6_port));
  auto* bytes = reinterpret_cast<std::byte*>(&address.storage);
  std::memcpy(bytes + offsetof(sockaddr_in, sin_port), &wire, sizeof wire);
}

std::optional<SocketAddress> peer_of(int fd) noexcept {
  SocketAddress peer;
  peer.size_bytes = sizeof peer.storage;
  if (::getpeername(fd, reinterpret_cast<sockaddr*>(&peer.storage), &peer.size_bytes) != 0) {
    return std::nullopt;
  }
  return peer;
}

std::optional<SocketAddress> own_address_of(int fd) noexcept {
  SocketAddress own;
  own.size_bytes = sizeof own.storage;
  if (::getsockname(fd, reinterpret_cast<sockaddr*>(&own.storage), &own.size_bytes) != 0) {
    return std::nullopt;
  }
  return own;
}

bool is_within_this_machine(int connected_fd) noexcept {
  const auto own = own_address_of(connected_fd);
  const auto peer = peer_of(connected_fd);
  return own && peer && (is_loopback(*peer) || is_same_host(*peer, *own));
}

std::string peer_address(int fd) {
  const auto peer = peer_of(fd);
  return peer ? format_address(*peer) : "a closed connection";
}

}  // namespace framewire
