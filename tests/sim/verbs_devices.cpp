// The devices of a simulated world: what they can do, opening, closing, and what is asked of them.
#include <arpa/inet.h>

#include <algorithm>
#include <cstdio>
#include <limits>

#include "tests/sim/descriptors.hpp"
#include "tests/sim/verbs_calls.hpp"

namespace framewire::sim {

namespace {

DeviceTraits random_traits(World& world) {
  constexpr std::uint32_t depths[] = {16, 20, 64, 512, 4096};
  constexpr std::uint32_t inline_limits[] = {4, 60, 400, 1024};
  constexpr std::uint32_t message_limits[] = {1024, 4096, 1U << 23};
  DeviceTraits traits;
  traits.has_immediates = world.chance(85);
  traits.windows = world.chance(60) ? WindowKind::good : static_cast<WindowKind>(world.below(5));
  traits.max_work_requests = depths[world.below(5)];
  traits.max_inline_bytes = inline_limits[world.below(4)];
  traits.max_message_bytes = message_limits[world.below(3)];
  traits.knows_ack_timeout = world.chance(80);
  return traits;
}

int query_port(ibv_context* context, std::uint8_t, ibv_port_attr* attributes, std::size_t) {
  const Device& device = *open_device(context).device;
  *attributes = {};
  attributes->state = device.is_port_down ? IBV_PORT_DOWN : IBV_PORT_ACTIVE;
  attributes->max_msg_sz = device.traits.max_message_bytes;
  attributes->link_layer = IBV_LINK_LAYER_ETHERNET;
  attributes->active_mtu = IBV_MTU_1024;
  return 0;
}

std::unique_ptr<OpenDevice> open_new(Device& device) {
  auto open = std::make_unique<OpenDevice>();
  open->device = &device;
  open->sz = sizeof(verbs_context);
  open->query_port = query_port;
  ibv_context& context = open->context;
  context.abi_compat = __VERBS_ABI_IS_EXTENDED;
  context.device = &device.listed;
  context.num_comp_vectors = 1;
  context.ops = device_calls();
  open->async = std::make_shared<EventFile<ibv_async_event>>();
  context.async_fd = descriptors().add(open->async);
  return open;
}

}  // namespace

Fabric& Fabric::get() {
  static Fabric fabric;
  return fabric;
}

std::uint32_t Fabric::new_key(World& world) const {
  for (;;) {
    const auto key = static_cast<std::uint32_t>(world.below(1U << 23) + 1)
                     << 8U;  // the last byte counts a window's binds
    const auto is_near = [key](const auto& map) {
      const auto next = map.lower_bound(key);
      return next != map.end() && next->first < key + 256;
    };
    if (!is_near(regions) && !is_near(windows)) {
      return key;
    }
  }
}

Device* Fabric::device_at(const sockaddr_in& address) const {
  const auto found = std::ranges::find_if(
      devices, [&](const auto& one) { return one->address.sin_addr.s_addr == address.sin_addr.s_addr; });
  return found == devices.end() ? nullptr : found->get();
}

void make_devices(World& world, std::size_t count) {
  Fabric& fabric = Fabric::get();
  for (std::size_t i = 0; i < count; ++i) {
    auto device = std::make_unique<Device>();
    device->traits = random_traits(world);
    device->address.sin_family = AF_INET;
    device->address.sin_addr.s_addr = htonl(0x0a070001U + static_cast<std::uint32_t>(i));  // 10.7.0.1
    device->listed.transport_type = device->traits.has_immediates ? IBV_TRANSPORT_IB : IBV_TRANSPORT_IWARP;
    std::snprintf(device->listed.name, sizeof device->listed.name, "sim%zu", i);
    fabric.devices.push_back(std::move(device));
  }
}

ibv_context* acquire(World& world, Device& device) {
  if (device.users++ == 0) {
    device.open = open_new(device);
    world.trace("%s opens", device.listed.name);
  }
  return &device.open->context;
}

void release(World& world, Device& device) {
  if (--device.users > 0) {
    return;
  }
  const OpenDevice& open = *device.open;
  if (open.protection_domains + open.queues + open.channels > 0) {
    world.fail("the last id of a device is destroyed, which closes the device, before its objects");
  }
  descriptors().close(world, open.context.async_fd);
  device.open.reset();
}

std::uint64_t receivers_not_ready() {
  return Fabric::get().receivers_not_ready;
}

std::string clear_devices() {
  Fabric& fabric = Fabric::get();
  std::string left;
  const auto count = [&left](std::size_t living, const char* what) {
    left += living == 0 ? "" : std::to_string(living) + " " + what + "; ";
  };
  count(fabric.regions.size(), "memory regions");
  count(fabric.allocated_windows.size(), "windows");
  count(fabric.pairs.size(), "queue pairs");
  count(fabric.queues.size(), "completion queues");
  for (const auto& device : fabric.devices) {
    count(static_cast<std::size_t>(device->users), device->listed.name);
  }
  fabric = {};
  return left;
}

}  // namespace framewire::sim

using namespace framewire::sim;  // the functions below are libibverbs', and all speak of these types

extern "C" {

int ibv_query_device(ibv_context* context, ibv_device_attr* attributes) {
  const DeviceTraits& traits = open_device(context).device->traits;
  *attributes = {};
  attributes->max_qp_wr = static_cast<int>(traits.max_work_requests);
  attributes->max_cqe = static_cast<int>(traits.max_work_requests * 2);
  attributes->max_mr_size = std::numeric_limits<std::uint64_t>::max();
  attributes->phys_port_cnt = 1;
  if (traits.windows != WindowKind::none) {
    attributes->device_cap_flags = IBV_DEVICE_MEM_WINDOW_TYPE_2B;
  }
  return 0;
}

int ibv_get_async_event(ibv_context* context, ibv_async_event* event) {
  World* const world = World::current();
  world->point();
  OpenDevice& open = open_device(context);
  if (open.async->waiting.empty()) {
    if (!open.async->is_non_blocking) {
      world->fail("a blocking read of a device's events");
    }
    return failed(EAGAIN);
  }
  *event = open.async->waiting.front();
  open.async->waiting.pop_front();
  if (event->event_type == IBV_EVENT_QP_ACCESS_ERR) {
    ++open.unacknowledged[event->element.qp];
  }
  return 0;
}

void ibv_ack_async_event(ibv_async_event* event) {
  if (event->event_type == IBV_EVENT_QP_ACCESS_ERR) {
    --open_device(event->element.qp->context).unacknowledged[event->element.qp];
  }
}

}  // extern "C"
