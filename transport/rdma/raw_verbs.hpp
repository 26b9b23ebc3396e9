// One end of a raw measurement.
#pragma once

#include <cstdint>
#include <memory>

#include "transport/rdma/connection.hpp"
#include "transport/rdma/raw_memory.hpp"
#include "transport/rdma/raw_plan.hpp"
#include "transport/rdma/raw_receives.hpp"
#include "transport/rdma/raw_sends.hpp"
#include "transport/rdma/raw_wait.hpp"

namespace framewire {

/// What a connection for it is made with.
RdmaOptions raw_options(std::int64_t peer_timeout_ns, int lifeline);

/// Used by one thread, its functions in the order in which they stand here. All throw Error: lost_peer (the connection
/// or its far end is gone), failed (the device cannot, or what came is not what was sent).
class RawVerbs {
 public:
  /// Takes a connection made with raw_options(); allocates and registers the memory.
  RawVerbs(std::unique_ptr<RdmaConnection> connection, const RawPlan& plan, RawEnd end);
  ~RawVerbs();
  RawVerbs(const RawVerbs&) = delete;
  RawVerbs& operator=(const RawVerbs&) = delete;

  /// What the other end has to know.
  [[nodiscard]] RawTerms terms() const noexcept;
  /// What the other end has said. Posts the receives. The client tells first, and the server begins before it tells:
  /// so nothing comes before there is a place for it, and both cut messages into the same chunks.
  void begin(const RawTerms& peer);

  /// The client: measures, and checks what it has read.
  RawResult drive(const RawNews& news);
  /// The server: takes what comes until the client has said how much that was, and checks it. Where it is passive it
  /// only waits for that word.
  RawResult answer(const RawNews& news);

 private:
  [[nodiscard]] bool is_last(std::uint64_t number, std::int64_t begin_ns, std::int64_t now_ns) const noexcept;
  void prepare(std::uint64_t number, bool is_last) const noexcept;
  void check(std::uint64_t number, bool is_whole) const;
  void check_last(std::uint64_t count) const;

  std::uint64_t stream(RawWait& wait);
  std::uint64_t ping(RawWait& wait, Histogram& latency);
  void post_ping(std::uint64_t number, bool is_last, RawWait& wait);
  void await_pong(std::uint64_t number, std::int64_t sent_ns, RawWait& wait);
  void take_messages(RawWait& wait, RawResult& result);
  [[nodiscard]] std::uint64_t first_unchecked(std::uint64_t counted) const noexcept;
  void take(std::uint64_t number, RawWait& wait);

  const RawPlan plan_;
  const RawEnd end_;
  std::unique_ptr<RdmaConnection> connection_;
  RawMemory memory_;
  RawReceives receives_;
  RawSends sends_;
  std::uint64_t chunk_bytes_;
};

}  // namespace framewire
