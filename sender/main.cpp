#include <cstdio>

#include "base/log.hpp"
#include "command/interruption.hpp"
#include "command/run_program.hpp"
#include "sender/options.hpp"
#include "sender/program.hpp"

int main(int argc, char** argv) {
  using namespace framewire;
  return run_program("framewire-send", [&] {
    const auto options = parse_sender_options(argc, argv);
    if (!options) {
      return ExitStatus::ok;
    }
    Log log(stderr, "framewire-send", options->common.is_verbose);
    Interruption interruption;  // before any thread
    return SenderProgram(*options, interruption, log).run();
  });
}
