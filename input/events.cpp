#include "input/events.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <type_traits>
#include <utility>

#include "base/error.hpp"
#include "base/text.hpp"

namespace framewire {

namespace {

using nlohmann::json;

constexpr std::array<std::string_view, 5> button_names = {"left", "middle", "right", "back", "forward"};
constexpr std::uint64_t all_modifiers = 0x3f;
constexpr std::uint64_t all_gamepad_buttons = 0x7fff;
constexpr std::uint32_t max_keysym = 0x1fffffff;  // X11 protocol, appendix A: 29 bits
constexpr std::size_t viewer_id_digits = 16;

// ---- Writing ----

json fields_of(const KeyInput& key) {
  return {{"type", "key"},           {"usage", key.usage},        {"keysym", key.keysym}, {"pressed", key.is_pressed},
          {"repeat", key.is_repeat}, {"modifiers", key.modifiers}};
}

json fields_of(const TextInput& text) {
  return {{"type", "text"}, {"text", text.text}};
}

json fields_of(const PointerInput& pointer) {
  return {{"type", "pointer"}, {"x", pointer.x},   {"y", pointer.y},
          {"dx", pointer.dx},  {"dy", pointer.dy}, {"locked", pointer.is_locked}};
}

json fields_of(const ButtonInput& button) {
  return {{"type", "button"},
          {"button", button_names.at(static_cast<std::size_t>(button.button))},
          {"pressed", button.is_pressed},
          {"x", button.x},
          {"y", button.y},
          {"modifiers", button.modifiers}};
}

json fields_of(const WheelInput& wheel) {
  return {{"type", "wheel"}, {"dx", wheel.dx}, {"dy", wheel.dy},
          {"x", wheel.x},    {"y", wheel.y},   {"modifiers", wheel.modifiers}};
}

json fields_of(const GamepadInput& gamepad) {
  return {{"type", "gamepad"},
          {"number", gamepad.number},
          {"connected", gamepad.is_connected},
          {"axes", gamepad.axes},
          {"buttons", gamepad.buttons}};
}

json fields_of(const SizeInput& size) {
  return {{"type", "size"}, {"width", size.width}, {"height", size.height}};
}

json fields_of(const FocusInput& focus) {
  return {{"type", "focus"}, {"focused", focus.is_focused}};
}

json event_json(const InputEvent& event) {
  json out = std::visit([](const auto& what) { return fields_of(what); }, event.what);
  out["time_ns"] = event.time_ns;
  return out;
}

// ---- Reading ----

Error bad_field(std::string_view part, const std::string& field) {
  return Error::failed("the peer's input has no usable '" + field + "' in its " + std::string(part));
}

/// Reads the fields of one JSON object. Each function throws Error (failed) that names the field.
class FieldReader {
 public:
  FieldReader(const json& object, std::string_view part) : object_(object), part_(part) {}

  template <std::unsigned_integral Number>
  [[nodiscard]] Number number(const std::string& field, std::type_identity_t<Number> highest) const {
    const json& value = find(field);
    // A parser makes every number that is not negative an unsigned one; a program may make it a signed one.
    const bool is_whole = value.is_number_unsigned() || (value.is_number_integer() && value.get<std::int64_t>() >= 0);
    if (!is_whole || value.get<std::uint64_t>() > highest) {
      throw bad_field(part_, field);
    }
    return static_cast<Number>(value.get<std::uint64_t>());
  }

  [[nodiscard]] double real(const std::string& field, double highest) const {
    return real(find(field), field, highest);
  }

  [[nodiscard]] bool flag(const std::string& field) const {
    const json& value = find(field);
    if (!value.is_boolean()) {
      throw bad_field(part_, field);
    }
    return value.get<bool>();
  }

  /// UTF-8 without controls.
  [[nodiscard]] const std::string& text(const std::string& field, std::size_t max_bytes) const {
    const json& value = find(field);
    const auto* const text = value.get_ptr<const json::string_t*>();
    if (text == nullptr || text->size() > max_bytes || !is_plain_text(*text)) {
      throw bad_field(part_, field);
    }
    return *text;
  }

  [[nodiscard]] const json& array(const std::string& field, std::size_t max_elements) const {
    const json& value = find(field);
    if (!value.is_array() || value.size() > max_elements) {
      throw bad_field(part_, field);
    }
    return value;
  }

  [[nodiscard]] std::array<float, 6> axes() const {
    std::array<float, 6> axes{};
    const json& values = array("axes", axes.size());
    if (values.size() != axes.size()) {
      throw bad_field(part_, "axes");
    }
    std::ranges::transform(values, axes.begin(),
                           [&](const json& value) { return static_cast<float>(real(value, "axes", 1)); });
    return axes;
  }

  [[nodiscard]] InputButton button() const {
    const auto found = std::ranges::find(button_names, text("button", 16));
    if (found == button_names.end()) {
      throw bad_field(part_, "button");
    }
    return static_cast<InputButton>(found - button_names.begin());
  }

