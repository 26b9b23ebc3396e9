// One descriptor each, for programs with an event loop of their own: never a frame without it being readable.
#include <poll.h>

#include <chrono>
#include <thread>

#include "tests/library/programs.hpp"

namespace framewire::test {

namespace {

bool is_readable(int descriptor, int wait_ms) {
  pollfd one{.fd = descriptor, .events = POLLIN, .revents = 0};
  return ::poll(&one, 1, wait_ms) == 1;
}

constexpr int timeout_ms = 20'000;

}  // namespace

TEST(LibraryDescriptors, AReceiversLoopGetsEveryFrame) {
  SendingProgram sending(every);
  ReceivingProgram receiving(sending);
  int descriptor = -1;
  ASSERT_EQ(fw_receiver_descriptor(receiving.receiver, &descriptor), FW_OK);
  constexpr std::uint64_t frames = 300;
  std::thread source([&] {
    for (std::uint64_t i = 0; i < frames; ++i) {
      ASSERT_EQ(sending.send(static_cast<std::uint8_t>(i)), FW_OK) << fw_message();
    }
    EXPECT_EQ(fw_sender_drain(sending.sender, timeout_ns), FW_OK);
  });
  std::uint64_t received = 0;
  fw_result result = FW_NOTHING;
  fw_event event{};
  while (result != FW_ENDED && is_readable(descriptor, timeout_ms)) {
    fw_frame* frame = nullptr;
    while ((result = fw_receiver_acquire(receiving.receiver, 0, &frame)) == FW_OK) {
      EXPECT_TRUE(is_all(view_of(frame), static_cast<std::uint8_t>(received)));
      ++received;
      fw_frame_unref(frame);
    }
    while (fw_receiver_next_event(receiving.receiver, &event, sizeof event) == FW_OK) {
    }
  }
  EXPECT_EQ(result, FW_ENDED) << fw_message();
  EXPECT_EQ(received, frames);
  source.join();
}

TEST(LibraryDescriptors, AReceiversIsQuietWithoutFrames) {
  SendingProgram sending;
  ReceivingProgram receiving(sending);
  fw_slot* slot = nullptr;
  ASSERT_EQ(fw_stream_claim(sending.stream, timeout_ns, 0, &slot), FW_OK);  // the session is there
  int descriptor = -1;
  ASSERT_EQ(fw_receiver_descriptor(receiving.receiver, &descriptor), FW_OK);
  fw_frame* frame = nullptr;
  fw_event event{};
  fw_receiver_counts counts{};
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (counts.slots == 0 && std::chrono::steady_clock::now() < until) {  // until the receiver knows of it, too
    ASSERT_EQ(fw_receiver_get_counts(receiving.receiver, &counts, sizeof counts), FW_OK);
  }
  int turns = 0;
  while (is_readable(descriptor, 300) && ++turns < 50) {
    EXPECT_EQ(fw_receiver_acquire(receiving.receiver, 0, &frame), FW_NOTHING);
    while (fw_receiver_next_event(receiving.receiver, &event, sizeof event) == FW_OK) {
    }
  }
  EXPECT_LT(turns, 50);  // it settles
  ASSERT_EQ(fw_slot_publish(slot, nullptr), FW_OK);
  fw_slot_unref(slot);
  EXPECT_TRUE(is_readable(descriptor, timeout_ms));
  EXPECT_EQ(fw_receiver_acquire(receiving.receiver, 0, &frame), FW_OK);
  fw_frame_unref(frame);
}

TEST(LibraryDescriptors, AFrameThatWasThereBeforeIsNotForgotten) {
  SendingProgram sending(every);
  ReceivingProgram receiving(sending);
  int descriptor = -1;
  ASSERT_EQ(fw_receiver_descriptor(receiving.receiver, &descriptor), FW_OK);
  ASSERT_EQ(sending.send(1), FW_OK);
  ASSERT_EQ(sending.send(2), FW_OK);
  fw_frame_unref(receiving.acquire());  // waits, and asks for nothing by the descriptor
  EXPECT_TRUE(is_readable(descriptor, 0));
  fw_frame_unref(receiving.acquire());
}

TEST(LibraryDescriptors, ASourceWithAClockIsNotWokenForSlots) {
  SendingProgram sending(every);
  ReceivingProgram receiving(sending);
  int descriptor = -1;
  ASSERT_EQ(fw_stream_descriptor(sending.stream, &descriptor), FW_OK);
  ASSERT_EQ(sending.send(1), FW_OK);
  fw_frame_unref(receiving.acquire());
  EXPECT_FALSE(is_readable(descriptor, 50));  // although slots are free
}

TEST(LibraryDescriptors, ASendersLoopSendsEveryFrame) {
  SendingProgram sending(every);
  int descriptor = -1;
  ASSERT_EQ(fw_stream_descriptor(sending.stream, &descriptor), FW_OK);
  EXPECT_FALSE(is_readable(descriptor, 0));  // nobody has asked for a slot
  fw_slot* slot = nullptr;
  EXPECT_EQ(fw_stream_claim(sending.stream, 0, 0, &slot), FW_NOBODY);
  EXPECT_FALSE(is_readable(descriptor, 0));
  ReceivingProgram receiving(sending);
  constexpr std::uint8_t frames = 100;
  std::thread receiver([&] {
    for (std::uint8_t i = 0; i < frames; ++i) {
      fw_frame* const frame = receiving.acquire();
      EXPECT_TRUE(is_all(view_of(frame), i));
      fw_frame_unref(frame);
    }
  });
  std::uint8_t sent = 0;
  while (sent < frames && is_readable(descriptor, timeout_ms)) {
    while (sent < frames && fw_stream_claim(sending.stream, 0, 0, &slot) == FW_OK) {
      SendingProgram::fill(slot, sent++);
      EXPECT_EQ(fw_slot_publish(slot, nullptr), FW_OK);
      fw_slot_unref(slot);
    }
  }
  EXPECT_EQ(sent, frames);
  receiver.join();
}

namespace {

/// The stream ends soon, or has ended.
void expect_quiet_end(const SendingProgram& sending, int descriptor) {
  fw_slot* slot = nullptr;
  EXPECT_TRUE(is_readable(descriptor, timeout_ms));
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(fw_stream_claim(sending.stream, 0, 0, &slot), FW_ENDED) << fw_message();
    EXPECT_FALSE(is_readable(descriptor, 50));
  }
}

}  // namespace

