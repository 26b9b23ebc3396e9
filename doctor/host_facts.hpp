// What the doctor knows of the way to another machine, before it judges. Text in it comes from outside and may be
// anything.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "transport/endpoint_options.hpp"
#include "transport/link.hpp"

namespace framewire {

/// What the command line says of the other end.
struct HostTarget {
  HostPort at;
  std::optional<std::string> key_file;  // --key
  bool insecure = false;
  std::string timeout;  // --timeout, as it was written; empty: not said
};

/// The first thing in the way to a bench server.
enum class HostFault {
  none,
  unknown_name,
  nothing_listens,
  silent,  // not even a refusal
  no_route,
  bad_key_here,  // a key file that cannot be used
  no_key_here,
  key_refused,  // the two ends' keys are not the same, or only one has one
  not_framewire,
  sender,         // framewire send
  viewer,         // framewire view --listen
  version,        // no version of the session in common
  busy,           // it serves somebody else
  no_bench_here,  // framewire-bench does not lie beside this program
  other,
};

/// One row of framewire bench, or why there is none.
struct Measurement {
  std::uint64_t count = 0;  // of messages; 0: there is no row
  double gigabytes_per_second = 0;
  double latency_p50_us = 0;
  double latency_p99_us = 0;
  std::string trouble;   // why there is no row; empty where it was not tried, too
  bool is_late = false;  // it did not end in its time
  bool has_lost_peer = false;

  [[nodiscard]] bool is_done() const noexcept { return count > 0; }
};

/// What was measured of one link.
struct LinkMeasurements {
  LinkKind link = LinkKind::tcp;
  std::string not_tried;  // why; empty: it was
  Measurement latency;    // small messages, from there to here
  Measurement there;      // a burst, from here
  Measurement back;       // a burst, from there

  [[nodiscard]] bool works() const noexcept { return there.is_done() && back.is_done(); }
  /// A session over it stood: what `--transport auto` goes by.
  [[nodiscard]] bool connects() const noexcept { return latency.is_done() || there.is_done() || back.is_done(); }
};

struct RemoteHostReport {
  HostTarget target;
  HostFault fault = HostFault::none;
  std::string trouble;                  // the sentence that programs would end with
  std::string address;                  // that was reached, without the port; empty: none
  std::string address_here;             // this end of that connection
  bool is_own_address = false;          // of this machine
  bool is_this_machine = false;         // reached by the Unix socket of this user
  std::optional<double> round_trip_us;  // of TCP's handshake
  std::string auth;                     // "psk", "user", "none"
  std::string control;                  // "tls1.3", "unix", "plain"
  std::string program;                  // that answered: "framewire-bench 0.1.0"
  std::string left;                     // where it went away while it was measured: what it met then
  std::vector<LinkMeasurements> links;
};

}  // namespace framewire