  [[nodiscard]] std::uint8_t modifiers() const { return number<std::uint8_t>("modifiers", all_modifiers); }

 private:
  [[nodiscard]] const json& find(const std::string& field) const {
    const auto found = object_.find(field);
    if (found == object_.end()) {
      throw bad_field(part_, field);
    }
    return *found;
  }

  [[nodiscard]] double real(const json& value, const std::string& field, double highest) const {
    const double number = value.is_number() ? value.get<double>() : NAN;
    if (!(std::abs(number) <= highest)) {
      throw bad_field(part_, field);
    }
    return number;
  }

  const json& object_;
  std::string_view part_;
};

using InputKind = decltype(InputEvent::what);

/// Nullopt: a type that only a newer viewer knows.
std::optional<InputKind> read_kind(const json& event, const std::string& type) {
  const FieldReader from(event, type);
  if (type == "key") {
    return KeyInput{.usage = from.number<std::uint16_t>("usage", UINT16_MAX),
                    .keysym = from.number<std::uint32_t>("keysym", max_keysym),
                    .is_pressed = from.flag("pressed"),
                    .is_repeat = from.flag("repeat"),
                    .modifiers = from.modifiers()};
  }
  if (type == "text") {
    return TextInput{from.text("text", max_input_text_bytes)};
  }
  if (type == "pointer") {
    return PointerInput{.x = from.real("x", max_input_position),
                        .y = from.real("y", max_input_position),
                        .dx = from.real("dx", max_input_position),
                        .dy = from.real("dy", max_input_position),
                        .is_locked = from.flag("locked")};
  }
  if (type == "button") {
    return ButtonInput{.button = from.button(),
                       .is_pressed = from.flag("pressed"),
                       .x = from.real("x", max_input_position),
                       .y = from.real("y", max_input_position),
                       .modifiers = from.modifiers()};
  }
  if (type == "wheel") {
    return WheelInput{.dx = from.real("dx", max_input_position),
                      .dy = from.real("dy", max_input_position),
                      .x = from.real("x", max_input_position),
                      .y = from.real("y", max_input_position),
                      .modifiers = from.modifiers()};
  }
  if (type == "gamepad") {
    return GamepadInput{.number = from.number<std::uint8_t>("number", max_input_gamepads - 1),
                        .is_connected = from.flag("connected"),
                        .axes = from.axes(),
                        .buttons = from.number<std::uint16_t>("buttons", all_gamepad_buttons)};
  }
  if (type == "size") {
    return SizeInput{.width = from.number<std::uint32_t>("width", max_input_size),
                     .height = from.number<std::uint32_t>("height", max_input_size)};
  }
  if (type == "focus") {
    return FocusInput{from.flag("focused")};
  }
  return std::nullopt;
}

}  // namespace

bool is_same_key(const KeyInput& one, const KeyInput& other) noexcept {
  return one.usage == other.usage && (one.usage != 0 || one.keysym == other.keysym);
}

json to_json(const InputBatch& batch) {
  json events = json::array();
  std::ranges::transform(batch.events, std::back_inserter(events), event_json);
  return {{"version", input_version}, {"viewer", batch.viewer}, {"epoch", batch.epoch}, {"events", std::move(events)}};
}

InputBatch read_input(const json& message) {
  const FieldReader from(message, "message");
  if (!message.is_object() || from.number<std::uint32_t>("version", UINT32_MAX) != input_version) {
    throw Error::failed("the peer's input has another version than " + std::to_string(input_version) +
                        "; bring both ends to the same release");
  }
  InputBatch batch{.viewer = from.text("viewer", viewer_id_digits),
                   .epoch = from.number<std::uint64_t>("epoch", UINT64_MAX),
                   .events = {}};
  if (batch.viewer.size() != viewer_id_digits ||
      batch.viewer.find_first_not_of("0123456789abcdef") != std::string::npos) {
    throw bad_field("message", "viewer");
  }
  for (const json& event : from.array("events", max_input_events)) {
    if (!event.is_object()) {
      throw bad_field("message", "events");
    }
    const std::string& type = FieldReader(event, "event").text("type", max_input_text_bytes);
    if (auto kind = read_kind(event, type)) {
      const auto time_ns = FieldReader(event, type).number<std::uint64_t>("time_ns", INT64_MAX / 2);
      batch.events.push_back({static_cast<std::int64_t>(time_ns), *std::move(kind)});
    }
  }
  return batch;
}

std::string input_line(const InputBatch& batch, const InputEvent& event, std::string_view stream) {
  json line = event_json(event);
  line["version"] = input_version;
  line["viewer"] = batch.viewer;
  line["epoch"] = batch.epoch;
  if (event.queued_ns != 0) {
    line["queued_ns"] = event.queued_ns;
  }
  if (!stream.empty()) {
    line["stream"] = stream;
  }
  return line.dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace framewire
