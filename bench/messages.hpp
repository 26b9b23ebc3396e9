// The messages of a link's row: bits of the frame header's user tag, the warm-up, and sending.
#pragma once

#include <cstdint>

#include "base/adaptive_spin.hpp"
#include "bench/row.hpp"
#include "transport/stream.hpp"

namespace framewire {

// ---- Bits of the user tag ----

inline constexpr std::uint64_t bench_tag_spin = 1;      // the receiver polls without sleeping
inline constexpr std::uint64_t bench_tag_touch = 2;     // the receiver reads every byte
inline constexpr std::uint64_t bench_tag_block = 4;     // the receiver sleeps as soon as nothing is there
inline constexpr std::uint64_t bench_tag_result = 8;    // not a message: the sender's result (JSON), in a reverse row
inline constexpr std::uint64_t bench_tag_warm_up = 16;  // sent before the messages of the row; not counted

constexpr std::uint64_t tag_of(WaitMode mode) noexcept {
  return mode == WaitMode::spin ? bench_tag_spin : mode == WaitMode::block ? bench_tag_block : 0;
}
constexpr WaitMode wait_mode_of(std::uint64_t tag) noexcept {
  return (tag & bench_tag_spin) != 0    ? WaitMode::spin
         : (tag & bench_tag_block) != 0 ? WaitMode::block
                                        : WaitMode::adaptive;
}

// ---- Sending a link's row (by the client, or in a reverse row by the server) ----

/// The options of a stream for the row's only viewer.
StreamOptions stream_options_of(const RowPlan& plan);

/// Publishes messages until the plan is complete or the stream stops. Returns their number and the time they took. The
/// epoch has begun and warm_up() is over. The caller finishes the stream. The source's thread.
EndResult send_messages(Stream& stream, const RowPlan& plan);

// ---- The warm-up of a link's row ----

/// Sends messages that are not counted. Returns when the receiver has its ring and only a few bytes are in flight, so
/// that no message of the row includes the set-up. False when the receiver has left. The source's thread, once.
bool warm_up(Stream& stream, const RowPlan& plan);

}  // namespace framewire
