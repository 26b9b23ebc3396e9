#include "ssh/ssh_command.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <sstream>

#include "base/clock.hpp"
#include "base/wait.hpp"
#include "command/child_process.hpp"

namespace framewire {

namespace {

constexpr std::int64_t host_name_timeout_ns = 5 * ns_per_s;

std::vector<std::string> with_user_options(const SshOptions& options) {
  std::vector<std::string> words{"ssh"};
  if (options.port) {
    words.insert(words.end(), {"-p", std::to_string(*options.port)});
  }
  if (options.config_file) {
    words.insert(words.end(), {"-F", *options.config_file});
  }
  for (const std::string& option : options.options) {
    words.insert(words.end(), {"-o", option});
  }
  return words;
}

/// The program's output; empty if it did not end in time. The program is killed on return.
std::string output_of(const std::vector<std::string>& words, int interruption, std::int64_t deadline_ns) {
  PipeEnds pipe = make_pipe();
  ChildProcess child = ChildProcess::start(words, {.output = pipe.writes.get()}, true);
  pipe.writes.reset();
  std::string text;
  std::array<char, 4096> part{};
  for (;;) {
    std::array descriptors{pollfd{.fd = pipe.reads.get(), .events = POLLIN, .revents = 0},
                           pollfd{.fd = interruption, .events = POLLIN, .revents = 0}};
    wait_until(descriptors, deadline_ns);
    if (descriptors[0].revents == 0) {
      return {};  // the destructor kills it
    }
    const ssize_t got = ::read(pipe.reads.get(), part.data(), part.size());
    if (got <= 0) {
      return text;
    }
    text.append(part.data(), static_cast<std::size_t>(got));
  }
}

}  // namespace

std::vector<std::string> ssh_arguments(const SshOptions& options, const std::string& host,
                                       const std::string& argument) {
  std::vector<std::string> words = with_user_options(options);
  // ssh uses the first value of a repeated option, so the user's options come first. A silent connection ends within 12
  // s (ssh probes twice and then waits once more): this also covers the time before rdpipe can ping. No shared
  // connection, neither a new nor an existing one, so that no program depends on another one's ssh. No terminal and no
  // forwarding, as scp does. The user's configuration may have a RemoteCommand, with which ssh would refuse the command
  // given here, or a SessionType of "none", with which it would not run it.
  //
  // ssh hands the last word to a remote shell. It is not quoted: --rdpipe-path may hold shell text, as in ~/bin/rdpipe
  // or "nice rdpipe", and so may --send-path.
  words.insert(words.end(), {"-o", "ConnectTimeout=10",
                             "-o", "ServerAliveInterval=4",
                             "-o", "ServerAliveCountMax=2",
                             "-o", "ControlMaster=no",
                             "-o", "ControlPath=none",
                             "-o", "ClearAllForwardings=yes",
                             "-o", "RemoteCommand=none",
                             "-o", "SessionType=default",
                             "-o", "StdinNull=no",
                             "-o", "ForkAfterAuthentication=no",
                             "-T", "-x",
                             "-a", "--",
                             host, options.remote_program + " " + argument});
  return words;
}

bool is_ssh_host(std::string_view host) noexcept {
  static constexpr std::string_view shell_characters = "`$;|&<>(){}'\"";
  const auto is_odd = [](unsigned char letter) {
    return std::iscntrl(letter) != 0 || std::isspace(letter) != 0 ||
           shell_characters.find(static_cast<char>(letter)) != std::string_view::npos;
  };
  const std::size_t at = host.rfind('@');
  const std::string_view user = host.substr(0, at == std::string_view::npos ? 0 : at);
  const std::string_view name = host.substr(at + 1);  // npos + 1 is 0
  return !name.empty() && !host.starts_with('-') && !name.starts_with('-') && !host.starts_with('@') &&
         !user.ends_with('\\') && name.find('\\') == std::string_view::npos && std::ranges::none_of(host, is_odd);
}

std::string ssh_host_name(const SshOptions& options, const std::string& host, int interruption) {
  std::vector<std::string> words = with_user_options(options);
  words.insert(words.end(), {"-G", "-T", "--", host});
  std::istringstream lines(output_of(words, interruption, monotonic_ns() + host_name_timeout_ns));
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("hostname ")) {
      return line.substr(9);
    }
  }
  const std::size_t at = host.rfind('@');
  return at == std::string::npos ? host : host.substr(at + 1);
}

// ---- On the stage's host ----

std::optional<SshConnection> parse_ssh_connection(const std::string& text) {
  std::istringstream words(text);
  SshConnection found;
  words >> found.client >> found.client_port >> found.server >> found.server_port;
  return words ? std::optional(found) : std::nullopt;
}

}  // namespace framewire
