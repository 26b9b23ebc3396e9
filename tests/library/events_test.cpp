// Messages both ways, and input back to the source.
#include <chrono>
#include <string_view>
#include <thread>

#include "tests/library/programs.hpp"

namespace framewire::test {

namespace {

/// Waits for the next event of the stream.
fw_event next_event(const SendingProgram& sending) {
  fw_event event{};
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (fw_stream_next_event(sending.stream, &event, sizeof event) != FW_OK) {
    if (std::chrono::steady_clock::now() > until) {
      ADD_FAILURE() << "no event comes";
      break;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return event;
}

std::string_view text_of(const fw_event& event) {
  return event.text == nullptr ? std::string_view() : std::string_view(event.text);
}

}  // namespace

/// A session with a frame, so that its format is known.
class LibraryEvents : public ::testing::Test {
 protected:
  LibraryEvents() {
    fw_event none{};
    EXPECT_EQ(fw_stream_next_event(sending_.stream, &none, sizeof none), FW_NOTHING);
    EXPECT_EQ(sending_.send(1), FW_OK);
    fw_frame_unref(receiving_.acquire());
  }
  fw_result send(fw_event event) {
    event.struct_size = sizeof event;
    return fw_receiver_send_event(receiving_.receiver, &event);
  }

  SendingProgram sending_{every};
  ReceivingProgram receiving_{sending_};
};

TEST_F(LibraryEvents, InputArrivesAsItWasSent) {
  fw_event key{};
  key.type = FW_EVENT_KEY;
  key.usage = 4;
  key.keysym = 'a';
  key.pressed = 1;
  key.modifiers = FW_MODIFIER_SHIFT;
  ASSERT_EQ(send(key), FW_OK) << fw_message();
  fw_event arrived = next_event(sending_);
  EXPECT_EQ(arrived.type, FW_EVENT_KEY);
  EXPECT_EQ(arrived.usage, 4U);
  EXPECT_EQ(arrived.keysym, std::uint32_t{'a'});
  EXPECT_EQ(arrived.pressed, 1);
  EXPECT_EQ(arrived.modifiers, std::uint32_t{FW_MODIFIER_SHIFT});
  EXPECT_EQ(std::string(arrived.viewer).size(), 16U);
  EXPECT_EQ(arrived.epoch, 1U);

  fw_event text{};
  text.type = FW_EVENT_TEXT;
  text.text = "é";
  ASSERT_EQ(send(text), FW_OK) << fw_message();
  arrived = next_event(sending_);
  EXPECT_EQ(arrived.type, FW_EVENT_TEXT);
  EXPECT_STREQ(arrived.text, "é");

  fw_event pad{};
  pad.type = FW_EVENT_GAMEPAD;
  pad.number = 2;
  pad.pressed = 1;
  pad.axes[3] = -0.5F;
  pad.buttons = 5;
  ASSERT_EQ(send(pad), FW_OK) << fw_message();
  arrived = next_event(sending_);
  EXPECT_EQ(arrived.type, FW_EVENT_GAMEPAD);
  EXPECT_EQ(arrived.number, 2U);
  EXPECT_EQ(arrived.axes[3], -0.5F);
  EXPECT_EQ(arrived.buttons, 5U);
}

TEST_F(LibraryEvents, WhatWasPressedIsReleasedWhenTheViewerLeaves) {
  fw_event button{};
  button.type = FW_EVENT_BUTTON;
  button.button = FW_BUTTON_RIGHT;
  button.pressed = 1;
  ASSERT_EQ(send(button), FW_OK) << fw_message();
  EXPECT_EQ(next_event(sending_).pressed, 1);
  fw_receiver_destroy(std::exchange(receiving_.receiver, nullptr));
  const fw_event released = next_event(sending_);
  EXPECT_EQ(released.type, FW_EVENT_BUTTON);
  EXPECT_EQ(released.button, std::uint32_t{FW_BUTTON_RIGHT});
  EXPECT_EQ(released.pressed, 0);
}

TEST_F(LibraryEvents, WrongInputIsNamed) {
  fw_event event{};
  EXPECT_EQ(send(event), FW_ERROR_ARGUMENT);
  EXPECT_TRUE(says("type is 0"));
  event.type = FW_EVENT_KEY;
  event.modifiers = 64;
  EXPECT_EQ(send(event), FW_ERROR_ARGUMENT);
  EXPECT_TRUE(says("modifiers is 64"));
  event = {};
  event.type = FW_EVENT_POINTER;
  event.x = 1e300;
  EXPECT_EQ(send(event), FW_ERROR_ARGUMENT);
  EXPECT_TRUE(says("fw_receiver_send_event(): the event has no usable 'x' in its pointer"));
  event = {};
  event.type = FW_EVENT_TEXT;
  EXPECT_EQ(send(event), FW_ERROR_ARGUMENT);
  event.text = "\xff";
  EXPECT_EQ(send(event), FW_ERROR_ARGUMENT);
  event = {};
  event.type = FW_EVENT_BUTTON;
  event.button = 5;
  EXPECT_EQ(send(event), FW_ERROR_ARGUMENT);
  EXPECT_TRUE(says("button is 5"));
}

TEST_F(LibraryEvents, MessagesGoBothWays) {
  ASSERT_EQ(fw_receiver_send(receiving_.receiver, R"({"light": [1, 2]})"), FW_OK) << fw_message();
  const fw_event there = next_event(sending_);
  EXPECT_EQ(there.type, FW_EVENT_MESSAGE);
  EXPECT_STREQ(there.text, R"({"light":[1,2]})");
  EXPECT_EQ(there.viewer_number, 1U);
  ASSERT_EQ(fw_stream_send(sending_.stream, R"({"heat": 7})"), FW_OK) << fw_message();
  fw_event back{};
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (back.type != FW_EVENT_MESSAGE && std::chrono::steady_clock::now() < until) {
    if (fw_receiver_next_event(receiving_.receiver, &back, sizeof back) == FW_OK && back.type == FW_EVENT_STATE) {
      EXPECT_EQ(back.state, FW_STATE_CONNECTED);
    }
  }
  EXPECT_STREQ(back.text, R"({"heat":7})");
}

TEST_F(LibraryEvents, WhatIsNoMessageIsNamed) {
  for (const char* const wrong : {"", "7", "[1]", "{", "{\"a\": 1} x", "{\"a\": \"\xff\"}"}) {
    EXPECT_EQ(fw_receiver_send(receiving_.receiver, wrong), FW_ERROR_ARGUMENT) << wrong;
    EXPECT_TRUE(says("JSON object")) << wrong;
    EXPECT_EQ(fw_stream_send(sending_.stream, wrong), FW_ERROR_ARGUMENT) << wrong;
  }
  const std::string large = "{\"a\": \"" + std::string(70'000, 'x') + "\"}";
  EXPECT_EQ(fw_stream_send(sending_.stream, large.c_str()), FW_ERROR_ARGUMENT);
}

/// The first next_event call opens both, also for a viewer that was refused before.
TEST(LibraryEventsAlone, ARefusalEndsWhenTheStreamAsks) {
  SendingProgram sending(every);
  ReceivingProgram receiving(sending);
  ASSERT_EQ(sending.send(1), FW_OK);
  fw_frame_unref(receiving.acquire());
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  fw_result result = FW_OK;
  std::uint64_t taken = 0;
  while ((result = fw_receiver_send(receiving.receiver, R"({"n": 1})")) == FW_OK &&
         std::chrono::steady_clock::now() < until) {
    ++taken;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_EQ(result, FW_ERROR_REFUSED);
  EXPECT_TRUE(says("takes no messages: its program does not ask for any"));
  fw_stream_counts counts{};
  ASSERT_EQ(fw_stream_get_counts(sending.stream, &counts, sizeof counts), FW_OK);
  EXPECT_GE(counts.messages_dropped, 1U);
  fw_event event{};
  EXPECT_EQ(fw_stream_next_event(sending.stream, &event, sizeof event), FW_NOTHING);
  while ((result = fw_receiver_send(receiving.receiver, R"({"n": 2})")) == FW_ERROR_REFUSED &&
         std::chrono::steady_clock::now() < until) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_EQ(result, FW_OK) << fw_message();
  // What the viewer sent before it knew of the refusal may arrive after the program has asked.
  std::uint64_t late = 0;
  for (event = next_event(sending); text_of(event) == R"({"n":1})"; event = next_event(sending)) {
    ++late;
  }
  EXPECT_EQ(text_of(event), R"({"n":2})");
  ASSERT_EQ(fw_stream_get_counts(sending.stream, &counts, sizeof counts), FW_OK);
  EXPECT_EQ(counts.messages_dropped + late, taken) << "each one is taken or counted";
}

TEST(LibraryEventsAlone, NobodyHears) {
  SendingProgram sending;
  EXPECT_EQ(fw_stream_send(sending.stream, "{}"), FW_NOBODY);
  fw_receiver* receiver = nullptr;
  ASSERT_EQ(fw_receiver_create("127.0.0.1:1", nullptr, &receiver), FW_OK);
  EXPECT_EQ(fw_receiver_send(receiver, "{}"), FW_NOBODY);
  fw_event event{};
  event.struct_size = sizeof event;
  event.type = FW_EVENT_FOCUS;
  EXPECT_EQ(fw_receiver_send_event(receiver, &event), FW_NOBODY);
  event.type = 99;
  EXPECT_EQ(fw_receiver_send_event(receiver, &event), FW_ERROR_ARGUMENT) << "it is wrong for everybody";
  fw_receiver_destroy(receiver);
}

}  // namespace framewire::test
