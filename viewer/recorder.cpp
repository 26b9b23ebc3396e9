#include "viewer/recorder.hpp"

#include <unistd.h>

#include "base/error.hpp"
#include "base/pipe.hpp"
#include "base/text.hpp"
#include "command/standard_streams.hpp"

namespace framewire {

Recorder::Recorder(const std::optional<std::string>& file, const Clock& clock, Log& log,
                   const Interruption& interruption)
    : log_(log), clock_(clock) {
  if (!file) {
    return;
  }
  if (*file == "-" && !is_open_for_writing(STDOUT_FILENO)) {
    throw Error::failed("--output is '-' and standard output is closed; pipe it into a program, or name a file");
  }
  if (*file == "-" && ::isatty(STDOUT_FILENO) == 1) {
    throw Error::usage(
        "--output is '-' and standard output is a terminal; pipe the frames into a program, as in framewire view "
        "--headless --output - | ffplay -");
  }
  if (is_named_pipe(*file)) {
    log_.info("--output " + quote(*file, 200) + " is a named pipe; the viewer begins when somebody reads it");
  }
  writer_.emplace(*file, log, [&interruption] { return interruption.is_requested(); });
}

std::uint32_t Recorder::record(const ReceivedFrame& frame, const std::optional<StreamFormat>& format) {
  StreamFormat own = format.value_or(StreamFormat{});
  own.layout = frame.header().layout;
  own.colour = frame.header().colour;
  const FrameHeader& header = frame.header();
  // The file's rate is that of its first frame.
  const Rational rate = writer_->frames_written() == 0 ? own.frame_rate : writer_->frame_rate();
  const std::uint32_t copies =
      writer_->states_rate() ? repeats_.copies(frame.session_number(), header.epoch, header.sequence, rate) : 1;
  const std::int64_t begun_ns = clock_.now_ns();
  last_ = writer_->write(own, own.layout, frame.payload(), copies);
  switch (last_) {
    case WriteResult::written:
      repeats_.written(copies, clock_.now_ns() - begun_ns);
      return copies;
    case WriteResult::failed:
      log_.error("recording has stopped, the stream goes on: " + writer_->message());
      break;
    case WriteResult::reader_gone:
      log_.detail("recording has ended: " + writer_->message());
      break;
    case WriteResult::stopped:
      break;
  }
  return 0;
}

void Recorder::finish() {
  if (writer_ && frames_missing() > 0 && !has_failed()) {
    log_.warning(
        "--output: the recording lacks " + std::to_string(frames_missing()) +
        " skipped frames and plays too fast, because writing was too slow, or the viewer paused for more than a "
        "second");
  }
  writer_.reset();
}

}  // namespace framewire
