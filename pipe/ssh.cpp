#include "pipe/ssh.hpp"

#include <unistd.h>

#include <array>
#include <sstream>

#include "command/shell_word.hpp"
#include "pipe/child_process.hpp"

namespace framewire {

namespace {

std::vector<std::string> with_user_options(const SshOptions& options) {
  std::vector<std::string> words{"ssh"};
  if (options.config_file) {
    words.insert(words.end(), {"-F", *options.config_file});
  }
  for (const std::string& option : options.options) {
    words.insert(words.end(), {"-o", option});
  }
  return words;
}

std::string output_of(const std::vector<std::string>& words) {
  PipeEnds pipe = make_pipe();
  ChildProcess child = ChildProcess::start(words, {.output = pipe.writes.get()}, false);
  pipe.writes.reset();
  std::string text;
  std::array<char, 4096> part{};
  for (ssize_t got = 1; got > 0;) {
    got = ::read(pipe.reads.get(), part.data(), part.size());
    text.append(part.data(), got > 0 ? static_cast<std::size_t>(got) : 0);
  }
  child.wait();
  return text;
}

}  // namespace

std::vector<std::string> ssh_words(const SshOptions& options, const std::string& host) {
  std::vector<std::string> words = with_user_options(options);
  // Of an option that is given twice ssh takes the first: the user's own come before these. A connection that
  // falls silent ends within 15 s, also before anybody here can ask after it, and no stage hangs on another one's ssh.
  // No terminal, no forwarding.
  words.insert(words.end(),
               {"-o", "ConnectTimeout=10", "-o", "ServerAliveInterval=5", "-o", "ServerAliveCountMax=2", "-o",
                "ControlMaster=no", "-T", "-x", "-a", "--", host, options.remote_program + " " + agent_word});
  return words;
}

std::string ssh_host_name(const SshOptions& options, const std::string& host) {
  std::vector<std::string> words = with_user_options(options);
  words.insert(words.end(), {"-G", "--", host});
  std::istringstream lines(output_of(words));
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("hostname ")) {
      return line.substr(9);
    }
  }
  const std::size_t at = host.rfind('@');
  return at == std::string::npos ? host : host.substr(at + 1);
}

}  // namespace framewire
