// TLS connections: what a peer sends in place of its handshake, and what somebody in between adds behind a good one.
//
// Input: one byte that selects role, moment and kind of connection, one that says how much good data comes first, then
// the bytes.
#include <poll.h>
#include <unistd.h>

#include <array>
#include <future>
#include <memory>

#include "base/clock.hpp"
#include "tests/fuzz/fuzz.hpp"
#include "tests/fuzz/socket_ends.hpp"
#include "transport/control/authenticate.hpp"
#include "transport/tls/tls_stream.hpp"
#include "transport/tls/tls_wire.hpp"

namespace framewire::fuzz {
namespace {

using Bytes = std::span<const std::byte>;

std::int64_t soon_ns() {
  return monotonic_ns() + 30 * ns_per_s;
}

Key some_key() {
  Key key;
  std::ranges::fill(key.bytes(), std::byte{0x5a});
  return key;
}

TlsRole other(TlsRole role) {
  return role == TlsRole::dialler ? TlsRole::listener : TlsRole::dialler;
}

void check_handshake(TlsRole role, unsigned kind, Bytes bytes) {
  Ends ends = after_sending(bytes);
  const bool stands = succeeds([&] {
    if (kind == 0) {
      const TlsStream stream(std::move(ends.ours), role, some_key(), "the peer", soon_ns());
    } else if (kind == 1) {
      const TlsWire wire(std::move(ends.ours), role, some_key(), soon_ns());
    } else if (role == TlsRole::dialler) {
      authenticate_dialler({.fd = std::move(ends.ours), .address = "192.0.2.1:1"}, {.key = some_key()});
    } else {
      authenticate_listener({.fd = std::move(ends.ours), .address = "192.0.2.1:1"}, {.key = some_key()});
    }
  });
  require(!stands, "nobody shakes hands without the key");
}

constexpr std::array<std::byte, 256> good_data{};

bool can_read(int fd) {
  pollfd ready{.fd = fd, .events = POLLIN, .revents = 0};
  return ::poll(&ready, 1, 0) == 1;
}

/// Reads until the end; returns how many bytes came.
std::size_t read_all(TlsStream& stream) {
  std::array<std::byte, 512> into{};
  for (std::size_t got = 0;;) {
    const IoResult result = stream.read_now(into);
    require(result.status != IoStatus::again, "the end is seen");
    if (result.status != IoStatus::moved) {
      require_printable(stream.fault());
      return got;
    }
    got += result.bytes;
  }
}

std::size_t read_all(TlsWire& wire) {
  std::array<std::byte, 512> into{};
  for (std::size_t got = 0;;) {
    const WireRead result = wire.read(into, {});
    if (result.status == WireStatus::again) {
      require(can_read(wire.fd()), "the end is seen");
    } else if (result.status == WireStatus::moved) {
      got += result.bytes;
    } else {
      return got;
    }
  }
}

template <typename Connection, typename Make>
void check_data(Make&& make, TlsRole role, std::size_t good_bytes, Bytes bytes) {
  Ends ends = socket_pair();
  const FileDescriptor between(::dup(ends.peer.get()));
  auto making = std::async(std::launch::async, [&] { return make(std::move(ends.peer), other(role)); });
  const std::unique_ptr<Connection> ours = make(std::move(ends.ours), role);
  const std::unique_ptr<Connection> peer = making.get();
  std::array<std::byte, 256> good = good_data;
  iovec part{.iov_base = good.data(), .iov_len = good_bytes};
  if constexpr (std::is_same_v<Connection, TlsStream>) {
    peer->write_all(std::span(good).first(good_bytes), soon_ns());
  } else if (good_bytes > 0) {
    std::span parts(&part, 1);
    require(peer->write_some(parts) == WireWrite::done, "the peer can write");
  }
  send_and_end(between.get(), bytes);
  require(read_all(*ours) == good_bytes, "nothing but the peer's data comes out");
}

}  // namespace

std::vector<std::string> seeds() {
  // A whole first flight of our own dialler, by which the fuzzer finds its way.
  Ends ends = socket_pair();
  ::shutdown(ends.peer.get(), SHUT_WR);
  succeeds([&] {
    const TlsStream stream(FileDescriptor(::dup(ends.ours.get())), TlsRole::dialler, some_key(), "the peer", soon_ns());
  });
  std::array<char, 4096> flight{};
  const ssize_t got = ::recv(ends.peer.get(), flight.data(), flight.size(), MSG_DONTWAIT);
  const std::string hello(flight.data(), got > 0 ? static_cast<std::size_t>(got) : 0);
  const std::string alert = "\x15\x03\x03" + std::string(1, '\0') + "\2\2\x28";
  const std::string record = "\x17\x03\x03" + std::string(1, '\0') + "\x20" + std::string(32, 'x');
  std::vector<std::string> all;
  for (const char how : {'\0', '\1', '\2', '\3', '\4', '\5'}) {
    all.push_back(std::string(1, how) + "\1" + hello);
    all.push_back(std::string(1, how) + "\1" + alert);
    all.push_back(std::string(1, static_cast<char>(how | 8)) + "\7" + record);
  }
  all.push_back(std::string(1, '\4') + "\1" + "FWREPL01");
  return all;
}

}  // namespace framewire::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace framewire;
  fuzz::Input input(data, size);
  const unsigned how = input.take<std::uint8_t>();
  const std::size_t good_bytes = input.take<std::uint8_t>();
  const TlsRole role = (how & 1) != 0 ? TlsRole::listener : TlsRole::dialler;
  const unsigned kind = (how >> 1 & 3) % 3;
  const auto bytes = input.take_all();
  if ((how & 8) == 0) {
    fuzz::check_handshake(role, kind, bytes);
  } else if (kind == 0) {
    const auto make = [](FileDescriptor fd, TlsRole as) {
      return std::make_unique<TlsStream>(std::move(fd), as, fuzz::some_key(), "the peer", fuzz::soon_ns());
    };
    fuzz::check_data<TlsStream>(make, role, good_bytes, bytes);
  } else {
    const auto make = [](FileDescriptor fd, TlsRole as) {
      return std::make_unique<TlsWire>(std::move(fd), as, fuzz::some_key(), fuzz::soon_ns());
    };
    fuzz::check_data<TlsWire>(make, role, good_bytes, bytes);
  }
  return 0;
}
