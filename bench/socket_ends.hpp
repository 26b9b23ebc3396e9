// The two ends of a row of plain blocking sockets: a sendmsg() for each message at one end, a recvmsg() with
// MSG_WAITALL at the other, and nothing else. No more can be had of a socket by one call a message.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "bench/row.hpp"
#include "memory/host_block.hpp"

namespace framewire {

/// What the receiving end asks every half second, and the sending one before each message, too: throws where the row is
/// over.
using PollControl = std::function<void()>;

/// Makes a connected socket one that blocks, and lets its ends look around now and then.
void set_up_plain_socket(int socket);

/// What the receiving end has seen. Times by its own clock.
struct SocketReport {
  std::uint64_t count = 0;
  bool is_whole = false;      // the sender has said that this was all
  std::int64_t ready_ns = 0;  // when it answered the warm-up, on which the sender begins
  std::int64_t last_ns = 0;   // when the last message was there
  std::int64_t cpu_ns = 0;
  LatencyUs latency_us{};  // by the sender's clock: only of two ends on one machine
};

/// The receiving end, whose memory stands before anybody connects. One thread.
class SocketReceiver {
 public:
  /// The plan outlives it. Throws Error where there is no memory.
  explicit SocketReceiver(const RowPlan& plan);

  /// Receives until the sender says that it was the last, leaves, or takes too long with a message. Throws Error where
  /// it says what it should not, and what look() throws.
  SocketReport receive(int socket, const PollControl& poll_control);

 private:
  const RowPlan& plan_;
  std::shared_ptr<HostBlock> block_;
};

/// What the sending end has seen.
struct SocketSent {
  std::uint64_t count = 0;
  std::int64_t begin_ns = 0;  // before the first message
  std::int64_t cpu_ns = 0;
  LatencyUs latency_us{};  // "latency": half of every round trip
};

/// The sending end, whose memory stands before its first message. One thread.
class SocketSender {
 public:
  /// The socket and the plan outlive it.
  SocketSender(int socket, const RowPlan& plan, PollControl poll_control);

  /// Warms up, and sends until the plan is fulfilled. Throws Error (lost_peer), and what look() throws.
  SocketSent send_all_messages();

 private:
  void send(std::uint64_t kind, std::uint64_t number) const;

  int socket_;
  const RowPlan& plan_;
  const PollControl poll_control_;
  std::shared_ptr<HostBlock> block_;
};

}  // namespace framewire
