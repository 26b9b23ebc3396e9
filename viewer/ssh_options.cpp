#include "viewer/ssh_options.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "base/error.hpp"

namespace framewire {

void add_ssh_options(CLI::App& app, RawSshOptions& raw) {
  app.add_option("-F", raw.config_file, "configuration file for ssh (default: that of ssh)")->type_name("FILE");
  app.add_option("-o", raw.options, "option for ssh, as in ProxyJump=gate; repeat it for more options")
      ->type_name("OPTION")
      ->allow_extra_args(false);
  app.add_option("--send-path", raw.send_path,
                 "name or path of framewire-send on the hosts of ssh:// (default framewire-send)")
      ->type_name("PROGRAM");
}

SshOptions parse_ssh_options(const RawSshOptions& raw, std::span<const ViewedSource> sources, bool has_scene_file) {
  const auto is_by_ssh = [](const ViewedSource& source) { return source.rendezvous != nullptr; };
  const char* option = !raw.config_file.empty() ? "-F"
                       : !raw.options.empty()   ? "-o"
                       : !raw.send_path.empty() ? "--send-path"
                                                : nullptr;
  if (option != nullptr && !has_scene_file && std::ranges::none_of(sources, is_by_ssh)) {
    throw Error::usage(std::string(option) + " is for sources that begin with ssh://, and no HOST does" +
                       (raw.options.empty() ? "" : "; frames are recorded by --output"));
  }
  SshOptions ssh{.options = raw.options, .remote_program = raw.send_path};
  if (!raw.config_file.empty()) {
    ssh.config_file = raw.config_file;
  }
  return ssh;
}

}  // namespace framewire
