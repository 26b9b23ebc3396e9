#include "viewer/input_capture.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <utility>
#include <vector>

#include "tests/viewer/captured_input.hpp"

namespace framewire {
namespace {

using test::host_usage;
using test::usage_a;
using test::usage_b;
using test::usage_l;
using test::usage_left_shift;
using test::usage_right_shift;

class InputCaptureTest : public test::CapturedInput {};

TEST_F(InputCaptureTest, LeavesTheViewerEverythingBeforeAClick) {
  EXPECT_FALSE(key(usage_a));
  EXPECT_FALSE(key(usage_a, false));
  EXPECT_FALSE(move(10, 10));
  EXPECT_FALSE(take(WheelInput{.dy = 1}));
  EXPECT_FALSE(take(TextInput{.text = "a"}));
  EXPECT_FALSE(take(GamepadInput{}));
  EXPECT_FALSE(button(10, 10, true, InputButton::right));
  EXPECT_FALSE(button(10, 10, false, InputButton::right));
  EXPECT_FALSE(button(500, 10)) << "beside the pictures";
  EXPECT_TRUE(whats().empty());
}

TEST_F(InputCaptureTest, FocusesByAClickAndSendsIt) {
  EXPECT_TRUE(button(50, 25));
  EXPECT_TRUE(button(51, 26, false));
  const InputBatch batch = sent();
  EXPECT_EQ(batch.epoch, 5U);
  EXPECT_EQ(last_stream_, left_.stream);
  EXPECT_EQ(last_session_, 3U);
  ASSERT_EQ(batch.events.size(), 5U);
  EXPECT_EQ(batch.events[0].what, What(FocusInput{.is_focused = true}));
  EXPECT_EQ(batch.events[1].what, What(SizeInput{.width = 200, .height = 100}));
  EXPECT_EQ(batch.events[2].what, What(PointerInput{.x = 100, .y = 50}));
  EXPECT_EQ(batch.events[3].what,
            What(ButtonInput{.button = InputButton::left, .is_pressed = true, .x = 100, .y = 50}));
  EXPECT_EQ(batch.events[4].what, What(ButtonInput{.button = InputButton::left, .x = 102, .y = 52}));
}

TEST_F(InputCaptureTest, SendsEveryKeyOnceItIsFocused) {
  focus();
  EXPECT_TRUE(key(usage_a));
  EXPECT_TRUE(take(TextInput{.text = "a"}));
  EXPECT_TRUE(key(usage_a, true, true));
  EXPECT_TRUE(key(usage_a, false));
  EXPECT_EQ(whats(), (Whats{KeyInput{.usage = usage_a, .keysym = 104, .is_pressed = true}, TextInput{.text = "a"},
                            KeyInput{.usage = usage_a, .keysym = 104, .is_pressed = true, .is_repeat = true},
                            KeyInput{.usage = usage_a, .keysym = 104}}));
}

TEST_F(InputCaptureTest, SaysAModifierInItsOwnEvents) {
  focus();
  key(usage_left_shift);
  key(usage_right_shift, true, false, input_shift);
  key(usage_a, true, false, input_shift | input_num_lock);
  key(usage_left_shift, false, false, input_shift);
  key(usage_right_shift, false, false, input_shift);
  std::vector<int> modifiers;
  for (const InputEvent& event : sent().events) {
    modifiers.push_back(std::get<KeyInput>(event.what).modifiers);
  }
  EXPECT_EQ(modifiers, (std::vector<int>{input_shift, input_shift, input_shift | input_num_lock, input_shift, 0}));
}

TEST_F(InputCaptureTest, SendsNoReleaseOfAKeyThatWasPressedBefore) {
  EXPECT_FALSE(key(usage_a));
  focus();
  EXPECT_TRUE(key(usage_a, true, true)) << "it would arrange the viewer's picture";
  EXPECT_TRUE(key(usage_a, false));
  EXPECT_TRUE(whats().empty());
}

TEST_F(InputCaptureTest, ReleasesByTheHostKeyAloneAndCapturesAgain) {
  focus();
  key(usage_a);
  sent();
  EXPECT_TRUE(key(host_usage));
  EXPECT_TRUE(key(host_usage, true, true));
  EXPECT_TRUE(whats().empty());
  EXPECT_TRUE(key(host_usage, false));
  EXPECT_EQ(capture_.focused(), nullptr);
  EXPECT_EQ(whats(), (Whats{KeyInput{.usage = usage_a, .keysym = 104}, FocusInput{}}));
  EXPECT_TRUE(key(usage_a, true, true)) << "is still held, and not meant for the viewer";
  EXPECT_TRUE(!key(usage_a, false) && !key(usage_a)) << "the viewer's from now on";
  tap(host_usage);
  EXPECT_EQ(capture_.focused(), left_.stream);
  ASSERT_FALSE(whats().empty());
}

TEST_F(InputCaptureTest, TheHostKeyCapturesTheStreamUnderThePointer) {
  tap(host_usage);
  EXPECT_EQ(capture_.focused(), nullptr) << "two streams, and no pointer";
  move(300, 50);
  tap(host_usage);
  EXPECT_EQ(capture_.focused(), right_.stream);
}

TEST_F(InputCaptureTest, TheHostKeyCapturesTheOnlyStream) {
  right_.takes_input = false;
  see();
  tap(host_usage);
  EXPECT_EQ(capture_.focused(), left_.stream);
}

TEST_F(InputCaptureTest, TheHostKeyPassesOverALastStreamThatTakesNoInputAnyMore) {
  focus();
  tap(host_usage);
  left_.takes_input = false;
  see();
  move(300, 50);
  tap(host_usage);
  EXPECT_EQ(capture_.focused(), right_.stream);
  EXPECT_EQ(capture_.take_refusing(), nullptr);
}

TEST_F(InputCaptureTest, TellsWhichStreamRefusesTheHostKey) {
  focus();
  tap(host_usage);
  left_.takes_input = false;
  right_.takes_input = false;
  see();
  move(500, 10);
  tap(host_usage);
  EXPECT_EQ(capture_.take_refusing(), left_.stream) << "had the focus last";
  EXPECT_EQ(capture_.take_refusing(), nullptr) << "once";
  move(300, 50);
  tap(host_usage);
  EXPECT_EQ(capture_.take_refusing(), right_.stream) << "under the pointer";
  EXPECT_EQ(capture_.focused(), nullptr);
}

TEST_F(InputCaptureTest, TheHostKeyWithAnotherKeyDoesNotRelease) {
  focus();
  key(host_usage);
  EXPECT_TRUE(key(usage_b));
  EXPECT_TRUE(key(usage_b, false));
  EXPECT_TRUE(take(TextInput{.text = "b"}));
  key(host_usage, false);
  EXPECT_TRUE(whats().empty());
  EXPECT_EQ(capture_.focused(), left_.stream);
}

TEST_F(InputCaptureTest, TheHostKeyGivesTheViewerTheMouse) {
  focus();
  key(host_usage);
  EXPECT_FALSE(move(20, 20));
  EXPECT_FALSE(button(20, 20));
  EXPECT_FALSE(move(40, 20));
  key(host_usage, false);
  EXPECT_TRUE(whats().empty());
  key(host_usage);
  EXPECT_FALSE(take(WheelInput{.dy = 1}));
  key(host_usage, false);
  EXPECT_TRUE(whats().empty());
  EXPECT_EQ(capture_.focused(), left_.stream);
  EXPECT_FALSE(button(40, 20, false)) << "pressed for the viewer";
}

TEST_F(InputCaptureTest, MakesOneEventOfMotion) {
  focus();
  for (int i = 1; i <= 1000; ++i) {
    EXPECT_TRUE(move(10 + 0.1 * i, 10));
  }
  const auto events = sent().events;
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].time_ns, now_ns_);
  const auto& pointer = std::get<PointerInput>(events[0].what);
  EXPECT_DOUBLE_EQ(pointer.x, 220);
  EXPECT_DOUBLE_EQ(pointer.y, 20);
  EXPECT_NEAR(pointer.dx, 200, 1e-9);
  EXPECT_EQ(pointer.dy, 0);
}

