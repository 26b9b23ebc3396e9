// Queue depths and inline data: what framewire prefers, and what a device grants.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "transport/rdma/verbs.hpp"

namespace framewire {

/// What framewire asks a device for. A smaller grant is accepted. Tests ask for less to imitate a poorer device.
struct RdmaPreferences {
  std::uint32_t queue_depth = 512;
  std::uint32_t inline_bytes = 512;
  std::uint64_t chunk_bytes = std::uint64_t{1} << 20;  // from 1 MiB on longer writes gain nothing
  bool immediates = true;
  bool windows = true;
};

/// The limits of a session's QP: both queues have the same depth, and a work request has one scatter/gather entry.
ibv_qp_cap queue_pair_limits(std::uint32_t depth, std::uint32_t inline_bytes) noexcept;

/// Creates a QP and its CQs with these limits, and replaces them by the granted ones. False, with errno, when the
/// device refuses; the caller then asks for less. May throw, which ends the negotiation.
using MakeQueuePair = std::function<bool(ibv_qp_cap& limits)>;

/// Negotiates the depth (at most `max_requests` and `max_completions`, the device's limits) together with the inline
/// data, because some devices refuse one because of the other. Returns the granted limits; the depth is at most that of
/// the CQs. Nothing, with the last errno, when the device refuses even the minimum.
std::optional<ibv_qp_cap> negotiate_queue_pair(const RdmaPreferences& preferences, std::int64_t max_requests,
                                               std::int64_t max_completions, const MakeQueuePair& make);

}  // namespace framewire
