// The requests by which raw messages go.
#pragma once

#include <cstdint>
#include <string>

#include "bench/verbs/verbs_memory.hpp"
#include "bench/verbs/verbs_plan.hpp"
#include "transport/rdma/send_queue.hpp"

namespace framewire {

/// Messages go in the order of their numbers, each in as many requests as it has chunks. One thread.
class VerbsSends {
 public:
  /// Connection and memory outlive this.
  VerbsSends(const RdmaConnection& connection, const VerbsMemory& memory, const VerbsPlan& plan);

  /// Where to, and in which chunks.
  void begin(const VerbsRemoteMemory& peer) noexcept { peer_ = peer; }

  /// Posts all messages below `end` as far as there is room; false when it posted nothing. `is_end`: none will follow,
  /// so that the completion of the last one has to be told. Throws Error.
  bool post(std::uint64_t end, bool is_end);
  /// Takes in what has completed; false when that was nothing. Throws Error.
  bool poll();
  /// Throws Error (lost peer) when the device has finished nothing for too long. To be asked in every round.
  void require_progress(std::int64_t now_ns);

  /// Messages whose last request is posted, and is known to be done.
  [[nodiscard]] std::uint64_t posted() const noexcept { return sends_.posted() / chunks_per_message(); }
  [[nodiscard]] std::uint64_t completed() const noexcept { return sends_.completed() / chunks_per_message(); }

 private:
  struct Batch;

  [[nodiscard]] std::uint64_t chunks_per_message() const noexcept {
    return (plan_.message_bytes + peer_.chunk_bytes - 1) / peer_.chunk_bytes;
  }
  [[noreturn]] void lose(const std::string& why) const;
  void add_chunk(Batch& batch, std::uint64_t chunk) const noexcept;

  const RdmaConnection& connection_;
  const VerbsMemory& memory_;
  const VerbsPlan& plan_;
  const bool notifies_by_send_;
  const std::uint64_t signal_every_;  // messages
  SendQueue sends_;
  VerbsRemoteMemory peer_{.chunk_bytes = 1};
};

}  // namespace framewire
