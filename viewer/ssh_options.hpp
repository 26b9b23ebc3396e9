// The viewer's options for sources that begin with ssh://, as rdpipe has them.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "ssh/ssh_command.hpp"
#include "viewer/source.hpp"

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

/// Throws Error (usage) for options that mean nothing: no source begins with ssh://, and none will, since the sources
/// are not those of a scene's file, which may change.
SshOptions parse_ssh_options(const RawSshOptions& raw, std::span<const ViewedSource> sources, bool has_scene_file);

}  // namespace framewire
