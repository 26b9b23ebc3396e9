// Slots: claimed, filled, published in any order, kept.
#include <poll.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <iterator>
#include <thread>

#include "tests/library/programs.hpp"

namespace framewire::test {

namespace {

fw_slot* claim(const SendingProgram& sending, std::uint32_t flags = FW_CLAIM_UNWATCHED) {
  fw_slot* slot = nullptr;
  EXPECT_EQ(fw_stream_claim(sending.stream, timeout_ns, flags, &slot), FW_OK) << fw_message();
  return slot;
}

}  // namespace

TEST(LibraryStreams, FramesArriveInTheOrderOfPublishing) {
  SendingProgram sending(every, 4);
  ReceivingProgram receiving(sending);
  fw_slot* const first = claim(sending, 0);
  fw_slot* const second = claim(sending, 0);
  SendingProgram::fill(first, 1);
  SendingProgram::fill(second, 2);
  EXPECT_EQ(fw_slot_publish(second, nullptr), FW_OK);
  EXPECT_EQ(fw_slot_publish(first, nullptr), FW_OK);
  for (const std::uint8_t expected : {std::uint8_t{2}, std::uint8_t{1}}) {
    fw_frame* const frame = receiving.acquire();
    EXPECT_TRUE(is_all(view_of(frame), expected));
    fw_frame_unref(frame);
  }
  fw_slot_unref(first);
  fw_slot_unref(second);
}

TEST(LibraryStreams, APublishedSlotIsKeptAsItWas) {
  SendingProgram sending({}, 1);
  fw_slot* const kept = claim(sending);
  SendingProgram::fill(kept, 7);
  ASSERT_EQ(fw_slot_publish(kept, nullptr), FW_OK);
  for (std::uint8_t i = 0; i < 100; ++i) {
    ASSERT_EQ(sending.send(i, FW_CLAIM_UNWATCHED), FW_OK);
  }
  fw_view view{};
  ASSERT_EQ(fw_slot_view(kept, &view, sizeof view), FW_OK);
  EXPECT_EQ(view.flags, FW_VIEW_READ_ONLY);
  EXPECT_TRUE(is_all(view, 7));
  EXPECT_EQ(fw_slot_publish(kept, nullptr), FW_ERROR_STATE);
  EXPECT_TRUE(says("published before"));
  fw_slot_unref(kept);
}

TEST(LibraryStreams, APublishedSlotSaysWhatItsReceiversAreTold) {
  SendingProgram sending(every, 1);
  ReceivingProgram receiving(sending);
  for (std::uint64_t i = 0; i < 3; ++i) {
    fw_slot* const kept = claim(sending, 0);
    const fw_frame_info info{sizeof info, 5, 7, 0, 0};
    ASSERT_EQ(fw_slot_publish(kept, &info), FW_OK);
    fw_view sent{};
    ASSERT_EQ(fw_slot_view(kept, &sent, sizeof sent), FW_OK);
    fw_slot_unref(kept);
    fw_frame* const frame = receiving.acquire();
    const fw_view received = view_of(frame);
    EXPECT_EQ(sent.sequence, i);
    EXPECT_EQ(sent.sequence, received.sequence);
    EXPECT_EQ(sent.begun_ns, received.begun_ns);
    EXPECT_GE(sent.completed_ns, sent.begun_ns);
    EXPECT_EQ(sent.completed_ns, received.completed_ns);
    fw_frame_unref(frame);
  }
}

TEST(LibraryStreams, NobodyWatches) {
  SendingProgram sending;
  fw_slot* slot = nullptr;
  EXPECT_EQ(fw_stream_claim(sending.stream, 0, 0, &slot), FW_NOBODY);
  EXPECT_EQ(fw_stream_claim(sending.stream, 1'000'000, 0, &slot), FW_NOBODY);
  EXPECT_EQ(slot, nullptr);
  EXPECT_EQ(sending.send(1, FW_CLAIM_UNWATCHED), FW_OK);
}

TEST(LibraryStreams, NobodyCanWatchBeforeTheStart) {
  fw_sender* sender = nullptr;
  fw_stream* stream = nullptr;
  fw_slot* slot = nullptr;
  fw_format format{};
  ASSERT_EQ(fw_sender_create(SettingsOf(OptionList{{"listen", "127.0.0.1:0"}}).get(), &sender), FW_OK) << fw_message();
  ASSERT_EQ(fw_sender_add_stream(sender, "a", nullptr, &stream), FW_OK);
  ASSERT_EQ(fw_format_init(&format, sizeof format, FW_PIXEL_RGBA, 4, 4), FW_OK);
  ASSERT_EQ(fw_stream_begin(stream, &format, 0, nullptr), FW_OK);
  for (const std::int64_t wait_ns : {std::int64_t{0}, second_ns, FW_FOR_EVER}) {
    EXPECT_EQ(fw_stream_claim(stream, wait_ns, 0, &slot), FW_ERROR_STATE);
    EXPECT_TRUE(says("call fw_sender_start() first"));
  }
  ASSERT_EQ(fw_stream_claim(stream, FW_FOR_EVER, FW_CLAIM_UNWATCHED, &slot), FW_OK) << fw_message();
  fw_slot_unref(slot);
  ASSERT_EQ(fw_sender_start(sender), FW_OK) << fw_message();
  EXPECT_EQ(fw_stream_claim(stream, 0, 0, &slot), FW_NOBODY);
  fw_sender_destroy(sender);
}

TEST(LibraryStreams, WhoHoldsEverySlotIsTold) {
  SendingProgram sending({{"slots", "1"}, {"viewers", "1"}});
  std::vector<fw_slot*> held;
  fw_slot* slot = nullptr;
  while (held.size() < 100) {
    const fw_result result = fw_stream_claim(sending.stream, FW_FOR_EVER, FW_CLAIM_UNWATCHED, &slot);
    if (result != FW_OK) {
      EXPECT_EQ(result, FW_ERROR_ALL_HELD);
      EXPECT_TRUE(says("holds all 5 slots"));
      break;
    }
    held.push_back(slot);
  }
  EXPECT_EQ(held.size(), 5U);
  fw_slot_unref(held.back());
  held.pop_back();
  EXPECT_EQ(sending.send(1, FW_CLAIM_UNWATCHED), FW_OK);
  for (fw_slot* const one : held) {
    fw_slot_unref(one);
  }
}

TEST(LibraryStreams, ASlotOfAnEarlierFormatIsDropped) {
  SendingProgram sending;
  fw_slot* const old = claim(sending);
  EXPECT_EQ(sending.begin(0, FW_PIXEL_GRAY8, 100, 100), 2U);
  SendingProgram::fill(old, 1);
  fw_view view{};
  ASSERT_EQ(fw_slot_view(old, &view, sizeof view), FW_OK);
  EXPECT_EQ(fw_slot_publish(old, nullptr), FW_CHANGED);
  EXPECT_TRUE(is_all(view, 1)) << "its pointers are valid until the last unref";
  EXPECT_EQ(fw_slot_publish(old, nullptr), FW_ERROR_STATE);
  EXPECT_EQ(fw_slot_view(old, &view, sizeof view), FW_ERROR_STATE);
  EXPECT_TRUE(says("was dropped"));
  fw_slot_unref(old);
  fw_stream_counts counts{};
  ASSERT_EQ(fw_stream_get_counts(sending.stream, &counts, sizeof counts), FW_OK);
  EXPECT_EQ(counts.frames_dropped, 1U);
  EXPECT_EQ(counts.frames_published, 0U);
}

TEST(LibraryStreams, SlotsOfAnEarlierFormatAreNotTakenForThoseOfThisOne) {
  SendingProgram sending({{"slots", "1"}, {"viewers", "1"}});
  std::vector<fw_slot*> held;
  for (int i = 0; i < 5; ++i) {
    held.push_back(claim(sending));
  }
  fw_slot* slot = nullptr;
  for (int i = 0; i < 40; ++i) {
    sending.begin(0, FW_PIXEL_GRAY8, 100, 100);
    EXPECT_EQ(fw_stream_claim(sending.stream, 0, 0, &slot), FW_NOBODY) << fw_message();
  }
  EXPECT_EQ(sending.send(1, FW_CLAIM_UNWATCHED), FW_OK);
  for (fw_slot* const one : held) {
    fw_slot_unref(one);
  }
}

TEST(LibraryStreams, AnImpossibleTimeIsRefusedAndTheSlotStays) {
  SendingProgram sending;
  ReceivingProgram receiving(sending);
  fw_slot* const slot = claim(sending, 0);
  for (const std::int64_t begun_ns : {std::int64_t{-1}, INT64_MIN, INT64_MAX}) {
    const fw_frame_info info{sizeof info, 0, 0, begun_ns, 0};
    EXPECT_EQ(fw_slot_publish(slot, &info), FW_ERROR_ARGUMENT);
    EXPECT_TRUE(says("begun_ns is " + std::to_string(begun_ns)));
  }
  EXPECT_EQ(fw_slot_publish(slot, nullptr), FW_OK);
  fw_slot_unref(slot);
  fw_frame_unref(receiving.acquire());
}

TEST(LibraryStreams, NoFormatBeginsAfterTheEnd) {
  SendingProgram sending(OptionList{{"frames", "1"}});
  ASSERT_EQ(sending.send(1, FW_CLAIM_UNWATCHED), FW_OK);
  fw_format format{};
  std::uint32_t epoch = 77;
  ASSERT_EQ(fw_format_init(&format, sizeof format, FW_PIXEL_GRAY8, 100, 100), FW_OK);
  EXPECT_EQ(fw_stream_begin(sending.stream, &format, 0, &epoch), FW_ERROR_STATE);
  EXPECT_TRUE(says("has ended"));
  EXPECT_EQ(epoch, 77U);
}

TEST(LibraryStreams, WakeEndsOneWait) {
  SendingProgram sending;
  std::atomic<int> woken = 0;
  std::thread waiting([&] {
    fw_slot* slot = nullptr;
    EXPECT_EQ(fw_stream_claim(sending.stream, FW_FOR_EVER, 0, &slot), FW_WOKEN);
    ++woken;
  });
  ASSERT_EQ(fw_stream_wake(sending.stream), FW_OK);  // before or during the wait
  waiting.join();
  EXPECT_EQ(woken, 1);
  fw_slot* slot = nullptr;
  EXPECT_EQ(fw_stream_claim(sending.stream, 1'000'000, 0, &slot), FW_NOBODY);
}

/// Two senders refuse each other.
TEST(LibraryStreams, ARefusedSenderTellsWhoWaitsForASlot) {
  SendingProgram other;
  fw_sender* sender = nullptr;
  fw_stream* stream = nullptr;
  fw_stream* awaited = nullptr;
  fw_format format{};
  fw_slot* slot = nullptr;
  int descriptor = -1;
  const std::string to = "127.0.0.1:" + std::to_string(other.port);
  ASSERT_EQ(fw_sender_create(SettingsOf(OptionList{{"to", to}}).get(), &sender), FW_OK) << fw_message();
  ASSERT_EQ(fw_sender_add_stream(sender, "a", nullptr, &stream), FW_OK);
  ASSERT_EQ(fw_sender_add_stream(sender, "b", nullptr, &awaited), FW_OK);
  ASSERT_EQ(fw_format_init(&format, sizeof format, FW_PIXEL_RGBA, 4, 4), FW_OK);
  ASSERT_EQ(fw_stream_begin(stream, &format, 0, nullptr), FW_OK);
  ASSERT_EQ(fw_stream_begin(awaited, &format, 0, nullptr), FW_OK);
  ASSERT_EQ(fw_stream_descriptor(stream, &descriptor), FW_OK);
  ASSERT_EQ(fw_sender_start(sender), FW_OK) << fw_message();
  EXPECT_EQ(fw_stream_claim(awaited, FW_FOR_EVER, 0, &slot), FW_ERROR_REFUSED);
  EXPECT_FALSE(std::string(fw_message()).empty());
  pollfd poller{.fd = descriptor, .events = POLLIN, .revents = 0};
  EXPECT_EQ(::poll(&poller, 1, 20'000), 1);
  EXPECT_EQ(fw_stream_claim(stream, 0, 0, &slot), FW_ERROR_REFUSED);
  EXPECT_EQ(::poll(&poller, 1, 0), 0) << "the program knows it";
  EXPECT_EQ(fw_stream_claim(stream, FW_FOR_EVER, 0, &slot), FW_ERROR_REFUSED);
  EXPECT_EQ(fw_stream_begin(stream, &format, 0, nullptr), FW_ERROR_REFUSED);
  fw_sender_destroy(sender);
}

TEST(LibraryStreams, TwoWakesEndTwoWaits) {
  SendingProgram sending;
  const auto wait = [&] {
    fw_slot* slot = nullptr;
    EXPECT_EQ(fw_stream_claim(sending.stream, FW_FOR_EVER, 0, &slot), FW_WOKEN);
  };
  const Waiting first(wait);
  const Waiting second(wait);
  ASSERT_EQ(fw_stream_wake(sending.stream), FW_OK);
  ASSERT_EQ(fw_stream_wake(sending.stream), FW_OK);
}

TEST(LibraryStreams, WhoDoesNotWaitIsWokenOnce) {
  SendingProgram sending;
  fw_slot* slot = nullptr;
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(fw_stream_wake(sending.stream), FW_OK);
    EXPECT_EQ(fw_stream_claim(sending.stream, 0, 0, &slot), FW_WOKEN);
    EXPECT_EQ(fw_stream_claim(sending.stream, 0, 0, &slot), FW_NOBODY);
  }
}

TEST(LibraryStreams, DestroyEndsAWait) {
  SendingProgram sending;
  const Waiting waiting([&] {
    fw_slot* slot = nullptr;
    EXPECT_EQ(fw_stream_claim(sending.stream, FW_FOR_EVER, 0, &slot), FW_ERROR_STATE);
    EXPECT_TRUE(says("the sender of this stream was destroyed"));
  });
  fw_sender_destroy(sending.sender);
}

/// The sessions' log outlives what looks at them meanwhile.
TEST(LibraryStreams, CountsMayBeReadWhileTheirSenderIsDestroyed) {
  for (int i = 0; i < 20; ++i) {
    SendingProgram sending;
    ReceivingProgram receiving(sending);
    ASSERT_EQ(sending.send(1), FW_OK);
    std::atomic<bool> is_counting = false;
    std::thread counting([&] {
      fw_stream_counts counts{};
      while (fw_stream_get_counts(sending.stream, &counts, sizeof counts) == FW_OK) {
        is_counting = true;
      }
    });
    while (!is_counting) {
      std::this_thread::yield();
    }
    fw_sender_destroy(sending.sender);
    counting.join();
  }
}

/// A program may send and receive in one thread: its drain cannot wait for its next acquire.
TEST(LibraryStreams, DrainEndsOnceTheLastFrameIsTaken) {
  for (const OptionList& options :
       {OptionList{}, OptionList{{"transport", "tcp"}}, OptionList{{"transport", "tcp"}, {"read", "caller"}}}) {
    SendingProgram sending(every);
    ReceivingProgram receiving(sending, options);
    ASSERT_EQ(sending.send(7), FW_OK);
    fw_frame* const held = receiving.acquire();
    const fw_view view = view_of(held);
    EXPECT_EQ(fw_sender_drain(sending.sender, timeout_ns), FW_OK) << fw_message();
    std::int32_t state = -1;
    EXPECT_EQ(fw_receiver_state(receiving.receiver, &state, nullptr, 0), FW_OK);
    EXPECT_EQ(state, FW_STATE_ENDED);
    EXPECT_EQ(fw_frame_check(held), FW_OK);
    fw_sender_destroy(std::exchange(sending.sender, nullptr));
    EXPECT_TRUE(is_all(view, 7));
    EXPECT_EQ(fw_frame_check(held), FW_OK);
    fw_frame_unref(held);
    fw_frame* none = nullptr;
    EXPECT_EQ(fw_receiver_acquire(receiving.receiver, FW_FOR_EVER, &none), FW_ENDED);
  }
}

TEST(LibraryStreams, ASenderMayBeDestroyedWhileItIsDrained) {
  SendingProgram sending;
  ReceivingProgram receiving(sending);
  ASSERT_EQ(sending.send(1), FW_OK);
  const Waiting draining([&] {
    EXPECT_EQ(fw_sender_drain(sending.sender, FW_FOR_EVER), FW_OK) << fw_message();  // the viewer never says goodbye
  });
  fw_sender_destroy(sending.sender);
}

TEST(LibraryStreams, NothingOfAnEndedSenderIsLeft) {
  const auto count = [] {
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), std::filesystem::directory_iterator());
  };
  const auto before = count();
  for (int i = 0; i < 5; ++i) {
    SendingProgram sending(every);
    ReceivingProgram receiving(sending);
    ASSERT_EQ(sending.send(1), FW_OK);
    fw_frame_unref(receiving.acquire());
  }
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (count() > before && std::chrono::steady_clock::now() < until) {
    std::this_thread::yield();
  }
  EXPECT_LE(count(), before);
}

