// What the two ends of a benchmark agree on beyond a session: bits of the frame header's user tag.
#pragma once

#include <cstdint>

#include "base/adaptive_spin.hpp"
#include "bench/row.hpp"
#include "transport/stream.hpp"

namespace framewire {

inline constexpr std::uint64_t bench_tag_spin = 1;   // the server polls
inline constexpr std::uint64_t bench_tag_touch = 2;  // the server reads every byte
inline constexpr std::uint64_t bench_tag_block = 4;  // the server sleeps at once when nothing is there
inline constexpr std::uint64_t bench_tag_result =
    8;  // no message of the row, but its sender's result (JSON), where the sender was asked for the row
inline constexpr std::uint64_t bench_tag_warm_up = 16;  // comes before the messages of the row, and counts for nothing

constexpr std::uint64_t tag_of(WaitMode mode) noexcept {
  return mode == WaitMode::spin ? bench_tag_spin : mode == WaitMode::block ? bench_tag_block : 0;
}
constexpr WaitMode wait_mode_of(std::uint64_t tag) noexcept {
  return (tag & bench_tag_spin) != 0    ? WaitMode::spin
         : (tag & bench_tag_block) != 0 ? WaitMode::block
                                        : WaitMode::adaptive;
}

// The sending end of a link's row, whichever of the two ends that is.

/// For the one viewer of a row.
StreamOptions stream_options_of(const RowPlan& plan);

/// Publishes messages until the plan is fulfilled or the stream stops; says how many, and in which
/// time they went. The epoch has begun and warm_up() is over; the stream is not finished. The source's thread.
EndResult send_messages(Stream& stream, const RowPlan& plan);

// What goes before the messages of a link's row.

/// Sends messages that count for nothing, and returns when the receiver has its ring and the way there is empty but for
/// a few bytes: setting up belongs to no message. False when the receiver has left. The source's thread, once.
bool warm_up(Stream& stream, const RowPlan& plan);

}  // namespace framewire
