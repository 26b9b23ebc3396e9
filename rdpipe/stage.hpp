// The stages of a pipeline as people write them: HOST:'command', :'command', HOST:'<file', HOST:'>file', HOST:'>>file'.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace framewire {

enum class StageWork {
  command,  // run by the user's shell
  source,   // '<file': what the file holds, and nothing is read from the stage before
  sink,     // '>file' or '>>file': the file gets all there is
};

struct Stage {
  std::string host{};  // as ssh takes it, an IPv6 address without brackets; empty: this machine
  StageWork work = StageWork::command;
  std::string text{};    // the command, or the file's name
  bool appends = false;  // '>>file'

  [[nodiscard]] bool is_here() const noexcept { return host.empty(); }
};

/// "user@[::1]" becomes "user@::1": a host or an address as it stands in a Stage.
std::string without_brackets(std::string host);

/// Throws Error (usage) that names the word and what a stage is. A file to read can only stand first, one to write only
/// last.
std::vector<Stage> parse_stages(const std::vector<std::string>& words);

/// "host1: 'rev'", "here: 'rev'", "host1: <file": the place and the work, a long one cut short.
std::string describe(const Stage& stage);
/// "stage 2 (host1: 'rev')". `number` counts from 1.
std::string describe(const Stage& stage, std::size_t number);

}  // namespace framewire
