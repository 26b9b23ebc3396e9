#include "bytes/options.hpp"
#include "command/interruption.hpp"
#include "command/run_program.hpp"
#include "command/terminal_log.hpp"

int main(int argc, char** argv) {
  using namespace framewire;
  return run_program("rdsend", [&] {
    const auto options = parse_rdsend_options(argc, argv);
    if (!options) {
      return ExitStatus::ok;
    }
    Interruption interruption;
    TerminalLog log(stderr, "rdsend", options->is_verbose);
    return send_bytes(*options, interruption, log);
  });
}
