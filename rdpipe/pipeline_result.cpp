#include "rdpipe/pipeline_result.hpp"

#include <algorithm>
#include <csignal>

namespace framewire {

namespace {

constexpr int signal_base = 128;

int status_of(const ChildExit& ending) noexcept {
  return ending.signal != 0 ? signal_base + ending.signal : ending.status;
}

}  // namespace

PipelineResult pipeline_result_of(const std::vector<Stage>& stages, const PipelineOutcome& outcome) {
  PipelineResult result;
  bool downstream_is_well = !outcome.reader_left;
  for (std::size_t i = stages.size(); i-- > 0;) {
    const StageOutcome& stage = outcome.stages[i];
    if (!stage.ending || stage.was_stopped) {
      continue;
    }
    const int status = status_of(*stage.ending);
    const bool is_sigpipe = status == signal_base + SIGPIPE;
    if (status == 0 || (is_sigpipe && stage.reader_closed && downstream_is_well)) {
      continue;
    }
    // Do not report SIGPIPE if the reader's own failure is already reported, or if the reader of rdpipe's output closed
    // it.
    const bool is_consequence = is_sigpipe && (stage.reader_closed || !downstream_is_well || outcome.fault);
    downstream_is_well = false;
    result.status = result.status == 0 ? status : result.status;
    if (!is_consequence) {
      const std::string how = stage.ending->signal != 0 ? "was ended by " + signal_text(stage.ending->signal)
                                                        : "ended with status " + std::to_string(status);
      result.messages.push_back(describe(stages[i], i + 1) + " " + how);
    }
  }
  std::ranges::reverse(result.messages);
  if (result.status == 0 && outcome.reader_left) {
    result.status = signal_base + SIGPIPE;  // like cat: only rdpipe's own output was closed
  }
  if (outcome.interrupted_by != 0) {
    return {.status = signal_base + outcome.interrupted_by, .messages = {"interrupted; every stage has been ended"}};
  }
  if (outcome.fault) {
    result.messages.push_back(*outcome.fault);
    result.status = own_failure_status;
  }
  return result;
}

}  // namespace framewire
