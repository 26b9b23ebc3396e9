#include "command/run_program.hpp"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <exception>

#include "base/log.hpp"
#include "command/standard_streams.hpp"

namespace framewire {

namespace {

/// Says why the program fails, also when there is no memory left.
void report(const char* name, const char* why) noexcept {
  try {
    Log(stderr, name, false).error(why);
  } catch (const std::exception&) {
    std::fprintf(stderr, "%s: out of memory\n", name);
  }
}

}  // namespace

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
    report(name, error.what());
    status = error.status();
  } catch (const std::exception& error) {  // std::bad_alloc
    report(name, error.what());
  }
  return static_cast<int>(status);
}

}  // namespace framewire
