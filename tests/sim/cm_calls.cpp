// The functions of librdmacm in a simulated world, and the C library's list of interfaces.
#include <arpa/inet.h>
#include <ifaddrs.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <deque>
#include <new>

#include "tests/sim/cm_model.hpp"
#include "tests/sim/descriptors.hpp"

using namespace framewire::sim;  // the functions below are librdmacm's, and all speak of these types

namespace {

using State = ConnectionId::State;

ConnectionIdPointer id_of(World& world, const rdma_cm_id* handle) {
  const auto found = ConnectionManager::get().ids.find(handle);
  if (found == ConnectionManager::get().ids.end()) {
    world.fail("an id of rdma_cm is used that is destroyed");
  }
  return found->second;
}

/// The world, after its other threads may have run.
World& begin_call() {
  World& world = *World::current();
  world.point();
  return world;
}

std::string private_data_of(const World& world, const rdma_conn_param& parameters, std::size_t limit) {
  if (parameters.private_data_len > limit) {
    world.fail("private data is longer than rdma_cm takes");
  }
  return {static_cast<const char*>(parameters.private_data), parameters.private_data_len};
}

void await_acknowledgements(World& world, const ConnectionId& id) {
  world.block("the acknowledgement of an id's events", [&id] { return id.unacknowledged == 0; });
}

/// An address of the machine's list of interfaces.
struct Interface {
  ifaddrs entry{};
  sockaddr_in address{};
};

}  // namespace

