// Received frames into a file or a pipe, as y4m or raw.
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

/// What the first frame decides:
/// - "-" and FILE.y4m get y4m, with the chroma location and the field order of the stream in its header. Planar YUV and
/// grey go in as they are; nv12, p010le, uyvy422 and yuyv422 are rearranged without
///   loss; y4m has no RGB, so it becomes yuv444p of limited range, BT.709 from 720 lines on and BT.601 below, which is
///   what every reader takes y4m for. So `framewire view --headless --output - | ffplay -` works with every format.
/// - Any other FILE gets the frames' own bytes, packed, one after another, as FFmpeg's rawvideo has them.
/// Frames of a later format (another epoch) are converted and scaled to the first, since neither kind of file can
/// change.
///
/// One thread. Writing to a pipe waits for its reader.
class VideoWriter {
 public:
  /// Opens `target`. Throws Error when that is not possible. `log` outlives this object and is told once of
  /// conversions; `is_stopping` is asked while a pipe is full. `fd_for_dash`: what "-" means.
  VideoWriter(std::string target, Log& log, std::function<bool()> is_stopping = {}, int fd_for_dash = 1);
  ~VideoWriter();
  VideoWriter(const VideoWriter&) = delete;
  VideoWriter& operator=(const VideoWriter&) = delete;

  /// Writes one frame, `times` times over. `layout` is the frame's own, where its rows may be padded; `format` says the
  /// rest. After anything but `written` the object writes nothing more and gives the same answer again; a regular file
  /// then ends with its last whole frame.
  WriteResult write(const StreamFormat& format, const FrameLayout& layout, std::span<const std::byte> payload,
                    std::uint32_t times = 1) noexcept;

  /// Whether the file says how many frames there are to a second, as y4m does.
  [[nodiscard]] bool states_rate() const noexcept;
  /// Of the frames in the file, which is that of the first; 0 where it is not known, or before that.
  [[nodiscard]] Rational frame_rate() const noexcept;

  /// Frames that stand in the file, repeated ones, too.
  [[nodiscard]] std::uint64_t frames_written() const noexcept;
  /// Why writing ended: "cannot write 'a.y4m': No space left on device; it holds the 37 frames before that".
  [[nodiscard]] const std::string& message() const noexcept;

 private:
  class Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace framewire
