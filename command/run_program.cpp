#include "command/run_program.hpp"

#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <exception>
#include <new>

#include "base/failure_text.hpp"
#include "command/standard_streams.hpp"
#include "command/terminal_log.hpp"

namespace framewire {

namespace {

constexpr std::size_t reserve_bytes = std::size_t{512} * 1024;  // untouched, so it costs address space only
std::atomic<std::byte*> reserve = nullptr;

/// Runs when an allocation fails. Destroying a JSON document allocates (nlohmann/json 3.11 flattens nested values), and
/// a destructor must not fail while the error is passed on. So the first failure gives the reserve back to the system.
[[noreturn]] void release_reserve() {
  delete[] reserve.exchange(nullptr);
  throw std::bad_alloc();
}

void keep_reserve() {
  reserve = new (std::nothrow) std::byte[reserve_bytes];
  std::set_new_handler(release_reserve);
}

/// Says why the program fails, also when there is no memory left.
void report(const char* name, const char* why) noexcept {
  try {
    TerminalLog(stderr, name, false).error(why);
  } catch (const std::exception&) {
    std::fprintf(stderr, "%s: %s\n", name, failure_text(std::bad_alloc()));
  }
}

}  // namespace

int run_program(const char* name, const std::function<ExitStatus()>& program) {
  keep_reserve();
  reserve_standard_fds();
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  ExitStatus status = ExitStatus::failed;
  try {
    status = program();
    errno = 0;
    const bool is_written = std::fflush(stdout) == 0 && std::ferror(stdout) == 0;
    if (!is_written && !has_no_reader(STDOUT_FILENO)) {  // as `| head`, which has read enough
      // An earlier failed write left no errno; the present value is unrelated.
      throw errno != 0 ? Error::from_errno("write to standard output", errno)
                       : Error::failed("cannot write to standard output: what was written before has been lost");
    }
  } catch (const std::exception& error) {
    report(name, failure_text(error));
    status = exit_status_of(error);
  }
  return static_cast<int>(status);
}

}  // namespace framewire
