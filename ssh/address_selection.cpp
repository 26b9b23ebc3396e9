#include "ssh/address_selection.hpp"

#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <functional>
#include <iterator>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/file_descriptor.hpp"
#include "base/machine_identity.hpp"
#include "base/text.hpp"
#include "base/wait.hpp"
#include "ssh/message_fields.hpp"
#include "ssh/networks.hpp"
#include "ssh/numeric_address.hpp"
#include "ssh/ssh_command.hpp"
#include "transport/address.hpp"

namespace framewire {

namespace {

constexpr std::int64_t head_start_ns = 250 * ns_per_ms;  // RFC 8305, section 5

Error not_an_address(const std::string& text, const char* what) {
  constexpr std::size_t longest_shown = 60;
  return Error::failed("the other host reports the address " + quote(text, longest_shown) + ", which is no " + what +
                       "; install the same framewire on both hosts");
}

/// The address of sshd's side of the connection; empty if sshd did not start this process.
std::string ssh_address() {
  const char* connection = std::getenv("SSH_CONNECTION");
  const auto ends = parse_ssh_connection(connection != nullptr ? connection : "");
  return ends && is_numeric_address(ends->server) ? ends->server : "";  // "UNKNOWN", if sshd has no socket
}

/// The texts in a list, which may be missing. Each one has to pass `is_good`, or is called no good `what`.
std::vector<std::string> checked_texts_in(const nlohmann::json& message, const char* field, const char* what,
                                          const std::function<bool(const std::string&)>& is_good) {
  std::vector<std::string> texts;
  if (!message.contains(field)) {
    return texts;
  }
  const nlohmann::json& list = message[field];
  if (!list.is_array() || !std::ranges::all_of(list, [](const auto& one) { return one.is_string(); })) {
    throw bad_field(field, "a list of texts");
  }
  if (list.size() > max_reported_addresses) {
    throw Error::failed("the other host reports " + std::to_string(list.size()) + " of its '" + field +
                        "', more than " + std::to_string(max_reported_addresses) +
                        "; install the same framewire on both hosts");
  }
  for (const nlohmann::json& one : list) {
    texts.push_back(one.get<std::string>());
    if (!is_good(texts.back())) {
      throw not_an_address(texts.back(), what);
    }
  }
  return texts;
}

/// One pending connect().
struct Attempt {
  FileDescriptor fd;
  HostPort at;
};

/// Begins to connect to every address of a name. Skips addresses where connect() fails at once. Throws Error
/// (lost_peer) at `stop`.
void begin(const HostPort& at, std::vector<Attempt>& attempts, const StopWait& stop) {
  std::vector<SocketAddress> addresses;
  try {
    addresses = resolve(at, stop);
  } catch (const Error& error) {
    if (error.status() == ExitStatus::lost_peer) {
      throw;
    }
    return;  // the name is not known on this host
  }
  for (const SocketAddress& address : addresses) {
    FileDescriptor fd(::socket(address.family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_TCP));
    if (fd.valid() && (::connect(fd.get(), address.get(), address.size_bytes) == 0 || errno == EINPROGRESS)) {
      attempts.push_back({std::move(fd), at});
    }
  }
}

/// Waits for the first attempt that connects, and drops those that fail. Returns nullptr at the deadline. Throws Error
/// (lost_peer) at `stop`.
const Attempt* wait_for_attempt(std::vector<Attempt>& attempts, std::int64_t deadline_ns, const StopWait& stop) {
  std::vector<pollfd> descriptors;
  std::ranges::transform(attempts, std::back_inserter(descriptors), [](const Attempt& one) {
    return pollfd{.fd = one.fd.get(), .events = POLLOUT, .revents = 0};
  });
  descriptors.push_back({.fd = stop.fd, .events = stop.events, .revents = 0});
  wait_until(descriptors, deadline_ns);
  if (descriptors.back().revents != 0) {
    throw Error::lost_peer("no address of the peer had answered yet: " + std::string(stop.why));
  }
  descriptors.pop_back();
  for (std::size_t i = attempts.size(); i-- > 0;) {
    int error_number = 0;
    socklen_t size = sizeof error_number;
    if (descriptors[i].revents != 0 &&
        (::getsockopt(descriptors[i].fd, SOL_SOCKET, SO_ERROR, &error_number, &size) != 0 || error_number != 0)) {
      attempts.erase(attempts.begin() + static_cast<std::ptrdiff_t>(i));
      descriptors.erase(descriptors.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }
  const auto found = std::ranges::find_if(descriptors, [](const pollfd& one) { return one.revents != 0; });
  return found == descriptors.end() ? nullptr : &attempts[static_cast<std::size_t>(found - descriptors.begin())];
}

std::string listed(const std::vector<std::string>& texts) {
  std::string list;
  for (const std::string& text : texts) {
    list += (list.empty() ? "" : ", ") + printable(text);
  }
  return list;
}

std::vector<std::string> first_ones(std::vector<std::string> texts) {
  texts.resize(std::min(texts.size(), max_reported_addresses));
  return texts;
}

}  // namespace

HostAddresses own_host_addresses() {
  const std::vector<OwnAddress> addresses = own_addresses();
  HostAddresses facts{.machine = network_id(), .reached_at = ssh_address()};
  std::ranges::transform(addresses, std::back_inserter(facts.addresses), &OwnAddress::text);
  if (::access("/dev/infiniband/rdma_cm", R_OK | W_OK) == 0) {
    facts.rdma_networks = rdma_networks(addresses, active_rdma_devices());
  }
  return facts;
}

nlohmann::json to_json(const HostAddresses& host) {
  return {{"machine", host.machine},
          {"reached_at", host.reached_at},
          {"addresses", first_ones(host.addresses)},
          {"rdma_networks", first_ones(host.rdma_networks)}};
}

HostAddresses host_addresses_from(const nlohmann::json& message) {
  constexpr std::size_t longest_machine = 200;
  HostAddresses host{.machine = text_in(message, "machine"), .reached_at = text_in(message, "reached_at")};
  if (host.machine.size() > longest_machine || !is_plain_text(host.machine)) {
    throw bad_field("machine", "a short text");
  }
  if (!host.reached_at.empty() && !is_numeric_address(host.reached_at)) {
    throw not_an_address(host.reached_at, "IP address");
  }
  host.addresses = checked_texts_in(message, "addresses", "IP address", is_numeric_address);
  host.rdma_networks = checked_texts_in(message, "rdma_networks", "IP network", is_network);
  return host;
}

std::vector<std::string> addresses_of(const HostAddresses& listener, const HostAddresses& dialler,
                                      const AddressHints& hints) {
  if (!hints.data_address.empty()) {
    return {hints.data_address};
  }
  const bool is_same_machine = !listener.machine.empty() && listener.machine == dialler.machine;
  std::vector<std::string> all, elsewhere;
  const auto add = [&](const std::string& address) {
    const bool leads_there = is_same_machine || !leads_to_the_dialler(address);
    if (!address.empty() && leads_there && std::ranges::find(all, address) == all.end()) {
      all.push_back(address);
    }
  };
  if (is_same_machine) {
    add("127.0.0.1");
  }
  if (hints.may_be_rdma) {
    std::ranges::for_each(shared_addresses(listener.rdma_networks, dialler.rdma_networks), add);
  }
  add(hints.is_known_here ? hints.name : listener.reached_at);
  add(hints.is_known_here ? listener.reached_at : hints.name);
  // Skip addresses that the dialler has, too: they lead to the dialler itself. Keep those that the user named, or that
  // ssh connected to: they may be forwarded.
  std::ranges::copy_if(listener.addresses, std::back_inserter(elsewhere), [&](const std::string& address) {
    return is_same_machine || std::ranges::find(dialler.addresses, address) == dialler.addresses.end();
  });
  std::ranges::for_each(elsewhere, add);
  return all;
}

HostPort find_reachable(const std::vector<std::string>& addresses, std::uint16_t port, std::int64_t deadline_ns,
                        const std::string& remedy, const StopWait& stop) {
  std::vector<Attempt> attempts;
  std::size_t next = 0;
  while (monotonic_ns() < deadline_ns && (next < addresses.size() || !attempts.empty())) {
    if (next < addresses.size()) {
      begin({.host = addresses[next++], .port = port}, attempts, stop);
    }
    const std::int64_t attempt_until_ns = next < addresses.size() ? monotonic_ns() + head_start_ns : deadline_ns;
    if (attempts.empty()) {
      continue;
    }
    if (const Attempt* done = wait_for_attempt(attempts, std::min(attempt_until_ns, deadline_ns), stop)) {
      return done->at;
    }
  }
  throw Error::lost_peer("cannot reach port " + std::to_string(port) + " at " + listed(addresses) + "; " + remedy);
}

}  // namespace framewire
