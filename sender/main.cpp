#include <csignal>
#include <cstdio>

#include "base/error.hpp"
#include "base/log.hpp"
#include "command/interruption.hpp"
#include "command/standard_streams.hpp"
#include "sender/options.hpp"
#include "sender/program.hpp"

int main(int argc, char** argv) {
  using namespace framewire;
  const char* const program_name = "framewire-send";
  hold_standard_streams();
  try {
    const auto options = parse_sender_options(argc, argv);
    if (!options) {
      return static_cast<int>(ExitStatus::ok);
    }
    std::signal(SIGPIPE, SIG_IGN);
    Log log(stderr, program_name, options->common.is_verbose);
    Interruption interruption;  // before any thread
    SenderProgram program(*options, interruption, log);
    return static_cast<int>(program.run());
  } catch (const Error& error) {
    Log(stderr, program_name, false).error(error.what());
    return static_cast<int>(error.status());
  } catch (const std::exception& error) {
    Log(stderr, program_name, false).error(error.what());
    return static_cast<int>(ExitStatus::failed);
  }
}
