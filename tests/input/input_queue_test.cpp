#include "input/input_queue.hpp"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace framewire {
namespace {

const std::string viewer = "0123456789abcdef";

InputBatch batch_of(std::vector<InputEvent> events, std::uint64_t epoch = 1) {
  return {.viewer = viewer, .epoch = epoch, .events = std::move(events)};
}

InputEvent key(std::uint16_t usage, bool is_pressed, std::int64_t time_ns = 1) {
  return {time_ns, KeyInput{.usage = usage, .is_pressed = is_pressed}};
}

InputEvent moved(double dx, std::int64_t time_ns = 1) {
  return {time_ns, PointerInput{.x = 10 + dx, .y = 20, .dx = dx, .dy = -dx}};
}

std::vector<InputEvent> take_all(InputQueue& queue) {
  std::vector<InputEvent> events;
  while (const auto batch = queue.take()) {
    EXPECT_LE(batch->events.size(), max_input_events);
    events.insert(events.end(), batch->events.begin(), batch->events.end());
  }
  return events;
}

TEST(InputQueue, MovementsThatFollowEachOtherBecomeOne) {
  InputQueue queue;
  EXPECT_EQ(queue.push(batch_of({moved(1, 1), moved(2, 2)})), 0U);
  EXPECT_EQ(queue.push(batch_of({moved(4, 3), key(4, true), moved(8, 4)})), 0U);
  EXPECT_EQ(take_all(queue), (std::vector<InputEvent>{
                                 {3, PointerInput{.x = 14, .y = 20, .dx = 7, .dy = -7}}, key(4, true), moved(8, 4)}));
}

TEST(InputQueue, MovementsOfOtherEpochsOrOfALockedPointerStayApart) {
  InputQueue queue;
  queue.push(batch_of({moved(1)}, 1));
  queue.push(batch_of({moved(1)}, 2));
  queue.push(batch_of({{1, PointerInput{.dx = 1, .is_locked = true}}}, 2));
  EXPECT_EQ(queue.size(), 3U);
  EXPECT_EQ(queue.take()->epoch, 1U);
  EXPECT_EQ(queue.take()->events.size(), 2U);
}

TEST(InputQueue, TheNewestSizeAndAxesStay) {
  InputQueue queue;
  const auto gamepad = [](float axis, std::uint16_t buttons) {
    return InputEvent{1, GamepadInput{.axes = {axis}, .buttons = buttons}};
  };
  queue.push(batch_of({{1, SizeInput{1, 1}}, {2, SizeInput{2, 2}}}));
  queue.push(batch_of({gamepad(0, 0), gamepad(1, 0), gamepad(1, 1), gamepad(0.5F, 1)}));
  EXPECT_EQ(take_all(queue), (std::vector<InputEvent>{{2, SizeInput{2, 2}}, gamepad(1, 0), gamepad(0.5F, 1)}));
}

TEST(InputQueue, DropsMovementsFirstThenWhatComes) {
  InputQueue queue;
  for (std::size_t i = 0; i < InputQueue::capacity / 2; ++i) {
    EXPECT_EQ(queue.push(batch_of({moved(1), {1, TextInput{std::to_string(i)}}})), 0U);
  }
  for (std::size_t i = 0; i < InputQueue::capacity / 2; ++i) {
    EXPECT_EQ(queue.push(batch_of({{1, TextInput{"b"}}})), 1U) << "a movement, not the text";
    ASSERT_EQ(queue.size(), InputQueue::capacity);
  }
  EXPECT_EQ(queue.push(batch_of({{1, TextInput{"c"}}})), 1U);
  EXPECT_EQ(queue.push(batch_of({moved(1)})), 1U);
  const auto events = take_all(queue);
  EXPECT_EQ(events.size(), InputQueue::capacity);
  EXPECT_EQ(std::get<TextInput>(events.front().what).text, "0");
  EXPECT_EQ(std::get<TextInput>(events.back().what).text, "b");
}

TEST(InputQueue, AReleaseAlwaysHasRoom) {
  InputQueue queue;
  EXPECT_EQ(queue.push(batch_of({key(4, true), {1, ButtonInput{.is_pressed = true}}, {1, FocusInput{true}}})), 0U);
  while (queue.push(batch_of({{1, TextInput{"a"}}})) == 0) {
  }
  EXPECT_EQ(queue.push(batch_of({key(5, true)})), 1U) << "its release would have no room";
  EXPECT_EQ(queue.push(batch_of({key(4, false), {1, ButtonInput{}}, {1, FocusInput{false}}})), 0U);
  EXPECT_EQ(queue.size(), InputQueue::capacity);
}

TEST(InputQueue, ReleasesAllThatIsPressed) {
  InputQueue queue;
  queue.push(batch_of({{1, FocusInput{true}},
                       key(4, true),
                       key(5, true),
                       key(4, false),
                       moved(1),
                       {9, ButtonInput{.button = InputButton::right, .is_pressed = true, .x = 3, .y = 4}},
                       {9, GamepadInput{.number = 2, .axes = {1}, .buttons = 3}}}));
  take_all(queue);
  queue.release_all();
  EXPECT_EQ(take_all(queue), (std::vector<InputEvent>{key(5, false, 9),
                                                      {9, ButtonInput{.button = InputButton::right, .x = 3, .y = 4}},
                                                      {9, GamepadInput{.number = 2, .is_connected = false}},
                                                      {9, FocusInput{false}}}));
  queue.release_all();
  EXPECT_TRUE(queue.empty());
}

TEST(InputQueue, AKeyIsKnownByItsPlaceElseByItsMeaning) {
  InputQueue queue;
  queue.push(batch_of({{1, KeyInput{.usage = 4, .keysym = 0x61, .is_pressed = true}},
                       {2, KeyInput{.usage = 4, .keysym = 0x71}},
                       {3, KeyInput{.keysym = 0x62, .is_pressed = true}},
                       {4, KeyInput{.keysym = 0x63, .is_pressed = true}},
                       {5, KeyInput{.keysym = 0x62}}}));
  take_all(queue);
  queue.release_all();
  EXPECT_EQ(take_all(queue), (std::vector<InputEvent>{{5, KeyInput{.keysym = 0x63}}}));
}

TEST(InputQueue, OnlySoManyKeysArePressed) {
  InputQueue queue;
  for (std::uint16_t usage = 1; usage <= 2 * InputQueue::max_pressed_keys; ++usage) {
    EXPECT_EQ(queue.push(batch_of({key(usage, true)})), usage <= InputQueue::max_pressed_keys ? 0U : 1U);
    take_all(queue);
  }
}

TEST(InputQueue, TheNewestStateOfAGamepadArrivesFromAFullQueue) {
  InputQueue queue;
  queue.push(batch_of({{1, GamepadInput{.number = 1, .buttons = 1}}}));
  while (queue.push(batch_of({{1, TextInput{"a"}}})) == 0) {
  }
  const InputEvent pressed{2, GamepadInput{.number = 1, .buttons = 2}};
  const InputEvent untouched{3, GamepadInput{.number = 1}};
  EXPECT_EQ(queue.push(batch_of({pressed})), 0U);
  EXPECT_EQ(queue.push(batch_of({untouched})), 1U) << "only the newest";
  EXPECT_EQ(queue.push(batch_of({{4, SizeInput{1, 1}}, {5, SizeInput{2, 2}}})), 1U);
  const auto events = take_all(queue);
  ASSERT_GT(events.size(), 2U);
  EXPECT_EQ(std::get<GamepadInput>(events.front().what).buttons, 1U);
  EXPECT_EQ(events[events.size() - 2], untouched);
  EXPECT_EQ(events.back(), (InputEvent{5, SizeInput{2, 2}}));
}

TEST(InputQueue, AGamepadWhoseStatesWereTakenIsReleasedFromAFullQueue) {
  InputQueue queue;
  queue.push(batch_of({{1, GamepadInput{.number = 1, .buttons = 1}}, {1, GamepadInput{.number = 2, .buttons = 1}}}));
  take_all(queue);
  while (queue.push(batch_of({{1, TextInput{"a"}}})) == 0) {
  }
  const InputEvent untouched{2, GamepadInput{.number = 1}};
  const InputEvent gone{3, GamepadInput{.number = 2, .is_connected = false}};
  EXPECT_EQ(queue.push(batch_of({untouched, {2, GamepadInput{.number = 2}}}, 2)), 0U);
  EXPECT_EQ(queue.push(batch_of({gone}, 3)), 1U) << "the state before";
  EXPECT_LE(queue.size(), InputQueue::capacity);
  const auto events = take_all(queue);
  EXPECT_EQ(events[events.size() - 2], gone);
  EXPECT_EQ(events.back(), untouched);
}

TEST(InputQueue, AGamepadThatIsConnectedToAFullQueueArrivesToo) {
  InputQueue queue;
  while (queue.push(batch_of({{1, TextInput{"a"}}})) == 0) {
  }
  const InputEvent come{2, GamepadInput{.number = 1, .buttons = 1}};
  const InputEvent gone{3, GamepadInput{.number = 1, .is_connected = false}};
  EXPECT_EQ(queue.push(batch_of({come})), 0U);
  EXPECT_EQ(queue.push(batch_of({gone})), 2U) << "the reader knows of neither";
  EXPECT_EQ(queue.push(batch_of({gone})), 0U);
  EXPECT_EQ(queue.push(batch_of({come})), 1U) << "the one before";
  EXPECT_EQ(take_all(queue).back(), come);
  queue.release_all();
  EXPECT_EQ(take_all(queue), (std::vector<InputEvent>{{2, GamepadInput{.number = 1, .is_connected = false}}}));
}

TEST(InputQueue, WhatIsLateAtTheEndIsCounted) {
  InputQueue queue;
  while (queue.push(batch_of({{1, TextInput{"a"}}})) == 0) {
  }
  EXPECT_EQ(queue.push(batch_of({{2, GamepadInput{.number = 1}}, {2, SizeInput{1, 1}}})), 0U);
  EXPECT_EQ(queue.release_all(), 2U);
  EXPECT_EQ(queue.release_all(), 0U);
  const auto events = take_all(queue);
  EXPECT_EQ(events.size(), InputQueue::capacity);
  EXPECT_TRUE(std::holds_alternative<TextInput>(events.back().what));
}

/// Any states and other events, taken now and then: who has taken all knows the newest states.
TEST(InputQueue, TheNewestStatesArriveWhateverComes) {
  std::mt19937 random(11);
  InputQueue queue;
  std::map<std::uint8_t, GamepadInput> sent;
  std::map<std::uint8_t, GamepadInput> taken;
  SizeInput sent_size;
  SizeInput taken_size;
  const auto keep = [](const InputEvent& event, std::map<std::uint8_t, GamepadInput>& gamepads, SizeInput& size) {
    if (const auto* const gamepad = std::get_if<GamepadInput>(&event.what)) {
      gamepads.erase(gamepad->number);
      if (gamepad->is_connected) {
        gamepads[gamepad->number] = *gamepad;
      }
    } else if (const auto* const one = std::get_if<SizeInput>(&event.what)) {
      size = *one;
    }
  };
  std::uint64_t dropped = 0;
  for (std::uint32_t i = 1; i <= 100'000; ++i) {
    const InputEvent events[] = {{i, TextInput{"a"}},
                                 moved(1, i),
                                 key(static_cast<std::uint16_t>(1 + random() % 300), random() % 2 == 0, i),
                                 {i, SizeInput{i, i}},
                                 {i, GamepadInput{.number = static_cast<std::uint8_t>(random() % 16),
                                                  .is_connected = random() % 8 != 0,
                                                  .buttons = static_cast<std::uint16_t>(i)}}};
    const InputEvent& event = events[random() % 5];
    keep(event, sent, sent_size);
    dropped += queue.push(batch_of({event}, 1 + random() % 2));
    ASSERT_LE(queue.size(), InputQueue::capacity);
    if (random() % 3000 == 0) {
      for (const InputEvent& one : take_all(queue)) {
        keep(one, taken, taken_size);
      }
      ASSERT_EQ(taken, sent) << i;
      ASSERT_EQ(taken_size, sent_size) << i;
    }
  }
  EXPECT_GT(dropped, 10'000U) << "the queue was hardly ever full";
}

/// Any events, taken now and then: the queue stays bounded, and at the end nothing is pressed.
TEST(InputQueue, WhateverComesIsBoundedAndReleased) {
  std::mt19937 random(7);
  for (int round = 0; round < 20; ++round) {
    InputQueue queue;
    std::map<std::uint16_t, bool> keys;
    std::map<InputButton, bool> buttons;
    bool is_focused = false;
    const auto follow = [&](const std::vector<InputEvent>& events) {
      for (const InputEvent& event : events) {
        if (const auto* const one = std::get_if<KeyInput>(&event.what)) {
          keys[one->usage] = one->is_pressed;
        } else if (const auto* const button = std::get_if<ButtonInput>(&event.what)) {
          buttons[button->button] = button->is_pressed;
        } else if (const auto* const focus = std::get_if<FocusInput>(&event.what)) {
          is_focused = focus->is_focused;
        }
      }
    };
    for (int i = 0; i < 5000; ++i) {
      const bool is_pressed = random() % 2 == 0;
      const InputEvent events[] = {
          key(static_cast<std::uint16_t>(1 + random() % 400), is_pressed),
          moved(1),
          {1, TextInput{"a"}},
          {1, ButtonInput{.button = InputButton{static_cast<std::uint8_t>(random() % 5)}, .is_pressed = is_pressed}},
          {1, GamepadInput{.number = static_cast<std::uint8_t>(random() % 16), .is_connected = is_pressed}},
          {1, FocusInput{is_pressed}}};
      queue.push(batch_of({events[random() % 6]}, 1 + random() % 2));
      ASSERT_LE(queue.size(), InputQueue::capacity);
      if (random() % 2000 == 0) {
        follow(take_all(queue));
      }
    }
    queue.release_all();
    ASSERT_LE(queue.size(), InputQueue::capacity);
    follow(take_all(queue));
    for (const auto& [usage, is_pressed] : keys) {
      EXPECT_FALSE(is_pressed) << usage;
    }
    for (const auto& [button, is_pressed] : buttons) {
      EXPECT_FALSE(is_pressed) << static_cast<int>(button);
    }
    EXPECT_FALSE(is_focused);
  }
}

}  // namespace
}  // namespace framewire
