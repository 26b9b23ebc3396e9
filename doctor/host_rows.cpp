// The rows of framewire bench that the doctor wants of each link, and what they say.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/text.hpp"
#include "doctor/host_probe.hpp"
#include "doctor/probe.hpp"
#include "transport/address.hpp"
#include "transport/control/json_fields.hpp"
#include "transport/endpoint_options.hpp"

namespace framewire {

namespace {

using Json = nlohmann::json;

// A row that a slow network cannot take back: 16 MB are under way when its time is over, which takes 13 s at 10 Mb/s.
constexpr std::int64_t row_timeout_ns = 20 * ns_per_s;
constexpr const char* latency_bytes = "64";
constexpr const char* burst_bytes = "4M";

std::string_view operation_of(const HostRow& row) {
  return row.is_latency ? "latency" : "stream";
}

/// A number that means something, or 0.
double number_of(const Json& json, const char* field) {
  return std::max(find_number(json, field).value_or(0), 0.0);
}

bool is_text(const Json& json, const char* field, std::string_view wanted) {
  const std::string* text = find_text(json, field);
  return text != nullptr && *text == wanted;
}

/// The last line of a program's standard error, without its name.
std::string last_line_of(std::string_view complaint) {
  while (!complaint.empty() && (complaint.back() == '\n' || complaint.back() == ' ')) {
    complaint.remove_suffix(1);
  }
  complaint.remove_prefix(complaint.rfind('\n') + 1);  // npos + 1 is 0
  constexpr std::string_view name = "framewire-bench: ";
  if (complaint.starts_with(name)) {
    complaint.remove_prefix(name.size());
  }
  constexpr std::size_t longest = 600;
  const std::string in_quotes = quote(complaint, longest);
  return in_quotes.substr(1, in_quotes.size() - 2);
}

LinkMeasurements not_tried(LinkKind link, const std::string& why) {
  return {.link = link, .not_tried = why, .latency = {}, .there = {}, .back = {}};
}

/// Empty where it can be tried.
std::string why_not(LinkKind link, const RemoteHostReport& host, const MachineFacts& machine) {
  if (link == LinkKind::local && !host.is_this_machine) {
    return "it needs the same user on the same machine";
  }
  const auto has_device = [](const RdmaAdapter& adapter) { return adapter.device.has_value(); };
  if (link == LinkKind::rdma && std::ranges::none_of(machine.rdma.adapters, has_device)) {
    return "no RDMA device here";
  }
  return "";
}

}  // namespace

std::vector<std::string> bench_arguments(const HostTarget& target, const HostRow& row) {
  std::vector<std::string> arguments{format_host_port(target.at),
                                     "--json",
                                     "--transport",
                                     std::string(name(row.link)),
                                     "--operation",
                                     std::string(operation_of(row)),
                                     "--message-bytes",
                                     row.is_latency ? latency_bytes : burst_bytes,
                                     "--duration",
                                     row.is_latency ? "200ms" : "500ms"};
  if (row.is_reverse) {
    arguments.emplace_back("--reverse");
  }
  if (target.key_file) {
    arguments.insert(arguments.end(), {"--key", *target.key_file});
  }
  if (target.insecure) {
    arguments.emplace_back("--insecure");
  }
  if (!target.timeout.empty()) {
    arguments.insert(arguments.end(), {"--timeout", target.timeout});
  }
  return arguments;
}

Measurement read_bench_output(const ChildOutput& output, const HostRow& row) {
  Measurement measured;
  measured.is_late = output.is_late;
  measured.has_lost_peer = output.exit_status == static_cast<int>(ExitStatus::lost_peer);
  if (!output.has_ended_well) {
    const std::string last_line = output.is_late ? "" : last_line_of(output.complaint);
    measured.trouble = last_line.empty() ? "framewire-bench: " + output.trouble : last_line;
    return measured;
  }
  measured.trouble = "framewire-bench printed no row of this link that can be read; is it of the same release?";
  const Json json = Json::parse(output.text, nullptr, false);
  const Json* results = find_array(json, "results", 1);
  if (results == nullptr || results->empty()) {
    return measured;
  }
  const Json& result = results->front();
  const Json* latency = find_object(result, "latency_us");
  if (!is_text(result, "transport", name(row.link)) || !is_text(result, "operation", operation_of(row)) ||
      !is_text(result, "direction", row.is_reverse ? "reverse" : "forward") || latency == nullptr) {
    return measured;
  }
  measured.gigabytes_per_second = number_of(result, "gigabytes_per_second");
  measured.latency_p50_us = number_of(*latency, "p50");
  measured.latency_p99_us = number_of(*latency, "p99");
  measured.count = static_cast<std::uint64_t>(std::min(number_of(result, "count"), 1e15));
  if (measured.is_done()) {
    measured.trouble.clear();
  }
  return measured;
}

RunRow bench_runner(const HostTarget& target, std::function<void(const HostRow&)> progress) {
  return [target, progress = std::move(progress)](const HostRow& row) {
    progress(row);
    return read_bench_output(
        child_output(own_folder() + "framewire-bench", bench_arguments(target, row), row_timeout_ns), row);
  };
}

void measure_links(RemoteHostReport& host, const MachineFacts& machine, std::optional<LinkKind> wanted,
                   const RunRow& run, const std::function<std::string()>& is_there) {
  for (const LinkKind link : links_best_first) {
    if (wanted.value_or(link) != link) {
      continue;
    }
    const std::string why = host.left.empty() ? why_not(link, host, machine) : "the server went away before";
    host.links.push_back(not_tried(link, why));
    LinkMeasurements& measured = host.links.back();
    if (!why.empty()) {
      continue;
    }
    // From there first: this end is the viewer then, which makes the connection and knows best why there is none.
    for (const auto& [field, row] :
         {std::pair(&measured.latency, HostRow{.link = link, .is_latency = true, .is_reverse = true}),
          std::pair(&measured.there, HostRow{.link = link}),
          std::pair(&measured.back, HostRow{.link = link, .is_reverse = true})}) {
      *field = run(row);
      if (field->has_lost_peer) {
        host.left = is_there();
      }
      // What connects carries bursts in one direction at least; what does not would only take its time again.
      if (!host.left.empty() || field->is_late || !measured.connects()) {
        break;
      }
    }
  }
}

}  // namespace framewire
