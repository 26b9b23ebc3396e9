#include "command/nearest_gpu.hpp"

#include <netdb.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <memory>
#include <string_view>
#include <vector>

#include "base/file_descriptor.hpp"
#include "base/host_addresses.hpp"
#include "transport/address.hpp"

namespace framewire {

namespace {

bool may_use_rdma(const EndpointOptions& session) {
  return std::ranges::find(session.allowed_links, LinkKind::rdma) != session.allowed_links.end();
}

/// The address that packets to `host` have as their source. For an address of this machine, which a listener has, that
/// is the same one. Nothing: `host` is a name, or there is no way to it.
std::optional<OwnAddress> own_address_towards(const std::string& host) {
  addrinfo hints{};
  hints.ai_flags = AI_NUMERICHOST;  // asks no name server
  hints.ai_socktype = SOCK_DGRAM;
  addrinfo* found = nullptr;
  if (host.empty() || ::getaddrinfo(host.c_str(), nullptr, &hints, &found) != 0) {
    return std::nullopt;
  }
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owned(found, ::freeaddrinfo);
  const auto socket = FileDescriptor::from([&] { return ::socket(found->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0); });
  // A datagram socket is connected without a packet.
  if (!socket.valid() || ::connect(socket.get(), found->ai_addr, found->ai_addrlen) != 0) {
    return std::nullopt;
  }
  const auto source = own_address_of(socket.get());
  std::array<char, NI_MAXHOST> text{};
  if (!source ||
      ::getnameinfo(source->get(), source->size_bytes, text.data(), text.size(), nullptr, 0, NI_NUMERICHOST) != 0) {
    return std::nullopt;
  }
  const std::vector<OwnAddress> addresses = own_addresses();
  const auto same = std::ranges::find(addresses, std::string_view(text.data()), &OwnAddress::text);
  return same == addresses.end() ? std::nullopt : std::optional(*same);
}

/// As the user gave it; empty: not at all.
std::string host_of(const EndpointOptions& session) {
  if (!session.native_address.empty()) {
    return session.native_address;
  }
  return session.dial ? session.dial->host : session.listen ? session.listen->host : "";
}

std::vector<ActiveRdmaDevice> devices_of(const EndpointOptions& session, const std::vector<ActiveRdmaDevice>& active) {
  const auto address = own_address_towards(host_of(session));
  std::vector<ActiveRdmaDevice> on_the_way;
  std::ranges::copy_if(active, std::back_inserter(on_the_way),
                       [&](const ActiveRdmaDevice& device) { return address && device.has(*address); });
  return on_the_way.empty() ? active : on_the_way;
}

struct RdmaCard {
  std::string name;
  PciRoute route;
};

/// Software devices have no place on the bus.
std::vector<RdmaCard> cards_of(std::span<const EndpointOptions* const> sessions, const SystemFiles& files) {
  std::vector<RdmaCard> cards;
  const std::vector<ActiveRdmaDevice> active = active_rdma_devices(files);
  for (const EndpointOptions* const session : sessions) {
    if (active.empty() || !may_use_rdma(*session)) {
      continue;
    }
    for (const ActiveRdmaDevice& device : devices_of(*session, active)) {
      if (const auto address = read_pci_address(files, "/sys/class/infiniband/" + device.name + "/device/")) {
        cards.push_back({device.name, read_pci_route(files, *address)});
      }
    }
  }
  return cards;
}

}  // namespace

std::optional<NearestGpu> nearest_gpu(std::span<const std::string> gpus,
                                      std::span<const EndpointOptions* const> sessions, const SystemFiles& files) {
  const std::vector<RdmaCard> cards = cards_of(sessions, files);
  NearestGpu nearest;
  for (std::size_t index = 0; index < gpus.size() && !cards.empty(); ++index) {
    const PciRoute gpu = read_pci_route(files, gpus[index]);
    for (const RdmaCard& card : cards) {
      const PciDistance distance = distance_between(card.route, gpu);
      if (distance < nearest.distance) {
        nearest = {.index = index, .rdma_device = card.name, .distance = distance};
      }
    }
  }
  return nearest.distance == PciDistance::unknown ? std::nullopt : std::optional(nearest);
}

}  // namespace framewire
