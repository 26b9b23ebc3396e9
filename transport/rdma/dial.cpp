#include "transport/rdma/dial.hpp"

#include <poll.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "base/clock.hpp"
#include "transport/address.hpp"
#include "transport/json_fields.hpp"
#include "transport/rdma/addresses.hpp"

namespace framewire {

namespace {

std::vector<SocketAddress> addresses_to_dial(const HostPort& to, const RdmaTargets& targets, int cancel_fd) {
  if (!targets.only.empty()) {
    return {named_rdma_address(targets.only, to.port)};
  }
  std::vector<SocketAddress> addresses =
      resolve(to, {.fd = cancel_fd, .events = POLLRDHUP, .why = session_ended_early});
  if (!std::ranges::all_of(addresses, is_loopback)) {
    return rdma_addresses_to_dial(addresses, targets.announced, to.port);
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
      "this machine has no RDMA device with an address; 'framewire doctor' says what is missing; without --pull, "
      "--transport auto takes another link");
}

LinkDescription describe(const RdmaListenerAddress& listener) {
  std::vector<std::string> addresses = listener.addresses;
  std::erase_if(addresses, [](const std::string& one) { return !rdma_address_from_text(one, 0); });
  addresses.resize(std::min(addresses.size(), max_rdma_addresses));
  nlohmann::json out{{"port", listener.port}};
  if (!addresses.empty()) {
    out["addresses"] = addresses;
  }
  return out.dump();
}

RdmaListenerAddress rdma_listener_from(const LinkDescription& description) {
  constexpr std::size_t longest_address = 45;  // INET6_ADDRSTRLEN without the terminating zero
  const nlohmann::json object = nlohmann::json::parse(description, nullptr, false);
  RdmaListenerAddress listener;
  const auto port = find_unsigned(object, "port", 1, UINT16_MAX);
  if (!port) {
    throw Error::failed("the peer announced no usable RDMA port (rdma_port)");
  }
  listener.port = static_cast<std::uint16_t>(*port);
  if (!object.contains("addresses")) {
    return listener;
  }
  const nlohmann::json* const addresses = find_array(object, "addresses", max_rdma_addresses);
  const auto is_good = [](const nlohmann::json& one) {
    return one.is_string() && one.get_ref<const std::string&>().size() <= longest_address;
  };
  if (addresses == nullptr || !std::ranges::all_of(*addresses, is_good)) {
    throw Error::failed("the peer announced no usable RDMA addresses (rdma_addresses)");
  }
  for (const nlohmann::json& one : *addresses) {
    listener.addresses.push_back(one.get<std::string>());
  }
  return listener;
}

std::unique_ptr<RdmaConnection> dial_rdma(const HostPort& to, const ConnectProof& proof, const RdmaOptions& options,
                                          std::int64_t deadline_ns, const RdmaTargets& targets) {
  std::optional<Error> last;
  const std::vector<SocketAddress> addresses = addresses_to_dial(to, targets, options.cancel_fd);
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    const std::int64_t now_ns = monotonic_ns();
    const std::int64_t time_ns = rdma_address_time_ns(deadline_ns - now_ns, addresses.size() - i);
    try {
      return RdmaConnection::dial(*addresses[i].get(), format_address(addresses[i]), proof.hello, proof.check_answer,
                                  options, now_ns + time_ns);
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
