#include "bytes/options.hpp"
#include "command/interruption.hpp"
#include "command/run_program.hpp"
#include "command/terminal_log.hpp"

int main(int argc, char** argv) {
  using namespace framewire;
  return run_program("rdrecv", [&] {
    const auto options = parse_rdrecv_options(argc, argv);
    if (!options) {
      return ExitStatus::ok;
    }
    Interruption interruption;
    TerminalLog log(stderr, "rdrecv", options->is_verbose);
    return receive_bytes(*options, interruption, log);
  });
}
