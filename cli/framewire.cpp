// framewire SUB: runs the program framewire-SUB beside this one, as git does.
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "base/text.hpp"

namespace {

using framewire::Error;

struct Subcommand {
  std::string_view name;
  std::string_view purpose;
};

constexpr std::array<Subcommand, 5> subcommands{{
    {"send", "offer frames: a GL scene, a video, a device, a pattern or standard input"},
    {"view", "show what a sender offers, in a window or without one"},
    {"bench", "measure the links, on one machine or between two"},
    {"doctor", "look at this machine, or at the way to another, and say what would make it better"},
    {"key", "make or import the key that two machines share"},
}};

void print_help(std::FILE* to) {
  fmt::print(to,
             "Uncompressed frames and bytes between machines, at the speed of the wire.\n\nUsage: framewire SUBCOMMAND "
             "[OPTIONS]\n\n");
  for (const Subcommand& one : subcommands) {
    fmt::print(to, "  {:<8}{}\n", one.name, one.purpose);
  }
  fmt::print(to, "\n'framewire SUBCOMMAND --help' says more; 'framewire --version' names the version.\n");
}

/// Where this program lies, with a slash at the end; empty when the system does not say.
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

/// Returns only when it failed, by throwing.
[[noreturn]] void run(const std::string& name, char** arguments) {
  const bool is_known = std::ranges::find(subcommands, name, &Subcommand::name) != subcommands.end();
  if (is_name(name)) {
    std::string program = "framewire-" + name;
    const std::string beside = own_folder() + program;
    arguments[0] = program.data();
    ::execv(beside.c_str(), arguments);
    if (errno == ENOENT) {
      ::execvp(program.c_str(), arguments);
    }
    if (errno != ENOENT) {
      throw Error::from_errno("run " + program, errno);
    }
    if (is_known) {
      throw Error::failed(fmt::format("{} is not installed: it is neither beside this program nor in PATH", program));
    }
  }
  throw Error::usage(fmt::format("{} is no subcommand; 'framewire --help' lists them", framewire::quote(name)));
}

int dispatch(int argc, char** argv) {
  const std::string first = argc > 1 ? argv[1] : "";
  if (first == "--help" || first == "-h" || first == "help") {
    print_help(stdout);
    return 0;
  }
  if (first == "--version") {
    fmt::print("framewire " FRAMEWIRE_VERSION "\n");
    return 0;
  }
  if (first.empty()) {
    print_help(stderr);
    return static_cast<int>(framewire::ExitStatus::usage);
  }
  run(first, argv + 1);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return dispatch(argc, argv);
  } catch (const Error& error) {
    fmt::print(stderr, "framewire: {}\n", error.what());
    return static_cast<int>(error.status());
  }
}