extern "C" {

int getifaddrs(ifaddrs** list) noexcept {
  auto* const all = new (std::nothrow) std::deque<Interface>;
  if (all == nullptr) {
    errno = ENOMEM;
    return -1;
  }
  const auto add = [&](const sockaddr_in& address) {
    Interface& one = all->emplace_back();
    one.address = address;
    one.entry.ifa_addr = reinterpret_cast<sockaddr*>(&one.address);
    if (all->size() > 1) {
      (*all)[all->size() - 2].entry.ifa_next = &one.entry;
    }
  };
  sockaddr_in loopback{};
  loopback.sin_family = AF_INET;
  loopback.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  add(loopback);
  if (World::current() != nullptr) {
    for (const auto& device : Fabric::get().devices) {
      add(device->address);
    }
  }
  all->front().entry.ifa_data = all;  // what freeifaddrs() deletes
  *list = &all->front().entry;
  return 0;
}

void freeifaddrs(ifaddrs* list) noexcept {
  delete static_cast<std::deque<Interface>*>(list->ifa_data);
}

// ---- Channels, ids and events ----

rdma_event_channel* rdma_create_event_channel() {
  World* const world = World::current();
  if (world == nullptr || Fabric::get().devices.empty()) {
    errno = ENODEV;
    return nullptr;
  }
  world->point();
  if (world->fails("rdma_create_event_channel")) {
    errno = EMFILE;
    return nullptr;
  }
  auto* const channel = new EventChannel{};
  channel->file = std::make_shared<EventFile<std::shared_ptr<ConnectionEvent>>>();
  channel->fd = descriptors().add(channel->file);
  return channel;
}

void rdma_destroy_event_channel(rdma_event_channel* handle) {
  World& world = begin_call();
  auto* const channel = static_cast<EventChannel*>(handle);
  if (channel->ids > 0) {
    world.fail("an event channel is destroyed before its ids");
  }
  descriptors().close(world, channel->fd);
  delete channel;
}

int rdma_create_id(rdma_event_channel* channel, rdma_cm_id** handle, void* context, rdma_port_space space) {
  World& world = begin_call();
  if (world.fails("rdma_create_id")) {
    return failed(ENOMEM);
  }
  auto id = std::make_shared<ConnectionId>();
  id->channel = channel;
  id->context = context;
  id->ps = space;
  ++id->events().ids;
  *handle = id.get();
  ConnectionManager::get().ids[id.get()] = id;
  return 0;
}

int rdma_destroy_id(rdma_cm_id* handle) {
  World& world = begin_call();
  const ConnectionIdPointer id = id_of(world, handle);
  if (id->qp != nullptr) {
    world.fail("an id of rdma_cm is destroyed before its queue pair");
  }
  await_acknowledgements(world, *id);
  destroy(world, id);
  return 0;
}

int rdma_migrate_id(rdma_cm_id* handle, rdma_event_channel* channel) {
  World& world = begin_call();
  const ConnectionIdPointer id = id_of(world, handle);
  if (world.fails("rdma_migrate_id")) {
    return failed(ENOMEM);
  }
  await_acknowledgements(world, *id);
  auto& from = id->events().file->waiting;
  auto& to = static_cast<EventChannel*>(channel)->file->waiting;
  std::ranges::copy_if(from, std::back_inserter(to), [&](const auto& event) { return event->owner == id; });
  std::erase_if(from, [&](const auto& event) { return event->owner == id; });
  --id->events().ids;
  id->channel = channel;
  ++id->events().ids;
  return 0;
}

int rdma_get_cm_event(rdma_event_channel* handle, rdma_cm_event** event) {
  World& world = begin_call();
  auto& file = *static_cast<EventChannel*>(handle)->file;
  if (file.waiting.empty()) {
    if (!file.is_non_blocking) {
      world.fail("a blocking read of rdma_cm's events");
    }
    return failed(EAGAIN);
  }
  const auto taken = file.waiting.front();
  file.waiting.pop_front();
  ++taken->owner->unacknowledged;
  ConnectionManager::get().taken[taken.get()] = taken;
  world.trace("rdma_cm event %d, status %d", static_cast<int>(taken->event), taken->status);
  *event = taken.get();
  return 0;
}

int rdma_ack_cm_event(rdma_cm_event* handle) {
  World& world = begin_call();
  const auto found = ConnectionManager::get().taken.find(handle);
  if (found == ConnectionManager::get().taken.end()) {
    world.fail("an event of rdma_cm is acknowledged twice");
  }
  --found->second->owner->unacknowledged;
  ConnectionManager::get().taken.erase(found);
  return 0;
}

// ---- Addresses ----

int rdma_bind_addr(rdma_cm_id* handle, sockaddr* address) {
  World& world = begin_call();
  const ConnectionIdPointer id = id_of(world, handle);
  if (address->sa_family != AF_INET) {
    return failed(EADDRNOTAVAIL);
  }
  sockaddr_in wanted{};
  std::memcpy(&wanted, address, sizeof wanted);
  Device* const device = Fabric::get().device_at(wanted);
  if (world.fails("rdma_bind_addr")) {
    return failed(EADDRINUSE);
  }
  if (wanted.sin_port == 0) {
    wanted.sin_port = htons(ConnectionManager::get().next_port++);
  }
  for (const auto& [other, one] : ConnectionManager::get().ids) {
    const sockaddr_in& taken = one->route.addr.src_sin;
    if (one->state == State::listening && taken.sin_port == wanted.sin_port &&
        taken.sin_addr.s_addr == wanted.sin_addr.s_addr) {
      return failed(EADDRINUSE);
    }
  }
  id->route.addr.src_sin = wanted;
  id->state = State::bound;
  if (device != nullptr) {
    give_device(world, *id, *device);
  }
  return 0;
}

int rdma_listen(rdma_cm_id* handle, int) {
  World& world = begin_call();
  const ConnectionIdPointer id = id_of(world, handle);
  if (id->device == nullptr) {
    return failed(ENODEV);
  }
  id->state = State::listening;
  return 0;
}

__be16 rdma_get_src_port(rdma_cm_id* handle) {
  return handle->route.addr.src_sin.sin_port;
}

int rdma_resolve_addr(rdma_cm_id* handle, sockaddr*, sockaddr* to, int) {
  World& world = begin_call();
  const ConnectionIdPointer id = id_of(world, handle);
  std::memcpy(&id->route.addr.dst_sin, to, sizeof(sockaddr_in));
  Device* const device = to->sa_family == AF_INET ? Fabric::get().device_at(id->route.addr.dst_sin) : nullptr;
  if (device == nullptr || world.fails("rdma_resolve_addr")) {
    return failed(ENODEV);
  }
  if (world.fails("resolving an address")) {
    deliver(world, id, RDMA_CM_EVENT_ADDR_ERROR, soon(world, 100'000), -ENETUNREACH);
    return 0;
  }
  give_device(world, *id, *device);
  id->route.addr.src_sin = device->address;
  deliver(world, id, RDMA_CM_EVENT_ADDR_RESOLVED, soon(world, 100'000));
  return 0;
}

int rdma_resolve_route(rdma_cm_id* handle, int) {
  World& world = begin_call();
  const ConnectionIdPointer id = id_of(world, handle);
  id->state = State::resolved;
  const bool fails = world.fails("resolving a route");
  deliver(world, id, fails ? RDMA_CM_EVENT_ROUTE_ERROR : RDMA_CM_EVENT_ROUTE_RESOLVED, soon(world, 100'000),
          fails ? -ETIMEDOUT : 0);
  return 0;
}

int rdma_set_option(rdma_cm_id* handle, int, int option, void* value, std::size_t) {
  World& world = begin_call();
  const ConnectionIdPointer id = id_of(world, handle);
  if (option == RDMA_OPTION_ID_ACK_TIMEOUT) {
    if (id->device == nullptr || !id->device->traits.knows_ack_timeout) {
      return failed(ENOSYS);
    }
    id->ack_timeout = *static_cast<const std::uint8_t*>(value);
  }
  return 0;
}

// ---- Connections ----

int rdma_create_qp(rdma_cm_id* handle, ibv_pd* domain, ibv_qp_init_attr* wanted) {
  World& world = begin_call();
  const ConnectionIdPointer id = id_of(world, handle);
  ibv_qp* const pair = ibv_create_qp(domain, wanted);
  if (pair == nullptr) {
    return -1;
  }
  id->pair = Fabric::get().pairs.at(pair);
  id->pair->state = IBV_QPS_INIT;
  id->qp = pair;
  return 0;
}

void rdma_destroy_qp(rdma_cm_id* handle) {
  const ConnectionIdPointer id = id_of(*World::current(), handle);
  ibv_destroy_qp(std::exchange(id->qp, nullptr));
  id->pair.reset();
}

int rdma_connect(rdma_cm_id* handle, rdma_conn_param* parameters) {
  World& world = begin_call();
  const ConnectionIdPointer id = id_of(world, handle);
  if (id->state != State::resolved || id->pair == nullptr || world.fails("rdma_connect")) {
    return failed(EINVAL);
  }
  id->hello = private_data_of(world, *parameters, 56);
  id->retries = parameters->retry_count;
  id->rnr_retries = parameters->rnr_retry_count;
  send_request(world, id);
  return 0;
}

int rdma_accept(rdma_cm_id* handle, rdma_conn_param* parameters) {
  World& world = begin_call();
  const ConnectionIdPointer id = id_of(world, handle);
  if (id->state != State::requested || id->pair == nullptr || world.fails("rdma_accept")) {
    return failed(EINVAL);
  }
  id->rnr_retries = parameters->rnr_retry_count;
  if (const ConnectionIdPointer dialler = id->peer.lock(); dialler != nullptr) {
    id->retries = dialler->retries;  // the accepting side's own is ignored
  }
  answer(world, id, private_data_of(world, *parameters, 196));
  return 0;
}

int rdma_reject(rdma_cm_id* handle, const void* private_data, std::uint8_t length) {
  World& world = begin_call();
  const ConnectionIdPointer id = id_of(world, handle);
  if (id->state != State::requested) {
    return failed(EINVAL);
  }
  constexpr int rejected_by_program = 28;
  reject(world, id, rejected_by_program, std::string(static_cast<const char*>(private_data), length));
  return 0;
}

int rdma_disconnect(rdma_cm_id* handle) {
  World& world = begin_call();
  const ConnectionIdPointer id = id_of(world, handle);
  if (id->pair != nullptr && !id->pair->is_broken()) {
    break_pair(world, id->pair);
  }
  if (id->state != State::connected && id->state != State::accepted) {
    return failed(EINVAL);
  }
  disconnect(world, id);
  return 0;
}

}  // extern "C"
