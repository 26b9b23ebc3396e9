// Records received frames (--output).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/clock.hpp"
#include "base/log.hpp"
#include "command/interruption.hpp"
#include "media/video_writer.hpp"
#include "transport/session/subscriber.hpp"
#include "viewer/repeats.hpp"

namespace framewire {

/// Records every received frame in order, including frames that newer ones supersede before display. In y4m a frame is
/// repeated to fill the gap of frames that the sender skipped before it, so that the file plays in real time. If
/// recording fails (a full disk), the stream continues. Used on the thread that receives frames.
class Recorder {
 public:
  /// Does nothing without a `file`. `clock`, `log` and `interruption` outlive it; `interruption` also ends waiting for
  /// the reader of a pipe. Throws Error if the file cannot be opened, or if "-" is a terminal.
  Recorder(const std::optional<std::string>& file, const Clock& clock, Log& log, const Interruption& interruption);

  [[nodiscard]] bool is_recording() const noexcept { return writer_ && last_ == WriteResult::written; }

  /// Returns how often the frame was written; 0 on failure. Logs the reason of the first failure. `format` is the
  /// stream's newest.
  std::uint32_t record(const ReceivedFrame& frame, const std::optional<StreamFormat>& format);

  /// Whether the reader of the pipe has closed it: a regular end, not a failure.
  [[nodiscard]] bool reader_has_left() const noexcept { return last_ == WriteResult::reader_gone; }
  [[nodiscard]] bool has_failed() const noexcept { return last_ == WriteResult::failed; }

  /// Skipped frames that the file does not make up for; it plays too fast by as many.
  [[nodiscard]] std::uint64_t frames_missing() const noexcept { return repeats_.missing(); }

  /// Closes the file, and reports missing frames.
  void finish();

 private:
  Log& log_;
  const Clock& clock_;
  std::optional<VideoWriter> writer_;
  Repeats repeats_;
  WriteResult last_ = WriteResult::written;
};

}  // namespace framewire
