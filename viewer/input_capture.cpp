#include "viewer/input_capture.hpp"

#include <algorithm>
#include <bit>
#include <utility>

namespace framewire {

namespace {

constexpr std::uint16_t usage_of_l = 0x0F;
constexpr std::uint16_t first_modifier_usage = 0xE0;
constexpr std::uint16_t last_modifier_usage = 0xE7;

auto find_key(std::vector<KeyInput>& keys, const KeyInput& key) noexcept {
  return std::ranges::find_if(keys, [&](const KeyInput& other) { return is_same_key(other, key); });
}

/// 0: the key is no modifier. HID's eight modifiers are those of InputModifiers, first the left ones.
std::uint8_t modifier_of(const KeyInput& key) noexcept {
  const bool is_modifier = key.usage >= first_modifier_usage && key.usage <= last_modifier_usage;
  return is_modifier ? static_cast<std::uint8_t>(1U << ((key.usage - first_modifier_usage) % 4U)) : 0;
}

constexpr std::uint8_t bit_of(InputButton button) noexcept {
  return static_cast<std::uint8_t>(1U << static_cast<unsigned>(button));
}

FramePosition limited(FramePosition position) noexcept {
  return {std::clamp(position.x, -max_input_position, max_input_position),
          std::clamp(position.y, -max_input_position, max_input_position)};
}

/// As it is when nobody touches it.
GamepadInput untouched(std::uint8_t number) noexcept {
  return {.number = number, .axes = {0, 0, 0, 0, -1, -1}};
}

}  // namespace

InputCapture::InputCapture(Options options) : options_(std::move(options)), locks_pointer_(options_.locks_pointer) {
  waiting_.reserve(max_input_events);
  batch_.viewer = options_.viewer;
}

bool InputCapture::take(const InputEvent& event) {
  return std::visit([&](const auto& what) { return take(what, event.time_ns); }, event.what);
}

// ---- The focus ----

void InputCapture::see(SeenPictures pictures, std::int64_t now_ns) {
  seen_ = std::move(pictures);
  if (!focus_) {
    return;
  }
  const auto now = std::ranges::find(seen_, focus_->stream, &SeenPicture::stream);
  if (now == seen_.end() || now->session != focus_->session || !now->takes_input) {
    release(now_ns);
    return;
  }
  const PictureRectangle before = std::exchange(*focus_, *now).at.picture;
  if (before.width != now->at.picture.width || before.height != now->at.picture.height) {
    add_size(now_ns);
  }
}

void InputCapture::focus(const SeenPicture& picture, std::int64_t now_ns) {
  constexpr std::size_t most_events = 4;  // with the end
  if (waiting_.size() + most_events > max_input_events) {
    return;
  }
  focus_ = picture;
  last_focused_ = picture.stream;
  add(FocusInput{.is_focused = true}, now_ns);
  add_size(now_ns);
  if (pointer_) {
    const FramePosition at = pointer_in_frame();
    add_pointer({.x = at.x, .y = at.y, .is_locked = locks_pointer_}, now_ns);
  }
}

/// A stream that refuses input is only named, until its sender has said that it takes some.
void InputCapture::capture_again(std::int64_t now_ns) {
  const SeenPicture* const chosen = picture_for_host_key();
  if (chosen != nullptr && chosen->takes_input) {
    focus(*chosen, now_ns);
  } else if (chosen != nullptr) {
    refusing_ = chosen->stream;
  }
}

/// The stream that had the focus; else the one under the pointer, or the only one that takes input. If there is none,
/// the one that the user must have meant.
const SeenPicture* InputCapture::picture_for_host_key() const {
  const auto takes_input = [](const SeenPicture& picture) { return picture.takes_input; };
  const auto last = std::ranges::find(seen_, last_focused_, &SeenPicture::stream);
  if (last != seen_.end() && last->takes_input) {
    return &*last;
  }
  if (const auto hit = pointer_ ? picture_at(seen_, pointer_->x, pointer_->y) : std::nullopt) {
    return &seen_[*hit];
  }
  if (std::ranges::count_if(seen_, takes_input) == 1) {
    return &*std::ranges::find_if(seen_, takes_input);
  }
  if (last != seen_.end()) {
    return &*last;
  }
  return seen_.size() == 1 ? &seen_.front() : nullptr;
}

void InputCapture::release(std::int64_t now_ns) {
  if (!focus_) {
    return;
  }
  release_held(now_ns);
  add(FocusInput{.is_focused = false}, now_ns);
  focus_.reset();
}

void InputCapture::release_held(std::int64_t now_ns) {
  for (const KeyInput& key : keys_) {
    add(KeyInput{.usage = key.usage, .keysym = key.keysym}, now_ns);
  }
  keys_after_ = std::exchange(keys_, {});
  for (const InputButton button :
       {InputButton::left, InputButton::middle, InputButton::right, InputButton::back, InputButton::forward}) {
    if ((buttons_ & bit_of(button)) != 0) {
      add_at_pointer({.button = button}, now_ns);
    }
  }
  buttons_ = 0;
  for (std::optional<GamepadInput>& gamepad : gamepads_) {
    if (gamepad && gamepad->is_connected && *gamepad != untouched(gamepad->number)) {
      add(untouched(gamepad->number), now_ns);
    }
    gamepad.reset();
  }
}

bool InputCapture::take(const FocusInput& focus, std::int64_t time_ns) {
  if (!focus.is_focused) {
    is_host_key_down_ = false;
    release(time_ns);
    keys_after_.clear();
  }
  return false;
}

// ---- Keys ----

bool InputCapture::take(const KeyInput& key, std::int64_t time_ns) {
  if (key.usage == options_.host_key) {
    return take_host_key(key, time_ns);
  }
  if (!key.is_pressed) {
    return release(key, time_ns);
  }
  return is_host_key_down_ ? take_key_with_host_key(key, time_ns) : press(key, time_ns);
}

bool InputCapture::take_host_key(const KeyInput& key, std::int64_t time_ns) {
  if (key.is_repeat) {
    return true;
  }
  if (key.is_pressed) {
    is_host_key_down_ = true;
    is_host_key_alone_ = true;
    return true;
  }
  if (std::exchange(is_host_key_down_, false) && is_host_key_alone_) {
    if (focus_) {
      release(time_ns);
    } else {
      capture_again(time_ns);
    }
  }
  return true;
}

bool InputCapture::take_key_with_host_key(const KeyInput& key, std::int64_t time_ns) {
  if (!focus_ || key.is_repeat) {
    is_host_key_alone_ = is_host_key_alone_ && key.is_repeat;
    return focus_.has_value();
  }
  is_host_key_alone_ = false;
  if (key.usage == usage_of_l) {
    locks_pointer_ = !locks_pointer_;
    const FramePosition at = pointer_in_frame();
    add_pointer({.x = at.x, .y = at.y, .is_locked = locks_pointer_}, time_ns);
  }
  return true;
}

bool InputCapture::press(const KeyInput& key, std::int64_t time_ns) {
  if (!focus_) {
    const auto after = find_key(keys_after_, key);
    if (after != keys_after_.end() && !key.is_repeat) {
      keys_after_.erase(after);
      return false;
    }
    return after != keys_after_.end();
  }
  const bool is_down = find_key(keys_, key) != keys_.end();
  const bool is_unknown = key.usage == 0 && key.keysym == 0;
  if (is_unknown || (key.is_repeat && !is_down) || !claims_room(is_down ? 1 : 2)) {
    return true;
  }
  KeyInput sent = key;
  sent.is_repeat = is_down;
  if (!is_down) {
    keys_.push_back(sent);
  }
  sent.modifiers = modifiers_after(sent);
  add(sent, time_ns);
  return true;
}

bool InputCapture::release(const KeyInput& key, std::int64_t time_ns) {
  if (const auto after = find_key(keys_after_, key); after != keys_after_.end()) {
    keys_after_.erase(after);
  }
  const auto held = find_key(keys_, key);
  if (held == keys_.end()) {
    return focus_.has_value();
  }
  KeyInput sent{.usage = held->usage, .keysym = held->keysym, .modifiers = key.modifiers};
  keys_.erase(held);
  sent.modifiers = modifiers_after(sent);
  add(sent, time_ns);
  return true;
}

/// X11 says which modifiers were down before the event, other window systems which are down after it.
std::uint8_t InputCapture::modifiers_after(const KeyInput& key) const noexcept {
  const std::uint8_t own = modifier_of(key);
  const bool is_held =
      std::ranges::any_of(keys_, [own](const KeyInput& held) { return (modifier_of(held) & own) != 0; });
  return static_cast<std::uint8_t>(is_held ? key.modifiers | own : key.modifiers & ~own);
}

bool InputCapture::take(const TextInput& text, std::int64_t time_ns) {
  if (focus_ && !is_host_key_down_ && !text.text.empty() && text.text.size() <= max_input_text_bytes &&
      claims_room(1)) {
    add(text, time_ns);
  }
  return focus_.has_value();
}

// ---- The mouse ----

FramePosition InputCapture::pointer_in_frame() const noexcept {
  return pointer_ ? limited(position_in_frame(*focus_, pointer_->x, pointer_->y)) : FramePosition{};
}

/// A locked pointer stays where it was.
void InputCapture::follow_pointer(double x, double y) noexcept {
  if (!is_pointer_locked()) {
    pointer_ = {x, y};
  }
}

bool InputCapture::take(const PointerInput& pointer, std::int64_t time_ns) {
  const std::optional<FramePosition> before = pointer_;
  if (!pointer.is_locked) {
    follow_pointer(pointer.x, pointer.y);
  }
  if (!focus_ || (is_host_key_down_ && !is_pointer_locked())) {
    return false;
  }
  if (pointer.is_locked != is_pointer_locked()) {  // on its way while that changed
    return true;
  }
  const FramePosition now = pointer_.value_or(FramePosition{});
  const FramePosition from = before.value_or(now);
  const FramePosition way = limited(pointer.is_locked ? way_in_frame(*focus_, pointer.dx, pointer.dy)
                                                      : way_in_frame(*focus_, now.x - from.x, now.y - from.y));
  const FramePosition at = pointer_in_frame();
  add_pointer({.x = at.x, .y = at.y, .dx = way.x, .dy = way.y, .is_locked = pointer.is_locked}, time_ns);
  return true;
}

bool InputCapture::take(const ButtonInput& button, std::int64_t time_ns) {
  follow_pointer(button.x, button.y);
  if (button.is_pressed) {
    return press(button, time_ns);
  }
  if ((buttons_ & bit_of(button.button)) == 0) {
    return false;
  }
  buttons_ = static_cast<std::uint8_t>(buttons_ & ~bit_of(button.button));
  add_at_pointer(button, time_ns);
  return true;
}

bool InputCapture::press(const ButtonInput& button, std::int64_t time_ns) {
  is_host_key_alone_ = false;
  if (is_host_key_down_ && !is_pointer_locked()) {
    return false;
  }
  if (!focus_by(button, time_ns)) {
    return false;
  }
  if ((buttons_ & bit_of(button.button)) != 0 || !claims_room(2)) {
    return true;
  }
  buttons_ = static_cast<std::uint8_t>(buttons_ | bit_of(button.button));
  add_at_pointer(button, time_ns);
  return true;
}

/// Returns whether a stream has the focus. A drag that has begun goes on over other pictures.
bool InputCapture::focus_by(const ButtonInput& button, std::int64_t time_ns) {
  if (button.button != InputButton::left || buttons_ != 0 || is_pointer_locked()) {
    return focus_.has_value();
  }
  const auto hit = picture_at(seen_, button.x, button.y);
  if (!hit || !seen_[*hit].takes_input || seen_[*hit].stream == focused()) {
    return focus_.has_value();
  }
  release(time_ns);
  focus(seen_[*hit], time_ns);
  return focus_.has_value();
}

bool InputCapture::take(const WheelInput& wheel, std::int64_t time_ns) {
  follow_pointer(wheel.x, wheel.y);
  is_host_key_alone_ = false;
  if (!focus_ || is_host_key_down_) {
    return false;
  }
  WheelInput sent = wheel;
  const FramePosition at = pointer_in_frame();
  sent.x = at.x;
  sent.y = at.y;
  auto* const last = last_waiting<WheelInput>();
  if (last != nullptr && last->modifiers == sent.modifiers) {
    const FramePosition notches = limited({sent.dx + last->dx, sent.dy + last->dy});
    sent.dx = notches.x;
    sent.dy = notches.y;
    *last = sent;
    waiting_.back().event.time_ns = time_ns;
  } else if (claims_room(1)) {
    add(sent, time_ns);
  }
  return true;
}

// ---- Gamepads ----

bool InputCapture::take(const GamepadInput& gamepad, std::int64_t time_ns) {
  if (!focus_ || gamepad.number >= gamepads_.size()) {
    return focus_.has_value();
  }
  std::optional<GamepadInput>& told = gamepads_.at(gamepad.number);
  const bool is_news = told ? *told != gamepad : gamepad.is_connected;
  if (is_news && has_room(2)) {  // else it is news the next time, too
    told = gamepad;
    add(gamepad, time_ns);
  }
  return true;
}

// ---- What waits ----

/// What release() would add.
std::size_t InputCapture::releases_due() const noexcept {
  const auto gamepads = static_cast<std::size_t>(
      std::ranges::count_if(gamepads_, [](const std::optional<GamepadInput>& gamepad) { return gamepad.has_value(); }));
  return keys_.size() + static_cast<std::size_t>(std::popcount(buttons_)) + gamepads + 1;
}

bool InputCapture::has_room(std::size_t count) const noexcept {
  return waiting_.size() + releases_due() + count <= max_input_events;
}

/// Of the focused stream. An event without room is lost.
bool InputCapture::claims_room(std::size_t count) {
  if (has_room(count)) {
    return true;
  }
  const auto known = std::ranges::find(lost_, focus_->stream, &Lost::stream);
  if (known != lost_.end()) {
    ++known->events;
  } else {
    lost_.push_back({.stream = focus_->stream, .events = 1});
  }
  return false;
}

/// The newest event, if it is of this type and another one of the focused stream can be added to it; else null.
template <typename What>
What* InputCapture::last_waiting() noexcept {
  if (waiting_.empty() || waiting_.back().stream != focus_->stream || waiting_.back().session != focus_->session ||
      waiting_.back().epoch != focus_->epoch) {
    return nullptr;
  }
  return std::get_if<What>(&waiting_.back().event.what);
}

template <typename What>
void InputCapture::add(const What& what, std::int64_t time_ns) {
  waiting_.push_back({.stream = focus_->stream,
                      .session = focus_->session,
                      .epoch = focus_->epoch,
                      .event = {.time_ns = time_ns, .what = what}});
}

/// The button's own position is in pixels of the surface.
void InputCapture::add_at_pointer(ButtonInput button, std::int64_t time_ns) {
  const FramePosition at = pointer_in_frame();
  button.x = at.x;
  button.y = at.y;
  add(button, time_ns);
}

void InputCapture::add_pointer(const PointerInput& pointer, std::int64_t time_ns) {
  auto* const last = last_waiting<PointerInput>();
  if (last != nullptr && last->is_locked == pointer.is_locked) {
    const PointerInput before = std::exchange(*last, pointer);
    const FramePosition way = limited({before.dx + pointer.dx, before.dy + pointer.dy});
    last->dx = way.x;
    last->dy = way.y;
    waiting_.back().event.time_ns = time_ns;
  } else if (claims_room(1)) {
    add(pointer, time_ns);
  }
}

void InputCapture::add_size(std::int64_t now_ns) {
  const auto side = [](int pixels) { return std::min(static_cast<std::uint32_t>(pixels), max_input_size); };
  const PictureRectangle& all = focus_->at.picture;
  const SizeInput size{.width = side(all.width), .height = side(all.height)};
  if (auto* const last = last_waiting<SizeInput>(); last != nullptr) {
    *last = size;
    waiting_.back().event.time_ns = now_ns;
  } else if (claims_room(1)) {
    add(size, now_ns);
  }
}

void InputCapture::send(const Send& send) {
  for (auto first = waiting_.begin(); first != waiting_.end();) {
    const auto end =
        std::find_if(first, waiting_.end(), [&](const Waiting& other) { return !other.goes_with(*first); });
    batch_.epoch = first->epoch;
    batch_.events.clear();
    for (auto each = first; each != end; ++each) {
      batch_.events.push_back(each->event);
    }
    send(first->stream, first->session, batch_);
    first = end;
  }
  waiting_.clear();
}

}  // namespace framewire
