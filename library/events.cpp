#include "library/events.hpp"

#include <algorithm>
#include <cstring>
#include <type_traits>
#include <variant>

#include "base/clock.hpp"
#include "base/text.hpp"
#include "library/failure.hpp"
#include "transport/session/input_messages.hpp"

namespace framewire {

namespace {

void fill(fw_event& to, const KeyInput& key, std::string&) {
  to.type = FW_EVENT_KEY;
  to.usage = key.usage;
  to.keysym = key.keysym;
  to.pressed = key.is_pressed ? 1 : 0;
  to.repeated = key.is_repeat ? 1 : 0;
  to.modifiers = key.modifiers;
}

void fill(fw_event& to, const TextInput& input, std::string& text) {
  to.type = FW_EVENT_TEXT;
  text = input.text;
}

void fill(fw_event& to, const PointerInput& pointer, std::string&) {
  to.type = FW_EVENT_POINTER;
  to.x = pointer.x;
  to.y = pointer.y;
  to.dx = pointer.dx;
  to.dy = pointer.dy;
  to.locked = pointer.is_locked ? 1 : 0;
}

void fill(fw_event& to, const ButtonInput& button, std::string&) {
  to.type = FW_EVENT_BUTTON;
  to.button = static_cast<std::uint32_t>(button.button);
  to.pressed = button.is_pressed ? 1 : 0;
  to.x = button.x;
  to.y = button.y;
  to.modifiers = button.modifiers;
}

void fill(fw_event& to, const WheelInput& wheel, std::string&) {
  to.type = FW_EVENT_WHEEL;
  to.dx = wheel.dx;
  to.dy = wheel.dy;
  to.x = wheel.x;
  to.y = wheel.y;
  to.modifiers = wheel.modifiers;
}

void fill(fw_event& to, const GamepadInput& gamepad, std::string&) {
  to.type = FW_EVENT_GAMEPAD;
  to.number = gamepad.number;
  to.pressed = gamepad.is_connected ? 1 : 0;
  std::ranges::copy(gamepad.axes, to.axes);
  to.buttons = gamepad.buttons;
}

void fill(fw_event& to, const SizeInput& size, std::string&) {
  to.type = FW_EVENT_SIZE;
  to.width = size.width;
  to.height = size.height;
}

void fill(fw_event& to, const FocusInput& focus, std::string&) {
  to.type = FW_EVENT_FOCUS;
  to.pressed = focus.is_focused ? 1 : 0;
}

/// Throws for a number that its field on the wire cannot hold, which a cast would change.
template <typename Number>
Number checked(std::uint32_t number, std::uint32_t most, std::string_view field) {
  if (number > most) {
    throw Failure(FW_ERROR_ARGUMENT, "fw_receiver_send_event(): " + std::string(field) + " is " +
                                         std::to_string(number) + "; it takes 0 to " + std::to_string(most));
  }
  return static_cast<Number>(number);
}

std::uint8_t modifiers_of(const fw_event& event) {
  return checked<std::uint8_t>(event.modifiers, 63, "modifiers");
}

GamepadInput gamepad_of(const fw_event& event) {
  GamepadInput gamepad{.number = checked<std::uint8_t>(event.number, max_input_gamepads - 1U, "number"),
                       .is_connected = event.pressed != 0,
                       .axes = {},
                       .buttons = checked<std::uint16_t>(event.buttons, (1U << 15U) - 1, "buttons")};
  std::ranges::copy(event.axes, gamepad.axes.begin());
  return gamepad;
}

}  // namespace

fw_event c_event(const InputEvent& event, std::string& text) {
  fw_event made{};
  made.struct_size = sizeof made;
  made.time_ns = event.time_ns;
  text.clear();
  std::visit([&](const auto& what) { fill(made, what, text); }, event.what);
  made.text = text.c_str();
  return made;
}

InputEvent input_event(const fw_event& event) {
  InputEvent made{.time_ns = monotonic_ns(), .what = {}};
  switch (event.type) {
    case FW_EVENT_KEY:
      made.what = KeyInput{.usage = checked<std::uint16_t>(event.usage, UINT16_MAX, "usage"),
                           .keysym = event.keysym,
                           .is_pressed = event.pressed != 0,
                           .is_repeat = event.repeated != 0,
                           .modifiers = modifiers_of(event)};
      break;
    case FW_EVENT_TEXT:
      require(event.text, "fw_receiver_send_event", "text");
      made.what = TextInput{.text = event.text};
      break;
    case FW_EVENT_POINTER:
      made.what =
          PointerInput{.x = event.x, .y = event.y, .dx = event.dx, .dy = event.dy, .is_locked = event.locked != 0};
      break;
    case FW_EVENT_BUTTON:
      made.what = ButtonInput{.button = static_cast<InputButton>(checked<std::uint8_t>(event.button, 4, "button")),
                              .is_pressed = event.pressed != 0,
                              .x = event.x,
                              .y = event.y,
                              .modifiers = modifiers_of(event)};
      break;
    case FW_EVENT_WHEEL:
      made.what =
          WheelInput{.dx = event.dx, .dy = event.dy, .x = event.x, .y = event.y, .modifiers = modifiers_of(event)};
      break;
    case FW_EVENT_GAMEPAD:
      made.what = gamepad_of(event);
      break;
    case FW_EVENT_SIZE:
      made.what = SizeInput{.width = event.width, .height = event.height};
      break;
    case FW_EVENT_FOCUS:
      made.what = FocusInput{.is_focused = event.pressed != 0};
      break;
    default:
      throw Failure(FW_ERROR_ARGUMENT, "fw_receiver_send_event(): type is " + std::to_string(event.type) +
                                           "; it takes FW_EVENT_KEY to FW_EVENT_FOCUS");
  }
  return made;
}

std::string checked_message(const char* json, const char* function) {
  require(json, function, "json");
  const std::size_t size = ::strnlen(json, max_message_body_bytes + 1);
  const auto body = size <= max_message_body_bytes ? checked_body({json, size}) : std::nullopt;
  if (!body) {
    throw Failure(FW_ERROR_ARGUMENT, std::string(function) + "(): json is " +
                                         quote({json, std::min<std::size_t>(size, 80)}) +
                                         "; it takes a JSON object of at most 64 KiB");
  }
  return *body;
}

}  // namespace framewire
