// Drives an InputCapture as the window does, and keeps what it sends.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "viewer/input_capture.hpp"

namespace framewire::test {

constexpr std::uint16_t host_usage = 0xE4;
constexpr std::uint16_t usage_a = 0x04;
constexpr std::uint16_t usage_b = 0x05;
constexpr std::uint16_t usage_l = 0x0F;
constexpr std::uint16_t usage_left_shift = 0xE1;
constexpr std::uint16_t usage_right_shift = 0xE5;

/// Two streams side by side, each 200x100 on the surface and 400x200 in its own pixels; the right one has the epoch 7.
class CapturedInput : public testing::Test {
 protected:
  using What = decltype(InputEvent::what);
  using Whats = std::vector<What>;

  CapturedInput() { see(); }

  void see() { capture_.see({left_, right_}, ++now_ns_); }

  bool take(const What& what) { return capture_.take({.time_ns = ++now_ns_, .what = what}); }
  bool key(std::uint16_t usage, bool is_pressed = true, bool is_repeat = false, std::uint8_t modifiers = 0) {
    return take(KeyInput{.usage = usage,
                         .keysym = 100U + usage,
                         .is_pressed = is_pressed,
                         .is_repeat = is_repeat,
                         .modifiers = modifiers});
  }
  void tap(std::uint16_t usage) {
    key(usage);
    key(usage, false);
  }
  bool button(double x, double y, bool is_pressed = true, InputButton which = InputButton::left) {
    return take(ButtonInput{.button = which, .is_pressed = is_pressed, .x = x, .y = y});
  }
  bool move(double x, double y) { return take(PointerInput{.x = x, .y = y}); }
  void click(double x, double y) {
    button(x, y);
    button(x, y, false);
  }

  /// What was sent since the last call.
  InputBatch sent() {
    InputBatch all;
    capture_.send([&](const void* stream, std::uint64_t session, const InputBatch& batch) {
      EXPECT_FALSE(batch.events.empty());
      EXPECT_EQ(batch.viewer, "0123456789abcdef");
      last_stream_ = stream;
      last_session_ = session;
      all.epoch = batch.epoch;
      all.events.insert(all.events.end(), batch.events.begin(), batch.events.end());
    });
    return all;
  }
  /// The same without times.
  Whats whats() {
    Whats all;
    for (const InputEvent& event : sent().events) {
      all.push_back(event.what);
    }
    return all;
  }
  /// Focuses the left stream, and forgets what that sent.
  void focus() {
    click(10, 10);
    sent();
    ASSERT_EQ(capture_.focused(), left_.stream);
  }

  std::array<int, 2> streams_{};
  SeenPicture left_{.stream = &streams_[0],
                    .at = {.picture = {0, 0, 200, 100}, .visible = {0, 0, 200, 100}},
                    .frame = {400, 200},
                    .session = 3,
                    .epoch = 5};
  SeenPicture right_{.stream = &streams_[1],
                     .at = {.picture = {200, 0, 200, 100}, .visible = {200, 0, 200, 100}},
                     .frame = {400, 200},
                     .session = 4,
                     .epoch = 7};
  InputCapture capture_{{.host_key = host_usage, .viewer = "0123456789abcdef"}};
  std::int64_t now_ns_ = 0;
  const void* last_stream_ = nullptr;
  std::uint64_t last_session_ = 0;
};

}  // namespace framewire::test
