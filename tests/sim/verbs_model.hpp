// A model of RDMA devices for a simulated world: their objects, what the connection manager does not need to know of
// how data moves, and who may access which memory. verbs_*.cpp define the functions of libibverbs over it, cm_*.cpp
// those of librdmacm, before the libraries' own: transport/rdma runs as it is.
//
// A device has no thread. It works by World::call_at(): data moves in pieces at random later times, and completes in
// order. A use that the specification forbids ends the seed by World::fail(), also where a real device only may notice.
#pragma once

#include <infiniband/verbs.h>
#include <netinet/in.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/sim/sockets.hpp"
#include "tests/sim/world.hpp"

namespace framewire::sim {

/// A descriptor that is readable while events wait.
template <typename Event>
class EventFile final : public File {
 public:
  [[nodiscard]] short events(const World&) const override { return static_cast<short>(waiting.empty() ? 0 : POLLIN); }
  std::deque<Event> waiting;
};

// ---- Devices ----

enum class WindowKind { good, none, refused_at_allocation, refused_at_bind, fails_late };

/// What one device can do; a seed decides.
struct DeviceTraits {
  bool has_immediates = true;  // false: iWARP
  WindowKind windows = WindowKind::good;
  std::uint32_t max_work_requests = 512;
  std::uint32_t max_inline_bytes = 400;
  std::uint32_t max_message_bytes = 1U << 23;
  bool knows_ack_timeout = true;  // a kernel before 5.8 does not
};

struct Device;

/// An opened device. ibv_context is its last member.
struct OpenDevice : verbs_context {
  Device* device = nullptr;
  std::shared_ptr<EventFile<ibv_async_event>> async;
  std::map<const void*, int> unacknowledged;  // asynchronous events of an object
  int protection_domains = 0;
  int queues = 0;
  int channels = 0;
};

struct Device {
  DeviceTraits traits;
  sockaddr_in address{};
  ibv_device listed{};
  std::unique_ptr<OpenDevice> open;  // while an id of the connection manager needs it
  int users = 0;
  bool is_port_down = false;
};

inline OpenDevice& open_device(ibv_context* context) {
  return static_cast<OpenDevice&>(*verbs_get_ctx(context));
}
/// Opens the device for one more user. The last to release it closes it: nothing of it may be left then.
ibv_context* acquire(World& world, Device& device);
void release(World& world, Device& device);

// ---- Objects ----

struct ProtectionDomain : ibv_pd {
  int users = 0;  // regions, windows and queue pairs
};

struct Region : ibv_mr {
  unsigned access = 0;
  int windows = 0;
};

struct QueuePair;

struct Window : ibv_mw {
  Region* region = nullptr;  // null: not bound
  const QueuePair* pair = nullptr;
  std::uint64_t address = 0;
  std::uint64_t length = 0;
  unsigned access = 0;
};

struct CompletionQueue;

struct CompletionChannel : ibv_comp_channel {
  std::shared_ptr<EventFile<CompletionQueue*>> file;
  int queues = 0;
};

struct Completion {
  ibv_wc wc;
  QueuePair* pair;
  unsigned freed_sends;  // requests of the send queue whose places polling this frees
  bool is_receive;
};

struct CompletionQueue : ibv_cq {
  std::deque<Completion> completions;
  bool is_armed = false;
  int users = 0;
  unsigned unacknowledged = 0;
};

/// A posted send, read, write or bind.
struct Request {
  enum class State { queued, moving, done, acknowledged };
  ibv_send_wr wr{};
  std::vector<ibv_sge> parts;
  std::uint32_t bound_key = 0;  // of the region that a window is bound to
  std::string inline_bytes;
  bool is_inline = false;
  std::uint64_t size_bytes = 0;
  std::uint64_t moved_bytes = 0;
  State state = State::queued;
  int rnr_tries = 0;
  std::int64_t silent_since_ns = 0;  // the peer's device does not answer

  [[nodiscard]] bool is_read() const { return wr.opcode == IBV_WR_RDMA_READ; }
  [[nodiscard]] bool needs_receive() const;
};

struct Receive {
  std::uint64_t id;
  std::vector<ibv_sge> parts;
};

struct QueuePair : ibv_qp {
  ibv_qp_cap limits{};
  bool signals_all = false;
  std::weak_ptr<QueuePair> peer;
  std::shared_ptr<NativeWire> wire;  // null: connected to itself
  std::deque<std::shared_ptr<Request>> sends;
  std::deque<Receive> receives;
  unsigned send_places = 0;     // taken in the send queue
  unsigned receive_places = 0;  // taken in the receive queue
  unsigned unsignalled = 0;     // completed without an entry since the last one
  int windows = 0;
  bool is_destroyed = false;
  bool will_flush = false;
  std::uint8_t min_rnr_timer = 0;
  int rnr_retries = 7;
  int retries = 6;
  std::int64_t ack_timeout_ns = 0;

  [[nodiscard]] bool is_broken() const { return state == IBV_QPS_ERR || is_destroyed; }
  [[nodiscard]] CompletionQueue& sends_to() const { return static_cast<CompletionQueue&>(*send_cq); }
  [[nodiscard]] CompletionQueue& receives_to() const { return static_cast<CompletionQueue&>(*recv_cq); }
};

using QueuePairPointer = std::shared_ptr<QueuePair>;

/// All devices and objects of one world.
struct Fabric {
  static Fabric& get();

  std::vector<std::unique_ptr<Device>> devices;
  std::map<std::uint32_t, Region*> regions;  // by lkey, which is also the rkey
  std::set<const ibv_mw*> allocated_windows;
  std::map<std::uint32_t, Window*> windows;  // bound ones, by rkey
  std::map<const ibv_qp*, QueuePairPointer> pairs;
  std::map<const ibv_cq*, std::shared_ptr<CompletionQueue>> queues;
  std::uint32_t next_pair_number = 1;
  std::uint64_t receivers_not_ready = 0;

  /// A key that no living region or window has.
  std::uint32_t new_key(World& world) const;
  [[nodiscard]] Device* device_at(const sockaddr_in& address) const;
};

/// For a new world: `count` devices, with abilities by the world's seed.
void make_devices(World& world, std::size_t count);
/// How often a message came for which no receive was posted.
std::uint64_t receivers_not_ready();
/// What the program has not destroyed, as text; empty if there is nothing. Forgets all of it.
std::string clear_devices();

// ---- Transfers (verbs_transfers.cpp) ----

/// A time from now that ends within `limit_ns`.
std::int64_t soon(World& world, std::int64_t limit_ns);
/// Begins what the send queue's order allows now.
void advance(World& world, const QueuePairPointer& pair);
/// The error state: what is posted is flushed, and nothing more is moved.
void break_pair(World& world, const QueuePairPointer& pair);
void push(World& world, CompletionQueue& queue, const Completion& completion);
void report(World& world, ibv_context* context, const ibv_async_event& event);

// ---- Access (verbs_access.cpp) ----

/// Local memory that a request of `pair` names: the seed fails if the key is not valid.
std::byte* local_memory(World& world, const QueuePair& pair, const ibv_sge& part, unsigned access);
/// Memory of `pair`'s side that its peer names; null when it may not.
std::byte* remote_memory(const QueuePair& pair, std::uint32_t key, std::uint64_t address, std::uint64_t bytes,
                         unsigned access);

}  // namespace framewire::sim
