// The two sides of a row of plain blocking sockets: one sendmsg() for each message, and one recvmsg() with MSG_WAITALL.
// A socket cannot do better with one call for each message.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "bench/row.hpp"
#include "memory/host_block.hpp"

namespace framewire {

/// Throws when the row is over. The receiver calls it every half second; the sender also calls it before each message.
using PollControl = std::function<void()>;

/// Makes a connected socket blocking, with timeouts that let both sides call PollControl.
void set_up_plain_socket(int socket);

/// The receiver's result. Times are by its own clock.
struct SocketReport {
  std::uint64_t count = 0;
  bool is_whole = false;      // the sender has said that all messages are sent
  std::int64_t ready_ns = 0;  // when it answered the warm-up; the sender starts then
  std::int64_t last_ns = 0;   // when the last message had arrived
  std::int64_t cpu_ns = 0;
  LatencyUs latency_us{};  // by the sender's clock: only if both sides are on one machine
};

/// The receiving side. It allocates its memory before anybody connects. One thread.
class SocketReceiver {
 public:
  /// The plan outlives this. Throws Error when there is no memory.
  explicit SocketReceiver(const RowPlan& plan);

  /// Receives until the sender says that it has finished, closes, or takes too long with a message. Throws Error for an
  /// invalid message, and what `poll_control` throws.
  SocketReport receive(int socket, const PollControl& poll_control);

 private:
  const RowPlan& plan_;
  std::shared_ptr<HostBlock> block_;
};

/// The sender's result.
struct SocketSent {
  std::uint64_t count = 0;
  std::int64_t begin_ns = 0;  // before the first message
  std::int64_t cpu_ns = 0;
  LatencyUs latency_us{};  // "latency": half of every round trip
};

/// The client's result, once the server has reported: its time ends now.
SideResult client_result(const SocketSent& sent);

/// The sending side. It allocates its memory before its first message. One thread.
class SocketSender {
 public:
  /// The socket and the plan outlive this.
  SocketSender(int socket, const RowPlan& plan, PollControl poll_control);

  /// Warms up, and sends until the plan is complete. Throws Error (lost_peer), and what `poll_control` throws.
  SocketSent send_all_messages();

 private:
  void send(std::uint64_t kind, std::uint64_t number) const;

  int socket_;
  const RowPlan& plan_;
  const PollControl poll_control_;
  std::shared_ptr<HostBlock> block_;
};

}  // namespace framewire