TEST_F(InputCaptureTest, KeepsTheOrderOfMotionAndPresses) {
  focus();
  move(20, 10);
  key(usage_a);
  move(30, 10);
  move(-30, 110);
  const Whats events = whats();
  ASSERT_EQ(events.size(), 3U);
  EXPECT_EQ(events[0], What(PointerInput{.x = 40, .y = 20, .dx = 20}));
  EXPECT_EQ(events[2], What(PointerInput{.x = -60, .y = 220, .dx = -100, .dy = 200})) << "outside the frame";
}

TEST_F(InputCaptureTest, AddsNotchesOfTheWheel) {
  focus();
  take(WheelInput{.dy = 1, .x = 10, .y = 10});
  take(WheelInput{.dx = 2, .dy = 1, .x = 20, .y = 10});
  take(WheelInput{.dy = -1, .x = 20, .y = 10, .modifiers = input_control});
  EXPECT_EQ(whats(), (Whats{WheelInput{.dx = 2, .dy = 2, .x = 40, .y = 20},
                            WheelInput{.dy = -1, .x = 40, .y = 20, .modifiers = input_control}}));
}

TEST_F(InputCaptureTest, FocusesAnotherStreamByAClickAndReleasesFirst) {
  focus();
  key(usage_a);
  sent();
  EXPECT_TRUE(button(300, 50));
  EXPECT_EQ(capture_.focused(), right_.stream);
  std::vector<std::pair<const void*, InputBatch>> batches;
  capture_.send([&](const void* stream, std::uint64_t /*session*/, const InputBatch& batch) {
    batches.emplace_back(stream, batch);
  });
  ASSERT_EQ(batches.size(), 2U);
  EXPECT_EQ(batches[0].first, left_.stream);
  EXPECT_EQ(batches[0].second.epoch, 5U);
  EXPECT_EQ(batches[0].second.events.back().what, What(FocusInput{}));
  EXPECT_EQ(batches[1].first, right_.stream);
  EXPECT_EQ(batches[1].second.epoch, 7U);
  EXPECT_EQ(batches[1].second.events.front().what, What(FocusInput{.is_focused = true}));
  EXPECT_EQ(batches[1].second.events.back().what,
            What(ButtonInput{.button = InputButton::left, .is_pressed = true, .x = 200, .y = 100}));
}

