#include "command/run_program.hpp"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <exception>

#include "base/log.hpp"
#include "command/standard_streams.hpp"

namespace framewire {

int run_program(const char* name, const std::function<ExitStatus()>& program) {
  reserve_standard_fds();
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  ExitStatus status = ExitStatus::failed;
  try {
    status = program();
    errno = 0;
    const bool is_written = std::fflush(stdout) == 0 && std::ferror(stdout) == 0;
    if (!is_written) {
      // An earlier failed write left no errno; the present value is unrelated.
      throw errno != 0 ? Error::from_errno("write to standard output", errno)
                       : Error::failed("cannot write to standard output: what was written before has been lost");
    }
  } catch (const Error& error) {
    Log(stderr, name, false).error(error.what());
    status = error.status();
  } catch (const std::exception& error) {  // std::bad_alloc
    Log(stderr, name, false).error(error.what());
  }
  return static_cast<int>(status);
}

}  // namespace framewire
