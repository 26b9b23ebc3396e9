#include "transport/rdma/devices.hpp"

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <span>
#include <utility>

#include "base/error.hpp"
#include "transport/rdma/addresses.hpp"
#include "transport/rdma/queue_sizes.hpp"
#include "transport/rdma/verbs.hpp"

namespace framewire {

namespace {

/// VerbsDeleter, and the other objects of libibverbs that this file uses.
struct Release : VerbsDeleter {
  using VerbsDeleter::operator();
  void operator()(ibv_device** list) const { ibv_free_device_list(list); }
  void operator()(ibv_context* context) const { ibv_close_device(context); }
  void operator()(ibv_qp* pair) const { ibv_destroy_qp(pair); }
};
template <typename Thing>
using Owned = std::unique_ptr<Thing, Release>;

RdmaTransport transport_of(const ibv_device& device) {
  switch (device.transport_type) {
    case IBV_TRANSPORT_IB:
      return RdmaTransport::infiniband;
    case IBV_TRANSPORT_IWARP:
      return RdmaTransport::iwarp;
    default:
      return RdmaTransport::other;
  }
}

RdmaPortState state_of(ibv_port_state state) {
  switch (state) {
    case IBV_PORT_DOWN:
      return RdmaPortState::down;
    case IBV_PORT_INIT:
      return RdmaPortState::init;
    case IBV_PORT_ARMED:
      return RdmaPortState::armed;
    case IBV_PORT_ACTIVE:
      return RdmaPortState::active;
    default:
      return RdmaPortState::other;
  }
}

RdmaLinkLayer link_layer_of(std::uint8_t layer) {
  if (layer == IBV_LINK_LAYER_ETHERNET) {
    return RdmaLinkLayer::ethernet;
  }
  return layer == IBV_LINK_LAYER_INFINIBAND ? RdmaLinkLayer::infiniband : RdmaLinkLayer::unknown;
}

GidKind kind_of(std::uint32_t type) {
  if (type == IBV_GID_TYPE_ROCE_V2) {
    return GidKind::roce_v2;
  }
  return type == IBV_GID_TYPE_ROCE_V1 ? GidKind::roce_v1 : GidKind::infiniband;
}

/// IBV_MTU_256 is 1, and each step doubles it.
std::uint32_t mtu_bytes(ibv_mtu mtu) {
  return mtu >= IBV_MTU_256 && mtu <= IBV_MTU_4096 ? 128U << static_cast<unsigned>(mtu) : 0;
}

RdmaPort read_port(ibv_context* context, std::uint8_t number) {
  RdmaPort port;
  port.number = number;
  ibv_port_attr attributes{};
  if (ibv_query_port(context, number, &attributes) == 0) {
    port.state = state_of(attributes.state);
    port.link_layer = link_layer_of(attributes.link_layer);
    port.active_mtu_bytes = mtu_bytes(attributes.active_mtu);
    port.max_mtu_bytes = mtu_bytes(attributes.max_mtu);
    port.max_message_bytes = attributes.max_msg_sz;
  }
  return port;
}

/// The table lists entries of all ports, without the empty ones.
void read_gids(ibv_context* context, std::vector<RdmaPort>& ports) {
  constexpr std::size_t max_entries = 1024;
  std::vector<ibv_gid_entry> entries(max_entries);
  const ssize_t count = ibv_query_gid_table(context, entries.data(), entries.size(), 0);
  entries.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
  for (const ibv_gid_entry& entry : entries) {
    const auto port = std::ranges::find(ports, entry.port_num, &RdmaPort::number);
    if (port != ports.end()) {
      const std::span<const std::uint8_t, 16> raw(entry.gid.raw);
      port->gids.push_back({.index = entry.gid_index,
                            .kind = kind_of(entry.gid_type),
                            .scope = gid_scope(raw),
                            .address = gid_address(raw),
                            .interface_index = entry.ndev_ifindex});
    }
  }
}

void read_attributes(ibv_context* context, RdmaDevice& device) {
  ibv_device_attr_ex attributes{};
  const int error = ibv_query_device_ex(context, nullptr, &attributes);
  if (error != 0) {
    device.trouble = "cannot be asked for its limits: " + errno_text(error);
    return;
  }
  const ibv_device_attr& plain = attributes.orig_attr;
  device.firmware.assign(plain.fw_ver, strnlen(plain.fw_ver, sizeof plain.fw_ver));
  device.max_work_requests = static_cast<std::uint32_t>(std::max(plain.max_qp_wr, 0));
  device.max_scatter_entries = static_cast<std::uint32_t>(std::max(plain.max_sge, 0));
  device.max_completions = static_cast<std::uint32_t>(std::max(plain.max_cqe, 0));
  device.max_registration_bytes = plain.max_mr_size;
  device.has_memory_windows = (plain.device_cap_flags & IBV_DEVICE_MEM_WINDOW_TYPE_2B) != 0;
  device.has_on_demand_paging = (attributes.odp_caps.general_caps & IBV_ODP_SUPPORT) != 0;
  for (std::uint8_t number = 1; number <= plain.phys_port_cnt; ++number) {
    device.ports.push_back(read_port(context, number));
  }
}

/// The test that NCCL uses, with descriptor -1: a device that supports dma-buf fails with EBADF, others do not know the
/// call.
std::optional<bool> try_dma_buf(ibv_pd* protection_domain) {
  const Owned<ibv_mr> mr(ibv_reg_dmabuf_mr(protection_domain, 0, 0, 0, -1, 0));
  if (mr || errno == EBADF) {
    return true;
  }
  return errno == EOPNOTSUPP || errno == EPROTONOSUPPORT ? std::optional(false) : std::nullopt;
}

/// Tries it: some drivers claim to have windows, but fail to allocate one (bnxt_re, hns_roce).
bool try_window(ibv_pd* protection_domain) {
  return Owned<ibv_mw>(ibv_alloc_mw(protection_domain, IBV_MW_TYPE_2)) != nullptr;
}

Owned<ibv_cq> make_queue(ibv_context* context, std::uint32_t depth) {
  return Owned<ibv_cq>(ibv_create_cq(context, static_cast<int>(depth), nullptr, nullptr, 0));
}

/// Negotiates queues and inline data as a session does: with less when the driver refuses.
void try_queue_pair(ibv_context* context, ibv_pd* protection_domain, RdmaDevice& device) {
  const auto make = [&](ibv_qp_cap& limits) {
    const Owned<ibv_cq> sends = make_queue(context, limits.max_send_wr);
    const Owned<ibv_cq> receives = make_queue(context, limits.max_recv_wr);
    if (!sends || !receives) {
      throw Error::failed("no completion queue: " + errno_text(errno));
    }
    ibv_qp_init_attr attributes{};
    attributes.send_cq = sends.get();
    attributes.recv_cq = receives.get();
    attributes.qp_type = IBV_QPT_RC;
    attributes.cap = limits;
    const Owned<ibv_qp> pair(ibv_create_qp(protection_domain, &attributes));
    limits = attributes.cap;
    return pair != nullptr;
  };
  try {
    if (const auto granted = negotiate_queue_pair({}, device.max_work_requests, device.max_completions, make)) {
      device.inline_bytes = granted->max_inline_data;
    } else {
      device.queue_pair_trouble = "no queue pair: " + errno_text(errno);
    }
  } catch (const Error& error) {
    device.queue_pair_trouble = error.what();
  }
}

RdmaDevice read_device(ibv_device* listed) {
  RdmaDevice device;
  device.name = ibv_get_device_name(listed);
  device.transport = transport_of(*listed);
  const Owned<ibv_context> context(ibv_open_device(listed));
  if (!context) {
    device.trouble = "cannot be opened: " + errno_text(errno);
    return device;
  }
  read_attributes(context.get(), device);
  device.data_direct = data_direct_of(*context);
  read_gids(context.get(), device.ports);
  const Owned<ibv_pd> protection_domain(ibv_alloc_pd(context.get()));
  if (!protection_domain) {
    device.queue_pair_trouble = "no protection domain: " + errno_text(errno);
    return device;
  }
  device.takes_dma_buf = try_dma_buf(protection_domain.get());
  device.has_memory_windows = device.has_memory_windows && try_window(protection_domain.get());
  try_queue_pair(context.get(), protection_domain.get(), device);
  return device;
}

RdmaPort* find_port(std::vector<RdmaDevice>& devices, const rdma_cm_id& id) {
  const auto device = std::ranges::find(devices, ibv_get_device_name(id.verbs->device), &RdmaDevice::name);
  if (device == devices.end()) {
    return nullptr;
  }
  const auto port = std::ranges::find(device->ports, id.port_num, &RdmaPort::number);
  return port == device->ports.end() ? nullptr : &*port;
}

/// Asks rdma_cm, as every session does, which of this process's addresses belongs to a device. Neither a port's state
/// nor its GIDs tell: the device may belong to another network namespace.
void read_addresses(std::vector<RdmaDevice>& devices) {
  std::vector<std::pair<RdmaPort*, std::string>> found;
  const bool could_ask = for_each_rdma_address([&](const sockaddr& address, const rdma_cm_id& bound) {
    found.emplace_back(find_port(devices, bound), text_of(&address));
  });
  for (RdmaDevice& device : devices) {
    for (RdmaPort& port : device.ports) {
      port.addresses = could_ask ? std::optional<std::vector<std::string>>(std::in_place) : std::nullopt;
    }
  }
  for (auto& [port, address] : found) {
    if (port != nullptr) {
      port->addresses->push_back(std::move(address));
    }
  }
}

}  // namespace

std::string_view name(RdmaTransport transport) noexcept {
  switch (transport) {
    case RdmaTransport::infiniband:
      return "InfiniBand";
    case RdmaTransport::iwarp:
      return "iWARP";
    case RdmaTransport::other:
      return "other";
  }
  return "unknown";
}

std::string_view name(RdmaPortState state) noexcept {
  constexpr std::array<std::string_view, 5> names = {"down", "init", "armed", "active", "other"};
  return names.at(static_cast<std::size_t>(state));
}

std::string_view name(RdmaLinkLayer layer) noexcept {
  constexpr std::array<std::string_view, 3> names = {"unknown", "InfiniBand", "Ethernet"};
  return names.at(static_cast<std::size_t>(layer));
}

std::vector<RdmaDevice> rdma_devices() {
  int count = 0;
  const Owned<ibv_device*> list(ibv_get_device_list(&count));
  if (!list) {
    if (errno == ENOSYS || errno == ENOENT) {  // the kernel has no RDMA
      return {};
    }
    throw Error::from_errno("list RDMA devices", errno);
  }
  std::vector<RdmaDevice> devices;
  for (ibv_device* listed : std::span(list.get(), static_cast<std::size_t>(count))) {
    devices.push_back(read_device(listed));
  }
  if (!devices.empty()) {
    read_addresses(devices);
  }
  return devices;
}

std::optional<std::string> rdma_cm_trouble() {
  const Owned<rdma_event_channel> channel(rdma_create_event_channel());
  return channel ? std::nullopt : std::optional(errno_text(errno));
}

}  // namespace framewire
