// Writing down what is received (--output).
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

/// Records every frame that is received, in order, those too that newer ones supersede before they are shown. y4m gets
/// each as often as the frames that the sender skipped before it ask for, so that the file plays in real time. When
/// recording breaks (a full disk) the stream goes on without it. The thread that takes frames.
class Recorder {
 public:
  /// Does nothing without a `file`. `clock`, `log` and `interruption`, which also ends the waiting for the reader of a
  /// pipe, outlive it. Throws Error when the file cannot be opened, or "-" is a terminal.
  Recorder(const std::optional<std::string>& file, const Clock& clock, Log& log, const Interruption& interruption);

  [[nodiscard]] bool is_recording() const noexcept { return writer_ && last_ == WriteResult::written; }

  /// How often the frame was written: 0 if it was not; the first time that it was not, says why. `format` is the
  /// stream's newest.
  std::uint32_t record(const ReceivedFrame& frame, const std::optional<StreamFormat>& format);

  /// Whether the program that read the other end of the pipe has closed it: an end, not a failure.
  [[nodiscard]] bool reader_has_left() const noexcept { return last_ == WriteResult::reader_gone; }
  [[nodiscard]] bool has_failed() const noexcept { return last_ == WriteResult::failed; }

  /// Skipped frames that the file lacks, so that it plays that much too fast.
  [[nodiscard]] std::uint64_t frames_missing() const noexcept { return repeats_.missing(); }

  /// Closes the file, and says what it lacks.
  void finish();

 private:
  Log& log_;
  const Clock& clock_;
  std::optional<VideoWriter> writer_;
  Repeats repeats_;
  WriteResult last_ = WriteResult::written;
};

}  // namespace framewire
