// One measurement.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/adaptive_spin.hpp"
#include "base/histogram.hpp"

namespace framewire {

/// What is to be measured.
struct RowPlan {
  std::string transport;  // "socket", "local", "tcp"
  std::string operation;  // "stream": as many as go through; "latency": one at a time
  std::uint64_t message_bytes = 0;
  std::uint64_t count = 0;  // 0: by duration
  std::int64_t duration_ns = 0;
  std::uint32_t slots = 4;
  double rate_per_s = 0;
  WaitMode wait = WaitMode::adaptive;  // of both ends; plain sockets block
  bool touches_payload = false;
};

struct LatencyUs {
  double p50 = 0;
  double p99 = 0;
  double max = 0;
};

/// One end's view.
struct EndResult {
  std::uint64_t count = 0;
  double seconds = 0;
  double cpu_seconds = 0;
  LatencyUs latency_us;  // the server's: from complete at the client to received
  std::string transport;
};

struct RowResult {
  RowPlan plan;
  EndResult client;
  EndResult server;

  [[nodiscard]] double gigabytes() const noexcept {
    return static_cast<double>(client.count) * static_cast<double>(plan.message_bytes) / 1e9;
  }
  [[nodiscard]] double gigabytes_per_second() const noexcept {
    return server.seconds > 0 ? gigabytes() / server.seconds : 0;
  }
  [[nodiscard]] double messages_per_second() const noexcept {
    return server.seconds > 0 ? static_cast<double>(client.count) / server.seconds : 0;
  }
};

LatencyUs latency_of(const Histogram& histogram);

/// The server's result as it travels in its bye, and back. Throws Error.
std::string end_result_to_json(const EndResult& result);
EndResult end_result_from_json(const std::string& text);

/// The row in the middle by GB/s (or by latency).
RowResult median_row(std::vector<RowResult> rows);

/// {"results":[…]}; a table for people, with the ratio to the plain-socket row of the same size.
std::string rows_to_json(const std::vector<RowResult>& rows);
std::string rows_to_table(const std::vector<RowResult>& rows);

}  // namespace framewire
