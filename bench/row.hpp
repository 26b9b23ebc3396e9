// One row of a benchmark: the plan, the results of both sides, and their text and JSON.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/adaptive_spin.hpp"
#include "base/histogram.hpp"
#include "bench/xdp/xdp_mode.hpp"

namespace framewire {

/// The name of the transport that uses verbs directly, without a link.
inline constexpr const char* verbs_transport = "verbs";
/// The name of the transport that uses plain blocking sockets: the reference.
inline constexpr const char* socket_transport = "socket";
/// The names of the transports of Ethernet frames: AF_XDP sockets, and for comparison UDP, one datagram for each frame.
inline constexpr const char* xdp_transport = "xdp";
inline constexpr const char* udp_transport = "udp";

/// What a row measures.
struct RowPlan {
  std::string transport;  // the name of a link, "socket", "verbs", "xdp" or "udp"
  std::string operation;  // "stream": as fast as possible; "latency": one at a time; for verbs see VerbsOperation
  std::uint64_t message_bytes = 0;
  std::uint64_t count = 0;       // 0: no limit
  std::int64_t duration_ns = 0;  // 0: no limit; one of the two is set
  std::uint32_t slots = 4;
  double rate_per_s = 0;
  WaitMode wait = WaitMode::adaptive;  // of both sides; plain sockets always block
  bool touches_payload = false;
  bool is_reverse = false;  // the server sends, and the client receives
  bool is_remote = false;   // to a server that the user started, perhaps on another machine
  // Of xdp and udp, and of the plain sockets beside them.
  bool is_over_veth = false;  // between two network namespaces that the row makes, with a virtual cable
  std::string interface {};   // xdp without is_over_veth: this end's network interface
  XdpMode mode = XdpMode::generic;
  std::uint32_t batch = 32;  // frames that are handed to the kernel together
  std::string label{};       // the name of the row; empty: the transport's
  bool is_for_plot = false;  // not in the table
  bool is_optional = false;  // it may be left out, though the user has named its transport

  /// From one message of "latency" to the next; 0: without a pause.
  [[nodiscard]] std::int64_t period_ns() const noexcept {
    return rate_per_s > 0 ? static_cast<std::int64_t>(1e9 / rate_per_s) : 0;
  }
  [[nodiscard]] bool has_frames() const noexcept { return transport == xdp_transport || transport == udp_transport; }

  /// Whether the row is complete after `sent` messages in that time.
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

/// The result of one side.
struct SideResult {
  std::uint64_t count = 0;
  double seconds = 0;  // see RowResult; 0: not known
  double cpu_seconds = 0;
  // At the sender of "latency": half of every round trip, from publishing a message to its credit. At a receiver: one
  // way, from complete at the sender to received; the two clocks may differ by latency_uncertainty_us.
  LatencyUs latency_us;
  double latency_uncertainty_us = 0;
  std::string transport;
  std::string memory{};           // at a receiver of a link: where the messages were; empty: it does not say
  std::uint64_t frames_lost = 0;  // at a receiver of xdp and udp
};

constexpr double gigabytes_of(std::uint64_t messages, std::uint64_t message_bytes) noexcept {
  return static_cast<double>(messages) * static_cast<double>(message_bytes) / 1e9;
}

/// The results of both sides. The time begins when the sender starts on the first message, and ends when the last one
/// has arrived, so n messages are divided by the time of n messages, not of n - 1 intervals. Set-up is not included.
/// - link, socket: the receiver knows the end, by the sender's clock. The sender hears of it later, in the receiver's
///   last message.
/// - verbs: the client knows the end by its device's acknowledgement, as perftest does. The server does not see the
///   begin: its time starts when it is ready, and the client starts then.
/// - sockets and xdp between machines: the server's time also starts when it is ready.
/// - xdp, udp: frames may be lost, and their messages with them. The rates are of the messages that have arrived.
struct RowResult {
  RowPlan plan;
  SideResult client;
  SideResult server;

