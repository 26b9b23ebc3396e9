#include "transport/session/messages.hpp"

#include <limits>
#include <nlohmann/json.hpp>
#include <span>
#include <utility>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/text.hpp"
#include "memory/block.hpp"
#include "transport/control/hex.hpp"
#include "transport/json_fields.hpp"
#include "transport/session/message_fields.hpp"

namespace framewire {

namespace {

using message_fields::array_field;
using message_fields::number_field;
using message_fields::optional_text_field;
using message_fields::reason_field;
using message_fields::text_field;
using message_fields::wrong_field;
using nlohmann::json;

LinkKind link_field(const json& message, const std::string& field) {
  const auto kind = link_kind_from_wire(text_field(message, field));
  if (!kind) {
    throw wrong_field(message, field);
  }
  return *kind;
}

Delivery delivery_field(const json& message) {
  const auto delivery = delivery_from_name(text_field(message, "delivery"));
  if (!delivery) {
    throw wrong_field(message, "delivery");
  }
  return *delivery;
}

bool optional_flag_field(const json& message, const std::string& field) {
  const auto flag = find_flag(message, field);
  if (!flag && message.contains(field)) {
    throw wrong_field(message, field);
  }
  return flag.value_or(false);
}

/// A nested object of a message; null when it is absent.
const json* optional_part(const json& message, const std::string& field) {
  const json* found = find_object(message, field);
  if (found == nullptr && message.contains(field)) {
    throw wrong_field(message, field);
  }
  return found;
}

constexpr std::size_t max_memory_name_bytes = 16;

/// The name of a kind of memory: small letters and digits.
std::string memory_name(const json& message, const json& value) {
  const std::string* const name = value.is_string() ? &value.get_ref<const std::string&>() : nullptr;
  if (name == nullptr || name->empty() || name->size() > max_memory_name_bytes ||
      name->find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789") != std::string::npos) {
    throw wrong_field(message, "memory");
  }
  return *name;
}

/// Messages leave host memory out, so that earlier releases and byte streams see none of this.
void add_memory(json& message, const std::string& memory) {
  if (memory != "host") {
    message["memory"] = memory;
  }
}

std::string read_memory(const json& message) {
  const auto found = message.find("memory");
  return found == message.end() ? "host" : memory_name(message, *found);
}

/// A link's description of itself, as an object of the message.
void add_description(json& message, const std::string& field, const LinkDescription& description) {
  if (!description.empty()) {
    message[field] = json::parse(description);
  }
}

LinkDescription read_description(const json& message, const std::string& field) {
  const json* const part = optional_part(message, field);
  return part != nullptr ? part->dump() : LinkDescription();
}

std::string unavailable_field(LinkKind link) {
  return "why_no_" + std::string(name(link));
}

std::string own_field_prefix(LinkKind link) {
  return std::string(name(link)) + "_";
}

/// Adds what the peer needs for dialling; adds nothing when this side dials.
void add_data_address(json& message, const std::string& token, LinkKind link, const LinkDescription& listener) {
  if (!token.empty()) {
    message["token"] = token;
  }
  add_link_fields(message, link, listener);
}

json rational_to_json(const Rational& rational) {
  return {rational.numerator, rational.denominator};
}

Rational rational_field(const json& message, const std::string& field) {
  const json& pair = array_field(message, field, 2);
  if (pair.size() != 2 || !pair[0].is_number_unsigned() || !pair[1].is_number_unsigned() ||
      !std::in_range<std::uint32_t>(pair[0].get<std::uint64_t>()) ||
      !std::in_range<std::uint32_t>(pair[1].get<std::uint64_t>()) || pair[1].get<std::uint32_t>() == 0) {
    throw wrong_field(message, field);
  }
  return {pair[0].get<std::uint32_t>(), pair[1].get<std::uint32_t>()};
}

json format_to_json(const StreamFormat& format) {
  const Colour& colour = format.colour;
  json out{{"type", "format"},
           {"pixel_format", std::string(info(format.layout.format).name)},
           {"width", format.layout.width},
           {"height", format.layout.height},
           {"size_bytes", format.layout.size_bytes},
           {"colour_matrix", static_cast<unsigned>(colour.matrix)},
           {"colour_range", static_cast<unsigned>(colour.range)},
           {"colour_transfer", static_cast<unsigned>(colour.transfer)},
           {"colour_primaries", static_cast<unsigned>(colour.primaries)},
           {"sample_aspect", rational_to_json(format.sample_aspect_ratio)},
           {"frame_rate", rational_to_json(format.frame_rate)}};
  // Omit unspecified values: an older peer does not know the value "unspecified".
  if (format.alpha_mode != AlphaMode::unspecified) {
    out["alpha_mode"] = std::string(name(format.alpha_mode));
  }
  if (format.chroma_location != ChromaLocation::unspecified) {
    out["chroma_location"] = std::string(name(format.chroma_location));
  }
  if (format.field_order != FieldOrder::unspecified) {
    out["field_order"] = std::string(name(format.field_order));
  }
  return out;
}

StreamFormat read_format(const json& message) {
  const auto pixel_format = pixel_format_from_name(text_field(message, "pixel_format"));
  if (!pixel_format) {
    throw Error::failed("the sender's pixel format " + quote(text_field(message, "pixel_format")) +
                        " is not known here; this end knows " + pixel_format_names());
  }
  StreamFormat format;
  format.layout = *pixel_format == PixelFormat::bytes
                      ? bytes_layout(number_field<std::uint64_t>(message, "size_bytes"))
                      : packed_layout(*pixel_format, number_field<std::uint32_t>(message, "width"),
                                      number_field<std::uint32_t>(message, "height"));
  format.colour = colour_from_numbers(
      number_field<std::uint8_t>(message, "colour_matrix"), number_field<std::uint8_t>(message, "colour_range"),
      number_field<std::uint8_t>(message, "colour_transfer"), number_field<std::uint8_t>(message, "colour_primaries"));
  format.sample_aspect_ratio = rational_field(message, "sample_aspect");
  format.frame_rate = rational_field(message, "frame_rate");
  format.alpha_mode = alpha_mode_from_name(optional_text_field(message, "alpha_mode"));
  format.chroma_location = chroma_location_from_name(optional_text_field(message, "chroma_location"));
  format.field_order = field_order_from_name(optional_text_field(message, "field_order"));
  return format;
}

/// In small letters, as memory_device_of() writes it; empty if it is missing.
std::string read_memory_device(const json& stream) {
  if (!stream.contains("memory_device")) {
    return {};
  }
  DeviceUuid uuid{};
  if (!read_hex(text_field(stream, "memory_device"), std::as_writable_bytes(std::span(uuid)))) {
    throw wrong_field(stream, "memory_device");
  }
  return to_hex(std::as_bytes(std::span(uuid)));
}

}  // namespace

void add_link_fields(json& message, LinkKind link, const LinkDescription& fields) {
  if (fields.empty()) {
    return;
  }
  const json object = json::parse(fields);
  for (const auto& [field, value] : object.items()) {
    message[own_field_prefix(link) + field] = value;
  }
}

LinkDescription read_link_fields(const json& message, LinkKind link) {
  const std::string prefix = own_field_prefix(link);
  json fields = json::object();
  for (const auto& [field, value] : message.items()) {
    if (field.starts_with(prefix)) {
      fields[field.substr(prefix.size())] = value;
    }
  }
  return fields.empty() ? LinkDescription() : fields.dump();
}

std::string message_type(const json& message) {
  const std::string* type = find_text(message, "type");
  return type != nullptr ? *type : std::string();
}

json refusal(const std::string& text) {
  return {{"type", "refused"}, {"text", text}};
}

void throw_if_refused(const json& message) {
  if (message_type(message) == "refused") {
    throw Error::refused(reason_field(message, "text"));
  }
}

void expect_type(const json& message, const std::string& type) {
  throw_if_refused(message);
  if (message_type(message) != type) {
    throw Error::failed("the peer said " + quote(message_type(message)) + " where '" + type + "' was expected");
  }
}

json to_json(const HelloMessage& message) {
  return {{"type", "hello"}, {"role", message.role}, {"program", message.program}, {"versions", message.versions}};
}

HelloMessage read_hello(const json& message) {
  expect_type(message, "hello");
  HelloMessage hello{text_field(message, "role"), text_field(message, "program"), {}};
  for (const json& version : array_field(message, "versions", 64)) {
    if (!version.is_number_unsigned() || !std::in_range<std::uint32_t>(version.get<std::uint64_t>())) {
      throw wrong_field(message, "versions");
    }
    hello.versions.push_back(version.get<std::uint32_t>());
  }
  return hello;
}

json to_json(const OfferMessage& message) {
  json streams = json::array();
  for (const OfferedStream& stream : message.streams) {
    streams.push_back({{"type", "stream"},
                       {"name", stream.name},
                       {"number", stream.number},
                       {"delivery", std::string(name(stream.delivery))},
                       {"description", stream.description},
                       {"allows_pull", stream.allows_pull}});
    if (!stream.source_file.empty()) {
      streams.back()["source_file"] = stream.source_file;
    }
    add_memory(streams.back(), stream.memory);
    if (!stream.memory_device.empty()) {
      streams.back()["memory_device"] = stream.memory_device;
    }
  }
  json links = json::array();
  for (const LinkKind kind : message.links) {
    links.push_back(std::string(traits(kind).wire_name));
  }
  json out{{"type", "offer"}, {"session", message.session}, {"streams", streams}, {"links", links}};
  for (const auto& [link, why] : message.unavailable_links) {
    out[unavailable_field(link)] = why;
  }
  if (message.encrypt) {
    out["encrypt"] = *message.encrypt;
  }
  return out;
}

OfferMessage read_offer(const json& message) {
  expect_type(message, "offer");
  OfferMessage offer{.session = text_field(message, "session"), .streams = {}, .links = {}};
  for (const json& stream : array_field(message, "streams", max_offered_streams)) {
    if (!stream.is_object()) {
      throw wrong_field(message, "streams");
    }
    offer.streams.push_back({text_field(stream, "name"), number_field<std::uint32_t>(stream, "number"),
                             delivery_field(stream), optional_text_field(stream, "description"),
                             optional_flag_field(stream, "allows_pull"), optional_text_field(stream, "source_file"),
                             read_memory(stream), read_memory_device(stream)});
  }
  for (const json& link : array_field(message, "links", 16)) {
    // Ignore unknown links: a newer or an older peer may have other ones.
    if (const auto kind = link.is_string() ? link_kind_from_wire(link.get_ref<const std::string&>()) : std::nullopt) {
      offer.links.push_back(*kind);
    }
  }
  for (const LinkKind link : links_best_first()) {
    if (const std::string why = optional_text_field(message, unavailable_field(link)); !why.empty()) {
      offer.unavailable_links[link] = why;
    }
  }
  if (message.contains("encrypt")) {
    offer.encrypt = optional_flag_field(message, "encrypt");
  }
  return offer;
}

json to_json(const ChooseMessage& message) {
  json out{{"type", "choose"},
           {"stream", message.stream},
           {"link", std::string(traits(message.link).wire_name)},
           {"delivery", std::string(name(message.delivery))}};
  add_data_address(out, message.token, message.link, message.listener);
  if (message.pulls) {
    out["pulls"] = true;
  }
  if (message.encrypt) {
    out["encrypt"] = true;
  }
  if (!message.memory.empty()) {
    out["memory"] = message.memory;
  }
  if (!message.why.empty()) {
    out["why"] = message.why;
  }
  return out;
}

ChooseMessage read_choose(const json& message) {
  expect_type(message, "choose");
  const LinkKind link = link_field(message, "link");
  std::vector<std::string> memory;
  if (message.contains("memory")) {
    for (const json& name : array_field(message, "memory", max_memory_kinds)) {
      memory.push_back(memory_name(message, name));
    }
  }
  return {.stream = number_field<std::uint32_t>(message, "stream"),
          .link = link,
          .delivery = delivery_field(message),
          .token = optional_text_field(message, "token"),
          .listener = read_link_fields(message, link),
          .pulls = optional_flag_field(message, "pulls"),
          .encrypt = optional_flag_field(message, "encrypt"),
          .memory = std::move(memory),
          .why = optional_text_field(message, "why")};
}

json to_json(const ConnectMessage& message) {
  json out{{"type", "connect"}};
  add_data_address(out, message.token, message.link, message.listener);
  return out;
}

ConnectMessage read_connect(const json& message, LinkKind link) {
  throw_if_no_link(message);
  expect_type(message, "connect");
  return {.link = link, .token = optional_text_field(message, "token"), .listener = read_link_fields(message, link)};
}

json no_link(const std::string& text) {
  return {{"type", "no_link"}, {"text", text}};
}

std::string read_no_link(const json& message) {
  expect_type(message, "no_link");
  return reason_field(message, "text");
}

void throw_if_no_link(const json& message) {
  if (message_type(message) == "no_link") {
    throw Error::lost_peer(read_no_link(message));
  }
}

json to_json(const EpochMessage& message) {
  json out{{"type", "epoch"},
           {"number", message.number},
           {"format", format_to_json(message.format)},
           {"slot_bytes", message.slot_bytes},
           {"ring_slots", message.ring_slots}};
  add_description(out, "pool", message.pool);
  add_memory(out, message.memory);
  return out;
}

EpochMessage read_epoch(const json& message) {
  expect_type(message, "epoch");
  const json* const format = optional_part(message, "format");
  if (format == nullptr) {
    throw wrong_field(message, "format");
  }
  EpochMessage epoch{number_field<std::uint32_t>(message, "number"), read_format(*format),
                     number_field<std::uint64_t>(message, "slot_bytes"),
                     number_field<std::uint32_t>(message, "ring_slots")};
  if (epoch.slot_bytes == 0 || epoch.slot_bytes > max_slot_bytes) {
    throw wrong_field(message, "slot_bytes");
  }
  if (epoch.ring_slots == 0 || epoch.ring_slots > max_pool_slots) {
    throw wrong_field(message, "ring_slots");
  }
  epoch.pool = read_description(message, "pool");
  epoch.memory = read_memory(message);
  return epoch;
}

json to_json(const ReadyMessage& message) {
  json out{{"type", "ready"}, {"number", message.number}, {"ring_slots", message.ring_slots}};
  add_description(out, "access", message.ring);
  add_memory(out, message.memory);
  if (message.takes_slices) {
    out["slices"] = true;
  }
  return out;
}

ReadyMessage read_ready(const json& message) {
  expect_type(message, "ready");
  ReadyMessage ready{number_field<std::uint32_t>(message, "number"),
                     number_field<std::uint32_t>(message, "ring_slots")};
  ready.ring = read_description(message, "access");
  ready.memory = read_memory(message);
  ready.takes_slices = find_flag(message, "slices").value_or(false);
  return ready;
}

json to_json(const ClockMessage& message) {
  return {{"type", "clock"}, {"viewer_ns", message.viewer_ns}, {"sender_ns", message.sender_ns}};
}

ClockMessage read_clock(const json& message) {
  expect_type(message, "clock");
  const ClockMessage clock{number_field<std::int64_t>(message, "viewer_ns"),
                           number_field<std::int64_t>(message, "sender_ns")};
  if (!is_monotonic_time(clock.sender_ns)) {
    throw Error::failed("the peer's clock says " + std::to_string(clock.sender_ns) + " ns, which cannot be");
  }
  return clock;
}

json to_json(const CadenceRequest& request) {
  return {{"type", "cadence"}, {"period_ns", request.period_ns}, {"shift_ns", request.shift_ns}};
}

CadenceRequest read_cadence(const json& message) {
  expect_type(message, "cadence");
  return {.period_ns = number_field<std::int64_t>(message, "period_ns"),
          .shift_ns = number_field<std::int64_t>(message, "shift_ns")};
}

json no_cadence(const std::string& text) {
  return {{"type", "no_cadence"}, {"text", text}};
}

std::string read_no_cadence(const json& message) {
  expect_type(message, "no_cadence");
  return reason_field(message, "text");
}

json to_json(const ByeMessage& message) {
  json out{{"type", "bye"},
           {"reason", message.reason},
           {"frames_sent", message.frames_sent},
           {"frames_received", message.frames_received}};
  if (!message.statistics.empty()) {
    out["statistics"] = json::parse(message.statistics, nullptr, false);
  }
  return out;
}

ByeMessage read_bye(const json& message) {
  expect_type(message, "bye");
  ByeMessage bye{text_field(message, "reason"),
                 number_field<std::uint64_t>(message, "frames_sent"),
                 number_field<std::uint64_t>(message, "frames_received"),
                 {}};
  if (const auto found = message.find("statistics"); found != message.end() && found->is_object()) {
    bye.statistics = found->dump();
  }
  return bye;
}

}  // namespace framewire
