// Writing down what is received (--output).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/log.hpp"
#include "command/interruption.hpp"
#include "media/video_writer.hpp"
#include "transport/subscriber.hpp"

namespace framewire {

/// Records every frame that is received, in order, those too that newer ones supersede before they are shown. When
/// recording breaks (a full disk) the stream goes on without it. The thread that takes frames.
class Recorder {
 public:
  /// Does nothing without a `file`. `log` and `interruption`, which also ends the waiting for the reader of a pipe,
  /// outlive it. Throws Error when the file cannot be opened, or "-" is a terminal.
  Recorder(const std::optional<std::string>& file, Log& log, const Interruption& interruption);

  [[nodiscard]] bool is_recording() const noexcept { return writer_ && last_ == WriteResult::written; }

  /// Returns whether the frame was written; the first time that it was not, says why. `format` is the stream's newest.
  bool record(const ReceivedFrame& frame, const std::optional<StreamFormat>& format);

  /// Whether the program that read the other end of the pipe has closed it: an end, not a failure.
  [[nodiscard]] bool reader_has_left() const noexcept { return last_ == WriteResult::reader_gone; }
  [[nodiscard]] bool has_failed() const noexcept { return last_ == WriteResult::failed; }

  /// Closes the file.
  void finish() noexcept { writer_.reset(); }

 private:
  Log& log_;
  std::optional<VideoWriter> writer_;
  WriteResult last_ = WriteResult::written;
};

}  // namespace framewire
