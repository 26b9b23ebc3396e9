#include "transport/rdma/queue_sizes.hpp"

#include <algorithm>

namespace framewire {

namespace {

constexpr std::uint32_t min_depth = 16;

}  // namespace

ibv_qp_cap queue_pair_limits(std::uint32_t depth, std::uint32_t inline_bytes) noexcept {
  return {.max_send_wr = depth,
          .max_recv_wr = depth,
          .max_send_sge = 2,  // a header, and a small payload that the processor may not touch
          .max_recv_sge = 1,
          .max_inline_data = inline_bytes};
}

std::optional<ibv_qp_cap> negotiate_queue_pair(const RdmaPreferences& preferences, std::int64_t max_requests,
                                               std::int64_t max_completions, const MakeQueuePair& make) {
  const std::int64_t most = std::max<std::int64_t>(std::min(max_requests, max_completions), 1);
  auto depth = static_cast<std::uint32_t>(std::min<std::int64_t>(preferences.queue_depth, most));
  for (;; depth /= 2) {
    for (std::uint32_t inline_bytes = preferences.inline_bytes;; inline_bytes /= 2) {
      ibv_qp_cap limits = queue_pair_limits(depth, inline_bytes);
      if (make(limits)) {
        // A device may grant more, but the completion queues have this depth.
        limits.max_send_wr = std::min(limits.max_send_wr, depth);
        limits.max_recv_wr = std::min(limits.max_recv_wr, depth);
        return limits;
      }
      if (inline_bytes == 0) {
        break;
      }
    }
    if (depth <= min_depth) {
      return std::nullopt;
    }
  }
}

}  // namespace framewire