TEST_F(InputCaptureTest, ADragGoesOnOverAnotherStream) {
  focus();
  button(10, 10, true, InputButton::right);
  move(300, 50);
  EXPECT_TRUE(button(300, 50));
  EXPECT_EQ(capture_.focused(), left_.stream);
}

TEST_F(InputCaptureTest, ReleasesWhenTheWindowLosesTheKeyboard) {
  focus();
  key(usage_a);
  button(10, 10, true, InputButton::back);
  sent();
  EXPECT_FALSE(take(FocusInput{}));
  EXPECT_EQ(whats(), (Whats{KeyInput{.usage = usage_a, .keysym = 104},
                            ButtonInput{.button = InputButton::back, .x = 20, .y = 20}, FocusInput{}}));
  EXPECT_FALSE(key(usage_a, false)) << "GLFW releases all keys then";
  key(host_usage);
  take(FocusInput{});
  key(host_usage, false);
  EXPECT_EQ(capture_.focused(), nullptr) << "it was pressed for another window, too";
}

TEST_F(InputCaptureTest, ReleasesWhenTheStreamGoes) {
  const std::vector<std::function<void()>> ways = {
      [&] { capture_.see({right_}, ++now_ns_); },  // its box
      [&] {
        ++left_.session;
        see();
      },
      [&] {
        left_.takes_input = false;
        see();
      },
      [&] { capture_.release(++now_ns_); },
  };
  for (const auto& way : ways) {
    left_.takes_input = true;
    see();
    focus();
    key(usage_a);
    sent();
    way();
    EXPECT_EQ(whats(), (Whats{KeyInput{.usage = usage_a, .keysym = 104}, FocusInput{}}));
    EXPECT_EQ(capture_.focused(), nullptr);
    key(usage_a, false);
  }
}

TEST_F(InputCaptureTest, ANewEpochEndsNothing) {
  focus();
  move(10, 10);
  left_.epoch = 6;
  left_.frame = {800, 400};
  see();
  move(20, 10);
  std::vector<InputBatch> batches;
  capture_.send([&](const void*, std::uint64_t, const InputBatch& batch) { batches.push_back(batch); });
  ASSERT_EQ(batches.size(), 2U);
  EXPECT_EQ(batches[0].epoch, 5U);
  EXPECT_EQ(batches[1].epoch, 6U);
  EXPECT_EQ(batches[1].events.at(0).what, What(PointerInput{.x = 80, .y = 40, .dx = 40}));
}

TEST_F(InputCaptureTest, SaysHowLargeTheFrameIsSeen) {
  focus();
  left_.at = {.picture = {0, 0, 300, 150}, .visible = {0, 0, 200, 100}};
  see();
  left_.at.picture.x = -10;
  see();
  EXPECT_EQ(whats(), (Whats{SizeInput{.width = 300, .height = 150}}));
}

TEST_F(InputCaptureTest, DoesNotFocusWhatTakesNoInput) {
  left_.takes_input = false;
  see();
  EXPECT_FALSE(button(10, 10));
  tap(host_usage);
  EXPECT_EQ(capture_.focused(), nullptr) << "nor another one than that under the pointer";
  move(500, 10);
  tap(host_usage);
  EXPECT_EQ(capture_.focused(), right_.stream) << "the only one";
  sent();
  EXPECT_TRUE(button(10, 10)) << "stays with the one that has it";
  EXPECT_EQ(capture_.focused(), right_.stream);
}

