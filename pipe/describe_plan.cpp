#include "command/shell_word.hpp"
#include "pipe/hop_state.hpp"
#include "pipe/pipeline.hpp"

namespace framewire {

std::string describe_plan(const PipelineOptions& options) {
  std::string text;
  for (std::size_t i = 0; i < options.stages.size(); ++i) {
    const Stage& stage = options.stages[i];
    text += "stage " + std::to_string(i + 1) + ", " + (stage.is_here() ? "here" : stage.host) + "\n";
    if (!stage.is_here()) {
      text += "  started by ";
      for (const std::string& word : ssh_words(options.ssh, stage.host)) {
        text += " " + shell_word(word);
      }
      text += "\n";
    }
    const char* what = stage.work == StageWork::command  ? "  runs        "
                       : stage.work == StageWork::source ? "  reads       "
                       : stage.appends                   ? "  appends to  "
                                                         : "  writes      ";
    text += std::string(what) + (stage.work == StageWork::command ? "the user's shell -c " : "") +
            shell_word(stage.text) + "\n";
  }
  for (const HopState& hop : hops_of(options.stages, options.terms)) {
    text += "bytes " + hop.name + ": " + (hop.sender.listens ? "the receiver" : "the sender") + " dials\n";
  }
  return text;
}

}  // namespace framewire
