#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "bench/client.hpp"
#include "bench/options.hpp"
#include "bench/plain_socket.hpp"
#include "bench/server.hpp"
#include "command/interruption.hpp"
#include "command/run_program.hpp"
#include "transport/session/endpoint.hpp"

namespace framewire {
namespace {

/// In flight: enough small messages to hide a wake-up, few large ones to stay in the caches where that is possible at
/// all.
std::uint32_t slots_for(const BenchOptions& options, std::uint64_t message_bytes) {
  if (options.slots != 0) {
    return options.slots;
  }
  constexpr std::uint64_t in_flight_bytes = std::uint64_t{16} << 20;
  return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(in_flight_bytes / message_bytes, 4, 64));
}

std::vector<RowPlan> plan_rows(const BenchOptions& options) {
  std::vector<RowPlan> rows;
  for (const std::string operation : {"stream", "latency"}) {
    for (const std::uint64_t bytes : options.message_sizes_bytes) {
      for (const std::string& transport : options.transports) {
        rows.push_back({.transport = transport,
                        .operation = operation,
                        .message_bytes = bytes,
                        .count = options.count,
                        .duration_ns = options.duration_ns,
                        .slots = slots_for(options, bytes),
                        .rate_per_s = operation == "latency" ? options.rate_per_s : 0,
                        .wait = transport == "socket" ? WaitMode::block : options.wait,
                        .touches_payload = options.touches_payload});
      }
    }
  }
  return rows;
}

/// Starts a server in a process of its own, that ends with this one; returns its port.
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
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    Log log(stderr, "framewire-bench (server)", options.is_verbose);
    EndpointOptions endpoint = options.endpoint;
    endpoint.listen = HostPort{.host = "127.0.0.1", .port = 0};
    endpoint.rdma_for_loopback = true;
    const std::atomic<bool> stop = false;
    try {
      serve_rows(endpoint, ends[1], stop, false, log);
    } catch (const std::exception& error) {
      log.error(error.what());
    }
    ::_exit(1);
  }
  FileDescriptor in(ends[0]);
  FileDescriptor(ends[1]).reset();
  std::array<char, 16> text{};
  if (::read(in.get(), text.data(), text.size() - 1) <= 0) {
    throw Error::failed("the benchmark's server did not start");
  }
  return static_cast<std::uint16_t>(std::stoi(text.data()));
}

ExitStatus run_client(const BenchOptions& options) {
  EndpointOptions endpoint = options.endpoint;
  static_cast<void>(authentication_of(endpoint));  // a key that cannot be used is said once, and here
  if (!endpoint.dial) {
    endpoint.dial = HostPort{.host = "127.0.0.1", .port = start_server(options)};
  }
  // What a sender says of its viewers would stand between the rows; what goes wrong comes as an Error.
  Log log(options.is_verbose ? stderr : std::fopen("/dev/null", "we"), "framewire-bench", options.is_verbose);
  const std::vector<RowPlan> plans = plan_rows(options);
  std::vector<std::vector<RowResult>> results(plans.size());
  std::string no_rdma;
  // Repeats go in turn over all rows: what disturbs the machine for a while disturbs all of them.
  for (std::uint32_t repeat = 0; repeat < options.repeats; ++repeat) {
    for (std::size_t i = 0; i < plans.size(); ++i) {
      log.detail(plans[i].transport + " " + plans[i].operation + " " + std::to_string(plans[i].message_bytes));
      try {
        results[i].push_back(plans[i].transport == "socket" ? measure_plain_socket(plans[i])
                                                            : measure_row(plans[i], endpoint, log));
      } catch (const Error& error) {
        if (!options.endpoint.transport_is_auto || plans[i].transport != "rdma") {
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
  serve_rows(options.endpoint, -1, stop, true, log);
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
