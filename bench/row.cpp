#include "bench/row.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <numeric>

#include "base/bandwidth.hpp"
#include "base/error.hpp"
#include "base/text.hpp"
#include "transport/json_fields.hpp"
#include "transport/link.hpp"

namespace framewire {

namespace {

using Json = nlohmann::ordered_json;

Json latency_json(const LatencyUs& latency) {
  return {{"p50", latency.p50}, {"p99", latency.p99}, {"p99.9", latency.p99_9}, {"max", latency.max}};
}

/// An unknown time is 0 here, and null in JSON.
Json seconds_json(double seconds) {
  return seconds > 0 ? Json(seconds) : Json(nullptr);
}

Json rate_json(const std::optional<double>& rate) {
  return rate ? Json(*rate) : Json(nullptr);
}

Json no_latency_json() {
  return {{"p50", nullptr}, {"p99", nullptr}, {"p99.9", nullptr}, {"max", nullptr}};
}

/// One-way latency, measured by the receiver; null when it cannot know.
Json one_way_json(const RowResult& row) {
  if (!row.has_one_way()) {
    return nullptr;
  }
  Json latency = latency_json(row.receiving_side().latency_us);
  latency["uncertainty"] = row.receiving_side().latency_uncertainty_us;
  return latency;
}

const char* latency_method(const RowResult& row) {
  return row.is_by_round_trip() ? "half_round_trip" : "one_way";
}

Json row_json(const RowResult& row) {
  const double cpu_seconds = row.client.cpu_seconds + row.server.cpu_seconds;
  Json json{{"transport", row.plan.transport},
            {"operation", row.plan.operation},
            {"direction", direction_of(row.plan)},
            {"message_bytes", row.plan.message_bytes},
            {"count", row.client.count},
            {"seconds", seconds_json(row.measuring_side().seconds)},
            {"gigabytes_per_second", rate_json(row.gigabytes_per_second())},
            {"messages_per_second", rate_json(row.messages_per_second())},
            {"latency_us", row.has_latency() ? latency_json(row.latency_us()) : no_latency_json()},
            {"latency_method", row.has_latency() ? Json(latency_method(row)) : Json(nullptr)},
            {"one_way_us", one_way_json(row)},
            {"cpu_seconds", cpu_seconds},
            {"cpu_seconds_per_gigabyte", row.gigabytes() > 0 ? Json(cpu_seconds / row.gigabytes()) : Json(nullptr)},
            {"client_seconds", seconds_json(row.client.seconds)},
            {"server_seconds", seconds_json(row.server.seconds)},
            {"client_cpu_seconds", row.client.cpu_seconds},
            {"server_cpu_seconds", row.server.cpu_seconds},
            {"slots", row.plan.slots},
            {"wait", name(row.plan.wait)},
            {"touch", row.plan.touches_payload}};
  if (const std::string& memory = row.receiving_side().memory; !memory.empty()) {
    json["memory"] = memory;
  }
  if (row.plan.has_frames()) {
    json["batch"] = row.plan.batch;
    json["frames_lost"] = row.receiving_side().frames_lost;
    json["messages_arrived"] = row.arrived();
  }
  if (row.plan.transport == xdp_transport) {
    json["mode"] = name(row.plan.mode);
  }
  if (!row.plan.label.empty()) {
    json["label"] = row.plan.label;
  }
  if (row.plan.is_for_plot) {
    json["is_for_plot"] = true;
  }
  return json;
}

const RowResult* socket_row_like(const std::vector<RowResult>& rows, const RowResult& row) {
  const RowResult* found = nullptr;
  for (const RowResult& other : rows) {
    const bool is_one = other.plan.transport == socket_transport && other.plan.operation == "stream" &&
                        other.plan.message_bytes == row.plan.message_bytes;
    // The sockets of the whole table are those on loopback; those over a virtual cable stand in for them.
    if (is_one && (found == nullptr || (found->plan.is_over_veth && !other.plan.is_over_veth))) {
      found = &other;
    }
  }
  return found;
}

bool shares_memory(const std::string& transport) {
  const auto kind = link_kind_from_name(transport);
  return kind && traits(*kind).shares_memory;
}

/// Large ones in thousands, so that a table with them fits a terminal.
std::string whole_number(double value) {
  constexpr double large = 99'999.5;
  return value >= large ? fmt::format("{:.0f}k", value / 1e3) : fmt::format("{:.0f}", value);
}

/// At least three significant digits, and no more behind the point.
std::string three_digits(double value) {
  if (value >= 1e3) {
    return whole_number(value);
  }
  const double magnitude = value > 0 ? std::floor(std::log10(value)) : 0;
  int decimals = std::clamp(2 - static_cast<int>(magnitude), 0, 6);
  // 0.09999 is rounded to a number with a digit more before the last.
  if (decimals > 0 && decimals < 6 && value * std::pow(10, decimals) >= 999.5) {
    --decimals;
  }
  return fmt::format("{:.{}f}", value, decimals);
}

std::string ratio_text(const std::vector<RowResult>& rows, const RowResult& row) {
  const RowResult* socket = socket_row_like(rows, row);
  if (socket == nullptr) {
    return "";
  }
  if (row.plan.operation == "latency") {
    return "-";
  }
  const auto mine = row.gigabytes_per_second();
  const auto sockets = socket->gigabytes_per_second();
  return mine && sockets && has_bandwidth(row.plan) ? fmt::format("{:.2f}", *mine / *sockets) : "-";
}

std::string one_way_text(const RowResult& row) {
  const SideResult& side = row.receiving_side();
  if (!row.has_one_way()) {
    return "-";
  }
  const std::string latency = three_digits(side.latency_us.p50);
  return side.latency_uncertainty_us > 0 ? latency + "±" + three_digits(side.latency_uncertainty_us) : latency;
}

std::string ms_text(double seconds) {
  return seconds > 0 ? three_digits(seconds * 1e3) : "-";
}

// ---- The table: as wide as its cells ----

constexpr std::array titles = {"link", "op",  "dir", "bytes", "count",   "lost",    "cli ms",  "srv ms", "msg/s",
                               "MB/s", "p50", "p99", "max",   "one way", "cli cpu", "srv cpu", "x"};
using Cells = std::array<std::string, titles.size()>;
constexpr std::size_t left_aligned = 3;  // the first ones, which are words
/// In the table of rates, which has rows of streams alone: what they show beside is no answer to its question.
constexpr std::array only_in_full_tables = {"p50", "p99", "max", "one way"};

Cells cells_of(const std::vector<RowResult>& rows, const RowResult& row) {
  const double gigabytes = std::max(row.gigabytes(), 1e-12);
  const LatencyUs& latency = row.latency_us();
  const auto us = [&](double value) { return row.has_latency() ? three_digits(value) : "-"; };
  const auto messages = row.messages_per_second();
  const auto speed = row.gigabytes_per_second();
  const bool has_directions = std::ranges::any_of(rows, [](const RowResult& one) { return one.plan.is_reverse; });
  return {name_of(row.plan),
          row.plan.operation,
          !has_directions       ? ""
          : row.plan.is_reverse ? "rev"
                                : "fwd",
          std::to_string(row.plan.message_bytes),
          whole_number(static_cast<double>(row.client.count)),
          row.plan.has_frames() ? std::to_string(row.receiving_side().frames_lost) : "",
          ms_text(row.client.seconds),
          ms_text(row.server.seconds),
          messages ? whole_number(*messages) : "-",
          speed && has_bandwidth(row.plan) ? three_digits(*speed * 1e3) : "-",
          us(latency.p50),
          us(latency.p99),
          us(latency.max),
          one_way_text(row),
          three_digits(row.client.cpu_seconds / gigabytes),
          three_digits(row.server.cpu_seconds / gigabytes),
          ratio_text(rows, row)};
}

/// Characters: "±" has two bytes.
std::size_t columns_of(std::string_view text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0U) != 0x80; }));
}

