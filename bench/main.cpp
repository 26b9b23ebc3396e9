#include <fcntl.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/failure_text.hpp"
#include "base/text.hpp"
#include "bench/child.hpp"
#include "bench/client.hpp"
#include "bench/options.hpp"
#include "bench/plain_socket.hpp"
#include "bench/plan.hpp"
#include "bench/plot.hpp"
#include "bench/reverse.hpp"
#include "bench/server.hpp"
#include "bench/socket_rows.hpp"
#include "bench/verbs_rows.hpp"
#include "bench/veth_rows.hpp"
#include "bench/xdp_rows.hpp"
#include "command/frame_memory.hpp"
#include "command/interruption.hpp"
#include "command/run_program.hpp"
#include "command/terminal_log.hpp"
#include "transport/address.hpp"
#include "transport/session/endpoint.hpp"

namespace framewire {
namespace {

/// The forked process: writes its port to the pipe, or the reason why it cannot serve.
[[noreturn]] void be_server(const BenchOptions& options, int port_pipe, pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) {
    ::_exit(1);  // the parent ended before prctl()
  }
  std::signal(SIGINT, SIG_IGN);  // the client handles a terminal's Ctrl-C
  std::signal(SIGHUP, SIG_IGN);  // and its hang-up
  TerminalLog log(stderr, "framewire-bench (server)", options.is_verbose);
  EndpointOptions endpoint = options.endpoint;
  endpoint.listen = HostPort{.host = "127.0.0.1", .port = 0};
  endpoint.native_on_loopback = true;
  const std::atomic<bool> stop = false;
  try {
    const FrameMemory memory(options.memory, {.sessions = {&endpoint}});  // the client says which GPU it is
    serve_rows({.endpoint = endpoint, .memory = &memory.kind()}, port_pipe, stop, log);
  } catch (const std::exception& error) {
    const std::string_view text = failure_text(error);
    if (::write(port_pipe, text.data(), text.size()) < 0) {
      log.error(failure_text(error));  // the port was already written, and nobody reads the pipe
    }
  }
  ::_exit(1);
}

/// A server in a process of its own, for one client. Forked: create it before this process looks for RDMA devices,
/// because a forked process cannot use RDMA resources that its parent has opened.
class ForkedServer {
 public:
  explicit ForkedServer(const BenchOptions& options);

  [[nodiscard]] std::uint16_t port() const noexcept { return port_; }

 private:
  std::optional<Child> process_;  // the kernel ends it if this process is killed
  std::uint16_t port_ = 0;
};

/// The port that the server writes. Throws Error with the reason that it writes instead.
std::uint16_t read_port(int pipe) {
  std::array<char, 1024> text{};
  if (::read(pipe, text.data(), text.size() - 1) <= 0) {
    throw Error::failed("the benchmark's server did not start");
  }
  if (text.front() < '0' || text.front() > '9') {
    throw Error::failed(text.data());
  }
  return static_cast<std::uint16_t>(std::stoi(text.data()));
}

ForkedServer::ForkedServer(const BenchOptions& options) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    throw Error::from_errno("make a pipe", errno);
  }
  FileDescriptor in(ends[0]);
  FileDescriptor out(ends[1]);
  const pid_t parent = ::getpid();
  const pid_t process = ::fork();
  if (process < 0) {
    throw Error::from_errno("start the server", errno);
  }
  if (process == 0) {
    in.reset();
    be_server(options, out.release(), parent);
  }
  process_.emplace(process);
  out.reset();
  port_ = read_port(in.get());
}

RowResult measure(const RowPlan& plan, const RowContext& context, VethCable& cable) {
  if (plan.is_over_veth) {
    return cable.measure_row(plan, context);
  }
  if (plan.transport == xdp_transport) {
    return measure_xdp_row(plan, context);
  }
  if (plan.transport == socket_transport) {
    return plan.is_remote ? measure_socket_row(plan, context) : measure_plain_socket(plan, context.interruption);
  }
  return plan.transport == verbs_transport ? measure_verbs_row(plan, context)
         : plan.is_reverse                 ? measure_reverse_row(plan, context)
                                           : measure_row(plan, context);
}

/// Repeats all rows in turn, so that a temporary disturbance affects them all alike.
void measure_all(std::uint32_t repeats, const RowContext& context, Results& results) {
  VethCable cable;
  for (std::uint32_t repeat = 0; repeat < repeats; ++repeat) {
    for (std::size_t i = 0; i < results.plans().size(); ++i) {
      const RowPlan& plan = results.plans()[i];
      throw_if_interrupted(context.interruption);
      if (!results.is_wanted(i)) {
        continue;
      }
      context.log.detail(name_of(plan) + " " + plan.operation + " " + std::to_string(plan.message_bytes));
      try {
        results.add(i, measure(plan, context, cable));
      } catch (const CannotBegin& why) {
        results.leave_out(i, why);
      }
    }
  }
}

/// Measures all rows that it can. Returns nothing, or the error that ended it.
std::optional<Error> try_all(std::uint32_t repeats, const RowContext& context, Results& results) {
  try {
    measure_all(repeats, context, results);
    return std::nullopt;
  } catch (const Error& error) {
    return error;
  } catch (const std::exception& error) {  // interrupted, or no memory
    return Error::failed(failure_text(error));
  }
}

