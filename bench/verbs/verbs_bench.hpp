// One side of a verbs measurement.
#pragma once

#include <cstdint>
#include <memory>

#include "bench/verbs/verbs_memory.hpp"
#include "bench/verbs/verbs_plan.hpp"
#include "bench/verbs/verbs_receives.hpp"
#include "bench/verbs/verbs_sends.hpp"
#include "bench/verbs/verbs_wait.hpp"
#include "transport/rdma/work_requests.hpp"

namespace framewire {

/// Used by one thread, which calls the functions in the order of their declaration. All throw Error: lost_peer (the
/// connection or the peer is gone), failed (the device lacks a feature, or the data received is not the data sent).
class VerbsBench {
 public:
  /// Takes a connection on which no receive is posted yet; allocates and registers the memory.
  VerbsBench(std::unique_ptr<ConnectedQueuePair> connection, const VerbsPlan& plan, VerbsSide side);
  ~VerbsBench();
  VerbsBench(const VerbsBench&) = delete;
  VerbsBench& operator=(const VerbsBench&) = delete;

  /// What the other side needs to know of this memory.
  [[nodiscard]] VerbsRemoteMemory remote_memory() const noexcept;
  /// Takes what the other side has sent, and posts the receives. The client sends its memory first, and the server
  /// calls begin() before it sends its own. So no message arrives before its receive is posted, and both sides use the
  /// same chunks.
  void begin(const VerbsRemoteMemory& peer);

  /// The client: measures, and checks the data that it has read.
  VerbsResult drive(const VerbsControl& control);
  /// The server: receives until the client has said how many messages it sent, and checks the data. For writes and
  /// reads it only waits for that message.
  VerbsResult answer(const VerbsControl& control);

 private:
  [[nodiscard]] bool is_last(std::uint64_t number, std::int64_t begin_ns, std::int64_t now_ns) const noexcept;
  void prepare(std::uint64_t number, bool is_last) const noexcept;
  void check(std::uint64_t number, bool is_whole) const;
  void check_last(std::uint64_t count) const;

  std::uint64_t stream(VerbsWait& wait);
  std::uint64_t ping(VerbsWait& wait, Histogram& latency);
  void post_ping(std::uint64_t number, bool is_last, VerbsWait& wait);
  void await_pong(std::uint64_t number, std::int64_t sent_ns, VerbsWait& wait);
  void take_messages(VerbsWait& wait, VerbsResult& result);
  [[nodiscard]] std::uint64_t first_unchecked(std::uint64_t counted) const noexcept;
  void take(std::uint64_t number, VerbsWait& wait);

  const VerbsPlan plan_;
  const VerbsSide side_;
  std::unique_ptr<ConnectedQueuePair> connection_;
  VerbsMemory memory_;
  VerbsReceives receives_;
  VerbsSends sends_;
  std::uint64_t chunk_bytes_;
};

}  // namespace framewire