TEST_F(InputCaptureTest, LocksThePointer) {
  focus();
  move(50, 25);
  key(host_usage);
  EXPECT_TRUE(key(usage_l));
  key(usage_l, false);
  key(host_usage, false);
  EXPECT_TRUE(capture_.is_pointer_locked());
  EXPECT_TRUE(take(PointerInput{.x = 1000, .y = 1000})) << "was on its way";
  EXPECT_TRUE(take(PointerInput{.dx = 3, .dy = -1, .is_locked = true}));
  EXPECT_TRUE(button(300, 50)) << "there is no position, so no other stream";
  EXPECT_EQ(capture_.focused(), left_.stream);
  EXPECT_EQ(whats(), (Whats{PointerInput{.x = 100, .y = 50, .dx = 80, .dy = 30},
                            PointerInput{.x = 100, .y = 50, .dx = 6, .dy = -2, .is_locked = true},
                            ButtonInput{.button = InputButton::left, .is_pressed = true, .x = 100, .y = 50}}));
  capture_.release(++now_ns_);
  EXPECT_FALSE(capture_.is_pointer_locked());
  tap(host_usage);
  EXPECT_TRUE(capture_.is_pointer_locked()) << "until it is turned off";
  key(host_usage);
  tap(usage_l);
  key(host_usage, false);
  EXPECT_FALSE(capture_.is_pointer_locked());
  EXPECT_EQ(capture_.focused(), left_.stream);
}

TEST_F(InputCaptureTest, SendsGamepadsOnChangeAndLeavesThemUntouched) {
  focus();
  GamepadInput pad{.number = 1, .axes = {0.5F, 0, 0, 0, -1, -1}, .buttons = 3};
  take(pad);
  take(pad);
  EXPECT_EQ(whats(), (Whats{pad}));
  capture_.release(++now_ns_);
  const GamepadInput untouched{.number = 1, .axes = {0, 0, 0, 0, -1, -1}};
  EXPECT_EQ(whats(), (Whats{untouched, FocusInput{}}));
  tap(host_usage);
  sent();
  take(pad);
  const GamepadInput gone{.number = 1, .is_connected = false};
  take(gone);
  take(gone);
  take(GamepadInput{.number = 2, .is_connected = false});
  take(GamepadInput{.number = 200});
  EXPECT_EQ(whats(), (Whats{pad, gone}));
  capture_.release(++now_ns_);
  EXPECT_EQ(whats(), (Whats{FocusInput{}}));
}

TEST_F(InputCaptureTest, KeepsRoomForReleases) {
  focus();
  for (std::uint16_t usage = 1; usage < 0xE0; ++usage) {
    EXPECT_TRUE(key(usage));
    take(TextInput{.text = "x"});
  }
  move(20, 20);
  capture_.release(++now_ns_);
  const auto events = sent().events;
  EXPECT_LE(events.size(), max_input_events);
  std::multiset<std::uint16_t> down;
  for (const InputEvent& event : events) {
    if (const auto* const each = std::get_if<KeyInput>(&event.what)) {
      if (each->is_pressed) {
        down.insert(each->usage);
      } else {
        EXPECT_EQ(down.erase(each->usage), 1U);
      }
    }
  }
  EXPECT_TRUE(down.empty());
  EXPECT_EQ(events.back().what, What(FocusInput{}));
}

TEST_F(InputCaptureTest, CountsWhatItHasNoRoomFor) {
  focus();
  std::uint64_t taken = 0;
  for (int i = 0; i < 2 * static_cast<int>(max_input_events); ++i, ++taken) {
    take(TextInput{.text = "x"});
  }
  key(usage_a);
  button(20, 20, true, InputButton::right);
  take(WheelInput{.dy = 1});
  taken += 3;
  const std::size_t waiting = sent().events.size();
  const auto lost = capture_.take_lost();
  ASSERT_EQ(lost.size(), 1U);
  EXPECT_EQ(lost[0].stream, left_.stream);
  EXPECT_GE(lost[0].events, max_input_events);
  EXPECT_EQ(waiting + lost[0].events, taken);
  take(TextInput{.text = "x"});
  EXPECT_TRUE(capture_.take_lost().empty());
}

TEST_F(InputCaptureTest, LosesNothingThatBecomesOneEvent) {
  focus();
  for (int i = 0; i < 2 * static_cast<int>(max_input_events); ++i) {
    move(10 + i % 50, 20);
  }
  EXPECT_EQ(sent().events.size(), 1U);
  EXPECT_TRUE(capture_.take_lost().empty());
}

TEST_F(InputCaptureTest, LimitsWhatASenderWouldRefuse) {
  left_.at.picture = {0, 0, 1, 1};
  left_.frame = {30000, 30000};
  see();
  focus();
  move(1'000'000, 10);
  EXPECT_EQ(std::get<PointerInput>(whats().at(0)).x, max_input_position);
}

}  // namespace
}  // namespace framewire
