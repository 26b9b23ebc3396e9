// At which refreshes a driver's swaps were seen. Logic only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/clock.hpp"
#include "base/fixed_queue.hpp"
#include "base/saturating.hpp"
#include "viewer/seen_refresh.hpp"

namespace framewire {

/// Follows what an X server says of the swaps of a window (presentproto.txt, PresentCompleteNotify of kind Pixmap).
/// Mesa numbers the swaps of a window from 1, and gives the server that number (loader_dri3_helper.c, send_sbc). A
/// driver that does otherwise is found out: what it says is left out. Not thread-safe.
class SwapRefreshes {
 public:
  /// So many swaps may be on their way.
  static constexpr std::size_t most_swaps = 16;
  /// A time that is further away is of another clock.
  static constexpr std::int64_t longest_ago_ns = ns_per_s;

  /// `swaps`: how many there were before.
  explicit SwapRefreshes(std::uint64_t swaps = 0) noexcept : swaps_(swaps) {}

  /// Another picture is given to the driver. Returns its number.
  std::uint64_t swapped() noexcept { return ++swaps_; }

  /// The server has shown the picture with this `serial` at that refresh, as it says now.
  void completed(std::uint32_t serial, const SeenRefresh& refresh, std::int64_t now_ns) noexcept {
    const std::uint32_t before_newest = static_cast<std::uint32_t>(swaps_) - serial;
    if (before_newest >= most_swaps || swaps_ <= before_newest) {
      return;
    }
    const std::uint64_t picture = swaps_ - before_newest;
    const std::int64_t ago_ns = saturating_subtract(now_ns, refresh.at_ns);
    if (picture <= newest_ || ago_ns > longest_ago_ns || ago_ns < -longest_ago_ns) {
      return;
    }
    newest_ = picture;
    if (told_.size() == most_swaps) {
      told_.pop();
    }
    told_.push(PictureRefresh{.picture = picture, .refresh = refresh});
  }

  /// What is new, in order.
  std::optional<PictureRefresh> take() noexcept { return told_.empty() ? std::nullopt : std::optional(told_.pop()); }

 private:
  std::uint64_t swaps_;
  std::uint64_t newest_ = 0;  // picture of which the server has told
  FixedQueue<PictureRefresh> told_{most_swaps};
};

}  // namespace framewire
