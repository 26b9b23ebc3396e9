#include "viewer/recorder.hpp"

#include <unistd.h>

#include "base/error.hpp"
#include "command/standard_streams.hpp"

namespace framewire {

Recorder::Recorder(const std::optional<std::string>& file, Log& log, const Interruption& interruption) : log_(log) {
  if (!file) {
    return;
  }
  if (*file == "-" && !is_open_for_writing(STDOUT_FILENO)) {
    throw Error::failed("--output is '-' and standard output is closed; pipe it into a program, or name a file");
  }
  if (*file == "-" && ::isatty(STDOUT_FILENO) == 1) {
    throw Error::usage(
        "--output is '-' and stdout is a terminal, which frames would only upset; pipe them into a program, as in "
        "framewire view --headless --output - | ffplay -");
  }
  writer_.emplace(*file, log, [&interruption] { return interruption.is_requested(); });
}

bool Recorder::record(const ReceivedFrame& frame, const std::optional<StreamFormat>& format) {
  StreamFormat own = format.value_or(StreamFormat{});
  own.layout = frame.header().layout;
  own.colour = frame.header().colour;
  last_ = writer_->write(own, own.layout, frame.payload());
  switch (last_) {
    case WriteResult::written:
      return true;
    case WriteResult::failed:
      log_.error("recording has stopped, the stream goes on: " + writer_->sentence());
      break;
    case WriteResult::reader_gone:
      log_.detail("recording has ended: " + writer_->sentence());
      break;
    case WriteResult::stopped:
      break;
  }
  return false;
}

}  // namespace framewire
