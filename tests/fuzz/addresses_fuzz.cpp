// Addresses: those that users type, those that RDMA listeners and hosts of a pipeline announce. No name is looked up.
//
// Input: lines. Each is read as every kind of address, and together they are a host's list.
#include "transport/address.hpp"

#include <set>

#include "ssh/address_selection.hpp"
#include "ssh/networks.hpp"
#include "ssh/ssh_command.hpp"
#include "tests/fuzz/fuzz.hpp"
#include "transport/rdma/dial_targets.hpp"

namespace framewire::fuzz {
namespace {

constexpr std::uint16_t default_port = 5290;

void check_host_port(std::string_view text) {
  succeeds([&] {
    const HostPort at = parse_host_port(text, default_port);
    const HostPort again = parse_host_port(format_host_port(at), 1);
    require(again.host == at.host && again.port == at.port, "an address comes back as it went");
  });
  succeeds([&] {
    const HostPort at = parse_dialled(text, default_port);
    require(at.port != 0, "somebody can listen at a dialled address");
  });
}

void check_numeric(std::string_view text) {
  const auto address = rdma_address_from_text(text, default_port);
  succeeds([&] {
    require(port_of(named_rdma_address(std::string(text), default_port)) == default_port, "the port is the given one");
  });
  if (address) {
    require(!is_loopback(*address) && port_of(*address) == default_port, "an announced address is another machine's");
    const std::string formatted = format_address(*address);
    require_printable(formatted);
    const HostPort at = parse_host_port(formatted, 1);
    const auto again = rdma_address_from_text(at.host, at.port);
    require(again && format_address(*again) == formatted, "an address comes back as it went");
  }
}

std::string key_of(const SocketAddress& address) {
  return {reinterpret_cast<const char*>(&address.storage), address.size_bytes};
}

void check_lists(const std::vector<std::string>& lines) {
  const std::vector<SocketAddress> reached = {rdma_address_from_text("192.0.2.1", default_port).value()};
  const auto targets = rdma_addresses_to_dial(reached, lines, default_port);
  require(!targets.empty() && targets.size() <= reached.size() + max_announced_addresses_tried,
          "a long list keeps nobody busy");
  std::set<std::string> distinct;
  for (const SocketAddress& target : targets) {
    require(distinct.insert(key_of(target)).second, "no address is dialled twice");
  }
  const std::vector<std::string> own = {"192.168.77.1/24", "2001:db8::1/64"};
  const auto shared = shared_addresses(lines, own);
  require(shared.size() <= lines.size(), "nothing is invented");
  const HostAddresses listener{.machine = lines.empty() ? "" : lines.front(),
                               .reached_at = lines.empty() ? "" : lines.back(),
                               .addresses = lines,
                               .rdma_networks = lines};
  const HostAddresses dialler{.machine = "here", .rdma_networks = own};
  addresses_of(listener, dialler, {.name = listener.reached_at});
  require(addresses_of(listener, dialler, {.data_address = "192.0.2.7"}) == std::vector<std::string>{"192.0.2.7"},
          "the user's address is the only one");
}

}  // namespace

std::vector<std::string> seeds() {
  return {"box:5290\n[::1]:0\n*:5290\n:1\n2001:db8::1\n[fe80::1%eth0]:80",
          "192.168.77.2/24\n192.168.77.2\n2001:db8::2/64\n::ffff:10.0.0.1\n10.9.0.1\n10.9.0.1",
          "127.0.0.1\n0.0.0.0\n224.0.0.1\n::1\nff02::1\nfe80::1"};
}

}  // namespace framewire::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace framewire;
  fuzz::Input input(data, size);
  std::vector<std::string> lines;
  while (!input.is_empty() && lines.size() < 64) {
    lines.emplace_back(input.take_until('\n'));
    fuzz::check_host_port(lines.back());
    fuzz::check_numeric(lines.back());
  }
  fuzz::check_lists(lines);
  return 0;
}
