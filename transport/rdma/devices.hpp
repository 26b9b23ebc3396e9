// What libibverbs and librdmacm say of this machine's RDMA devices, as plain values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "transport/rdma/gid.hpp"

namespace framewire {

/// RoCE counts as infiniband here, as verbs say. Both and iWARP have the reliable connections that framewire needs; of
/// the others no driver has them.
enum class RdmaTransport { infiniband, iwarp, other };

/// A port carries frames when it is `active`. `init` on InfiniBand: it waits for a subnet manager.
enum class RdmaPortState { down, init, armed, active, other };

enum class RdmaLinkLayer { unknown, infiniband, ethernet };

struct RdmaPort {
  std::uint8_t number = 1;  // from 1
  RdmaPortState state = RdmaPortState::down;
  RdmaLinkLayer link_layer = RdmaLinkLayer::unknown;
  std::uint32_t active_mtu_bytes = 0;  // payload of one packet
  std::uint32_t max_mtu_bytes = 0;
  std::uint64_t max_message_bytes = 0;  // of one work request
  std::vector<RdmaGid> gids;            // all that are not empty, by index
  // Of this process's network, those for which rdma_cm takes this port: what a peer dials. By the system's order, which
  // has IPv4 first. Nothing: rdma_cm could not be asked.
  std::optional<std::vector<std::string>> addresses;
};

struct RdmaDevice {
  std::string name;  // "mlx5_0"
  RdmaTransport transport = RdmaTransport::infiniband;
  std::string trouble;  // why it could not be opened or asked; all below is then empty
  std::string firmware;
  std::uint32_t max_work_requests = 0;        // of one queue
  std::uint32_t max_scatter_entries = 0;      // of one work request
  std::uint32_t max_completions = 0;          // of one completion queue
  std::uint64_t max_registration_bytes = 0;   // of one memory region
  bool has_memory_windows = false;            // type 2B, which the viewer binds over its ring; one was allocated
  bool has_on_demand_paging = false;          // registering without pinning
  std::optional<bool> takes_dma_buf;          // for memory of a GPU; nothing: it could not be tried
  std::optional<std::uint32_t> inline_bytes;  // what one work request of a session can carry in itself
  std::string queue_pair_trouble;             // why a queue pair could not be made, as a session makes them
  std::vector<RdmaPort> ports;
};

std::string_view name(RdmaTransport transport) noexcept;
std::string_view name(RdmaPortState state) noexcept;
std::string_view name(RdmaLinkLayer layer) noexcept;

/// Every device that libibverbs lists, by its order, each opened for as long as it takes to ask it; for a moment each
/// has a protection domain, completion queues and a queue pair that never connects; and for a moment each address of
/// this process's network is bound by rdma_cm, without listening. None where the kernel has no RDMA.
/// Any thread; takes milliseconds. Throws Error when the list itself cannot be had.
std::vector<RdmaDevice> rdma_devices();

/// Why librdmacm cannot make connections in this process, or nothing when it can. Only where there is a device.
std::optional<std::string> rdma_cm_trouble();

}  // namespace framewire
