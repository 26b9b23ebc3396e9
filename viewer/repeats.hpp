// How often each frame is written, so that a recording plays in real time although frames were skipped.
#pragma once

#include <cstdint>
#include <utility>

#include "frame/frame_layout.hpp"

namespace framewire {

/// y4m says one rate for all frames. A frame that the sender skipped is a gap in the sequence: the next frame is
/// written once more for each. It is not done where it would make things worse: where writing alone takes longer than
/// the frames last, each repeated frame would cause more to be skipped. A value; one thread.
class Repeats {
 public:
  /// The viewer is not held up for longer than this by one gap; the rest of it is missing from the recording.
  static constexpr std::uint32_t longest_s = 1;

  /// How often the frame `sequence` is to be written, at least once. `session` and `epoch` tell streams apart: what
  /// passed between two of them is not known and not repeated.
  std::uint32_t times(std::uint64_t session, std::uint32_t epoch, std::uint64_t sequence, Rational rate) noexcept;

  /// That many frames were written in that time.
  void written(std::uint32_t frames, std::int64_t duration_ns) noexcept;

  /// Skipped frames that were not made up for.
  [[nodiscard]] std::uint64_t missing() const noexcept { return missing_; }

 private:
  [[nodiscard]] bool keeps_up(Rational rate) const noexcept;

  std::pair<std::uint64_t, std::uint32_t> stream_{};
  std::uint64_t next_sequence_ = 0;
  bool has_begun_ = false;
  std::int64_t usual_write_ns_ = 0;  // of one frame: the mean, where older ones count less and less
  std::uint64_t missing_ = 0;
};

}  // namespace framewire
