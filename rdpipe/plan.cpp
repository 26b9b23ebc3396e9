#include "rdpipe/plan.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/text.hpp"
#include "bytes/chunks.hpp"
#include "command/command_line.hpp"
#include "ssh/message_fields.hpp"
#include "transport/control/hex.hpp"
#include "transport/json_fields.hpp"

namespace framewire {

namespace {

using Json = nlohmann::json;

/// As hexadecimal: commands and file names are arbitrary bytes, but JSON requires UTF-8.
std::string bytes_as_hex(const std::string& text) {
  return to_hex(std::as_bytes(std::span(text)));
}

std::string bytes_in(const Json& message, const char* field) {
  const std::string digits = text_in(message, field);
  std::string text(digits.size() / 2, '\0');
  if (!read_hex(digits, std::as_writable_bytes(std::span(text)))) {
    throw bad_field(field, "hexadecimal digits");
  }
  return text;
}

Json to_json(const HopPlan& plan) {
  const HopParameters& parameters = plan.parameters;
  return {{"number", plan.number},
          {"sends", plan.sends},
          {"listens", plan.listens},
          {"stays_here", plan.stays_here},
          {"key", to_hex(plan.key.bytes())},
          {"transport", parameters.transport},
          {"encrypts", parameters.encrypts},
          {"takes_digest", parameters.takes_digest},
          {"limit_bytes_per_s", parameters.limit_bytes_per_s},
          {"slot_bytes", parameters.slot_bytes},
          {"slots", parameters.slots},
          {"timeout_ns", parameters.timeout_ns},
          {"first_port", parameters.first_port},
          {"last_port", parameters.last_port},
          {"tells_progress", parameters.tells_progress}};
}

HopPlan hop_plan_from(const Json& message) {
  HopPlan plan{.number = number_in(message, "number", 1000),
               .sends = flag_in(message, "sends"),
               .listens = flag_in(message, "listens"),
               .stays_here = flag_in(message, "stays_here")};
  if (!read_hex(text_in(message, "key"), plan.key.bytes())) {
    throw bad_field("key", "64 hexadecimal digits");
  }
  plan.parameters = {
      .transport = text_in(message, "transport"),
      .encrypts = flag_in(message, "encrypts"),
      .takes_digest = flag_in(message, "takes_digest"),
      .limit_bytes_per_s = number_in(message, "limit_bytes_per_s"),
      .slot_bytes = number_in(message, "slot_bytes", max_chunk_bytes),
      .slots = static_cast<std::uint32_t>(number_in(message, "slots", max_chunks)),
      .timeout_ns = static_cast<std::int64_t>(number_in(message, "timeout_ns", INT64_MAX)),
      .first_port = static_cast<std::uint16_t>(number_in(message, "first_port", UINT16_MAX)),
      .last_port = static_cast<std::uint16_t>(number_in(message, "last_port", UINT16_MAX)),
      .tells_progress = flag_in(message, "tells_progress"),
  };
  if (plan.parameters.slot_bytes < min_chunk_bytes || plan.parameters.slots < min_chunks) {
    throw bad_field("slot_bytes", "as --slot-bytes takes it, with as many slots as --slots takes");
  }
  return plan;
}

std::optional<HopPlan> hop_plan_in(const Json& message, const char* field) {
  const auto found = message.find(field);
  if (found == message.end() || found->is_null()) {
    return std::nullopt;
  }
  if (!found->is_object()) {
    throw bad_field(field, "an object, or null");
  }
  return hop_plan_from(*found);
}

Json hop_or_null(const std::optional<HopPlan>& plan) {
  return plan ? to_json(*plan) : Json();
}

}  // namespace

Json to_json(const StagePlan& plan) {
  return {{"type", "plan"},
          {"protocol", pipeline_protocol},
          {"number", plan.number},
          {"host", plan.stage.host},
          {"work", static_cast<unsigned>(plan.stage.work)},
          {"text", bytes_as_hex(plan.stage.text)},
          {"appends", plan.stage.appends},
          {"upstream", hop_or_null(plan.upstream)},
          {"downstream", hop_or_null(plan.downstream)}};
}

StagePlan stage_plan_from(const Json& message) {
  if (number_in(message, "protocol") != pipeline_protocol) {
    throw Error::failed(
        "rdpipe there and rdpipe here are of versions that do not know each other; install the same one");
  }
  return {.stage = {.host = text_in(message, "host"),
                    .work = static_cast<StageWork>(number_in(message, "work", static_cast<unsigned>(StageWork::sink))),
                    .text = bytes_in(message, "text"),
                    .appends = flag_in(message, "appends")},
          .number = number_in(message, "number", 1000),
          .upstream = hop_plan_in(message, "upstream"),
          .downstream = hop_plan_in(message, "downstream")};
}

Json to_json(const HopTarget& target) {
  return {{"port", target.port}, {"addresses", target.addresses}};
}

HopTarget hop_target_from(const Json& message) {
  HopTarget target{.port = static_cast<std::uint16_t>(number_in(message, "port", UINT16_MAX)), .addresses = {}};
  const Json* found = find_array(message, "addresses");
  const auto is_text = [](const Json& one) { return one.is_string(); };
  if (found == nullptr || found->empty() || !std::ranges::all_of(*found, is_text)) {
    throw bad_field("addresses", "an array of texts");
  }
  target.addresses = found->get<std::vector<std::string>>();
  return target;
}

EndpointOptions endpoint_of(const HopPlan& plan) {
  RawCommonOptions raw;
  raw.transport = plan.parameters.transport;
  raw.encrypt = plan.parameters.encrypts;
  EndpointOptions endpoint;
  parse_endpoint_options(raw, endpoint);
  std::ranges::copy(plan.key.bytes(), endpoint.one_time_key.emplace().bytes().begin());
  endpoint.peer_timeout_ns = plan.parameters.timeout_ns;
  endpoint.native_timeout_ns = plan.parameters.timeout_ns;
  if (plan.listens) {
    // A link with a listener of its own connects to an address of its device (rdma), which loopback is not.
    const auto link = link_kind_from_name(plan.parameters.transport);
    const bool is_by_loopback = plan.stays_here && !(link && traits(*link).has_own_listener);
    endpoint.listen = HostPort{.host = is_by_loopback ? "127.0.0.1" : "*", .port = plan.parameters.first_port};
    endpoint.last_port = plan.parameters.last_port;
  }
  return endpoint;
}

}  // namespace framewire
