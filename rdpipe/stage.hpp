// The stages of a pipeline as people write them: HOST:'command', :'command', HOST:'<file', HOST:'>file', HOST:'>>file'.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace framewire {

enum class StageWork {
  command,  // run by the user's shell
  source,   // '<file': the contents of the file; nothing is read from an earlier stage
  sink,     // '>file' or '>>file': writes all input to the file
};

struct Stage {
  std::string host{};  // as ssh takes it, an IPv6 address without brackets; empty: this machine
  StageWork work = StageWork::command;
  std::string text{};    // the command, or the file's name
  bool appends = false;  // '>>file'

  [[nodiscard]] bool is_here() const noexcept { return host.empty(); }
};

/// "user@[::1]" becomes "user@::1": the form of hosts and addresses in a Stage.
std::string without_brackets(std::string host);

/// Throws Error (usage) that names the word and explains what a stage is. A file to read may only be the first stage, a
/// file to write only the last one.
std::vector<Stage> parse_stages(const std::vector<std::string>& words);

/// "host1: 'rev'", "here: 'rev'", "host1: <file". Long text is cut short.
std::string describe(const Stage& stage);
/// "stage 2 (host1: 'rev')". `number` counts from 1.
std::string describe(const Stage& stage, std::size_t number);

}  // namespace framewire
