// Which of the user's input goes to the sender of a stream, and in which pixels.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "input/events.hpp"
#include "viewer/seen_picture.hpp"

namespace framewire {

/// The focus, and what is held down. A left click into a picture focuses its stream and captures all input for it, the
/// click too. The host key alone releases that, and captures it again. While the host key is held, keys do nothing (L
/// turns the lock of the pointer on and off) and the mouse is the viewer's; of a locked pointer only the wheel is.
///   - Each stream gets FocusInput(true), then events, then FocusInput(false). Before that, everything that it was told
///     is pressed is released.
///   - Positions are those in the newest frame that was seen. A new epoch changes them and ends nothing.
///   - Motion that was not sent yet is one event, and so are notches of the wheel.
///   - At most max_input_events events wait. If there is no room for a press and for what will release it, it is lost.
///     take_lost() counts such events.
/// Logic only. One thread.
class InputCapture {
 public:
  struct Options {
    std::uint16_t host_key = 0;  // USB HID usage of page 7
    bool locks_pointer = false;
    std::string viewer{};  // InputBatch::viewer
  };
  explicit InputCapture(Options options);

  /// Takes an event of the window, with positions and ways in pixels of the surface. FocusInput(false): the window gets
  /// no keys any more. Returns whether the viewer itself is to ignore it.
  bool take(const InputEvent& event);
  /// What the user sees from now on. Ends the focus if its stream is not among them in the same session, or takes no
  /// input.
  void see(SeenPictures pictures, std::int64_t now_ns);
  /// Ends the focus, if there is one.
  void release(std::int64_t now_ns);

  /// Sends a batch to a stream, or loses it.
  using Send = std::function<void(const void* stream, std::uint64_t session, const InputBatch& batch)>;
  /// Sends what waits.
  void send(const Send& send);

  /// Events of a stream for which there was no room. What becomes one event is not lost.
  struct Lost {
    const void* stream;
    std::uint64_t events;
  };
  /// Since the last call; each stream once.
  [[nodiscard]] std::vector<Lost> take_lost() { return std::exchange(lost_, {}); }

  /// Which stream has the focus; null: none.
  [[nodiscard]] const void* focused() const noexcept { return focus_ ? focus_->stream : nullptr; }
  /// Which stream the host key has asked for in vain since the last call, because it takes no input; null: none.
  [[nodiscard]] const void* take_refusing() noexcept { return std::exchange(refusing_, nullptr); }
  [[nodiscard]] bool is_pointer_locked() const noexcept { return focus_ && locks_pointer_; }

 private:
  struct Waiting {
    const void* stream;
    std::uint64_t session;
    std::uint32_t epoch;
    InputEvent event;

    [[nodiscard]] bool goes_with(const Waiting& other) const noexcept {
      return stream == other.stream && session == other.session && epoch == other.epoch;
    }
  };

  bool take(const KeyInput& key, std::int64_t time_ns);
  bool take(const TextInput& text, std::int64_t time_ns);
  bool take(const PointerInput& pointer, std::int64_t time_ns);
  bool take(const ButtonInput& button, std::int64_t time_ns);
  bool take(const WheelInput& wheel, std::int64_t time_ns);
  bool take(const GamepadInput& gamepad, std::int64_t time_ns);
  bool take(const FocusInput& focus, std::int64_t time_ns);
  static bool take(const SizeInput& /*size*/, std::int64_t /*time_ns*/) { return false; }

  bool take_host_key(const KeyInput& key, std::int64_t time_ns);
  bool take_key_with_host_key(const KeyInput& key, std::int64_t time_ns);
  bool press(const KeyInput& key, std::int64_t time_ns);
  bool release(const KeyInput& key, std::int64_t time_ns);
  bool press(const ButtonInput& button, std::int64_t time_ns);
  bool focus_by(const ButtonInput& button, std::int64_t time_ns);
  void capture_again(std::int64_t now_ns);
  [[nodiscard]] const SeenPicture* picture_for_host_key() const;
  void focus(const SeenPicture& picture, std::int64_t now_ns);
  void release_held(std::int64_t now_ns);
  void follow_pointer(double x, double y) noexcept;
  [[nodiscard]] FramePosition pointer_in_frame() const noexcept;
  [[nodiscard]] std::uint8_t modifiers_after(const KeyInput& key) const noexcept;
  [[nodiscard]] std::size_t releases_due() const noexcept;
  [[nodiscard]] bool has_room(std::size_t count) const noexcept;
  [[nodiscard]] bool claims_room(std::size_t count);
  void add_at_pointer(ButtonInput button, std::int64_t time_ns);
  void add_pointer(const PointerInput& pointer, std::int64_t time_ns);
  void add_size(std::int64_t now_ns);
  template <typename What>
  What* last_waiting() noexcept;
  template <typename What>
  void add(const What& what, std::int64_t time_ns);

  const Options options_;
  bool locks_pointer_;
  SeenPictures seen_;
  std::optional<SeenPicture> focus_;
  const void* last_focused_ = nullptr;
  const void* refusing_ = nullptr;

  // What the focused stream was told.
  std::vector<KeyInput> keys_;                              // are down
  std::uint8_t buttons_ = 0;                                // are down: bit i is InputButton i
  std::array<std::optional<GamepadInput>, 16> gamepads_{};  // none: nothing yet

  // What the window has told.
  bool is_host_key_down_ = false;
  bool is_host_key_alone_ = false;        // nothing was pressed since then
  std::vector<KeyInput> keys_after_;      // were down when a focus ended, and may still repeat
  std::optional<FramePosition> pointer_;  // in pixels of the surface; none: nowhere yet

  std::vector<Waiting> waiting_;
  std::vector<Lost> lost_;
  InputBatch batch_;  // kept for its memory
};

}  // namespace framewire
