#include <cstdio>

#include "base/log.hpp"
#include "command/interruption.hpp"
#include "command/run_program.hpp"
#include "viewer/options.hpp"
#include "viewer/program.hpp"

int main(int argc, char** argv) {
  using namespace framewire;
  return run_program("framewire-view", [&] {
    const auto options = parse_options(argc, argv);
    if (!options) {
      return ExitStatus::ok;
    }
    Log log(stderr, "framewire-view", options->common.is_verbose);
    Interruption interruption;  // before any thread starts
    return Program(*options, interruption, log).run();
  });
}
