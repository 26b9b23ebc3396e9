// The viewer's options for sources that begin with ssh://, as rdpipe has them.
#pragma once

#include <string>
#include <vector>

#include "ssh/ssh_command.hpp"

namespace CLI {
class App;
}

namespace framewire {

/// The text of the options, before it is parsed.
struct RawSshOptions {
  std::string config_file;
  std::vector<std::string> options;
  std::string send_path;
};

void add_ssh_options(CLI::App& app, RawSshOptions& raw);

/// `may_use_ssh`: some source begins so, or may do so later. Throws Error (usage) for options that mean nothing.
SshOptions parse_ssh_options(const RawSshOptions& raw, bool may_use_ssh);

}  // namespace framewire
