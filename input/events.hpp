// What a person at a viewer does: the input that goes back to the program that makes the frames.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace framewire {

/// Of the schema below. A reader refuses other versions; within one it ignores fields and types that it does not know.
inline constexpr std::uint32_t input_version = 1;

/// Bits of KeyInput::modifiers, ButtonInput::modifiers and WheelInput::modifiers, in the order of USB HID's modifier
/// byte without its sides (HID Usage Tables 1.4, chapter 10).
enum InputModifiers : std::uint8_t {
  input_control = 1,
  input_shift = 2,
  input_alt = 4,
  input_super = 8,
  input_caps_lock = 16,
  input_num_lock = 32,
};

/// A key of the keyboard. What it writes comes apart, as TextInput.
struct KeyInput {
  std::uint16_t usage = 0;   // USB HID usage of page 7: the key's place, whatever is printed on it; 0: unknown
  std::uint32_t keysym = 0;  // X11 keysym of what is printed on it in the user's layout, without Shift; 0: unknown
  bool is_pressed = false;
  bool is_repeat = false;  // pressed again by the keyboard's repetition
  std::uint8_t modifiers = 0;
  bool operator==(const KeyInput&) const = default;
};

/// Whether both are about one key. Its keysym does not say so, unless its usage is unknown: the layout may change while
/// it is down.
bool is_same_key(const KeyInput& one, const KeyInput& other) noexcept;

/// Characters that were written, after layout, Shift and compose keys.
struct TextInput {
  std::string text;  // UTF-8, no controls, at most max_input_text_bytes
  bool operator==(const TextInput&) const = default;
};

/// The pointer was moved. Positions are pixels of the frame as it was sent, from its top left, after the viewer's fit,
/// crop and rotation are undone; they may lie outside the frame.
struct PointerInput {
  double x = 0;
  double y = 0;
  double dx = 0;  // since the last event, in pixels of the frame; while the pointer is locked only these change
  double dy = 0;
  bool is_locked = false;  // the pointer is hidden and has no position
  bool operator==(const PointerInput&) const = default;
};

enum class InputButton : std::uint8_t { left, middle, right, back, forward };

struct ButtonInput {
  InputButton button{};
  bool is_pressed = false;
  double x = 0;
  double y = 0;
  std::uint8_t modifiers = 0;
  bool operator==(const ButtonInput&) const = default;
};

/// The wheel, or two fingers: notches, positive to the right and away from the user.
struct WheelInput {
  double dx = 0;
  double dy = 0;
  double x = 0;
  double y = 0;
  std::uint8_t modifiers = 0;
  bool operator==(const WheelInput&) const = default;
};

/// The whole state of a gamepad, in SDL's standard layout, as GLFW has it: 6 axes from -1 to 1, 15 buttons as bits.
struct GamepadInput {
  std::uint8_t number = 0;      // from 0
  bool is_connected = true;     // false: it has gone; axes and buttons are 0
  std::array<float, 6> axes{};  // left x, left y, right x, right y, left trigger, right trigger
  std::uint16_t buttons = 0;    // bit i: GLFW_GAMEPAD_BUTTON_i
  bool operator==(const GamepadInput&) const = default;
};

/// So many pixels of the viewer's screen does the frame fill now: what a program may render for a sharp picture.
struct SizeInput {
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  bool operator==(const SizeInput&) const = default;
};

/// Input begins (true) or ends (false). Before it ends, everything that was pressed has been released by events.
struct FocusInput {
  bool is_focused = false;
  bool operator==(const FocusInput&) const = default;
};

struct InputEvent {
  std::int64_t time_ns = 0;  // of the viewer's monotonic clock
  std::variant<KeyInput, TextInput, PointerInput, ButtonInput, WheelInput, GamepadInput, SizeInput, FocusInput> what;
  /// When it came into the queue of the program that makes the frames, by that machine's monotonic clock; 0: not known.
  /// It is not sent, and no part of what the event is.
  std::int64_t queued_ns = 0;
  bool operator==(const InputEvent& other) const { return time_ns == other.time_ns && what == other.what; }
};

/// Some events, in their order.
struct InputBatch {
  std::string viewer;       // an id that this viewer's program made at random: 16 hexadecimal digits
  std::uint64_t epoch = 0;  // of the frames whose pixels positions count in: EpochMessage::number
  std::vector<InputEvent> events;
  bool operator==(const InputBatch&) const = default;
};

inline constexpr std::size_t max_input_events = 256;     // of one batch; a reader refuses more
inline constexpr std::size_t max_input_text_bytes = 64;  // of one TextInput; a reader refuses more
inline constexpr double max_input_position = 1'000'000;  // of x, y, dx and dy, either way; a reader refuses more
inline constexpr std::uint32_t max_input_size = 65'536;  // of SizeInput; a reader refuses more
inline constexpr std::uint8_t max_input_gamepads = 16;   // GamepadInput::number is below; a reader refuses others

/// {"version", "viewer", "epoch", "events": [{"type": "key", …}, …]}: docs/input.md has every field.
nlohmann::json to_json(const InputBatch& batch);
/// Throws Error (failed) that names the field: another version, a value out of range or not finite.
InputBatch read_input(const nlohmann::json& message);

/// One event with "viewer" and "epoch", as a program that is not ours reads it: one line of JSON without its end.
/// `stream` becomes the field of this name; empty: none.
std::string input_line(const InputBatch& batch, const InputEvent& event, std::string_view stream = {});

}  // namespace framewire
