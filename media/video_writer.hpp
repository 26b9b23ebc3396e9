// Writes received frames to a file or a pipe, as y4m or raw.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "base/log.hpp"
#include "frame/frame_layout.hpp"
#include "media/output_file.hpp"

namespace framewire {

/// The target and the first frame determine the file's format:
/// - "-" and FILE.y4m become y4m. Its header states the stream's chroma location and field order. Planar YUV and grey
///   are written unchanged; nv12, p010le, uyvy422 and yuyv422 are rearranged without loss. y4m has no RGB: RGB becomes
///   limited-range yuv444p, BT.709 from 720 lines on and BT.601 below, as readers of y4m assume. So
///   `framewire view --headless --output - | ffplay -` works with every format.
/// - Any other FILE gets the frames' own bytes, packed and in order, like FFmpeg's rawvideo.
///
/// Frames of a later format (another epoch) are converted and scaled to the first, because neither kind of file can
/// change its format.
///
/// Used by one thread. Writing to a pipe waits for its reader.
class VideoWriter {
 public:
  /// Opens a pipe, and throws Error if that fails; a file is opened and emptied by the first write(). `log` outlives
  /// this object and gets one message about conversions. `is_stopping` is polled while a pipe is full. `fd_for_dash`:
  /// the descriptor for "-". Without `tells_conversions` the log gets nothing.
  VideoWriter(std::string target, Log& log, std::function<bool()> is_stopping = {}, int fd_for_dash = 1,
              bool tells_conversions = true);
  ~VideoWriter();
  VideoWriter(const VideoWriter&) = delete;
  VideoWriter& operator=(const VideoWriter&) = delete;

  /// Writes one frame `times` times. `layout` is the frame's own layout, whose rows may be padded; `format` has its
  /// other properties. After any result but `written` the object writes nothing more and returns the same result again;
  /// a regular file then ends with its last whole frame.
  WriteResult write(const StreamFormat& format, const FrameLayout& layout, std::span<const std::byte> payload,
                    std::uint32_t times = 1) noexcept;

  /// Whether the file states its frame rate, as y4m does.
  [[nodiscard]] bool states_rate() const noexcept;
  /// The frame rate of the file, which is that of its first frame; 0 if unknown, or before the first frame.
  [[nodiscard]] Rational frame_rate() const noexcept;

  /// Frames in the file, including repeated ones.
  [[nodiscard]] std::uint64_t frames_written() const noexcept;
  /// Why writing ended: "cannot write 'a.y4m': No space left on device; it holds the 37 frames before that".
  [[nodiscard]] const std::string& message() const noexcept;

 private:
  class Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace framewire
