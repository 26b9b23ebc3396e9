#include "tests/sim/cm_model.hpp"

#include <algorithm>
#include <cstring>

namespace framewire::sim {

namespace {

constexpr std::int64_t ns_per_ms = 1'000'000;
constexpr std::int64_t resend_ns = 4300 * ns_per_ms;  // CMA_CM_RESPONSE_TIMEOUT
constexpr int no_such_service = 8;                    // InfiniBand specification, 12.6.7.2
constexpr int rejected_by_program = 28;
constexpr std::size_t request_bytes = 56;
constexpr std::size_t answer_bytes = 196;
constexpr std::size_t rejection_bytes = 148;

using State = ConnectionId::State;

/// The way of one message of the connection manager; a lost one is sent again.
std::int64_t message_ns(World& world, const ConnectionId& id) {
  return id.wire->latency_ns + soon(world, 100'000) + (world.fails("a message of rdma_cm") ? resend_ns : 0);
}

/// rdma_cm pads private data with zeros; iWARP does not.
std::string padded(const ConnectionId& id, std::string bytes, std::size_t size) {
  if (id.device->traits.has_immediates) {
    bytes.resize(size);
  }
  return bytes;
}

ConnectionIdPointer listener_at(const sockaddr_in& address) {
  for (const auto& [handle, id] : ConnectionManager::get().ids) {
    const sockaddr_in& own = id->route.addr.src_sin;
    if (id->state == State::listening && own.sin_port == address.sin_port &&
        own.sin_addr.s_addr == address.sin_addr.s_addr) {
      return id;
    }
  }
  return nullptr;
}

void put(const ConnectionIdPointer& at, const ConnectionIdPointer& id, rdma_cm_event_type type, int status,
         std::string private_bytes) {
  auto event = std::make_shared<ConnectionEvent>();
  event->id = id.get();
  event->event = type;
  event->status = status;
  event->owner = at;
  event->private_bytes = std::move(private_bytes);
  event->param.conn.private_data = event->private_bytes.empty() ? nullptr : event->private_bytes.data();
  event->param.conn.private_data_len = static_cast<std::uint8_t>(event->private_bytes.size());
  if (at != id) {
    event->listen_id = at.get();
    event->requested = id;
  }
  at->events().file->waiting.push_back(std::move(event));
}

/// A connection request reaches the listening side.
void arrive(World& world, const ConnectionIdPointer& dialler) {
  if (dialler->is_destroyed || dialler->wire->is_cut) {
    return;
  }
  const ConnectionIdPointer listener = listener_at(dialler->route.addr.dst_sin);
  if (listener == nullptr) {
    return deliver(world, dialler, RDMA_CM_EVENT_REJECTED, message_ns(world, *dialler), no_such_service);
  }
  auto id = std::make_shared<ConnectionId>();
  id->channel = listener->channel;
  ++id->events().ids;
  give_device(world, *id, *listener->device);
  id->route.addr.src_sin = listener->route.addr.src_sin;
  id->route.addr.dst_sin = dialler->route.addr.src_sin;
  id->state = State::requested;
  id->wire = dialler->wire;
  id->peer = dialler;
  dialler->peer = id;
  ConnectionManager::get().ids[id.get()] = id;
  put(listener, id, RDMA_CM_EVENT_CONNECT_REQUEST, 0, padded(*id, dialler->hello, request_bytes));
}

void set_up_pair(World& world, ConnectionId& id, const ConnectionId& other) {
  QueuePair& pair = *id.pair;
  pair.peer = other.pair;
  pair.wire = id.wire;
  pair.retries = id.retries;
  pair.rnr_retries = other.rnr_retries;  // the other side says how often this one tries
  pair.ack_timeout_ns = std::int64_t{4096} << id.ack_timeout;
  if (pair.state == IBV_QPS_INIT) {
    pair.state = IBV_QPS_RTS;
    advance(world, id.pair);
  }
}

/// The answer reaches the side that dialled; the confirmation goes back.
void establish(World& world, const ConnectionIdPointer& dialler, const ConnectionIdPointer& listener,
               const std::string& private_bytes) {
  if (listener->wire->is_cut || listener->state != State::accepted) {
    return;
  }
  if (dialler == nullptr || dialler->is_destroyed || dialler->state != State::connecting) {
    return deliver(world, listener, RDMA_CM_EVENT_REJECTED, message_ns(world, *listener), rejected_by_program);
  }
  dialler->state = State::connected;
  set_up_pair(world, *dialler, *listener);
  deliver(world, dialler, RDMA_CM_EVENT_ESTABLISHED, 1, 0, padded(*dialler, private_bytes, answer_bytes));
  world.call_at(world.now_ns() + message_ns(world, *listener), [&world, listener] {
    if (!listener->wire->is_cut && listener->state == State::accepted) {
      listener->state = State::connected;
      deliver(world, listener, RDMA_CM_EVENT_ESTABLISHED, 1);
    }
  });
}

}  // namespace

ConnectionManager& ConnectionManager::get() {
  static ConnectionManager manager;
  return manager;
}

void give_device(World& world, ConnectionId& id, Device& device) {
  if (id.device == nullptr) {
    id.device = &device;
    id.verbs = acquire(world, device);
    id.port_num = 1;
  }
}

void deliver(World& world, const ConnectionIdPointer& id, rdma_cm_event_type type, std::int64_t after_ns, int status,
             std::string private_bytes) {
  world.call_at(world.now_ns() + after_ns, [id, type, status, private_bytes = std::move(private_bytes)] {
    if (!id->is_destroyed) {
      put(id, id, type, status, private_bytes);
    }
  });
}

void send_request(World& world, const ConnectionIdPointer& id) {
  id->state = State::connecting;
  id->wire = std::make_shared<NativeWire>();
  id->wire->latency_ns = static_cast<std::int64_t>(world.below(200'000));
  Network::get().add(id->wire);
  world.call_at(world.now_ns() + message_ns(world, *id), [&world, id] { arrive(world, id); });
}

void answer(World& world, const ConnectionIdPointer& id, const std::string& private_bytes) {
  const ConnectionIdPointer dialler = id->peer.lock();
  id->state = State::accepted;
  if (dialler != nullptr && !dialler->is_destroyed && dialler->pair != nullptr) {
    set_up_pair(world, *id, *dialler);
  }
  world.call_at(world.now_ns() + message_ns(world, *id),
                [&world, dialler, id, private_bytes] { establish(world, dialler, id, private_bytes); });
}

void reject(World& world, const ConnectionIdPointer& id, int reason, const std::string& private_bytes) {
  id->state = State::disconnected;
  world.call_at(world.now_ns() + message_ns(world, *id), [&world, id, reason, private_bytes] {
    const ConnectionIdPointer other = id->peer.lock();
    const bool awaits = other != nullptr && !other->is_destroyed &&
                        (other->state == State::connecting || other->state == State::accepted);
    if (awaits && !id->wire->is_cut) {
      deliver(world, other, RDMA_CM_EVENT_REJECTED, 1, reason, padded(*other, private_bytes, rejection_bytes));
    }
  });
}

void disconnect(World& world, const ConnectionIdPointer& id) {
  id->state = State::disconnected;
  world.call_at(world.now_ns() + message_ns(world, *id), [&world, id] {
    if (id->wire->is_cut) {
      return deliver(world, id, RDMA_CM_EVENT_DISCONNECTED, resend_ns, -ETIMEDOUT);
    }
    deliver(world, id, RDMA_CM_EVENT_DISCONNECTED, message_ns(world, *id));
    const ConnectionIdPointer other = id->peer.lock();
    if (other != nullptr && (other->state == State::connected || other->state == State::accepted)) {
      other->state = State::disconnected;
      deliver(world, other, RDMA_CM_EVENT_DISCONNECTED, 1);
    }
  });
}

void destroy(World& world, const ConnectionIdPointer& id) {
  if (id->state == State::requested || id->state == State::connecting || id->state == State::accepted) {
    reject(world, id, rejected_by_program, {});
  } else if (id->state == State::connected) {
    disconnect(world, id);
  }
  id->is_destroyed = true;
  // Requests that nobody has taken from the channel are rejected.
  auto& waiting = id->events().file->waiting;
  std::vector<ConnectionIdPointer> untaken;
  for (const auto& event : waiting) {
    if (event->owner == id && event->requested != nullptr) {
      untaken.push_back(event->requested);
    }
  }
  std::erase_if(waiting, [&](const auto& event) { return event->owner == id; });
  for (const ConnectionIdPointer& request : untaken) {
    destroy(world, request);
  }
  --id->events().ids;
  if (id->device != nullptr) {
    release(world, *id->device);
  }
  ConnectionManager::get().ids.erase(id.get());
}

std::string clear_connections() {
  ConnectionManager& manager = ConnectionManager::get();
  std::string left = manager.ids.empty() ? "" : std::to_string(manager.ids.size()) + " ids of rdma_cm; ";
  left += manager.taken.empty() ? "" : std::to_string(manager.taken.size()) + " events of rdma_cm; ";
  manager = {};
  return left;
}

}  // namespace framewire::sim