TEST(LibraryStreams, SlotsOutliveTheirSender) {
  SendingProgram sending({}, 2);
  fw_slot* const claimed = claim(sending);
  fw_slot* const kept = claim(sending);
  SendingProgram::fill(kept, 3);
  ASSERT_EQ(fw_slot_publish(kept, nullptr), FW_OK);
  fw_sender_destroy(sending.sender);
  SendingProgram::fill(claimed, 4);
  EXPECT_EQ(fw_slot_publish(claimed, nullptr), FW_ENDED);
  fw_view view{};
  ASSERT_EQ(fw_slot_view(kept, &view, sizeof view), FW_OK);
  EXPECT_TRUE(is_all(view, 3));
  fw_slot_unref(claimed);
  fw_slot_unref(kept);
}

TEST(LibraryStreams, AStreamEndsAtItsLimit) {
  SendingProgram sending(OptionList{{"frames", "3"}});
  for (std::uint8_t i = 0; i < 3; ++i) {
    EXPECT_EQ(sending.send(i, FW_CLAIM_UNWATCHED), FW_OK);
  }
  EXPECT_EQ(sending.send(3, FW_CLAIM_UNWATCHED), FW_ENDED);
}

/// Slots that are claimed count for the limit, but it is reached only once they are published.
TEST(LibraryStreams, AClaimThatComesBackIsNoFrameOfTheLimit) {
  SendingProgram sending(OptionList{{"frames", "2"}});
  fw_slot* const first = claim(sending);
  fw_slot* const second = claim(sending);
  fw_slot* slot = nullptr;
  EXPECT_EQ(fw_stream_claim(sending.stream, FW_FOR_EVER, FW_CLAIM_UNWATCHED, &slot), FW_ERROR_ALL_HELD);
  EXPECT_TRUE(says("option frames, 2"));
  sending.begin(0, FW_PIXEL_GRAY8, 100, 100);  // it has not ended
  fw_slot_unref(first);
  EXPECT_EQ(fw_slot_publish(second, nullptr), FW_CHANGED);
  EXPECT_EQ(fw_stream_claim(sending.stream, FW_FOR_EVER, FW_CLAIM_UNWATCHED, &slot), FW_OK) << fw_message();
  EXPECT_EQ(fw_slot_publish(slot, nullptr), FW_OK);
  fw_slot_unref(slot);
  fw_slot_unref(second);
  EXPECT_EQ(sending.send(3, FW_CLAIM_UNWATCHED), FW_OK);
  EXPECT_EQ(sending.send(4, FW_CLAIM_UNWATCHED), FW_ENDED);
}

TEST(LibraryStreams, ManyThreadsPublishEveryFrame) {
  SendingProgram sending(every, 4);
  ReceivingProgram receiving(sending);
  constexpr std::uint64_t each = 200;
  std::vector<std::thread> threads;
  for (std::uint8_t number = 1; number <= 3; ++number) {
    threads.emplace_back([&, number] {
      for (std::uint64_t i = 0; i < each; ++i) {
        ASSERT_EQ(sending.send(number), FW_OK) << fw_message();
      }
    });
  }
  std::uint64_t sum = 0;
  for (std::uint64_t i = 0; i < 3 * each; ++i) {
    fw_frame* const frame = receiving.acquire();
    const fw_view view = view_of(frame);
    EXPECT_EQ(view.sequence, i);
    EXPECT_TRUE(is_all(view, static_cast<std::uint8_t>(view.tag)));
    sum += view.tag;
    fw_frame_unref(frame);
  }
  EXPECT_EQ(sum, each * (1 + 2 + 3));
  for (std::thread& thread : threads) {
    thread.join();
  }
}

}  // namespace framewire::test
