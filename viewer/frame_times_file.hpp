// The times of each frame that was shown, for a file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>

#include "frame/frame_header.hpp"
#include "viewer/statistics.hpp"

namespace framewire {

/// Keeps the times of the newest frames in memory, and writes them as CSV at the end: a file that is slow must not
/// delay pictures. Any thread.
class FrameTimesFile {
 public:
  /// An hour at 60 frames per second; about 27 MB.
  static constexpr std::size_t most_frames = 216'000;

  /// `file` empty: keeps nothing.
  explicit FrameTimesFile(std::string file) : file_(std::move(file)) {}

  /// `stream` is the number of the stream, from 0. `clock_offset_ns` is its sender's clock minus ours.
  void frame_shown(std::size_t stream, const FrameHeader& header, const ShownTimes& here, std::int64_t clock_offset_ns);

  /// The picture of earlier frames was seen at that refresh, which was not known then.
  void picture_seen(const PictureRefresh& seen) noexcept;

  /// Writes a line of names, and one of times for each frame: this machine's CLOCK_MONOTONIC in ns, 0 where not known.
  /// Of the refresh nothing is written where it is not known.
  /// Returns how many older frames are not among them. Throws Error, also if the file is a named pipe that nobody
  /// reads.
  std::uint64_t write() const;

 private:
  struct Times {
    std::size_t stream;
    std::uint64_t sequence;
    std::int64_t pts_ns;
    FrameTimes sender;  // by our clock
    ShownTimes here;
  };

  const std::string file_;
  mutable std::mutex mutex_;  // guards what follows
  std::deque<Times> frames_;
  std::uint64_t dropped_ = 0;
};

}  // namespace framewire
