#include "viewer/ssh_sender.hpp"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.hpp"
#include "base/pipe.hpp"
#include "base/text.hpp"
#include "ssh/message_fields.hpp"
#include "ssh/sender_plan.hpp"

namespace framewire {

namespace {

constexpr int ssh_failed_status = 255;
constexpr int not_found_status = 127;
constexpr int csh_not_found_status = 1;

/// What ssh says of a network or a host that may be back soon. Anything else, such as a wrong key, would fail again.
bool is_passing(std::string_view words) {
  constexpr std::array passing = {"Connection refused",     "Connection timed out", "Operation timed out",
                                  "No route to host",       "Connection reset",     "Connection closed",
                                  "Network is unreachable", "not responding",       "Temporary failure",
                                  "Host is down",           "banner exchange"};
  return std::ranges::any_of(passing, [&](const char* each) { return words.find(each) != std::string_view::npos; });
}

std::vector<std::string> command_line_of(const LocalSource& source) {
  std::vector<std::string> words = source.options;
  words.insert(words.end(), {"--", source.source});
  return words;
}

}  // namespace

SshSender::SshSender(LocalSource source, SshOptions ssh, std::shared_ptr<Rendezvous> rendezvous)
    : source_(std::move(source)), ssh_(std::move(ssh)), rendezvous_(std::move(rendezvous)) {
  ssh_.port = source_.host->port;
  if (ssh_.remote_program.empty()) {
    ssh_.remote_program = "framewire-send";
  }
}

ChildProcess SshSender::start(int error) {
  PipeEnds orders = make_pipe();
  PipeEnds answers = make_pipe();
  ChildProcess child =
      ChildProcess::start(ssh_arguments(ssh_, source_.host->name, started_by_viewer_flag),
                          {.input = orders.reads.get(), .output = answers.writes.get(), .error = error}, false);
  channel_ = JsonLines(std::move(answers.reads), std::move(orders.writes), true);
  return child;
}

void SshSender::follow(std::int64_t now_ns) {
  channel_.receive();
  channel_.flush();
  nlohmann::json message;
  for (int i = 0; i < most_messages_at_once && channel_.next(message); ++i) {
    take(message, now_ns);
  }
  if (!channel_.fault().empty()) {
    throw Error::failed(channel_.fault() + "; check --send-path and the startup files of the shell there");
  }
  if (now_ns >= next_sign_ns_) {
    next_sign_ns_ = now_ns + sign_of_life_ns;
    // What still waits for a network that has stopped says the same.
    if (!channel_.wants_write()) {
      channel_.send({{"type", "alive"}});
    }
  }
}

/// Ignores what comes in no good order, and what it does not know.
void SshSender::take(const nlohmann::json& message, std::int64_t now_ns) {
  const std::string type = text_in(message, "type");
  if (type == "hello" && !host_) {
    take_hello(message, now_ns);
  } else if (type == "listening" && host_ && !is_listening_) {
    rendezvous_->open(port_in(message, "port"), *host_, ssh_);
    is_listening_ = true;
  }
}

void SshSender::take_hello(const nlohmann::json& message, std::int64_t now_ns) {
  constexpr std::size_t longest_version = 40;
  const std::uint64_t protocol = number_in(message, "protocol");
  if (protocol != sender_protocol) {
    throw Error::failed("framewire there is " + printable(text_in(message, "version"), longest_version) +
                        " with protocol " + std::to_string(protocol) + ", and here " + FRAMEWIRE_VERSION + " with " +
                        std::to_string(sender_protocol) + "; install the same one on both");
  }
  host_ = host_addresses_from(message);
  channel_.send(to_json(SenderPlan{.words = command_line_of(source_), .key = rendezvous_->key()}));
  next_sign_ns_ = now_ns + sign_of_life_ns;
}

std::optional<SshFailure> SshSender::failure(const ChildExit& ending, std::string_view last_line) const {
  if (!has_answered()) {
    return failure_to_start(ending, std::string(last_line));
  }
  if (ending.signal != 0 || ending.status == ssh_failed_status) {
    return SshFailure{.reason = "the connection to " + source_.host->name + ", or framewire-send there, is gone"};
  }
  return std::nullopt;
}

SshFailure SshSender::failure_to_start(const ChildExit& ending, const std::string& last_line) const {
  const std::string& host = source_.host->name;
  const std::string said = last_line.empty() ? "it does not say why" : last_line;
  if (ending.signal != 0) {
    return {.reason = "ssh was ended by " + signal_text(ending.signal)};
  }
  if (ending.status == ssh_failed_status) {
    return {.reason = "ssh does not reach " + host + ": " + said, .is_final = !is_passing(said)};
  }
  if (ending.status == not_found_status || ending.status == csh_not_found_status) {
    return {.reason = "framewire-send was not found on " + host +
                      "; install framewire there, or give its path by --send-path (" + said + ")",
            .is_final = true};
  }
  return {.reason = "ssh " + host + " ended with status " + std::to_string(ending.status) +
                    " before framewire-send of this version ran there: " + said,
          .is_final = true};
}

}  // namespace framewire
