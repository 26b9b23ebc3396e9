// framewire SUB: runs the program framewire-SUB from its own folder, as git does.
#include <fmt/core.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <iterator>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "base/failure_text.hpp"
#include "base/text.hpp"
#include "command/command_line.hpp"
#include "command/suggestion.hpp"

namespace {

using framewire::Error;

struct Subcommand {
  std::string_view name;
  std::string_view purpose;  // the summary of that program
};

constexpr std::array<Subcommand, 5> subcommands{{
    {"send", "sends frames to viewers: a scene, a film, a device, a pattern or standard input"},
    {"view", "shows the frames of a sender, in a window or without one; records and measures them"},
    {"bench", "measures the links, on one machine or between two"},
    {"doctor", "checks this machine, or the path to another, and prints what would improve it"},
    {"key", "makes or imports the key that two machines share"},
}};

constexpr const char* description =
    "Sends uncompressed video frames, or any bytes, between programs and machines\n"
    "framewire runs each subcommand as a separate program: 'framewire send' runs framewire-send. "
    "'framewire SUBCOMMAND --help' or 'framewire help SUBCOMMAND' describes it. For bytes use rdsend, rdrecv and "
    "rdpipe.";

constexpr const char* footer =
    "Examples:\n"
    "  framewire key                              make the key that two machines share\n"
    "  framewire send gl:                         render a scene and send it\n"
    "  framewire view big                         show it on another machine; the sender runs on 'big'\n"
    "  framewire doctor                           check this machine, and print what would improve it\n"
    "Exit status:\n"
    "That of the subcommand, or:\n"
    "  1  the subcommand is not installed, or cannot be run\n"
    "  2  there is no such subcommand\n";

void define(CLI::App& app) {
  app.footer(footer);
  for (const Subcommand& one : subcommands) {
    app.add_subcommand(std::string(one.name), std::string(one.purpose));
  }
}

/// The folder of this program, with a slash at the end; empty if the system does not say.
std::string own_folder() {
  std::array<char, PATH_MAX> path{};
  const ssize_t size = ::readlink("/proc/self/exe", path.data(), path.size());
  const std::string_view whole(path.data(), size > 0 ? static_cast<std::size_t>(size) : 0);
  return std::string(whole.substr(0, whole.rfind('/') + 1));
}

bool is_name(std::string_view text) {
  return !text.empty() && text.front() != '-' &&
         std::ranges::all_of(text, [](char letter) { return (letter >= 'a' && letter <= 'z') || letter == '-'; });
}

/// Whether a folder of PATH that this user can search contains it.
bool stands_in_path(const std::string& program) {
  const char* path = std::getenv("PATH");
  std::istringstream folders(path != nullptr ? path : "");
  for (std::string folder; std::getline(folders, folder, ':');) {
    if (::access(folder.append("/").append(program).c_str(), F_OK) == 0) {
      return true;
    }
  }
  return false;
}

Error no_subcommand(const std::string& name) {
  std::vector<std::string> names;
  std::ranges::transform(subcommands, std::back_inserter(names),
                         [](const Subcommand& one) { return std::string(one.name); });
  const auto nearest = framewire::nearest_name(name, names);
  return Error::usage(
      fmt::format("{} is no subcommand; {}", framewire::quote(name),
                  nearest ? fmt::format("did you mean 'framewire {}'?", *nearest) : "'framewire --help' lists them"));
}

/// Throws if it fails; does not return otherwise.
[[noreturn]] void run(const std::string& name, char** arguments) {
  const bool is_known = std::ranges::find(subcommands, name, &Subcommand::name) != subcommands.end();
  if (is_name(name)) {
    std::string program = "framewire-" + name;
    const std::string beside = own_folder() + program;
    arguments[0] = program.data();
    ::execv(beside.c_str(), arguments);
    int fault = errno;
    if (fault == ENOENT) {
      ::execvp(program.c_str(), arguments);
      fault = errno;
      if (fault == EACCES && !stands_in_path(program)) {
        fault = ENOENT;  // execvp() also fails with EACCES for a folder of PATH that this user cannot search
      }
    }
    if (fault != ENOENT) {
      throw Error::from_errno("run " + program, fault);
    }
    if (is_known) {
      throw Error::failed(
          fmt::format("{} is not installed: it is neither beside this program nor in PATH; the package {} has it",
                      program, name == "send" || name == "view" ? "framewire" : "framewire-bytes"));
    }
  }
  throw no_subcommand(name);
}

int dispatch(int argc, char** argv) {
  const std::string first = argc > 1 ? argv[1] : "";
  CLI::App app(description, "framewire");
  define(app);
  if (first.empty() || (first == "help" && argc == 2)) {
    framewire::print_help(app, first.empty() ? stderr : stdout);
    return static_cast<int>(first.empty() ? framewire::ExitStatus::usage : framewire::ExitStatus::ok);
  }
  // The subcommand parses its own arguments. Only options of this program are parsed here.
  if (first == "--help" || first == "-h" || first == "--version" || first == "--write-manual") {
    static_cast<void>(framewire::parse_command_line(app, argc, argv));
    return 0;
  }
  if (first == "help") {
    std::string option = "--help";
    std::array<char*, 3> arguments{argv[2], option.data(), nullptr};
    run(argv[2], arguments.data());
  }
  run(first, argv + 1);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return dispatch(argc, argv);
  } catch (const Error& error) {
    fmt::print(stderr, "framewire: {}\n", framewire::printable(error.what()));
    return static_cast<int>(error.status());
  } catch (const std::exception& error) {  // std::bad_alloc
    std::fprintf(stderr, "framewire: %s\n", framewire::failure_text(error));
    return static_cast<int>(framewire::ExitStatus::failed);
  }
}
