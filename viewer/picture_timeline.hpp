// When the pictures of a recording with a constant rate begin and end. Logic only.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "frame/frame_layout.hpp"

namespace framewire {

/// The rate of a recording that shows several streams: that of the fastest, but not more often than the screen is
/// refreshed (`refresh_period_ns`; 0: not known), and 1000 times a second at most. If no stream states a rate: that of
/// the refreshes, else 60.
Rational recording_rate(std::span<const Rational> streams, std::int64_t refresh_period_ns) noexcept;

/// Pictures come at any time, and frames of the recording have numbers, at a constant rate. Each frame shows the newest
/// picture of its time; its time is the middle of a period, so that pictures which come a little early or late each get
/// a frame of their own. A picture is written when its last frame is known: when the next one comes, or every half
/// second while it stands. Of pictures within one period only the last is written.
///
/// Without repeats (raw frames), each picture is written once. A value; used by one thread.
class PictureTimeline {
 public:
  PictureTimeline(Rational rate, bool repeats, std::int64_t begin_ns) noexcept;

  /// A frame to write now: it, and all before it that are not written, show the picture that stands.
  using LastFrame = std::optional<std::uint64_t>;

  /// The first picture stands from the beginning. Its frame 0 is written at once, so that a reader has something.
  [[nodiscard]] std::uint64_t write_first() noexcept;
  /// Another picture comes in place of the one that stands.
  [[nodiscard]] LastFrame replace(std::int64_t now_ns) noexcept;
  /// The picture still stands.
  [[nodiscard]] LastFrame pass(std::int64_t now_ns) noexcept;
  /// The recording ends. The picture that stands is in it, with one frame at least.
  [[nodiscard]] LastFrame end(std::int64_t now_ns) noexcept;

  /// When pass() has something; INT64_MAX: never.
  [[nodiscard]] std::int64_t due_ns() const noexcept;

 private:
  [[nodiscard]] std::uint64_t frame_at(std::int64_t now_ns) const noexcept;
  LastFrame write_until(std::uint64_t frame) noexcept;

  double period_ns_;
  bool repeats_;
  std::int64_t begin_ns_;
  std::uint64_t longest_stand_;  // in frames
  std::uint64_t next_ = 0;       // the first frame that is not written
  bool is_written_ = false;      // the picture that stands, at least once
};

}  // namespace framewire
