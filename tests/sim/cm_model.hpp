// A model of the RDMA connection manager for a simulated world: ids, their states, and the events that they exchange.
#pragma once

#include <rdma/rdma_cma.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "tests/sim/verbs_model.hpp"

namespace framewire::sim {

struct ConnectionId;
using ConnectionIdPointer = std::shared_ptr<ConnectionId>;

struct ConnectionEvent : rdma_cm_event {
  std::string private_bytes;
  ConnectionIdPointer owner;      // of the event: its listener for a connection request
  ConnectionIdPointer requested;  // the new id of a connection request
};

struct EventChannel : rdma_event_channel {
  std::shared_ptr<EventFile<std::shared_ptr<ConnectionEvent>>> file;
  int ids = 0;
};

struct ConnectionId : rdma_cm_id {
  enum class State { idle, bound, listening, resolved, connecting, requested, accepted, connected, disconnected };
  [[nodiscard]] EventChannel& events() const { return static_cast<EventChannel&>(*channel); }

  State state = State::idle;
  bool is_destroyed = false;
  Device* device = nullptr;
  std::weak_ptr<ConnectionId> peer;
  std::shared_ptr<NativeWire> wire;
  QueuePairPointer pair;
  std::string hello;  // the private data of connecting
  int unacknowledged = 0;
  int retries = 6;
  int rnr_retries = 7;
  int ack_timeout = 19;  // the exponent; what rdma_cm takes for Ethernet
};

struct ConnectionManager {
  static ConnectionManager& get();
  std::map<const rdma_cm_id*, ConnectionIdPointer> ids;
  std::map<const rdma_cm_event*, std::shared_ptr<ConnectionEvent>> taken;  // and not acknowledged
  std::uint16_t next_port = 50000;
};

/// What the program has not destroyed, as text; empty if there is nothing. Forgets all of it.
std::string clear_connections();

// ---- cm_model.cpp ----

void give_device(World& world, ConnectionId& id, Device& device);
/// An event that arrives after `after_ns`, unless the id is destroyed before.
void deliver(World& world, const ConnectionIdPointer& id, rdma_cm_event_type type, std::int64_t after_ns,
             int status = 0, std::string private_bytes = {});
/// What follows from rdma_connect(), rdma_accept(), rdma_reject(), rdma_disconnect() and rdma_destroy_id().
void send_request(World& world, const ConnectionIdPointer& id);
void answer(World& world, const ConnectionIdPointer& id, const std::string& private_bytes);
void reject(World& world, const ConnectionIdPointer& id, int reason, const std::string& private_bytes);
void disconnect(World& world, const ConnectionIdPointer& id);
void destroy(World& world, const ConnectionIdPointer& id);

}  // namespace framewire::sim
