// The exit status and the messages of a pipeline that has ended.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "command/child_process.hpp"
#include "rdpipe/stage.hpp"

namespace framewire {

/// The exit status for rdpipe's own failures. A stage's status is passed through.
inline constexpr int own_failure_status = 125;

/// How one stage ended.
struct StageOutcome {
  std::optional<ChildExit> ending{};  // of its command; nothing: no command, never run, or not reported
  bool reader_closed = false;         // the reader of its output had closed it before
  bool was_stopped = false;           // because something else had failed: not the cause
};

struct PipelineOutcome {
  std::vector<StageOutcome> stages{};  // one for each stage
  std::optional<std::string> fault{};  // why rdpipe itself ended it, one sentence
  int interrupted_by = 0;              // a signal to rdpipe
  bool reader_left = false;            // the reader of rdpipe's standard output, or of a sink's named pipe, closed it
};

struct PipelineResult {
  int status = 0;
  std::vector<std::string> messages;  // each names its stage, in their order
};

/// As in a shell with pipefail: the status of the last stage that failed, 128 + N for signal N. SIGPIPE (or 141, as a
/// shell reports it) does not count as a failure if the stages after it ended well.
PipelineResult pipeline_result_of(const std::vector<Stage>& stages, const PipelineOutcome& outcome);

}  // namespace framewire
