// Who answers at the other end.
#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <nlohmann/json.hpp>
#include <string_view>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "doctor/host_probe.hpp"
#include "doctor/probe.hpp"
#include "transport/address.hpp"
#include "transport/control/authenticate.hpp"
#include "transport/control/dial.hpp"
#include "transport/session/endpoint.hpp"
#include "transport/session/messages.hpp"

namespace framewire {

namespace {

constexpr std::int64_t knock_timeout_ns = 3 * ns_per_s;
constexpr std::int64_t greeting_timeout_ns = 5 * ns_per_s;

/// What went wrong, with the place where it did.
class Obstacle : public Error {
 public:
  Obstacle(HostFault fault, const Error& why) : Error(why), fault_(fault) {}
  [[nodiscard]] HostFault fault() const noexcept { return fault_; }

 private:
  HostFault fault_;
};

HostFault fault_of(int error_number) {
  switch (error_number) {
    case ECONNREFUSED:
      return HostFault::nothing_listens;
    case ETIMEDOUT:
      return HostFault::silent;
    case ENETUNREACH:
    case EHOSTUNREACH:
      return HostFault::no_route;
    default:
      return HostFault::other;
  }
}

std::string without_port(const SocketAddress& address) {
  return parse_host_port(format_address(address), 0).host;
}

/// One TCP handshake, and its time. Returns 0, or an errno value.
int knock(const SocketAddress& address, std::int64_t deadline_ns, RemoteHostReport& host) {
  const std::int64_t begin_ns = monotonic_ns();
  int error = 0;
  const FileDescriptor fd = connect_to(address, deadline_ns, error);
  if (error == 0) {
    host.round_trip_us = static_cast<double>(monotonic_ns() - begin_ns) / 1e3;
    host.address = without_port(address);
    if (const auto here = own_address_of(fd.get())) {
      host.address_here = without_port(*here);
    }
  }
  return error;
}

/// How the fault of dial() is called: the first address that answers tells the round trip, else the last one the fault.
HostFault knock_at_all(const HostPort& at, RemoteHostReport& host) {
  std::vector<SocketAddress> addresses;
  try {
    addresses = resolve(at);
  } catch (const Error& error) {
    throw Obstacle(HostFault::unknown_name, error);
  }
  host.is_own_address = std::ranges::any_of(addresses, is_this_host);
  HostFault fault = HostFault::none;
  const std::int64_t deadline_ns = monotonic_ns() + knock_timeout_ns;
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    const std::int64_t now_ns = monotonic_ns();
    const auto left = static_cast<std::int64_t>(addresses.size() - i);
    const int error = knock(addresses[i], now_ns + std::max<std::int64_t>(0, deadline_ns - now_ns) / left, host);
    if (error == 0) {
      return HostFault::none;
    }
    fault = fault_of(error);
  }
  return fault;
}

AuthenticateOptions authentication_of(const HostTarget& target) {
  EndpointOptions endpoint;
  endpoint.key_file = target.key_file;
  endpoint.insecure = target.insecure;
  try {
    AuthenticateOptions options = framewire::authentication_of(endpoint);
    options.timeout_ns = greeting_timeout_ns;
    return options;
  } catch (const Error& error) {
    throw Obstacle(HostFault::bad_key_here, error);
  }
}

HostFault fault_of(const Error& error) {
  if (error.status() == ExitStatus::refused) {
    // Keys and versions are refused alike, in a sentence.
    const std::string_view said = error.what();
    const bool is_version = said.find("of the control protocol") != std::string_view::npos ||
                            said.find("bring both to the same release") != std::string_view::npos;
    return is_version ? HostFault::version : HostFault::key_refused;
  }
  return error.status() == ExitStatus::lost_peer ? HostFault::other : HostFault::not_framewire;
}

/// Without a key the Unix socket is the only way in, and another machine has none.
[[noreturn]] void throw_no_key(const Error& error, const RemoteHostReport& host) {
  if (host.is_own_address) {
    throw Obstacle(HostFault::not_framewire,
                   Error::failed("what listens at that port of this machine is no framewire of this user"));
  }
  throw Obstacle(HostFault::no_key_here, error);
}

AuthenticatedChannel come_in(const RemoteHostReport& host, const AuthenticateOptions& options,
                             HostFault if_not_reached) {
  std::optional<DialledSocket> dialled;
  try {
    dialled = dial(host.target.at, monotonic_ns() + knock_timeout_ns);
  } catch (const Error& error) {
    const bool is_closed = if_not_reached == HostFault::none;  // it has just answered
    throw Obstacle(is_closed ? HostFault::other : if_not_reached, error);
  }
  const bool has_no_key = !dialled->is_unix && !options.key && !options.insecure;
  try {
    return authenticate_dialler(std::move(*dialled), options);
  } catch (const Error& error) {
    if (has_no_key) {
      throw_no_key(error, host);
    }
    throw Obstacle(fault_of(error), error);
  }
}

/// Says hello as a client of framewire bench, and hears who is there.
void hear_who(MessageChannel& channel, RemoteHostReport& host) {
  HelloMessage peer;
  try {
    channel.send(to_json(HelloMessage{.role = "bench", .program = "framewire-doctor " FRAMEWIRE_VERSION}));
    peer = read_hello(channel.receive(monotonic_ns() + greeting_timeout_ns));
  } catch (const Error& error) {
    throw Obstacle(error.status() == ExitStatus::refused ? HostFault::busy : HostFault::other, error);
  }
  host.program = peer.program;
  if (std::ranges::find(peer.versions, session_version) == peer.versions.end()) {
    throw Obstacle(HostFault::version, Error::failed("no session version in common with " + peer.program));
  }
  if (!peer.program.starts_with("framewire-bench") || peer.role != "viewer") {
    throw Obstacle(peer.role == "sender" ? HostFault::sender : HostFault::viewer,
                   Error::failed(peer.program + " answers there, not framewire bench"));
  }
}

}  // namespace

RemoteHostReport greet_host(const HostTarget& target) {
  RemoteHostReport host;
  host.target = target;
  try {
    const AuthenticateOptions options = authentication_of(target);
    const HostFault knocked = knock_at_all(target.at, host);
    const AuthenticatedChannel authenticated = come_in(host, options, knocked);
    host.is_this_machine = authenticated.is_unix;
    host.auth = authenticated.auth;
    host.control = authenticated.control;
    hear_who(*authenticated.channel, host);
    if (::access((own_folder() + "framewire-bench").c_str(), X_OK) != 0) {
      throw Obstacle(HostFault::no_bench_here, Error::failed("framewire-bench does not lie beside this program"));
    }
  } catch (const Obstacle& obstacle) {
    host.fault = obstacle.fault();
    host.trouble = obstacle.what();
  } catch (const std::exception& error) {
    host.fault = HostFault::other;
    host.trouble = error.what();
  }
  return host;
}

}  // namespace framewire
