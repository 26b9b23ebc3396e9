// What a stream gets, whatever the user does.
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "tests/viewer/captured_input.hpp"

namespace framewire {
namespace {

using test::host_usage;
using test::usage_a;
using test::usage_l;

class RandomInput : public test::CapturedInput {};

/// What a sender checks of one stream's events.
class InputReceiver {
 public:
  void take(const InputEvent& event) {
    EXPECT_GE(event.time_ns, time_ns_);
    time_ns_ = event.time_ns;
    if (const auto* const focus = std::get_if<FocusInput>(&event.what)) {
      EXPECT_NE(focus->is_focused, is_focused_);
      is_focused_ = focus->is_focused;
      EXPECT_TRUE(keys_.empty() && buttons_.empty() && pads_.empty());
      return;
    }
    EXPECT_TRUE(is_focused_) << "an event outside the focus";
    if (const auto* const key = std::get_if<KeyInput>(&event.what)) {
      const auto id = std::pair(key->usage, key->usage != 0 ? 0 : key->keysym);
      EXPECT_FALSE(!key->is_pressed && key->is_repeat);
      if (!key->is_pressed) {
        EXPECT_EQ(keys_.erase(id), 1U);
      } else {
        EXPECT_EQ(keys_.insert(id).second, !key->is_repeat);
      }
      EXPECT_NE(key->usage, host_usage);
    } else if (const auto* const button = std::get_if<ButtonInput>(&event.what)) {
      EXPECT_TRUE(button->is_pressed ? buttons_.insert(button->button).second : buttons_.erase(button->button) == 1);
    } else if (const auto* const pad = std::get_if<GamepadInput>(&event.what)) {
      pads_.erase(pad->number);
      if (pad->is_connected && pad->buttons != 0) {
        pads_.insert(pad->number);
      }
    }
  }
  [[nodiscard]] bool is_focused() const { return is_focused_; }

 private:
  bool is_focused_ = false;
  std::int64_t time_ns_ = 0;
  std::set<std::pair<std::uint16_t, std::uint32_t>> keys_;
  std::set<InputButton> buttons_;
  std::set<std::uint8_t> pads_;
};

TEST_F(RandomInput, IsReleasedInTheEnd) {
  std::size_t total = 0;
  for (std::uint32_t seed = 0; seed < 200; ++seed) {
    std::mt19937 random(seed);
    const auto below = [&](int count) { return static_cast<int>(random() % static_cast<std::uint32_t>(count)); };
    std::map<const void*, InputReceiver> receivers;
    const auto flush = [&] {
      capture_.send([&](const void* stream, std::uint64_t /*session*/, const InputBatch& batch) {
        EXPECT_LE(batch.events.size(), max_input_events);
        for (const InputEvent& event : batch.events) {
          receivers[stream].take(event);
          ++total;
        }
      });
    };
    const std::vector<std::function<void()>> acts = {
        [&] { key(static_cast<std::uint16_t>(below(4) == 0 ? host_usage : below(30)), below(2) == 0, below(3) == 0); },
        [&] { key(static_cast<std::uint16_t>(below(6)), below(2) == 0); },
        [&] { key(usage_l, below(2) == 0); },
        [&] { tap(below(4) == 0 ? host_usage : usage_a); },
        [&] { take(KeyInput{.keysym = static_cast<std::uint32_t>(below(3)), .is_pressed = below(2) == 0}); },
        [&] { take(TextInput{.text = "ü"}); },
        [&] { move(below(450), below(120)); },
        [&] { take(PointerInput{.dx = 1, .is_locked = true}); },
        [&] { button(below(450), below(120), below(2) == 0, static_cast<InputButton>(below(5))); },
        [&] { button(below(450), below(120), below(3) != 0); },
        [&] { take(WheelInput{.dy = 1}); },
        [&] {
          take(GamepadInput{.number = static_cast<std::uint8_t>(below(3)),
                            .is_connected = below(5) != 0,
                            .buttons = static_cast<std::uint16_t>(below(3))});
        },
        [&] {
          left_.epoch = static_cast<std::uint32_t>(below(3));
          right_.takes_input = below(3) != 0;
          left_.at.picture.width = 200 + below(5);
          see();
        },
        [&] {
          if (below(10) == 0) {
            ++left_.session;
            below(2) == 0 ? see() : capture_.see({right_}, ++now_ns_);
          }
        },
        [&] {
          if (below(20) == 0) {
            take(FocusInput{});
          }
        },
        [&] {
          if (below(10) == 0) {
            flush();
          }
        },
    };
    const int count = 50 + below(2000);
    for (int i = 0; i < count; ++i) {
      acts.at(static_cast<std::size_t>(below(static_cast<int>(acts.size()))))();
      const bool has_focus = capture_.focused() != nullptr;
      ASSERT_TRUE(has_focus || !capture_.is_pointer_locked());
    }
    capture_.release(++now_ns_);
    flush();
    for (const auto& [stream, receiver] : receivers) {
      ASSERT_FALSE(receiver.is_focused()) << seed;
    }
    ASSERT_FALSE(HasFailure()) << "seed " << seed;
    take(FocusInput{});  // the next one begins without keys that are held
  }
  EXPECT_GT(total, 10'000U) << "the focus was hardly ever there";
}

}  // namespace
}  // namespace framewire