  [[nodiscard]] bool is_verbs() const noexcept { return plan.transport == verbs_transport; }
  /// The side whose time counts: the receiver's. For verbs it is the client's, because their server may not see the
  /// messages.
  [[nodiscard]] const SideResult& measuring_side() const noexcept {
    return is_verbs() || plan.is_reverse ? client : server;
  }
  /// The latency of "latency" is half of a round trip, as in ib_write_lat. The answer is as long as the message
  /// (verbs), the slot's credit (links), one byte (sockets), or a short frame (xdp, udp). The latency of "stream" is
  /// one way; verbs have none, nor have sockets and xdp between machines, which share no clock.
  [[nodiscard]] bool is_by_round_trip() const noexcept { return plan.operation == "latency"; }
  [[nodiscard]] bool has_latency() const noexcept { return is_by_round_trip() || has_one_way(); }
  [[nodiscard]] const LatencyUs& latency_us() const noexcept {
    return is_by_round_trip() ? sending_side().latency_us : receiving_side().latency_us;
  }
  /// Whether the receiver knows when the sender had completed a message.
  [[nodiscard]] bool has_one_way() const noexcept {
    return !is_verbs() && !(plan.is_remote && (plan.transport == socket_transport || plan.has_frames()));
  }
  [[nodiscard]] const SideResult& receiving_side() const noexcept { return plan.is_reverse ? client : server; }
  [[nodiscard]] const SideResult& sending_side() const noexcept { return plan.is_reverse ? server : client; }

  /// The number of messages that have arrived.
  [[nodiscard]] std::uint64_t arrived() const noexcept {
    return plan.has_frames() ? receiving_side().count : client.count;
  }
  [[nodiscard]] double gigabytes() const noexcept { return gigabytes_of(arrived(), plan.message_bytes); }
  /// Nothing when the time is not known.
  [[nodiscard]] std::optional<double> gigabytes_per_second() const noexcept { return per_second(gigabytes()); }
  [[nodiscard]] std::optional<double> messages_per_second() const noexcept {
    return per_second(static_cast<double>(arrived()));
  }

 private:
  [[nodiscard]] std::optional<double> per_second(double amount) const noexcept {
    return measuring_side().seconds > 0 ? std::optional(amount / measuring_side().seconds) : std::nullopt;
  }
};

/// Whether the payload was moved or read. A link that shares memory hands messages over without copying them, so bytes
/// by time is then not a bandwidth.
bool has_bandwidth(const RowPlan& plan);

LatencyUs latency_of(const Histogram& histogram);

/// Reads every byte, so that memory which was only handed over is really fetched.
std::uint64_t sum_of(std::span<const std::byte> payload) noexcept;

/// "in 1.000 s, 12 messages/s, 3.01 MB/s", for one side. local has no MB/s, because it copies nothing.
std::string speed_text(const SideResult& side, double gigabytes);
/// Prints a server's line about a row on standard output, and flushes it.
void print_line(const std::string& text);

/// A result as JSON, for the other side: the server sends it in its bye, or as sender of a reverse row in the last
/// frame. Both throw Error.
std::string side_result_to_json(const SideResult& result);
SideResult side_result_from_json(const std::string& text);

/// The name of a row in tables: its label, or its transport.
inline const std::string& name_of(const RowPlan& plan) noexcept {
  return plan.label.empty() ? plan.transport : plan.label;
}

constexpr std::string_view direction_of(const RowPlan& plan) noexcept {
  return plan.is_reverse ? "reverse" : "forward";
}

/// The median row by GB/s (or by latency).
RowResult median_row(std::vector<RowResult> rows);

/// rows_to_json(): {"results":[…]}. rows_to_table(): a table of up to 120 columns for people, with the ratio to the
/// plain-socket row of the same size.
std::string rows_to_json(const std::vector<RowResult>& rows);
enum class TableKind { full, rates };  // rates: without latencies
std::string rows_to_table(const std::vector<RowResult>& rows, TableKind kind = TableKind::full);

}  // namespace framewire