bool is_shown(std::string_view title, TableKind kind) {
  return kind == TableKind::full || std::ranges::find(only_in_full_tables, title) == only_in_full_tables.end();
}

/// Leaves out the columns that are empty in every row. The first row has the titles.
std::string lines_of(const std::vector<Cells>& table, TableKind kind) {
  std::array<std::size_t, titles.size()> widths{};
  for (const Cells& cells : table) {
    for (std::size_t i = 0; i < cells.size(); ++i) {
      widths.at(i) = std::max(widths.at(i), columns_of(cells.at(i)));
    }
  }
  std::string text;
  for (const Cells& cells : table) {
    for (std::size_t i = 0; i < cells.size(); ++i) {
      const auto says_nothing = [&](const Cells& row) { return row.at(i).empty(); };
      if (!is_shown(titles.at(i), kind) || std::all_of(table.begin() + 1, table.end(), says_nothing)) {
        continue;
      }
      const std::string padding(widths.at(i) - columns_of(cells.at(i)), ' ');
      text += (i == 0 ? "" : " ") + (i < left_aligned ? cells.at(i) + padding : padding + cells.at(i));
    }
    text += '\n';
  }
  return text;
}

/// What the titles and the rows mean, in lines of up to 120 characters.
std::string legend(const std::vector<RowResult>& rows, TableKind kind) {
  const auto any = [&](auto&& condition) { return std::ranges::any_of(rows, condition); };
  std::string text =
      "cli ms, srv ms: from the start of the first message to the last arrival, at the client and the server. k: "
      "thousands.\n"
      "The rates divide by the receiver's time. cli cpu, srv cpu: CPU seconds per GB.";
  text += any([&](const RowResult& row) { return !ratio_text(rows, row).empty(); })
              ? " x: times the MB/s of plain sockets.\n"
              : "\n";
  if (kind == TableKind::full) {
    text +=
        "p50 to max, in us: for latency half of a round trip, as ib_write_lat reports it (a link answers with a "
        "credit, "
        "a\n"
        "socket with a byte, verbs with a message as long); for stream one way, with its queues.\n"
        "one way, in us: from complete at the sender to received, p50 ± the uncertainty of two clocks.\n";
  }
  if (any([](const RowResult& row) { return !has_bandwidth(row.plan); })) {
    text +=
        "local hands messages over without copying them, so it has no MB/s; with --touch the receiver reads them.\n";
  }
  if (any([](const RowResult& row) { return row.plan.is_reverse; })) {
    text += "rev: the server sends; the client receives and measures. The server is not told the last arrival.\n";
  }
  if (any([](const RowResult& row) {
        return row.plan.is_remote && (row.plan.transport == socket_transport || row.plan.has_frames());
      })) {
    text += "socket, xdp: between machines the server's time begins when the server is ready.\n";
  }
  if (any([](const RowResult& row) { return row.plan.has_frames(); })) {
    text +=
        "xdp: mode/batch; copy or zerocopy, as the kernel granted it. udp: one datagram for each frame, the same "
        "credits.\n"
        "lost: frames. Their messages count for nothing. veth: over a virtual Ethernet cable on this machine.\n";
  }
  if (any([](const RowResult& row) { return row.is_verbs(); })) {
    text +=
        "verbs: the device without a link, by the client's clock, until its device has every acknowledgement. The\n"
        "server's time begins when it is ready; for write and read it ends when the client says that all is done.\n";
  }
  return text;
}

}  // namespace

