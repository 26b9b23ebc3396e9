// One end of a raw measurement.
#pragma once

#include <cstdint>
#include <memory>

#include "bench/verbs/verbs_memory.hpp"
#include "bench/verbs/verbs_plan.hpp"
#include "bench/verbs/verbs_receives.hpp"
#include "bench/verbs/verbs_sends.hpp"
#include "bench/verbs/verbs_wait.hpp"
#include "transport/rdma/connection.hpp"

namespace framewire {

/// What a connection for it is made with.
RdmaOptions verbs_options(std::int64_t peer_timeout_ns, int cancel_fd);

/// Used by one thread, its functions in the order in which they stand here. All throw Error: lost_peer (the connection
/// or its far end is gone), failed (the device cannot, or what came is not what was sent).
class VerbsBench {
 public:
  /// Takes a connection made with verbs_options(); allocates and registers the memory.
  VerbsBench(std::unique_ptr<RdmaConnection> connection, const VerbsPlan& plan, VerbsEnd end);
  ~VerbsBench();
  VerbsBench(const VerbsBench&) = delete;
  VerbsBench& operator=(const VerbsBench&) = delete;

  /// What the other end has to know.
  [[nodiscard]] VerbsRemoteMemory remote_memory() const noexcept;
  /// What the other end has said. Posts the receives. The client tells first, and the server begins before it tells:
  /// so nothing comes before there is a place for it, and both cut messages into the same chunks.
  void begin(const VerbsRemoteMemory& peer);

  /// The client: measures, and checks what it has read.
  VerbsResult drive(const VerbsControl& control);
  /// The server: takes what comes until the client has said how much that was, and checks it. Where it is passive it
  /// only waits for that word.
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
  const VerbsEnd end_;
  std::unique_ptr<RdmaConnection> connection_;
  VerbsMemory memory_;
  VerbsReceives receives_;
  VerbsSends sends_;
  std::uint64_t chunk_bytes_;
};

}  // namespace framewire
