// The work requests of a verbs measurement.
#pragma once

#include <cstdint>
#include <string>

#include "bench/verbs/verbs_memory.hpp"
#include "bench/verbs/verbs_plan.hpp"
#include "transport/rdma/work_requests.hpp"

namespace framewire {

/// Sends messages in the order of their numbers, with one work request for each chunk. One thread.
class VerbsSends {
 public:
  /// The connection, the memory and the plan outlive this.
  VerbsSends(const ConnectedQueuePair& connection, const VerbsMemory& memory, const VerbsPlan& plan);

  /// Sets the other side's memory and the chunk size.
  void begin(const VerbsRemoteMemory& peer) noexcept { peer_ = peer; }

  /// Posts all messages below `end` as far as there is room; false when it posted nothing. `is_end`: no message
  /// follows, so the last one is signalled. Throws Error.
  bool post(std::uint64_t end, bool is_end);
  /// Polls the completions; false when there was none. Throws Error.
  bool poll();
  /// Throws Error (lost_peer) when the device has completed nothing for too long. Call it in every round.
  void require_progress(std::int64_t now_ns);

  /// Messages whose last work request is posted, or known to be complete.
  [[nodiscard]] std::uint64_t posted() const noexcept { return sends_.posted() / chunks_per_message(); }
  [[nodiscard]] std::uint64_t completed() const noexcept { return sends_.completed() / chunks_per_message(); }

 private:
  struct Batch;

  [[nodiscard]] std::uint64_t chunks_per_message() const noexcept {
    return (plan_.message_bytes + peer_.chunk_bytes - 1) / peer_.chunk_bytes;
  }
  [[noreturn]] void lose(const std::string& why) const;
  void add_chunk(Batch& batch, std::uint64_t chunk) const noexcept;

  const ConnectedQueuePair& connection_;
  const VerbsMemory& memory_;
  const VerbsPlan& plan_;
  const bool notifies_by_send_;
  const std::uint64_t signal_every_;  // messages
  SendQueue sends_;
  VerbsRemoteMemory peer_{.chunk_bytes = 1};
};

}  // namespace framewire
