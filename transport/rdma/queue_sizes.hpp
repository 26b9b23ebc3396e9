// How deep queues are, and how much a request carries in itself: what is wished for, and what a device grants.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "transport/rdma/verbs.hpp"

namespace framewire {

/// What is asked of the device, where it has it. Less stands for a poorer one.
struct RdmaPreferences {
  std::uint32_t queue_depth = 512;
  std::uint32_t inline_bytes = 512;
  std::uint64_t chunk_bytes = std::uint64_t{1} << 20;  // from 1 MiB on longer writes gain nothing
  bool immediates = true;
  bool windows = true;
};

/// What a queue pair of a session asks for: one queue is as deep as the other, and a request has one piece.
ibv_qp_cap queue_pair_limits(std::uint32_t depth, std::uint32_t inline_bytes) noexcept;

/// Makes a queue pair, and completion queues for it, with these limits, which it then replaces by those that were
/// granted. False, with errno, where the device refuses; then it is asked for less. May throw, which ends it.
using MakeQueuePair = std::function<bool(ibv_qp_cap& limits)>;

/// As deep as the device allows (`max_requests` and `max_completions`, as it says), and with as much inline data: some
/// refuse the one because of the other. Returns the limits that were granted, no deeper than the completion queues that
/// were made for them; nothing, with the last errno, where it refuses even the least.
std::optional<ibv_qp_cap> negotiate_queue_pair(const RdmaPreferences& preferences, std::int64_t max_requests,
                                               std::int64_t max_completions, const MakeQueuePair& make);

}  // namespace framewire
