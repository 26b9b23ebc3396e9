#include "transport/session/rdma_data.hpp"

#include <poll.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "base/clock.hpp"
#include "transport/address.hpp"
#include "transport/rdma/addresses.hpp"
#include "transport/session/rdma_hello.hpp"

namespace framewire {

namespace {

std::vector<SocketAddress> addresses_to_dial(const HostPort& to, const RdmaTargets& targets, int cancel_fd) {
  if (!targets.only.empty()) {
    return {named_rdma_address(targets.only, to.port)};
  }
  std::vector<SocketAddress> addresses =
      resolve(to, {.fd = cancel_fd, .events = POLLRDHUP, .why = "the session ended before its data connection stood"});
  if (!std::ranges::all_of(addresses, is_loopback)) {
    return rdma_addresses_to_dial(addresses, targets.told, to.port);
  }
  addresses.clear();  // no RDMA device has a loopback address; its own addresses reach this machine, too
  for (const sockaddr_storage& storage : rdma_addresses()) {
    SocketAddress address{
        .storage = storage,
        .size_bytes = storage.ss_family == AF_INET6 ? socklen_t{sizeof(sockaddr_in6)} : socklen_t{sizeof(sockaddr_in)}};
    set_port(address, to.port);
    addresses.push_back(address);
  }
  return addresses;
}

}  // namespace

Error no_rdma_device() {
  return Error::failed(
      "this machine has no RDMA device with an address; 'framewire doctor' says what is missing, and --transport auto "
      "without --pull works without one");
}

bool has_rdma_device() {
  return !rdma_addresses().empty();
}

std::unique_ptr<RdmaConnection> dial_rdma(const HostPort& to, const Token& token, const DataConnectionId& connection,
                                          const RdmaOptions& options, std::int64_t deadline_ns,
                                          const RdmaTargets& targets) {
  const RdmaPrivateData hello =
      encode_rdma_hello({.connection = connection, .proof = make_proof(token, connection, ProofRole::dialler)});
  const auto check_answer = [&](std::span<const std::byte> bytes) {
    const auto answer = decode_rdma_hello(bytes);
    if (!answer || answer->connection != connection ||
        !check_proof(token, connection, ProofRole::listener, answer->proof)) {
      throw Error::refused("the other end of the RDMA connection is not the peer of this session");
    }
  };
  std::optional<Error> last;
  const std::vector<SocketAddress> addresses = addresses_to_dial(to, targets, options.cancel_fd);
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    // Give each address its share of the remaining time, so that a silent one does not prevent trying the others.
    const std::int64_t now_ns = monotonic_ns();
    const std::int64_t share_ns = (deadline_ns - now_ns) / static_cast<std::int64_t>(addresses.size() - i);
    try {
      return RdmaConnection::dial(*addresses[i].get(), format_address(addresses[i]), hello, check_answer, options,
                                  now_ns + share_ns);
    } catch (const RdmaRejected&) {
      throw;  // by the peer of this session, whose token is used: it has no other answer at another address
    } catch (const Error& error) {
      if (error.status() == ExitStatus::refused) {
        throw;
      }
      last = error;
    }
  }
  throw last.value_or(no_rdma_device());
}

}  // namespace framewire
