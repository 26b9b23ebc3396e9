#include "bench/xdp/udp_port.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>

#include <cerrno>
#include <string>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/text.hpp"
#include "base/wait.hpp"

namespace framewire {

namespace {

constexpr std::uint32_t headers_bytes = 20 + 8;  // IPv4's and UDP's
/// For the frames that can be on their way; the kernel counts more than twice their bytes.
constexpr int buffer_bytes = 8 << 20;

constexpr std::int64_t longest_send_ns = 5 * ns_per_s;

sockaddr_in ipv4_address(const std::string& text, std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  if (::inet_pton(AF_INET, text.c_str(), &address.sin_addr) != 1) {
    throw Error::failed(quote(text) + " is no IPv4 address");
  }
  return address;
}

}  // namespace

UdpPort::Batch::Batch(std::uint32_t count, std::size_t bytes_each)
    : bytes(count * bytes_each), parts(count), messages(count) {
  for (std::size_t i = 0; i < count; ++i) {
    parts[i] = {.iov_base = bytes.data() + i * bytes_each, .iov_len = bytes_each};
    messages[i].msg_hdr.msg_iov = &parts[i];
    messages[i].msg_hdr.msg_iovlen = 1;
  }
}

UdpPort::UdpPort(const std::string& own, const std::string& peer, std::uint16_t port, std::uint32_t batch,
                 std::uint32_t mtu_bytes, bool spins)
    : payload_bytes_(mtu_bytes - headers_bytes),
      spins_(spins),
      socket_(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)),
      to_send_(batch, payload_bytes_),
      arrived_(batch, payload_bytes_) {
  if (!socket_.valid()) {
    throw Error::from_errno("make a UDP socket", errno);
  }
  const sockaddr_in here = ipv4_address(own, port);
  const sockaddr_in there = ipv4_address(peer, port);
  // Beyond the limit of the machine, which a namespace's owner may pass.
  for (const int option : {SO_RCVBUFFORCE, SO_SNDBUFFORCE}) {
    if (::setsockopt(socket_.get(), SOL_SOCKET, option, &buffer_bytes, sizeof buffer_bytes) != 0) {
      throw Error::from_errno("enlarge the buffers of a UDP socket", errno);
    }
  }
  if (::bind(socket_.get(), reinterpret_cast<const sockaddr*>(&here), sizeof here) != 0 ||
      ::connect(socket_.get(), reinterpret_cast<const sockaddr*>(&there), sizeof there) != 0) {
    throw Error::from_errno("make a UDP socket at " + own, errno);
  }
}

std::span<std::byte> UdpPort::next_to_fill() noexcept {
  if (to_send_.used == to_send_.parts.size()) {
    return {};
  }
  return std::span(to_send_.bytes).subspan(to_send_.used * payload_bytes_, payload_bytes_);
}

void UdpPort::queue(std::size_t bytes) noexcept {
  to_send_.parts[to_send_.used++].iov_len = bytes;
}

void UdpPort::send_queued() {
  const std::int64_t give_up_ns = monotonic_ns() + longest_send_ns;
  for (std::size_t done = 0; done < to_send_.used;) {
    const int sent =
        ::sendmmsg(socket_.get(), &to_send_.messages[done], static_cast<unsigned>(to_send_.used - done), MSG_DONTWAIT);
    if (sent > 0) {
      done += static_cast<std::size_t>(sent);
    } else if (monotonic_ns() >= give_up_ns) {
      throw Error::lost_peer("the kernel has taken no datagram for " + std::to_string(longest_send_ns / ns_per_s) +
                             " s");
    } else if (errno == EAGAIN) {
      wait_for(socket_.get(), POLLOUT, monotonic_ns() + 100 * ns_per_ms);
    } else if (errno != EINTR && errno != ECONNREFUSED && errno != ENOBUFS) {
      throw Error::from_errno("send over UDP", errno);
    }
  }
  to_send_.used = 0;
}

bool UdpPort::take_arrived() noexcept {
  if (arrived_.next < arrived_.used) {
    return true;
  }
  arrived_.next = 0;
  const int got = ::recvmmsg(socket_.get(), arrived_.messages.data(), static_cast<unsigned>(arrived_.messages.size()),
                             MSG_DONTWAIT, nullptr);
  arrived_.used = got > 0 ? static_cast<std::size_t>(got) : 0;
  return arrived_.used > 0;
}

std::span<const std::byte> UdpPort::receive() {
  if (!take_arrived()) {
    return {};
  }
  const std::size_t i = arrived_.next++;
  return std::span(arrived_.bytes).subspan(i * payload_bytes_, arrived_.messages[i].msg_len);
}

void UdpPort::wait(std::int64_t deadline_ns) {
  if (!spins_) {
    if (arrived_.next == arrived_.used) {
      wait_for(socket_.get(), POLLIN, deadline_ns);
    }
    return;
  }
  while (!take_arrived() && monotonic_ns() < deadline_ns) {
  }
}

}  // namespace framewire
