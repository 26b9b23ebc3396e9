// One measurement.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/adaptive_spin.hpp"
#include "base/histogram.hpp"

namespace framewire {

/// The transport of the raw device, without a link.
inline constexpr const char* verbs_transport = "verbs";
/// And of plain blocking sockets, the reference.
inline constexpr const char* socket_transport = "socket";

/// What is to be measured.
struct RowPlan {
  std::string transport;  // "socket", "local", "tcp", "rdma", "verbs"
  std::string operation;  // "stream": as many as go through; "latency": one at a time; of the verbs see VerbsOperation
  std::uint64_t message_bytes = 0;
  std::uint64_t count = 0;       // 0: no limit
  std::int64_t duration_ns = 0;  // 0: no limit; one of the two is set
  std::uint32_t slots = 4;
  double rate_per_s = 0;
  WaitMode wait = WaitMode::adaptive;  // of both ends; plain sockets block
  bool touches_payload = false;
  bool is_reverse = false;  // the server sends, and the client receives
  bool is_remote = false;   // to a server that somebody has started, on whichever machine

  /// Whether `sent` messages in that time are all of them.
  [[nodiscard]] bool is_over(std::uint64_t sent, std::int64_t elapsed_ns) const noexcept {
    return (count != 0 && sent >= count) || (duration_ns != 0 && elapsed_ns >= duration_ns);
  }
};

struct LatencyUs {
  double p50 = 0;
  double p99 = 0;
  double p99_9 = 0;
  double max = 0;
};

/// One end's view.
struct EndResult {
  std::uint64_t count = 0;
  double seconds = 0;  // see RowResult; 0: not known
  double cpu_seconds = 0;
  // At the sender of an operation "latency": half of every round trip, from handing a message over to when it was given
  // back. At a receiver: one way, from complete at the sender to received, by clocks that may differ by so much.
  LatencyUs latency_us;
  double latency_uncertainty_us = 0;
  std::string transport;
};

/// Every time begins when the sender starts on the first message, and ends when the last one has arrived, so that what
/// it is divided by are all messages: n of them are n times, never n - 1 intervals. Setting up lies before.
/// The receiver of a link or socket knows the end, by the sender's clock; the sender hears of it later, with the
/// receiver's last word. The client of the verbs knows it by its device's acknowledgement, as perftest does. Their
/// server does not see the beginning: its time begins when it is ready, on which the client starts; so it is with plain
/// sockets between machines.
struct RowResult {
  RowPlan plan;
  EndResult client;
  EndResult server;

  [[nodiscard]] bool is_verbs() const noexcept { return plan.transport == verbs_transport; }
  /// The end whose time counts: the receiver's, of the verbs the client's, since the server may not know of them.
  [[nodiscard]] const EndResult& measuring_end() const noexcept {
    return is_verbs() || plan.is_reverse ? client : server;
  }
  /// "latency": half of a round trip, as ib_write_lat has it. The verbs' answer is as long as the message; that of a
  /// link is the slot's credit, and of sockets a byte. "stream": one way; of the verbs, and of sockets whose ends have
  /// no clock in common, none.
  [[nodiscard]] bool is_by_round_trip() const noexcept { return plan.operation == "latency"; }
  [[nodiscard]] bool has_latency() const noexcept { return is_by_round_trip() || has_one_way(); }
  [[nodiscard]] const LatencyUs& latency_us() const noexcept {
    return is_by_round_trip() ? sending_end().latency_us : receiving_end().latency_us;
  }
  /// Whether the receiver knows when a message was complete at the sender.
  [[nodiscard]] bool has_one_way() const noexcept {
    return !is_verbs() && !(plan.transport == socket_transport && plan.is_remote);
  }
  [[nodiscard]] const EndResult& receiving_end() const noexcept { return plan.is_reverse ? client : server; }
  [[nodiscard]] const EndResult& sending_end() const noexcept { return plan.is_reverse ? server : client; }

  [[nodiscard]] double gigabytes() const noexcept {
    return static_cast<double>(client.count) * static_cast<double>(plan.message_bytes) / 1e9;
  }
  /// Nothing where the time is not known.
  [[nodiscard]] std::optional<double> gigabytes_per_second() const noexcept { return per_second(gigabytes()); }
  [[nodiscard]] std::optional<double> messages_per_second() const noexcept {
    return per_second(static_cast<double>(client.count));
  }

 private:
  [[nodiscard]] std::optional<double> per_second(double amount) const noexcept {
    return measuring_end().seconds > 0 ? std::optional(amount / measuring_end().seconds) : std::nullopt;
  }
};

LatencyUs latency_of(const Histogram& histogram);

/// "in 1.000 s, 12 messages/s, 0.003 GB/s", for one end alone.
std::string speed_text(const EndResult& end, double gigabytes);
/// On standard output, at once: what a server says of a row.
void print_line(const std::string& text);

/// The other end's result as it travels: the server's in its bye, or where it was asked to send in the last frame; and
/// back. Throws Error.
std::string end_result_to_json(const EndResult& result);
EndResult end_result_from_json(const std::string& text);

constexpr std::string_view direction_of(const RowPlan& plan) noexcept {
  return plan.is_reverse ? "reverse" : "forward";
}

/// The row in the middle by GB/s (or by latency).
RowResult median_row(std::vector<RowResult> rows);

/// {"results":[…]}; a table for people, with the ratio to the plain-socket row of the same size.
std::string rows_to_json(const std::vector<RowResult>& rows);
std::string rows_to_table(const std::vector<RowResult>& rows);

}  // namespace framewire
