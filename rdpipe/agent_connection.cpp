#include "rdpipe/agent_connection.hpp"

#include <poll.h>
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/wait.hpp"
#include "rdpipe/stage_agent.hpp"
#include "ssh/message_fields.hpp"

namespace framewire {

namespace {

using Json = nlohmann::json;

constexpr std::int64_t ping_every_ns = 2 * ns_per_s;
constexpr std::int64_t longest_silence_ns = 10 * ns_per_s;
constexpr std::int64_t max_shutdown_ns = ns_per_s;  // for ssh to end after the last message
constexpr int ssh_failed_status = 255;

}  // namespace

AgentConnection::AgentConnection(const StagePlan& plan, const SshOptions& ssh)
    : plan_(plan), heard_ns_(monotonic_ns()) {
  PipeEnds control_pipe = make_pipe();
  PipeEnds answers = make_pipe();
  const ChildDescriptors descriptors{.input = control_pipe.reads.get(), .output = answers.writes.get()};
  process_ = plan.stage.is_here()
                 ? ChildProcess::fork_of(
                       descriptors, [] { return run_stage_agent(AgentPlace::here); }, false)
                 : ChildProcess::start(ssh_arguments(ssh, plan.stage.host, agent_flag), descriptors, false);
  lines_ = JsonLines(std::move(answers.reads), std::move(control_pipe.writes), true);
}

bool AgentConnection::take(const Json& message) {
  const std::string type = text_in(message, "type");
  if (type == "hello") {
    if (number_in(message, "protocol") != pipeline_protocol) {
      throw Error::failed("framewire there is of version " + printable_in(message, "version") + ", and here of " +
                          FRAMEWIRE_VERSION + "; install the same one on both");
    }
    const bool is_first = !facts_;
    facts_ = host_addresses_from(message);
    if (is_first) {
      begin();
    }
  } else if (type == "command_ended") {
    outcome_ = {.ending = ChildExit{.status = static_cast<int>(number_in(message, "status", 255)),
                                    .signal = static_cast<int>(number_in(message, "signal", 127))},
                .was_stopped = flag_in(message, "stopped")};
  } else if (type == "done") {
    is_done_ = true;
    done_ns_ = monotonic_ns();
    lines_.close_out();
  } else if (type == "failed") {
    const std::string sentence = printable_in(message, "sentence");
    throw Error::failed(sentence.empty() ? "it does not say why" : sentence);
  } else {
    return type == "pong";
  }
  return true;
}

/// A plan has keys. What runs there before hello could print what it reads.
void AgentConnection::begin() {
  lines_.send(to_json(plan_));
  for (const Json& message : std::exchange(later_, {})) {
    lines_.send(message);
  }
}

void AgentConnection::say(const Json& message) {
  if (facts_) {
    lines_.send(message);
  } else {
    later_.push_back(message);
  }
}

std::string AgentConnection::take_note_of_silence(std::int64_t now_ns) {
  if (facts_ || plan_.stage.is_here() || is_gone() || has_noted_silence_ || now_ns - heard_ns_ < longest_silence_ns) {
    return {};
  }
  has_noted_silence_ = true;
  return "nothing is heard of rdpipe there so far; ssh may be waiting for an answer or for the network, or what is "
         "started there is no rdpipe (--rdpipe-path)";
}

/// Whether rdpipe's standard error is blocked. Then ssh blocks, too: its silence does not mean that the host is gone,
/// and ending it would lose output.
bool AgentConnection::waits_for_reader() noexcept {
  return !wait_for(STDERR_FILENO, POLLOUT, 0);
}

std::string AgentConnection::check_liveness(std::int64_t now_ns) {
  // Before hello, ssh may be asking for a password.
  if (!facts_ || is_done_ || is_gone()) {
    return {};
  }
  if (waits_for_reader()) {
    heard_ns_ = now_ns;
  }
  if (now_ns - heard_ns_ > longest_silence_ns) {
    return "its host does not answer";
  }
  if (now_ns - pinged_ns_ >= ping_every_ns) {
    pinged_ns_ = now_ns;
    lines_.send({{"type", "ping"}});
  }
  return {};
}

bool AgentConnection::has_just_ended() {
  if (process_.has_ended(process_exit_)) {
    return true;
  }
  if (is_done_ && waits_for_reader()) {
    done_ns_ = monotonic_ns();
  }
  if (is_done_ && monotonic_ns() - done_ns_ > max_shutdown_ns) {
    kill();
  }
  return false;
}

std::string AgentConnection::why_it_ended() const {
  const ChildExit& ending = process_exit_;
  const std::string& host = plan_.stage.host;
  if (plan_.stage.is_here()) {
    return "rdpipe's process for it was ended";
  }
  if (is_done_) {
    return "it ended without having done its part";
  }
  if (facts_) {
    return "the connection to " + host + " is gone";
  }
  constexpr const char* way_to_have_it =
      "install framewire there (sudo apt install ./framewire-bytes_*.deb, which scripts/package makes), or name "
      "the program by --rdpipe-path if it is not in the PATH of ssh's commands";
  if (ending.signal == 0 && ending.status == 127) {
    return "there is no rdpipe at " + host + "; " + way_to_have_it;
  }
  if (ending.signal == 0 && ending.status == 1) {  // the status of csh for an unknown command
    return "ssh " + host +
           " ended before rdpipe could start there, with status 1; if what stands above is that there "
           "is no such command, " +
           way_to_have_it;
  }
  if (ending.signal == 0 && ending.status == ssh_failed_status) {
    return "ssh does not reach " + host + "; what it says stands above";
  }
  return "ssh " + host + " ended before rdpipe could start there, with " +
         (ending.signal != 0 ? signal_text(ending.signal) : "status " + std::to_string(ending.status)) +
         "; what it says, if anything, stands above";
}

void AgentConnection::stop() {
  say({{"type", "stop"}});
  if (!facts_ && !plan_.stage.is_here()) {
    process_.signal(SIGTERM);  // ssh has not connected yet
  }
}

}  // namespace framewire
