// The facts about another machine and the route to it, from which the doctor derives its findings. Texts in them come
// from outside and may contain anything.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "transport/endpoint_options.hpp"
#include "transport/link.hpp"

namespace framewire {

/// The other machine as the command line names it.
struct HostTarget {
  HostPort at;
  std::optional<std::string> key_file;  // --key
  bool insecure = false;
  std::string timeout;  // --timeout as text; empty: not given
};

/// The first obstacle on the way to a bench server.
enum class HostFault {
  none,
  unknown_name,
  nothing_listens,
  silent,  // no answer, not even a refusal
  no_route,
  bad_key_here,  // a key file that cannot be used
  no_key_here,
  key_refused,  // the two keys differ, or only one side has one
  not_framewire,
  sender,         // framewire send
  viewer,         // framewire view --listen
  version,        // no common version of the control protocol
  busy,           // it serves another client
  no_bench_here,  // framewire-bench is not installed beside this program
  other,
};

/// One row of framewire bench, or why there is none.
struct Measurement {
  std::uint64_t count = 0;  // messages; 0: there is no row
  double gigabytes_per_second = 0;
  double latency_p50_us = 0;
  double latency_p99_us = 0;
  std::string trouble;   // why there is no row; also empty if it was not tried
  bool is_late = false;  // it reached its time limit
  bool has_lost_peer = false;

  [[nodiscard]] bool is_done() const noexcept { return count > 0; }
};

/// The measurements of one link.
struct LinkMeasurements {
  LinkKind link = LinkKind::tcp;
  std::string not_tried;  // why; empty: it was
  Measurement latency;    // small messages, from there to here
  Measurement there;      // a burst, from here
  Measurement back;       // a burst, from there

  [[nodiscard]] bool works() const noexcept { return there.is_done() && back.is_done(); }
  /// A session was established over it. `--transport auto` decides by this.
  [[nodiscard]] bool connects() const noexcept { return latency.is_done() || there.is_done() || back.is_done(); }
};

struct RemoteHostReport {
  HostTarget target;
  HostFault fault = HostFault::none;
  std::string trouble;                  // the error message that programs would end with
  std::string address;                  // the address reached, without the port; empty: none
  std::string address_here;             // the local address of that connection
  bool is_own_address = false;          // `address` is this machine's
  bool is_this_machine = false;         // reached through this user's Unix socket
  std::optional<double> round_trip_us;  // of TCP's handshake
  std::string auth;                     // "psk", "user", "none"
  std::string control;                  // "tls1.3", "unix", "plain"
  std::string program;                  // the program that answered: "framewire-bench 0.1.0"
  std::string left;                     // if it disappeared during the measurements: what the doctor met then
  std::vector<LinkMeasurements> links;
};

}  // namespace framewire