TEST(LibraryDescriptors, AReceiversIsQuietOnceAcquireHasToldTheEnd) {
  SendingProgram sending(every);
  ReceivingProgram receiving(sending);
  int descriptor = -1;
  fw_frame* frame = nullptr;
  fw_event event{};
  ASSERT_EQ(fw_receiver_descriptor(receiving.receiver, &descriptor), FW_OK);
  ASSERT_EQ(sending.send(1), FW_OK);
  fw_frame_unref(receiving.acquire());
  EXPECT_EQ(fw_sender_drain(sending.sender, timeout_ns), FW_OK);
  fw_result result = FW_NOTHING;
  while (result == FW_NOTHING && is_readable(descriptor, timeout_ms)) {
    result = fw_receiver_acquire(receiving.receiver, 0, &frame);
  }
  EXPECT_EQ(result, FW_ENDED);
  while (fw_receiver_next_event(receiving.receiver, &event, sizeof event) == FW_OK) {
  }
  EXPECT_EQ(event.state, FW_STATE_ENDED);
  EXPECT_FALSE(is_readable(descriptor, 50));
}

/// Else an event loop that still has other work would never sleep again.
TEST(LibraryDescriptors, AStreamsIsQuietOnceClaimHasToldTheEnd) {
  for (const OptionList& options : {OptionList{}, OptionList{{"frames", "2"}}, OptionList{{"duration", "200ms"}}}) {
    SendingProgram sending(options);
    int descriptor = -1;
    fw_slot* slot = nullptr;
    ASSERT_EQ(fw_stream_descriptor(sending.stream, &descriptor), FW_OK);
    ASSERT_EQ(sending.send(1, FW_CLAIM_UNWATCHED), FW_OK);
    const bool ends_by_itself = !options.empty() && options.front().first == "duration";
    const fw_result result = fw_stream_claim(sending.stream, 0, 0, &slot);
    if (ends_by_itself && result == FW_ENDED) {  // already, on a busy machine
      EXPECT_FALSE(is_readable(descriptor, 50));
      continue;
    }
    ASSERT_EQ(result, FW_NOBODY);
    EXPECT_TRUE(ends_by_itself || !is_readable(descriptor, 0));
    if (options.empty()) {
      EXPECT_EQ(fw_sender_drain(sending.sender, second_ns), FW_OK);
    } else if (options.front().first == "frames") {
      ASSERT_EQ(sending.send(2, FW_CLAIM_UNWATCHED), FW_OK);
    }
    expect_quiet_end(sending, descriptor);
  }
}

TEST(LibraryDescriptors, WakeMakesThemReadable) {
  SendingProgram sending;
  ReceivingProgram receiving(sending);
  int of_stream = -1;
  ASSERT_EQ(fw_stream_descriptor(sending.stream, &of_stream), FW_OK);
  fw_slot* slot = nullptr;
  ASSERT_EQ(fw_stream_claim(sending.stream, timeout_ns, 0, &slot), FW_OK);
  fw_slot_unref(slot);
  fw_receiver_destroy(std::exchange(receiving.receiver, nullptr));
  // Until the viewer has left. Its session may still tell of slots when claim() first says that nobody is there.
  fw_result result = FW_OK;
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while ((result = fw_stream_claim(sending.stream, 0, 0, &slot)) != FW_NOBODY || is_readable(of_stream, 0)) {
    ASSERT_TRUE(std::chrono::steady_clock::now() < until) << "it is never quiet";
    if (result == FW_OK) {
      fw_slot_unref(slot);
    }
  }
  ASSERT_EQ(fw_stream_wake(sending.stream), FW_OK);
  EXPECT_TRUE(is_readable(of_stream, timeout_ms));
  EXPECT_EQ(fw_stream_claim(sending.stream, 0, 0, &slot), FW_WOKEN);
}

TEST(LibraryDescriptors, EventsMakeThemReadable) {
  SendingProgram sending;
  ReceivingProgram receiving(sending);
  int descriptor = -1;
  ASSERT_EQ(fw_stream_descriptor(sending.stream, &descriptor), FW_OK);
  fw_event event{};
  EXPECT_EQ(fw_stream_next_event(sending.stream, &event, sizeof event), FW_NOTHING);
  while (fw_receiver_send(receiving.receiver, R"({"hello": 1})") == FW_NOBODY) {
    std::this_thread::yield();  // no session yet
  }
  fw_slot* slot = nullptr;
  fw_result result = FW_NOTHING;
  while (result == FW_NOTHING && is_readable(descriptor, timeout_ms)) {
    if (fw_stream_claim(sending.stream, 0, 0, &slot) == FW_OK) {
      fw_slot_unref(slot);
    }
    result = fw_stream_next_event(sending.stream, &event, sizeof event);
  }
  EXPECT_EQ(result, FW_OK);
  EXPECT_STREQ(event.text, R"({"hello":1})");
}

}  // namespace framewire::test
