// Raw verbs: what an RDMA device does by itself, without ring, headers or credits. The yardstick for the rdma link.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/adaptive_spin.hpp"
#include "base/histogram.hpp"

namespace framewire {

enum class VerbsOperation {
  send,       // into buffers that the server has posted
  write,      // into the server's memory, which it is not told
  write_imm,  // the same, and told by an immediate
  read,       // out of the server's memory
  latency,    // ping-pong of write_imm; of send, where the device has no immediates
};
std::string_view name(VerbsOperation operation) noexcept;
std::optional<VerbsOperation> verbs_operation_from_name(std::string_view wanted) noexcept;

/// The client begins and measures; the server answers. Of writes and reads only the client's device knows.
enum class VerbsEnd { client, server };
constexpr bool is_passive(VerbsOperation operation, VerbsEnd end) noexcept {
  return end == VerbsEnd::server && (operation == VerbsOperation::write || operation == VerbsOperation::read);
}

/// What is measured. Both ends have the same of it, but for the client's own part.
struct VerbsPlan {
  VerbsOperation operation = VerbsOperation::write;
  std::uint64_t message_bytes = 0;
  std::uint32_t slots = 4;  // messages under way
  WaitMode wait = WaitMode::adaptive;
  bool touches_payload = false;  // every byte is written before a message goes, and looked at when it has come
  // The client's:
  std::uint64_t count = 0;       // 0: no limit
  std::int64_t duration_ns = 0;  // 0: no limit; one of the two is set
  std::int64_t period_ns = 0;    // latency: from one message to the next; 0: at once
};

/// Bounds of a plan that a peer may ask for: larger ones would take more memory than anybody means to give.
inline constexpr std::uint64_t max_verbs_message_bytes = std::uint64_t{1} << 30;
inline constexpr std::uint32_t max_verbs_slots = 64;
inline constexpr std::uint64_t max_verbs_memory_bytes = std::uint64_t{4} << 30;
inline constexpr std::uint64_t min_verbs_chunk_bytes = 256;
/// Throws Error (failed) for a plan beyond them.
void require_possible(const VerbsPlan& plan);

/// What one end tells the other before the first message.
struct VerbsRemoteMemory {
  std::uint64_t address = 0;  // of its memory
  std::uint32_t key = 0;
  std::uint64_t chunk_bytes = 0;  // the longest request: longer messages are several
};

/// What one end has seen.
struct VerbsResult {
  std::uint64_t count = 0;
  // To the last: the client's from before its first message is prepared to the completion of the last one, the server's
  // from when it was ready, on which the client begins, to the last message; where it is passive to the client's word.
  std::int64_t elapsed_ns = 0;
  std::int64_t cpu_ns = 0;
  Histogram latency;  // client, latency only: half of every round trip
};

}  // namespace framewire
