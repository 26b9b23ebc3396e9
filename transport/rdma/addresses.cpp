#include "transport/rdma/addresses.hpp"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netinet/in.h>

#include <array>
#include <cstring>
#include <memory>

namespace framewire {

namespace {

std::size_t size_of(const sockaddr& address) noexcept {
  return address.sa_family == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
}

}  // namespace

bool for_each_rdma_address(const OnRdmaAddress& on_address) {
  const VerbsPtr<rdma_event_channel> events(rdma_create_event_channel());
  ifaddrs* interfaces = nullptr;
  if (!events || ::getifaddrs(&interfaces) != 0) {
    return false;
  }
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owned(interfaces, &::freeifaddrs);
  for (const ifaddrs* one = interfaces; one != nullptr; one = one->ifa_next) {
    if (one->ifa_addr == nullptr || (one->ifa_addr->sa_family != AF_INET && one->ifa_addr->sa_family != AF_INET6)) {
      continue;
    }
    const VerbsPtr<rdma_cm_id> id = make_id(events.get());
    if (!id) {
      return false;
    }
    if (rdma_bind_addr(id.get(), one->ifa_addr) == 0 && id->verbs != nullptr) {
      on_address(*one->ifa_addr, *id);
    }
  }
  return true;
}

std::vector<sockaddr_storage> rdma_addresses() {
  std::vector<sockaddr_storage> usable;
  for_each_rdma_address([&](const sockaddr& address, const rdma_cm_id&) {
    std::memcpy(&usable.emplace_back(), &address, size_of(address));
  });
  return usable;
}

std::string text_of(const sockaddr* address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (address != nullptr && address->sa_family == AF_INET) {
    inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in*>(address)->sin_addr, text.data(), text.size());
  } else if (address != nullptr && address->sa_family == AF_INET6) {
    inet_ntop(AF_INET6, &reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr, text.data(), text.size());
  }
  return text.front() == '\0' ? "an unknown address" : text.data();
}

}  // namespace framewire