bool has_bandwidth(const RowPlan& plan) {
  return !shares_memory(plan.transport) || plan.touches_payload;
}

LatencyUs latency_of(const Histogram& histogram) {
  const auto us = [](std::int64_t ns) { return static_cast<double>(ns) / 1e3; };
  return {us(histogram.percentile_ns(0.5)), us(histogram.percentile_ns(0.99)), us(histogram.percentile_ns(0.999)),
          us(histogram.max_ns())};
}

std::uint64_t sum_of(std::span<const std::byte> payload) noexcept {
  return std::accumulate(payload.begin(), payload.end(), std::uint64_t{0},
                         [](std::uint64_t sum, std::byte byte) { return sum + std::to_integer<std::uint64_t>(byte); });
}

std::string speed_text(const SideResult& side, double gigabytes) {
  if (side.seconds <= 0) {
    return "in a time that is not known";
  }
  const std::string messages =
      fmt::format("in {:.3f} s, {:.0f} messages/s", side.seconds, static_cast<double>(side.count) / side.seconds);
  return shares_memory(side.transport) ? messages : messages + ", " + format_bandwidth(gigabytes * 1e9, side.seconds);
}

void print_line(const std::string& text) {
  std::printf("%s\n", text.c_str());
  std::fflush(stdout);
}

std::string side_result_to_json(const SideResult& result) {
  Json json{{"count", result.count},
            {"seconds", result.seconds},
            {"cpu_seconds", result.cpu_seconds},
            {"latency_us", latency_json(result.latency_us)},
            {"latency_uncertainty_us", result.latency_uncertainty_us},
            {"transport", result.transport}};
  if (result.transport == xdp_transport || result.transport == udp_transport) {
    json["frames_lost"] = result.frames_lost;
  }
  if (!result.memory.empty()) {
    json["memory"] = result.memory;
  }
  return json.dump();
}

SideResult side_result_from_json(const std::string& text) {
  const auto json = nlohmann::json::parse(text, nullptr, false);
  const nlohmann::json* latency = find_object(json, "latency_us");
  const auto count = find_unsigned(json, "count");
  const std::string* transport = find_text(json, "transport");
  const auto fail = [] { return Error::failed("the other end is no framewire bench server: it sent no results"); };
  if (latency == nullptr || !count || transport == nullptr) {
    throw fail();
  }
  const std::string* memory = find_text(json, "memory");
  const auto lost = find_unsigned(json, "frames_lost");
  if (json.contains("frames_lost") && !lost) {
    throw fail();
  }
  const auto number = [&](const nlohmann::json& object, const char* field) {
    const auto found = find_number(object, field);
    return found ? *found : throw fail();
  };
  return {.count = *count,
          .seconds = number(json, "seconds"),
          .cpu_seconds = number(json, "cpu_seconds"),
          .latency_us = {number(*latency, "p50"), number(*latency, "p99"), number(*latency, "p99.9"),
                         number(*latency, "max")},
          .latency_uncertainty_us = number(json, "latency_uncertainty_us"),
          .transport = printable(*transport, 80),
          .memory = memory != nullptr ? printable(*memory, 16) : "",
          .frames_lost = lost.value_or(0)};
}

RowResult median_row(std::vector<RowResult> rows) {
  const auto middle = rows.begin() + static_cast<std::ptrdiff_t>(rows.size() / 2);
  std::ranges::nth_element(rows, middle, {}, [](const RowResult& row) {
    return row.plan.operation == "latency" ? row.latency_us().p50 : row.gigabytes_per_second().value_or(0);
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

std::string rows_to_table(const std::vector<RowResult>& rows, TableKind kind) {
  std::vector<Cells> table(1);
  std::ranges::copy(titles, table.front().begin());
  for (const RowResult& row : rows) {
    if (!row.plan.is_for_plot) {
      table.push_back(cells_of(rows, row));
    }
  }
  return lines_of(table, kind) + legend(rows, kind);
}

}  // namespace framewire
