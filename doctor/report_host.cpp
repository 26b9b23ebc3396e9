// The "host" part of the JSON report.
#include <nlohmann/json.hpp>

#include "command/json_text.hpp"
#include "doctor/check.hpp"
#include "doctor/report.hpp"

namespace framewire {

namespace {

using Json = nlohmann::ordered_json;

Json measured_json(const Measurement& measured) {
  const bool is_done = measured.is_done();
  return {{"gigabytes_per_second", is_done ? Json(measured.gigabytes_per_second) : Json(nullptr)},
          {"messages", measured.count},
          {"trouble", text_or_null(measured.trouble)}};
}

Json latency_json(const Measurement& measured) {
  const bool is_done = measured.is_done();
  return {{"p50_us", is_done ? Json(measured.latency_p50_us) : Json(nullptr)},
          {"p99_us", is_done ? Json(measured.latency_p99_us) : Json(nullptr)},
          {"messages", measured.count},
          {"trouble", text_or_null(measured.trouble)}};
}

Json link_json(const LinkMeasurements& link) {
  return {{"transport", name(link.link)},
          {"works", link.works()},
          {"not_tried", text_or_null(link.not_tried)},
          {"latency", latency_json(link.latency)},
          {"forward", measured_json(link.there)},
          {"reverse", measured_json(link.back)}};
}

}  // namespace

const char* name(HostFault fault) noexcept {
  switch (fault) {
    case HostFault::none:
      return "none";
    case HostFault::unknown_name:
      return "unknown_name";
    case HostFault::nothing_listens:
      return "nothing_listens";
    case HostFault::silent:
      return "silent";
    case HostFault::no_route:
      return "no_route";
    case HostFault::bad_key_here:
      return "bad_key_here";
    case HostFault::no_key_here:
      return "no_key_here";
    case HostFault::key_refused:
      return "key_refused";
    case HostFault::not_framewire:
      return "not_framewire";
    case HostFault::sender:
      return "sender";
    case HostFault::viewer:
      return "viewer";
    case HostFault::version:
      return "version";
    case HostFault::busy:
      return "busy";
    case HostFault::no_bench_here:
      return "no_bench_here";
    case HostFault::other:
      return "other";
  }
  return "other";
}

Json host_json(const RemoteHostReport& host) {
  Json links = Json::array();
  for (const LinkMeasurements& link : host.links) {
    links.push_back(link_json(link));
  }
  // With --transport only that link was measured, so nothing is known about auto.
  const auto chosen = host.links.size() > 1 ? auto_choice(host) : std::nullopt;
  return {{"name", host.target.at.host},
          {"port", host.target.at.port},
          {"address", text_or_null(host.address)},
          {"is_this_machine", host.is_this_machine},
          {"round_trip_us", host.round_trip_us ? Json(*host.round_trip_us) : Json(nullptr)},
          {"authentication", text_or_null(host.auth)},
          {"control", text_or_null(host.control)},
          {"program", text_or_null(host.program)},
          {"fault", host.fault == HostFault::none ? Json(nullptr) : Json(name(host.fault))},
          {"trouble", text_or_null(host.trouble.empty() ? host.left : host.trouble)},
          {"links", links},
          {"auto", chosen ? Json(name(*chosen)) : Json(nullptr)}};
}

}  // namespace framewire
