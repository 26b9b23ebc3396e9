#include "tests/transport/relay.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <stdexcept>
#include <utility>

#include "base/clock.hpp"
#include "base/wait.hpp"

namespace framewire::test {

namespace {

/// Small, so that data that the relay does not read stays at its sender.
constexpr int receive_buffer_bytes = 64 * 1024;
constexpr std::size_t max_kept_bytes = std::size_t{4} << 20;

sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

FileDescriptor tcp_socket() {
  return FileDescriptor(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
}

}  // namespace

Relay::Relay(std::uint16_t to_port)
    : to_port_(to_port), listening_(tcp_socket()), stop_event_(make_eventfd()), hold_event_(make_eventfd()) {
  sockaddr_in address = loopback(0);
  socklen_t size = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  if (::bind(listening_.get(), generic, size) != 0 || ::listen(listening_.get(), 8) != 0 ||
      ::getsockname(listening_.get(), generic, &size) != 0) {
    throw std::runtime_error("relay");
  }
  port_ = ntohs(address.sin_port);
  thread_ = std::thread([this] { run(); });
}

Relay::~Relay() {
  signal_eventfd(stop_event_.get());
  thread_.join();
}

bool Relay::saw(std::string_view text) const {
  const std::scoped_lock lock(mutex_);
  return std::ranges::any_of(connections_, [&](const auto& connection) {
    return connection->to_dialler.find(text) != std::string::npos ||
           connection->to_listener.find(text) != std::string::npos;
  });
}

void Relay::change(Change change) {
  const std::scoped_lock lock(mutex_);
  change_ = std::move(change);
}

void Relay::flip_one_bit() {
  change([](std::span<std::byte> bytes) {
    bytes[bytes.size() / 2] ^= std::byte{4};
    return true;
  });
}

void Relay::cut() noexcept {
  const std::scoped_lock lock(mutex_);
  for (const auto& connection : connections_) {
    ::shutdown(connection->dialler.get(), SHUT_RDWR);
    ::shutdown(connection->listener.get(), SHUT_RDWR);
  }
}

void Relay::hold(bool holds) {
  std::unique_lock lock(mutex_);
  is_to_hold_ = holds;
  signal_eventfd(hold_event_.get());
  held_.wait(lock, [&] { return holds_ == holds; });
}

void Relay::let_through(std::uint64_t more_bytes) noexcept {
  allowance_bytes_ += more_bytes;
  signal_eventfd(hold_event_.get());
}

void Relay::run() {
  for (;;) {
    clear_eventfd(hold_event_.get());
    {
      const std::scoped_lock lock(mutex_);
      holds_ = is_to_hold_;
      held_.notify_all();
    }
    std::vector<pollfd> descriptors{{.fd = stop_event_.get(), .events = POLLIN, .revents = 0},
                                    {.fd = listening_.get(), .events = POLLIN, .revents = 0}};
    for (const auto& connection : connections_) {
      const bool is_held = (holds_ || allowance_bytes_ == 0) && is_data(*connection);
      descriptors.push_back(
          {.fd = connection->is_over ? -1 : connection->dialler.get(), .events = POLLIN, .revents = 0});
      descriptors.push_back(
          {.fd = connection->is_over || is_held ? -1 : connection->listener.get(), .events = POLLIN, .revents = 0});
    }
    const std::size_t connections_end = descriptors.size();
    descriptors.push_back({.fd = hold_event_.get(), .events = POLLIN, .revents = 0});
    wait_until(descriptors, monotonic_ns() + ns_per_s);
    if (descriptors[0].revents != 0) {
      return;
    }
    for (std::size_t i = 2; i < connections_end; ++i) {
      if (descriptors[i].revents != 0) {
        pass_on(*connections_[i / 2 - 1], i % 2 != 0);
      }
    }
    if (descriptors[1].revents != 0) {
      accept_one();
    }
  }
}

void Relay::accept_one() {
  auto connection = std::make_unique<Connection>();
  connection->dialler.reset(::accept4(listening_.get(), nullptr, nullptr, SOCK_CLOEXEC));
  connection->listener = tcp_socket();
  ::setsockopt(connection->listener.get(), SOL_SOCKET, SO_RCVBUF, &receive_buffer_bytes, sizeof receive_buffer_bytes);
  const sockaddr_in address = loopback(to_port_);
  if (::connect(connection->listener.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) {
    const std::scoped_lock lock(mutex_);
    connections_.push_back(std::move(connection));
  }
}

void Relay::pass_on(Connection& connection, bool is_to_dialler) {
  std::array<char, 65536> bytes;
  const int from = is_to_dialler ? connection.listener.get() : connection.dialler.get();
  const int to = is_to_dialler ? connection.dialler.get() : connection.listener.get();
  const bool is_data_to_dialler = is_to_dialler && is_data(connection);
  const std::uint64_t allowance = is_data_to_dialler ? allowance_bytes_.load() : UINT64_MAX;
  if (allowance == 0) {  // throttled since poll() was asked about this connection; a read of no bytes would say "ended"
    return;
  }
  const auto got = ::recv(from, bytes.data(), std::min<std::uint64_t>(bytes.size(), allowance), MSG_DONTWAIT);
  if (got <= 0) {
    ::shutdown(to, SHUT_RDWR);
    connection.is_over = true;
    return;
  }
  const auto size = static_cast<std::size_t>(got);
  if (is_data_to_dialler) {
    allowance_bytes_ -= allowance == UINT64_MAX ? 0 : size;
    data_bytes_ += size;
    const std::scoped_lock lock(mutex_);
    if (change_ && change_(std::as_writable_bytes(std::span(bytes).first(size)))) {
      change_ = {};
    }
  }
  {
    const std::scoped_lock lock(mutex_);
    std::string& kept = is_to_dialler ? connection.to_dialler : connection.to_listener;
    kept.append(bytes.data(), std::min(size, max_kept_bytes - std::min(kept.size(), max_kept_bytes)));
  }
  ::send(to, bytes.data(), size, MSG_NOSIGNAL);
}

}  // namespace framewire::test
