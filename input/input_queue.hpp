// Input events on their way to a program, bounded.
#pragma once

#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "input/events.hpp"

namespace framewire {

/// Keeps events for a reader that may be slow. Movements that follow each other become one, whose dx and dy add up, and
/// of sizes and of a gamepad's axes the newest stay. When it is full, it drops movements first, then what comes. But
/// the newest state of each gamepad and the newest size have a place outside of the bound, and follow when there is
/// room: nobody would send them again. What has been pressed is always released: each press reserves the room of its
/// release. Its owner guards it.
class InputQueue {
 public:
  /// Events that wait, and releases that are to come.
  static constexpr std::size_t capacity = 1024;
  static constexpr std::size_t max_pressed_keys = 256;

  /// Returns how many events were dropped, those that waited included.
  std::uint64_t push(const InputBatch& batch);
  /// Adds the release of all that the reader was told is pressed or connected, and the end of its focus. Returns how
  /// many events were dropped.
  std::uint64_t release_all();
  /// The oldest events of one viewer and epoch, at most max_input_events. Nullopt: none wait.
  std::optional<InputBatch> take();
  [[nodiscard]] bool empty() const noexcept { return waiting_.empty(); }
  [[nodiscard]] std::size_t size() const noexcept { return waiting_.size(); }

 private:
  struct Waiting {
    std::string viewer;
    std::uint64_t epoch = 0;
    InputEvent event;
  };
  /// What an event does to the room that is reserved for releases.
  enum class Reservation { none, made, used };

  [[nodiscard]] std::uint64_t push(const InputEvent& event);
  bool merge(const InputEvent& event);
  bool drop_movement() noexcept;
  [[nodiscard]] std::optional<Waiting>* late_of(const InputEvent& event) noexcept;
  [[nodiscard]] std::uint64_t replace(std::optional<Waiting>& late, const InputEvent& event);
  void append_late();
  [[nodiscard]] std::uint64_t drop_late() noexcept;
  [[nodiscard]] bool has_room(const InputEvent& event) const noexcept;
  [[nodiscard]] bool is_one_key_too_many(const InputEvent& event) const noexcept;
  [[nodiscard]] Reservation reservation_of(const InputEvent& event) const noexcept;
  void note(const InputEvent& event);
  [[nodiscard]] std::size_t reserved() const noexcept;
  void append(const InputEvent& event) { add({viewer_, epoch_, event}); }
  void add(Waiting waiting);

  std::deque<Waiting> waiting_;
  std::size_t movements_ = 0;  // of those that wait; without any, a full queue is not searched for one
  // States that came when there was no room, and that the reader was not told of. Only while others wait.
  std::array<std::optional<Waiting>, max_input_gamepads> late_gamepads_;
  std::optional<Waiting> late_size_;
  std::string viewer_;  // of the newest batch, as the next one
  std::uint64_t epoch_ = 0;
  std::int64_t time_ns_ = 0;  // of the newest event
  double x_ = 0;              // of the pointer
  double y_ = 0;
  std::vector<KeyInput> keys_;  // that are pressed
  std::bitset<5> buttons_;      // by InputButton
  std::bitset<max_input_gamepads> gamepads_;
  bool is_focused_ = false;
};

}  // namespace framewire