void print(const Results& results, const BenchOptions& options) {
  const std::vector<RowResult> rows = results.rows();
  const TableKind kind = options.is_article ? TableKind::rates : TableKind::full;
  std::fputs((options.as_json ? rows_to_json(rows) + "\n" : rows_to_table(rows, kind)).c_str(), stdout);
}

void say(const std::string& message) {
  std::fputs(("framewire-bench: " + printable(message) + "\n").c_str(), stderr);
}

/// Another memory than the one that was asked for is never silent.
void say_other_memory(const std::vector<RowResult>& rows, const MemoryKind& wanted) {
  std::set<std::string> said;
  for (const RowResult& row : rows) {
    const std::string& memory = row.receiving_side().memory;
    if (!memory.empty() && memory != wanted.name() && said.insert(row.plan.transport).second) {
      say("warning: --memory is " + std::string(wanted.name()) + ", and messages over " + row.plan.transport +
          " came in host memory");
    }
  }
}

ExitStatus run_client(const BenchOptions& options) {
  if (!options.plot_file.empty()) {
    require_writable(options.plot_file);
  }
  EndpointOptions endpoint = options.endpoint;
  static_cast<void>(authentication_of(endpoint));  // reports an unusable key once, here
  std::optional<ForkedServer> server;
  if (endpoint.dial) {
    static_cast<void>(resolve(*endpoint.dial));  // likewise an unknown host name
  } else {
    server.emplace(options);
    endpoint.dial = HostPort{.host = "127.0.0.1", .port = server->port()};
  }
  Interruption interruption;
  const FrameMemory memory(options.memory, {.sessions = {&endpoint}});  // not before the server is forked
  if (!memory.note().empty()) {
    say(memory.note());
  }
  // A sender's log lines would appear between the rows; errors are reported as exceptions.
  TerminalLog terminal_log(stderr, "framewire-bench", true);
  LastLogLine log(options.is_verbose ? &terminal_log : nullptr);
  Results results(plan_rows(options, transports_here(options)), options.endpoint.may_choose_link);
  const auto fault =
      try_all(options.repeats,
              {.endpoint = endpoint, .log = log, .interruption = interruption, .memory = &memory.kind()}, results);
  for (const std::string& omission : results.omissions()) {
    say(omission);
  }
  if (!fault || !results.rows().empty()) {
    print(results, options);
  }
  say_other_memory(results.rows(), memory.kind());
  if (!options.plot_file.empty() && !results.rows().empty()) {
    write_plot(results.rows(), options.plot_file);
  }
  if (interruption.is_requested()) {
    say("interrupted; " + std::to_string(results.rows().size()) + " of " + std::to_string(results.plans().size()) +
        " rows were measured");
    return ExitStatus::ok;
  }
  if (fault) {
    throw Error(*fault);
  }
  return results.status();
}

/// Under a preloaded stack: without threads, signals and descriptors of its own. Ctrl-C ends it at once.
ExitStatus run_plain(const BenchOptions& options) {
  std::signal(SIGPIPE, SIG_IGN);
  if (::getauxval(AT_SECURE) != 0) {
    say("warning: this program has capabilities (setcap), so the system ignores LD_PRELOAD; preload into a copy of it");
  }
  if (options.endpoint.listen) {
    serve_plain_rows(*options.endpoint.listen);
  }
  Results results(plan_rows(options, transports_here(options)), false);
  std::optional<Error> fault;
  try {
    for (std::uint32_t repeat = 0; repeat < options.repeats; ++repeat) {
      for (std::size_t i = 0; i < results.plans().size(); ++i) {
        results.add(i, measure_plain_row(results.plans()[i], *options.endpoint.dial));
      }
    }
  } catch (const Error& error) {
    fault = error;
  }
  if (!results.rows().empty()) {
    print(results, options);
  }
  if (fault) {
    throw Error(*fault);
  }
  return ExitStatus::ok;
}

ExitStatus run_server(const BenchOptions& options) {
  TerminalLog log(stderr, "framewire-bench", options.is_verbose);
  std::atomic<bool> stop = false;
  Interruption interruption;  // its thread sets stop until it is destroyed
  interruption.set_wake([&stop] { stop = true; });
  EndpointOptions endpoint = options.endpoint;
  endpoint.stop_fd = interruption.descriptor();
  endpoint.native_on_loopback = true;  // a client on this machine wants to measure RDMA, too
  const FrameMemory memory(options.memory, {.sessions = {&endpoint}});
  memory.log_note(log);
  serve_rows({.endpoint = endpoint, .interface = options.interface, .memory = &memory.kind(), .prints = true}, -1, stop,
             log);
  return ExitStatus::ok;
}

}  // namespace
}  // namespace framewire

int main(int argc, char** argv) {
  using namespace framewire;
  return run_program("framewire-bench", [&] {
    const auto options = parse_bench_options(argc, argv);
    if (!options) {
      return ExitStatus::ok;
    }
    if (options->is_plain) {
      return run_plain(*options);
    }
    return options->endpoint.listen ? run_server(*options) : run_client(*options);
  });
}
