#include "input/input_queue.hpp"

#include <algorithm>
#include <utility>

namespace framewire {

namespace {

double sum_of_movements(double one, double other) noexcept {
  return std::clamp(one + other, -max_input_position, max_input_position);
}

bool is_movement(const InputEvent& event) noexcept {
  return std::holds_alternative<PointerInput>(event.what);
}

}  // namespace

std::uint64_t InputQueue::push(const InputBatch& batch) {
  viewer_ = batch.viewer;
  epoch_ = batch.epoch;
  std::uint64_t dropped = 0;
  for (const InputEvent& event : batch.events) {
    dropped += push(event);
  }
  return dropped;
}

std::uint64_t InputQueue::push(const InputEvent& event) {
  std::optional<Waiting>* const late = late_of(event);
  if (late != nullptr && *late) {
    return replace(*late, event);
  }
  if (merge(event)) {
    return 0;
  }
  if (is_one_key_too_many(event)) {
    return 1;
  }
  std::uint64_t dropped = 0;
  for (; !has_room(event); ++dropped) {
    if (drop_movement()) {
      continue;
    }
    if (late == nullptr) {
      return dropped + 1;
    }
    *late = Waiting{viewer_, epoch_, event};
    return dropped;
  }
  append(event);
  return dropped;
}

/// Into the event that waits at the end. False: the two are not of one kind, or what lies between them matters.
bool InputQueue::merge(const InputEvent& event) {
  if (waiting_.empty() || waiting_.back().epoch != epoch_ || waiting_.back().viewer != viewer_ ||
      waiting_.back().event.what.index() != event.what.index()) {
    return false;
  }
  InputEvent& last = waiting_.back().event;
  if (const auto* const pointer = std::get_if<PointerInput>(&event.what)) {
    const PointerInput before = std::get<PointerInput>(last.what);
    if (before.is_locked != pointer->is_locked) {
      return false;
    }
    last = event;
    auto& merged = std::get<PointerInput>(last.what);
    merged.dx = sum_of_movements(before.dx, pointer->dx);
    merged.dy = sum_of_movements(before.dy, pointer->dy);
    note(event);
    return true;
  }
  const auto* const gamepad = std::get_if<GamepadInput>(&event.what);
  const auto* const before = std::get_if<GamepadInput>(&last.what);
  const bool has_moved_axes = gamepad != nullptr && gamepad->number == before->number && gamepad->is_connected &&
                              before->is_connected && gamepad->buttons == before->buttons;
  if (!has_moved_axes && !std::holds_alternative<SizeInput>(event.what)) {
    return false;
  }
  last = event;
  return true;
}

/// The oldest one. False: none waits.
bool InputQueue::drop_movement() noexcept {
  if (movements_ == 0) {
    return false;
  }
  waiting_.erase(std::ranges::find_if(waiting_, is_movement, &Waiting::event));
  --movements_;
  return true;
}

/// The place of a state that waits outside of the queue; null: the event is no state.
std::optional<InputQueue::Waiting>* InputQueue::late_of(const InputEvent& event) noexcept {
  if (const auto* const gamepad = std::get_if<GamepadInput>(&event.what)) {
    return &late_gamepads_[gamepad->number];
  }
  return std::holds_alternative<SizeInput>(event.what) ? &late_size_ : nullptr;
}

/// A state that is late becomes this one. Returns how many events were dropped.
std::uint64_t InputQueue::replace(std::optional<Waiting>& late, const InputEvent& event) {
  const auto* const gamepad = std::get_if<GamepadInput>(&event.what);
  if (gamepad == nullptr || gamepad->is_connected) {
    late = Waiting{viewer_, epoch_, event};
    return 1;
  }
  late.reset();
  if (!gamepads_[gamepad->number]) {
    return 2;  // it has come and gone, and the reader knows of neither
  }
  append(event);
  return 1;
}

/// As far as there is room now: all of them, once nothing else waits.
void InputQueue::append_late() {
  const auto append_one = [this](std::optional<Waiting>& late) {
    if (late && has_room(late->event)) {
      add(std::move(*late));
      late.reset();
    }
  };
  std::ranges::for_each(late_gamepads_, append_one);
  append_one(late_size_);
}

std::uint64_t InputQueue::drop_late() noexcept {
  auto dropped = static_cast<std::uint64_t>(
      std::ranges::count_if(late_gamepads_, [](const std::optional<Waiting>& late) { return late.has_value(); }));
  dropped += late_size_ ? 1U : 0U;
  late_gamepads_ = {};
  late_size_.reset();
  return dropped;
}

/// Besides the room that is reserved. A release has its own.
bool InputQueue::has_room(const InputEvent& event) const noexcept {
  const Reservation reservation = reservation_of(event);
  const std::size_t needed = reservation == Reservation::made ? 2 : reservation == Reservation::none ? 1 : 0;
  return waiting_.size() + reserved() + needed <= capacity;
}

bool InputQueue::is_one_key_too_many(const InputEvent& event) const noexcept {
  return std::holds_alternative<KeyInput>(event.what) && keys_.size() >= max_pressed_keys &&
         reservation_of(event) == Reservation::made;
}

void InputQueue::add(Waiting waiting) {
  note(waiting.event);
  movements_ += is_movement(waiting.event) ? 1U : 0U;
  waiting_.push_back(std::move(waiting));
}

InputQueue::Reservation InputQueue::reservation_of(const InputEvent& event) const noexcept {
  const auto change = [](bool was_pressed, bool is_pressed) {
    return was_pressed == is_pressed ? Reservation::none : is_pressed ? Reservation::made : Reservation::used;
  };
  if (const auto* const key = std::get_if<KeyInput>(&event.what)) {
    return change(std::ranges::any_of(keys_, [&](const KeyInput& one) { return is_same_key(one, *key); }),
                  key->is_pressed);
  }
  if (const auto* const button = std::get_if<ButtonInput>(&event.what)) {
    return change(buttons_[static_cast<std::size_t>(button->button)], button->is_pressed);
  }
  if (const auto* const gamepad = std::get_if<GamepadInput>(&event.what)) {
    return change(gamepads_[gamepad->number], gamepad->is_connected);
  }
  if (const auto* const focus = std::get_if<FocusInput>(&event.what)) {
    return change(is_focused_, focus->is_focused);
  }
  return Reservation::none;
}

/// Remembers what is pressed after an event that the reader gets.
void InputQueue::note(const InputEvent& event) {
  time_ns_ = std::max(time_ns_, event.time_ns);
  if (const auto* const key = std::get_if<KeyInput>(&event.what)) {
    std::erase_if(keys_, [&](const KeyInput& one) { return is_same_key(one, *key); });
    if (key->is_pressed) {
      keys_.push_back(*key);
    }
  } else if (const auto* const button = std::get_if<ButtonInput>(&event.what)) {
    buttons_[static_cast<std::size_t>(button->button)] = button->is_pressed;
    x_ = button->x;
    y_ = button->y;
  } else if (const auto* const gamepad = std::get_if<GamepadInput>(&event.what)) {
    gamepads_[gamepad->number] = gamepad->is_connected;
  } else if (const auto* const focus = std::get_if<FocusInput>(&event.what)) {
    is_focused_ = focus->is_focused;
  } else if (const auto* const pointer = std::get_if<PointerInput>(&event.what); pointer && !pointer->is_locked) {
    x_ = pointer->x;
    y_ = pointer->y;
  }
}

std::size_t InputQueue::reserved() const noexcept {
  return keys_.size() + buttons_.count() + gamepads_.count() + (is_focused_ ? 1 : 0);
}

std::uint64_t InputQueue::release_all() {
  const std::uint64_t dropped = drop_late();  // these gamepads go, and nobody looks at the size any more
  for (KeyInput key : std::exchange(keys_, {})) {
    key.is_pressed = key.is_repeat = false;
    key.modifiers = 0;
    append({time_ns_, key});
  }
  for (std::size_t i = 0; i < buttons_.size(); ++i) {
    if (buttons_[i]) {
      append({time_ns_, ButtonInput{.button = static_cast<InputButton>(i), .x = x_, .y = y_}});
    }
  }
  buttons_.reset();
  for (std::size_t i = 0; i < gamepads_.size(); ++i) {
    if (gamepads_[i]) {
      append({time_ns_, GamepadInput{.number = static_cast<std::uint8_t>(i), .is_connected = false}});
    }
  }
  gamepads_.reset();
  if (std::exchange(is_focused_, false)) {
    append({time_ns_, FocusInput{false}});
  }
  time_ns_ = 0;
  return dropped;
}

std::optional<InputBatch> InputQueue::take() {
  if (waiting_.empty()) {
    return std::nullopt;
  }
  InputBatch batch{.viewer = waiting_.front().viewer, .epoch = waiting_.front().epoch, .events = {}};
  while (!waiting_.empty() && waiting_.front().viewer == batch.viewer && waiting_.front().epoch == batch.epoch &&
         batch.events.size() < max_input_events) {
    movements_ -= is_movement(waiting_.front().event) ? 1U : 0U;
    batch.events.push_back(std::move(waiting_.front().event));
    waiting_.pop_front();
  }
  append_late();
  return batch;
}

}  // namespace framewire
