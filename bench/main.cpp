#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "bench/client.hpp"
#include "bench/options.hpp"
#include "bench/plain_socket.hpp"
#include "bench/plan.hpp"
#include "bench/reverse_client.hpp"
#include "bench/server.hpp"
#include "bench/verbs_client.hpp"
#include "command/interruption.hpp"
#include "command/run_program.hpp"
#include "transport/session/endpoint.hpp"

namespace framewire {
namespace {

/// The forked process: tells its port through the pipe, or if it cannot serve why.
[[noreturn]] void be_server(const BenchOptions& options, int port_pipe) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  Log log(stderr, "framewire-bench (server)", options.is_verbose);
  EndpointOptions endpoint = options.endpoint;
  endpoint.listen = HostPort{.host = "127.0.0.1", .port = 0};
  endpoint.rdma_for_loopback = true;
  const std::atomic<bool> stop = false;
  try {
    serve_rows(endpoint, port_pipe, stop, false, log);
  } catch (const std::exception& error) {
    const std::string_view text = error.what();
    if (::write(port_pipe, text.data(), text.size()) < 0) {
      log.error(error.what());  // it had told its port before, and nobody reads the pipe
    }
  }
  ::_exit(1);
}

/// Starts a server in a process of its own, that ends with this one; returns its port. Comes before anything here looks
/// for RDMA devices: what a process has opened there, the kernel lets no forked one use.
std::uint16_t start_server(const BenchOptions& options) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    throw Error::from_errno("make a pipe", errno);
  }
  const pid_t child = ::fork();
  if (child < 0) {
    throw Error::from_errno("start the server", errno);
  }
  if (child == 0) {
    FileDescriptor(ends[0]).reset();
    be_server(options, ends[1]);
  }
  FileDescriptor in(ends[0]);
  FileDescriptor(ends[1]).reset();
  std::array<char, 1024> text{};
  if (::read(in.get(), text.data(), text.size() - 1) <= 0) {
    throw Error::failed("the benchmark's server did not start");
  }
  if (text.front() < '0' || text.front() > '9') {
    throw Error::failed(text.data());
  }
  return static_cast<std::uint16_t>(std::stoi(text.data()));
}

RowResult measure(const RowPlan& plan, const EndpointOptions& endpoint, Log& log) {
  return plan.transport == "socket"        ? measure_plain_socket(plan)
         : plan.transport == raw_transport ? measure_verbs_row(plan, endpoint)
         : plan.is_reverse                 ? measure_reverse_row(plan, endpoint, log)
                                           : measure_row(plan, endpoint, log);
}

ExitStatus run_client(const BenchOptions& options) {
  EndpointOptions endpoint = options.endpoint;
  static_cast<void>(authentication_of(endpoint));  // a key that cannot be used is said once, and here
  if (!endpoint.dial) {
    endpoint.dial = HostPort{.host = "127.0.0.1", .port = start_server(options)};
  }
  // What a sender says of its viewers would stand between the rows; what goes wrong comes as an Error.
  Log log(options.is_verbose ? stderr : std::fopen("/dev/null", "we"), "framewire-bench", options.is_verbose);
  const std::vector<RowPlan> plans = plan_rows(options, transports_here(options));
  std::vector<std::vector<RowResult>> results(plans.size());
  std::string no_rdma;
  // Repeats go in turn over all rows: what disturbs the machine for a while disturbs all of them.
  for (std::uint32_t repeat = 0; repeat < options.repeats; ++repeat) {
    for (std::size_t i = 0; i < plans.size(); ++i) {
      log.detail(plans[i].transport + " " + plans[i].operation + " " + std::to_string(plans[i].message_bytes));
      try {
        results[i].push_back(measure(plans[i], endpoint, log));
      } catch (const CannotBegin& error) {
        if (!options.endpoint.transport_is_auto ||
            (plans[i].transport != "rdma" && plans[i].transport != raw_transport)) {
          throw;
        }
        no_rdma = error.what();  // nobody asked for it
      }
    }
  }
  std::vector<RowResult> rows;
  for (auto& of_plan : results) {
    if (!of_plan.empty()) {
      rows.push_back(median_row(std::move(of_plan)));
    }
  }
  if (!no_rdma.empty()) {
    std::fputs(("framewire-bench: no rdma rows: " + no_rdma + "\n").c_str(), stderr);
  }
  std::fputs((options.as_json ? rows_to_json(rows) + "\n" : rows_to_table(rows)).c_str(), stdout);
  return ExitStatus::ok;
}

ExitStatus run_server(const BenchOptions& options) {
  Log log(stderr, "framewire-bench", options.is_verbose);
  Interruption interruption;
  std::atomic<bool> stop = false;
  interruption.set_wake([&stop] { stop = true; });
  EndpointOptions endpoint = options.endpoint;
  endpoint.rdma_for_loopback = true;  // a client on this machine wants to measure that, too
  serve_rows(endpoint, -1, stop, true, log);
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
    return options->endpoint.listen ? run_server(*options) : run_client(*options);
  });
}
