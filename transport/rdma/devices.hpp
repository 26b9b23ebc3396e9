// What libibverbs and librdmacm report about this machine's RDMA devices, as plain values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "transport/rdma/data_direct.hpp"
#include "transport/rdma/gid.hpp"

namespace framewire {

/// As verbs do, this counts RoCE as infiniband. framewire needs reliable connections, which only infiniband and iWARP
/// drivers have.
enum class RdmaTransport { infiniband, iwarp, other };

/// Only an `active` port carries frames. An InfiniBand port in `init` waits for a subnet manager.
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
  // The addresses of this process's network namespace for which rdma_cm chooses this port: a peer dials these. In the
  // system's order, which has IPv4 first. Nothing: rdma_cm could not be asked.
  std::optional<std::vector<std::string>> addresses;
};

struct RdmaDevice {
  std::string name;  // "mlx5_0"
  RdmaTransport transport = RdmaTransport::infiniband;
  std::string trouble;  // why it could not be opened or queried; everything below is then empty
  std::string firmware;
  std::uint32_t max_work_requests = 0;       // of one queue
  std::uint32_t max_scatter_entries = 0;     // of one work request (scatter/gather entries)
  std::uint32_t max_completions = 0;         // of one completion queue
  std::uint64_t max_registration_bytes = 0;  // of one memory region
  bool has_memory_windows = false;           // type 2B, which the viewer binds over its ring; allocating one has worked
  bool has_on_demand_paging = false;         // registering without pinning
  std::optional<bool> takes_dma_buf;         // registering GPU memory; nothing: it could not be tried
  DataDirect data_direct;                    // a second function that reaches GPU memory
  std::optional<std::uint32_t> inline_bytes;  // inline data of one work request of a session
  std::string queue_pair_trouble;             // why a session's QP could not be created
  std::vector<RdmaPort> ports;
};

std::string_view name(RdmaTransport transport) noexcept;
std::string_view name(RdmaPortState state) noexcept;
std::string_view name(RdmaLinkLayer layer) noexcept;

/// Every device that libibverbs lists, in its order; empty when the kernel has no RDMA. Opens each device, and creates
/// a PD, completion queues and a QP that never connects. Binds each address of this process's network namespace with
/// rdma_cm, without listening. Releases all of this before it returns. Any thread; takes milliseconds. Throws Error
/// when the list itself is not available.
std::vector<RdmaDevice> rdma_devices();

/// Why librdmacm cannot make connections in this process; nothing when it can. Call it only when there is a device.
std::optional<std::string> rdma_cm_trouble();

}  // namespace framewire
