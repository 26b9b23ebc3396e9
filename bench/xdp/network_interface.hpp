// What a row of frames needs to know of a network interface.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

namespace framewire {

using MacAddress = std::array<std::byte, 6>;

struct EthernetInterface {
  std::string name;
  std::uint32_t index = 0;
  MacAddress mac{};
  std::uint32_t mtu_bytes = 0;  // without the Ethernet header
};

/// Looks it up in the calling thread's network namespace. Throws Error (failed): there is none, it is down, or it is no
/// Ethernet.
EthernetInterface find_interface(const std::string& name);

}  // namespace framewire
