// Verbs alone: what an RDMA device does without ring, headers or credits. The reference for the rdma link.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/adaptive_spin.hpp"
#include "base/histogram.hpp"

namespace framewire {

enum class VerbsOperation {
  send,       // into receives that the server has posted
  write,      // into the server's memory; the server gets no CQE
  write_imm,  // the same with an immediate; the server gets a CQE
  read,       // out of the server's memory
  latency,    // ping-pong of write_imm; of send, where the device has no immediates
};
std::string_view name(VerbsOperation operation) noexcept;
std::optional<VerbsOperation> verbs_operation_from_name(std::string_view wanted) noexcept;

/// The client starts and measures; the server answers. Only the client's device reports writes and reads.
enum class VerbsSide { client, server };
constexpr bool is_passive(VerbsOperation operation, VerbsSide side) noexcept {
  return side == VerbsSide::server && (operation == VerbsOperation::write || operation == VerbsOperation::read);
}

/// What is measured. Both sides have the same values, except for the client's own part.
struct VerbsPlan {
  VerbsOperation operation = VerbsOperation::write;
  std::uint64_t message_bytes = 0;
  std::uint32_t slots = 4;  // messages in flight
  WaitMode wait = WaitMode::adaptive;
  bool touches_payload = false;  // write every byte before sending, and read every byte after receiving
  // The client's:
  std::uint64_t count = 0;       // 0: no limit
  std::int64_t duration_ns = 0;  // 0: no limit; one of the two is set
  std::int64_t period_ns = 0;    // latency: from one message to the next; 0: at once
};

/// Limits of a plan that a peer may ask for, so that it cannot make the server allocate too much memory.
inline constexpr std::uint64_t max_verbs_message_bytes = std::uint64_t{1} << 30;
inline constexpr std::uint32_t max_verbs_slots = 64;
inline constexpr std::uint64_t max_verbs_memory_bytes = std::uint64_t{4} << 30;
inline constexpr std::uint64_t min_verbs_chunk_bytes = 256;
/// Throws Error (failed) for a plan beyond them.
void require_possible(const VerbsPlan& plan);

/// What each side tells the other before the first message.
struct VerbsRemoteMemory {
  std::uint64_t address = 0;  // of its memory
  std::uint32_t key = 0;
  std::uint64_t chunk_bytes = 0;  // the longest work request: longer messages take several
};

/// The result of one side.
struct VerbsResult {
  std::uint64_t count = 0;
  // Client: from before its first message is prepared to the completion of the last one. Server: from when it is ready
  // (the client starts then) to the last message; for writes and reads, to the client's end message.
  std::int64_t elapsed_ns = 0;
  std::int64_t cpu_ns = 0;
  Histogram latency;  // client, latency only: half of every round trip
};

}  // namespace framewire
