// framewire key: makes, imports and exports the key that two machines share.
#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <string>
#include <system_error>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/file_descriptor.hpp"
#include "command/command_line.hpp"
#include "command/named_files.hpp"
#include "command/run_program.hpp"
#include "transport/control/key_file.hpp"

namespace {

using framewire::Error;

struct Options {
  std::string file;         // --file, else the default
  std::string import_from;  // "-" or a file
  bool do_export = false;
  bool show_path = false;
  bool force = false;
};

/// Long enough to type a password for ssh first.
constexpr std::int64_t import_timeout_ns = 300 * framewire::ns_per_s;

constexpr const char* footer =
    "Examples:\n"
    "  framewire key                                                make a key on one machine\n"
    "  framewire key --export | ssh OTHER framewire key --import -  copy it to the other\n"
    "Exit status:\n"
    "  0  the key was made, exported or imported\n"
    "  1  that failed\n"
    "  2  the command line is wrong\n"
    "  3  refused: there is a key already, or another file\n"
    "Files:\n"
    "  ~/.config/framewire/key  the key, unless --file names another file; only its owner may read it\n"
    "Environment:\n"
    "  XDG_CONFIG_HOME  the folder to use instead of ~/.config\n";

constexpr const char* description =
    "Makes or imports the key that two machines share\n"
    "Two machines that share a key trust each other. Make the key on one machine and copy it to the other, best over "
    "ssh. The key never appears on a command line or in the environment.";

void define(CLI::App& app, Options& options) {
  app.footer(footer);
  app.add_option("--file", options.file, "key file (default ~/.config/framewire/key)")->type_name("FILE");
  auto* import_option =
      app.add_option("--import", options.import_from, "import the key from FILE; - is standard input");
  import_option->type_name("FILE|-");
  auto* export_option =
      app.add_flag("--export", options.do_export, "write the key to standard output, to pipe it into ssh");
  auto* path_option = app.add_flag("--show-path", options.show_path, "print the path of the key file and exit");
  app.add_flag("--force", options.force, "let --import replace a different key (default: refuse)")
      ->needs(import_option);
  import_option->excludes(export_option)->excludes(path_option);
  export_option->excludes(path_option);
}

void import_from(const Options& options, const std::string& path) {
  framewire::FileDescriptor opened;
  int fd = STDIN_FILENO;
  if (options.import_from != "-") {
    opened.reset(::open(options.import_from.c_str(), O_RDONLY | O_CLOEXEC));
    if (!opened.valid()) {
      throw Error::from_errno("open " + options.import_from, errno);
    }
    fd = opened.get();
  }
  const auto result = framewire::import_key(path, fd, options.force, import_timeout_ns);
  fmt::print("{} {}\n", result == framewire::KeyImport::same ? "the same key is there already:" : "imported the key to",
             path);
}

/// Only the folders of the default path are made: others may be a typing error.
void require_folder(const Options& options) {
  if (std::error_code error; !options.file.empty() && !std::filesystem::exists(options.file, error)) {
    framewire::require_writable(options.file, "--file");
  }
}

void run(const Options& options) {
  const std::string path = options.file.empty() ? framewire::default_key_path() : options.file;
  if (options.show_path) {
    fmt::print("{}\n", path);
  } else if (options.do_export) {
    if (::isatty(STDOUT_FILENO) == 1) {
      throw Error::usage(
          "--export does not show the key on a terminal; pipe it: framewire key --export | ssh OTHER framewire key "
          "--import -");
    }
    framewire::export_key(path, STDOUT_FILENO);
  } else if (!options.import_from.empty()) {
    require_folder(options);
    import_from(options, path);
  } else {
    require_folder(options);
    framewire::create_key(path);
    fmt::print(
        "made a key in {}\ncarry it to the other machine: framewire key {}--export | ssh OTHER framewire key --import "
        "-\n",
        path, options.file.empty() ? "" : "--file " + options.file + " ");
  }
}

}  // namespace

int main(int argc, char** argv) {
  return framewire::run_program("framewire-key", [&] {
    Options options;
    CLI::App app(description, "framewire key");
    define(app, options);
    if (framewire::parse_command_line(app, argc, argv)) {
      run(options);
    }
    return framewire::ExitStatus::ok;
  });
}
