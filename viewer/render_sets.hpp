// Which frames a viewer asks several sources to render, and which of them belong together. Logic only.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <span>
#include <utility>

#include "base/clock.hpp"
#include "base/fixed_queue.hpp"
#include "frame/camera.hpp"

namespace framewire {

/// The newest tag that every source has and that `is_usable`, in the order in which the first one has them; nothing if
/// there is none. Tag 0 is that of frames nobody has asked for.
template <typename IsUsable>
std::optional<std::uint64_t> newest_common_tag(std::span<const std::span<const std::uint64_t>> sources,
                                               IsUsable&& is_usable) {
  if (sources.empty()) {
    return std::nullopt;
  }
  for (std::size_t i = sources[0].size(); i > 0; --i) {
    const std::uint64_t tag = sources[0][i - 1];
    const bool is_common =
        std::ranges::all_of(sources, [tag](const auto& tags) { return std::ranges::find(tags, tag) != tags.end(); });
    if (tag != 0 && is_common && is_usable(tag)) {
      return tag;
    }
  }
  return std::nullopt;
}

/// Asks all sources for the same frames, with one id each. At most two are on their way at a time. If a source refuses,
/// because another viewer moves its camera, this viewer gives up the cameras that it has, and tries again a while
/// later. The while is drawn by lot, so that of two viewers that have one source each, one gets both. Not thread-safe.
class RenderSets {
 public:
  static constexpr std::size_t most_outstanding = 2;
  /// A set that is not complete after this time is given up. The time is longer when sets are slow: twice the one that
  /// the last set took, and twice as long after each set that was given up, up to the longest. So sources that need
  /// seconds for a frame are waited for.
  static constexpr std::int64_t usual_wait_ns = ns_per_s;
  static constexpr std::int64_t longest_wait_ns = 8 * ns_per_s;

  /// `seed` is another one for each viewer: ids and the lot come from it.
  explicit RenderSets(std::uint64_t seed) : random_(seed), viewer_(static_cast<std::uint32_t>(random_()) | 1U) {}

  /// A frame to ask for, if one is to be asked for at `now_ns`: see due_ns(). It counts as asked for.
  std::optional<RenderRequest> next(const Camera& camera, std::int64_t time_ns, std::int64_t period_ns,
                                    std::int64_t now_ns) {
    if (due_ns() > now_ns) {
      return std::nullopt;
    }
    const RenderRequest request{.id = std::uint64_t{viewer_} << 32U | ++asked_, .camera = camera, .time_ns = time_ns};
    outstanding_.push({.request = request, .asked_ns = now_ns});
    next_ns_ = now_ns + period_ns;
    return request;
  }
  /// When next() has one, if nothing happens before.
  [[nodiscard]] std::int64_t due_ns() const noexcept { return outstanding_.full() ? INT64_MAX : next_ns_; }

  /// The frame that is given up at `now_ns`, if one is: call it until none is. It counts as missed.
  std::optional<std::uint64_t> give_up(std::int64_t now_ns) {
    if (give_up_ns() > now_ns) {
      return std::nullopt;
    }
    ++missed_;
    wait_ns_ = std::min(2 * wait_ns_, longest_wait_ns);
    return outstanding_.pop().request.id;
  }
  [[nodiscard]] std::int64_t give_up_ns() const noexcept {
    return outstanding_.empty() ? INT64_MAX : outstanding_.front().asked_ns + wait_ns_;
  }

  /// A source refuses this frame, because another viewer owns its camera. What was asked for counts as given up, but
  /// not as missed: call Subscriber::release_camera() for all sources. False: this viewer has not asked for it, or has
  /// given up since for a refusal of the same time. A frame that the other sources have delivered counts, too.
  bool refused(std::uint64_t id, std::int64_t now_ns) {
    const auto number = static_cast<std::uint32_t>(id);
    if (id >> 32U != viewer_ || number > asked_ || number <= asked_when_refused_) {
      return false;
    }
    asked_when_refused_ = asked_;
    begin_again(now_ns);
    next_ns_ += std::uniform_int_distribution<std::int64_t>(500 * ns_per_ms, 1500 * ns_per_ms)(random_);
    return true;
  }

  /// What was asked for never becomes complete. It does not count as missed.
  void begin_again(std::int64_t now_ns) noexcept {
    while (!outstanding_.empty()) {
      outstanding_.drop();
    }
    next_ns_ = std::max(next_ns_, now_ns);
  }

  /// A set was shown. Older ones that this viewer has asked for count as missed: a newer one has overtaken them.
  void shown(std::uint64_t id, std::int64_t now_ns) noexcept {
    ++shown_;
    for (std::size_t i = 0; i < outstanding_.size(); ++i) {
      if (outstanding_.at(i).request.id == id) {
        missed_ += i;
        wait_ns_ = std::clamp(2 * (now_ns - outstanding_.at(i).asked_ns), usual_wait_ns, longest_wait_ns);
        while (outstanding_.pop().request.id != id) {
        }
        return;
      }
    }
  }

  /// What this viewer asked for and still waits for.
  [[nodiscard]] std::optional<RenderRequest> find(std::uint64_t id) const noexcept {
    for (std::size_t i = 0; i < outstanding_.size(); ++i) {
      if (outstanding_.at(i).request.id == id) {
        return outstanding_.at(i).request;
      }
    }
    return std::nullopt;
  }

  /// A source answers after such a time: sets take at least that long.
  void expect(std::int64_t answer_ns) noexcept {
    wait_ns_ = std::max(wait_ns_, std::min(2 * answer_ns, longest_wait_ns));
  }

  /// What this viewer waits for: the request behind `before` others; before < outstanding().
  [[nodiscard]] std::size_t outstanding() const noexcept { return outstanding_.size(); }
  [[nodiscard]] const RenderRequest& outstanding(std::size_t before) const noexcept {
    return outstanding_.at(before).request;
  }

  [[nodiscard]] std::uint64_t sets_shown() const noexcept { return shown_; }
  [[nodiscard]] std::uint64_t sets_missed() const noexcept { return missed_; }

 private:
  struct Outstanding {
    RenderRequest request{};
    std::int64_t asked_ns = 0;
  };

  std::mt19937_64 random_;
  const std::uint32_t viewer_;
  std::uint32_t asked_ = 0;
  std::uint32_t asked_when_refused_ = 0;
  FixedQueue<Outstanding> outstanding_{most_outstanding};  // oldest first
  std::int64_t next_ns_ = 0;
  std::int64_t wait_ns_ = usual_wait_ns;
  std::uint64_t shown_ = 0;
  std::uint64_t missed_ = 0;
};

}  // namespace framewire
