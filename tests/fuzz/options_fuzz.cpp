// The command lines of all programs whose options have a parser of their own.
//
// Input: one byte that selects the program, then its arguments, each ended by a zero byte.
#include <unistd.h>

#include <cstdio>

#include "bench/plan.hpp"
#include "bytes/options.hpp"
#include "doctor/options.hpp"
#include "rdpipe/options.hpp"
#include "sender/options.hpp"
#include "tests/base/temporary_folder.hpp"
#include "tests/fuzz/fuzz.hpp"
#include "viewer/options.hpp"

namespace framewire::fuzz {
namespace {

using Parse = bool (*)(int argc, const char* const* argv);

template <auto parse>
bool parses(int argc, const char* const* argv) {
  return parse(argc, argv).has_value();
}

bool parses_bench(int argc, const char* const* argv) {
  const auto options = parse_bench_options(argc, argv);
  if (options) {
    plan_rows(*options, {"socket", "local", "tcp", "rdma", "verbs"});
  }
  return options.has_value();
}

struct Program {
  const char* name;
  Parse parse;
};
constexpr Program programs[] = {{"framewire-send", parses<parse_sender_options>},
                                {"framewire-view", parses<parse_options>},
                                {"framewire-bench", parses_bench},
                                {"framewire-doctor", parses<parse_doctor_options>},
                                {"rdsend", parses<parse_rdsend_options>},
                                {"rdrecv", parses<parse_rdrecv_options>},
                                {"rdpipe", parses<parse_rdpipe_options>}};

/// Help goes nowhere, and files that an input names are those of an empty folder.
void prepare() {
  static const test::TemporaryFolder folder;
  static const bool is_ready = ::chdir(folder.path().c_str()) == 0 && std::freopen("/dev/null", "w", stdout) != nullptr;
  require(is_ready, "there is a folder to run in");
}

void check(const Program& program, const std::vector<std::string>& arguments) {
  std::vector<const char*> argv = {program.name};
  for (const std::string& argument : arguments) {
    argv.push_back(argument.c_str());
  }
  argv.push_back(nullptr);
  try {
    program.parse(static_cast<int>(argv.size() - 1), argv.data());
  } catch (const Error& error) {
    require_printable(error.what());
    if (error.status() != ExitStatus::usage) {
      std::fprintf(stderr, "%s\n", error.what());
    }
    require(error.status() == ExitStatus::usage, "what a command line gets wrong is an error of usage");
  }
}

std::string words(char program, const std::vector<std::string>& arguments) {
  std::string text(1, program);
  for (const std::string& argument : arguments) {
    text += argument + std::string(1, '\0');
  }
  return text;
}

}  // namespace

std::vector<std::string> seeds() {
  return {
      words(0, {"pattern:stamped", "--size", "64x48", "--rate", "29.97", "--pix-fmt", "yuv420p", "--listen", "*:5290",
                "--slots", "4"}),
      words(0, {"film.mkv", "--loop", "--start", "1:30", "--name", "left", "--to", "box", "--delivery", "every",
                "--input-option", "a=b", "--hwaccel", "cuda:GPU-0123"}),
      words(0, {"gl:waves", "--size", "auto", "--frames", "10", "--duration", "10s", "--transport", "tcp,local",
                "--encrypt"}),
      words(1, {"big:5290/left", "--headless", "--size", "64x48", "--output", "-", "--pull", "--pull-interval", "2s"}),
      words(1, {"--listen", "*:5290", "--fullscreen", "--monitor", "1", "--key", "k", "--timeout", "500ms", "--tos",
                "0x10"}),
      words(2, {"--transport", "tcp,local", "--operation", "stream,latency", "--bytes", "64,1M", "--count", "100",
                "--json", "--repeat", "3"}),
      words(2, {"box:5290", "--rate", "1000", "--reverse", "--duration", "1s", "--slots", "8"}),
      words(3, {"box", "--transport", "rdma", "--json", "--verbose"}),
      words(4, {"box:5291", "file", "--limit", "10M", "--slots", "4", "--slot-bytes", "1M", "--no-digest"}),
      words(5, {"--from", "big", "file", "--fsync", "--rdma-address", "192.0.2.1", "--insecure"}),
      words(6, {"-v", "host1:tr a b", "host2:>out", "--ports", "6000-6010", "--ssh-option", "a=b"}),
      words(6, {"--help"}),
      words(0, {"--write-manual", "bash"}),
      words(1, {"--version"})};
}

}  // namespace framewire::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace framewire;
  fuzz::prepare();
  fuzz::Input input(data, size);
  const auto& program = fuzz::programs[input.take<std::uint8_t>() % std::size(fuzz::programs)];
  std::vector<std::string> arguments;
  while (!input.is_empty() && arguments.size() < 64) {
    arguments.emplace_back(input.take_until('\0'));
  }
  fuzz::check(program, arguments);
  return 0;
}
