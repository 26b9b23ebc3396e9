#include <csignal>
#include <cstdio>

#include "base/error.hpp"
#include "base/log.hpp"
#include "command/interruption.hpp"
#include "command/standard_streams.hpp"
#include "viewer/options.hpp"
#include "viewer/program.hpp"

int main(int argc, char** argv) {
  using namespace framewire;
  const char* const program_name = "framewire-view";
  hold_standard_streams();
  try {
    const auto options = parse_options(argc, argv);
    if (!options) {
      return static_cast<int>(ExitStatus::ok);
    }
    std::signal(SIGPIPE, SIG_IGN);  // a reader that leaves is an error of write(), not the end
    std::signal(SIGXFSZ, SIG_IGN);  // as is a file that may grow no more
    Log log(stderr, program_name, options->common.is_verbose);
    Interruption interruption;  // before any thread
    Program program(*options, interruption, log);
    return static_cast<int>(program.run());
  } catch (const Error& error) {
    Log(stderr, program_name, false).error(error.what());
    return static_cast<int>(error.status());
  } catch (const std::exception& error) {
    Log(stderr, program_name, false).error(error.what());
    return static_cast<int>(ExitStatus::failed);
  }
}
