#include "rdpipe/describe_plan.hpp"

#include "base/bandwidth.hpp"
#include "command/shell_word.hpp"
#include "rdpipe/hop_state.hpp"
#include "rdpipe/stage_agent.hpp"

namespace framewire {

namespace {

/// Which side dials, its target as far as it is known before anything runs, and the transport.
std::string describe_hop(const HopState& hop, const PipelineOptions& options) {
  const HopParameters& parameters = options.parameters;
  std::string text = "bytes " + hop.name + ": " + (hop.sender.listens ? "the receiver" : "the sender") + " dials";
  const auto named = options.data_addresses.find(place(options.stages, hop.listener()));
  text += named != options.data_addresses.end() ? " " + named->second : "";
  if (parameters.first_port != 0) {
    text += ", ports " + std::to_string(parameters.first_port) + " to " + std::to_string(parameters.last_port);
  }
  text += "; transport " + parameters.transport;
  text += parameters.encrypts ? ", encrypted" : "";
  text += parameters.takes_digest ? "" : ", no checksum";
  if (parameters.limit_bytes_per_s != 0) {
    text += ", at most " + format_bandwidth(static_cast<double>(parameters.limit_bytes_per_s));
  }
  return text;
}

}  // namespace

std::string describe_plan(const PipelineOptions& options) {
  std::string text;
  for (std::size_t i = 0; i < options.stages.size(); ++i) {
    const Stage& stage = options.stages[i];
    text += "stage " + std::to_string(i + 1) + ", " + (stage.is_here() ? "here" : stage.host) + "\n";
    if (!stage.is_here()) {
      text += "  started by ";
      for (const std::string& word : ssh_arguments(options.ssh, stage.host, agent_flag)) {
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
  for (const HopState& hop : hops_of(options.stages, options.parameters)) {
    text += describe_hop(hop, options) + "\n";
  }
  return text;
}

}  // namespace framewire
