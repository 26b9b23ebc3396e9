// What a pipeline that has ended comes to.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "rdpipe/child_process.hpp"
#include "rdpipe/stage.hpp"

namespace framewire {

/// rdpipe's own failures; a stage's statuses pass through.
inline constexpr int own_failure_status = 125;

/// How one stage ended.
struct StageEnd {
  std::optional<ChildExit> ending{};  // of its command; nothing: it has none, it never ran, or its host did not say
  bool reader_closed = false;         // its reader wanted no more
  bool was_stopped = false;           // because something else had failed: it is not to blame
};

struct PipelineEnd {
  std::vector<StageEnd> stages{};      // one for each stage
  std::optional<std::string> fault{};  // why rdpipe itself ended it, one sentence
  int interrupted_by = 0;              // a signal to rdpipe
  bool reader_left = false;            // of rdpipe's standard output
};

struct PipelineResult {
  int status = 0;
  std::vector<std::string> messages;  // each names its stage, in their order
};

/// As a shell has it with pipefail: the status of the last stage that failed, 128 + N for signal N. SIGPIPE (or 141, as
/// a shell passes it on) is no failure of a stage whose downstream has ended well.
PipelineResult pipeline_result_of(const std::vector<Stage>& stages, const PipelineEnd& end);

}  // namespace framewire
