#include "bench/row.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/text.hpp"

namespace framewire {

namespace {

using Json = nlohmann::ordered_json;

Json latency_json(const LatencyUs& latency) {
  return {{"p50", latency.p50}, {"p99", latency.p99}, {"max", latency.max}};
}

Json row_json(const RowResult& row) {
  const double cpu_seconds = row.client.cpu_seconds + row.server.cpu_seconds;
  return {{"transport", row.plan.transport},
          {"operation", row.plan.operation},
          {"message_bytes", row.plan.message_bytes},
          {"count", row.client.count},
          {"seconds", row.server.seconds},
          {"gigabytes_per_second", row.gigabytes_per_second()},
          {"messages_per_second", row.messages_per_second()},
          {"latency_us", latency_json(row.server.latency_us)},
          {"cpu_seconds", cpu_seconds},
          {"cpu_seconds_per_gigabyte", row.gigabytes() > 0 ? Json(cpu_seconds / row.gigabytes()) : Json(nullptr)},
          {"client_seconds", row.client.seconds},
          {"client_cpu_seconds", row.client.cpu_seconds},
          {"server_cpu_seconds", row.server.cpu_seconds},
          {"slots", row.plan.slots},
          {"wait", name(row.plan.wait)},
          {"touch", row.plan.touches_payload}};
}

const RowResult* socket_row_like(const std::vector<RowResult>& rows, const RowResult& row) {
  const auto found = std::ranges::find_if(rows, [&](const RowResult& other) {
    return other.plan.transport == "socket" && other.plan.operation == row.plan.operation &&
           other.plan.message_bytes == row.plan.message_bytes;
  });
  return found == rows.end() ? nullptr : &*found;
}

std::string ratio_text(const std::vector<RowResult>& rows, const RowResult& row) {
  const RowResult* socket = socket_row_like(rows, row);
  if (socket == nullptr || socket->gigabytes_per_second() <= 0 || row.plan.operation != "stream") {
    return "";
  }
  return fmt::format("{:.2f}", row.gigabytes_per_second() / socket->gigabytes_per_second());
}

}  // namespace

LatencyUs latency_of(const Histogram& histogram) {
  const auto us = [](std::int64_t ns) { return static_cast<double>(ns) / 1e3; };
  return {us(histogram.percentile_ns(0.5)), us(histogram.percentile_ns(0.99)), us(histogram.max_ns())};
}

std::string end_result_to_json(const EndResult& result) {
  return Json{{"count", result.count},
              {"seconds", result.seconds},
              {"cpu_seconds", result.cpu_seconds},
              {"latency_us", latency_json(result.latency_us)},
              {"transport", result.transport}}
      .dump();
}

EndResult end_result_from_json(const std::string& text) {
  try {
    const Json json = Json::parse(text);
    const Json& latency = json.at("latency_us");
    return {.count = json.at("count").get<std::uint64_t>(),
            .seconds = json.at("seconds").get<double>(),
            .cpu_seconds = json.at("cpu_seconds").get<double>(),
            .latency_us = {latency.at("p50").get<double>(), latency.at("p99").get<double>(),
                           latency.at("max").get<double>()},
            .transport = json.at("transport").get<std::string>()};
  } catch (const nlohmann::json::exception&) {
    throw Error::failed("the other end is no framewire bench server: it sent no results");
  }
}

RowResult median_row(std::vector<RowResult> rows) {
  const auto middle = rows.begin() + static_cast<std::ptrdiff_t>(rows.size() / 2);
  std::ranges::nth_element(rows, middle, {}, [](const RowResult& row) {
    return row.plan.operation == "latency" ? row.server.latency_us.p50 : row.gigabytes_per_second();
  });
  return *middle;
}

std::string rows_to_json(const std::vector<RowResult>& rows) {
  Json results = Json::array();
  for (const RowResult& row : rows) {
    results.push_back(row_json(row));
  }
  return Json{{"results", results}}.dump(2);
}

std::string rows_to_table(const std::vector<RowResult>& rows) {
  std::string table =
      fmt::format("{:<9} {:<8} {:>10} {:>9} {:>9} {:>9} {:>12} {:>8} {:>9} {:>9} {:>9} {:>7} {:>7} {:>9}\n",
                  "transport", "operation", "bytes", "count", "client s", "server s", "messages/s", "GB/s", "p50 us",
                  "p99 us", "max us", "cli cpu", "srv cpu", "x socket");
  for (const RowResult& row : rows) {
    const double gigabytes = std::max(row.gigabytes(), 1e-12);
    table += fmt::format(
        "{:<9} {:<8} {:>10} {:>9} {:>9.3f} {:>9.3f} {:>12.0f} {:>8.2f} {:>9.1f} {:>9.1f} {:>9.1f} {:>7.3f} {:>7.3f} "
        "{:>9}\n",
        row.plan.transport, row.plan.operation, row.plan.message_bytes, row.client.count, row.client.seconds,
        row.server.seconds, row.messages_per_second(), row.gigabytes_per_second(), row.server.latency_us.p50,
        row.server.latency_us.p99, row.server.latency_us.max, row.client.cpu_seconds / gigabytes,
        row.server.cpu_seconds / gigabytes, ratio_text(rows, row));
  }
  return table +
         "cli cpu, srv cpu: CPU seconds per GB at the client and at the server. x socket: GB/s against plain sockets "
         "of the same size.\n";
}

}  // namespace framewire
