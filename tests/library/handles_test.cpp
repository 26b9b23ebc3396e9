// Handles that are not what a function takes: every function, every kind of wrong handle.
#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tests/library/programs.hpp"

namespace framewire::test {

namespace {

struct Calls {
  std::string name;
  std::function<fw_result(void*)> call;
};

template <typename Handle>
Handle* as(void* handle) {
  return static_cast<Handle*>(handle);
}

/// Every function that takes a handle and returns a result, with its other arguments right.
std::vector<Calls> all_calls() {
  static fw_stream* stream;
  static fw_slot* slot;
  static fw_frame* frame;
  static fw_view view;
  static fw_format format;
  static fw_event event;
  static fw_stream_counts stream_counts;
  static fw_receiver_counts receiver_counts;
  static std::int64_t offset;
  static std::int32_t state;
  static std::uint16_t port;
  static int descriptor;
  fw_format_init(&format, sizeof format, FW_PIXEL_RGBA, 4, 4);
  event = {};
  event.struct_size = sizeof event;
  event.type = FW_EVENT_FOCUS;
  return {
      {"fw_sender_add_stream", [](void* h) { return fw_sender_add_stream(as<fw_sender>(h), "a", nullptr, &stream); }},
      {"fw_sender_start", [](void* h) { return fw_sender_start(as<fw_sender>(h)); }},
      {"fw_sender_port", [](void* h) { return fw_sender_port(as<fw_sender>(h), &port); }},
      {"fw_sender_drain", [](void* h) { return fw_sender_drain(as<fw_sender>(h), 0); }},
      {"fw_stream_begin", [](void* h) { return fw_stream_begin(as<fw_stream>(h), &format, 0, nullptr); }},
      {"fw_stream_claim", [](void* h) { return fw_stream_claim(as<fw_stream>(h), 0, 0, &slot); }},
      {"fw_stream_wake", [](void* h) { return fw_stream_wake(as<fw_stream>(h)); }},
      {"fw_stream_drop", [](void* h) { return fw_stream_drop(as<fw_stream>(h)); }},
      {"fw_stream_descriptor", [](void* h) { return fw_stream_descriptor(as<fw_stream>(h), &descriptor); }},
      {"fw_stream_get_counts",
       [](void* h) { return fw_stream_get_counts(as<fw_stream>(h), &stream_counts, sizeof stream_counts); }},
      {"fw_stream_next_event", [](void* h) { return fw_stream_next_event(as<fw_stream>(h), &event, sizeof event); }},
      {"fw_stream_send", [](void* h) { return fw_stream_send(as<fw_stream>(h), "{}"); }},
      {"fw_slot_view", [](void* h) { return fw_slot_view(as<fw_slot>(h), &view, sizeof view); }},
      {"fw_slot_publish", [](void* h) { return fw_slot_publish(as<fw_slot>(h), nullptr); }},
      {"fw_slot_ref", [](void* h) { return fw_slot_ref(as<fw_slot>(h)); }},
      {"fw_receiver_acquire", [](void* h) { return fw_receiver_acquire(as<fw_receiver>(h), 0, &frame); }},
      {"fw_receiver_port", [](void* h) { return fw_receiver_port(as<fw_receiver>(h), &port); }},
      {"fw_receiver_wake", [](void* h) { return fw_receiver_wake(as<fw_receiver>(h)); }},
      {"fw_receiver_descriptor", [](void* h) { return fw_receiver_descriptor(as<fw_receiver>(h), &descriptor); }},
      {"fw_receiver_state", [](void* h) { return fw_receiver_state(as<fw_receiver>(h), &state, nullptr, 0); }},
      {"fw_receiver_clock_offset",
       [](void* h) { return fw_receiver_clock_offset(as<fw_receiver>(h), &offset, &offset); }},
      {"fw_receiver_get_counts",
       [](void* h) { return fw_receiver_get_counts(as<fw_receiver>(h), &receiver_counts, sizeof receiver_counts); }},
      {"fw_receiver_next_event",
       [](void* h) { return fw_receiver_next_event(as<fw_receiver>(h), &event, sizeof event); }},
      {"fw_receiver_send", [](void* h) { return fw_receiver_send(as<fw_receiver>(h), "{}"); }},
      {"fw_receiver_send_event", [](void* h) { return fw_receiver_send_event(as<fw_receiver>(h), &event); }},
      {"fw_frame_view", [](void* h) { return fw_frame_view(as<fw_frame>(h), &view, sizeof view); }},
      {"fw_frame_format", [](void* h) { return fw_frame_format(as<fw_frame>(h), &format, sizeof format); }},
      {"fw_frame_check", [](void* h) { return fw_frame_check(as<fw_frame>(h)); }},
      {"fw_frame_ref", [](void* h) { return fw_frame_ref(as<fw_frame>(h)); }},
  };
}

void end_all(void* handle) {
  fw_slot_unref(as<fw_slot>(handle));
  fw_frame_unref(as<fw_frame>(handle));
  fw_receiver_destroy(as<fw_receiver>(handle));
  fw_sender_destroy(as<fw_sender>(handle));
}

}  // namespace

TEST(LibraryHandles, WhatIsMadeIsNullWhereTheHandleIsWrong) {
  const auto garbage = [] { return reinterpret_cast<void*>(std::uintptr_t{0x1234}); };
  fw_stream* stream = as<fw_stream>(garbage());
  EXPECT_EQ(fw_sender_add_stream(nullptr, "a", nullptr, &stream), FW_ERROR_ARGUMENT);
  EXPECT_EQ(stream, nullptr);
  fw_slot* slot = as<fw_slot>(garbage());
  EXPECT_EQ(fw_stream_claim(as<fw_stream>(garbage()), 0, 0, &slot), FW_ERROR_ARGUMENT);
  EXPECT_EQ(slot, nullptr);
  fw_frame* frame = as<fw_frame>(garbage());
  EXPECT_EQ(fw_receiver_acquire(nullptr, 0, &frame), FW_ERROR_ARGUMENT);
  EXPECT_EQ(frame, nullptr);
}

TEST(LibraryHandles, NullIsNamed) {
  for (const auto& [name, call] : all_calls()) {
    EXPECT_EQ(call(nullptr), FW_ERROR_ARGUMENT) << name;
    EXPECT_TRUE(says(name + "(): the ")) << name;
    EXPECT_TRUE(says("is NULL")) << name;
  }
  end_all(nullptr);
}

TEST(LibraryHandles, GarbageIsNoCrash) {
  int on_stack = 0;
  for (void* const garbage :
       {static_cast<void*>(&on_stack), reinterpret_cast<void*>(std::uintptr_t{1}),
        reinterpret_cast<void*>(~std::uintptr_t{0}), reinterpret_cast<void*>(std::uintptr_t{0xF300000000000000})}) {
    for (const auto& [name, call] : all_calls()) {
      EXPECT_EQ(call(garbage), FW_ERROR_ARGUMENT) << name;
      EXPECT_TRUE(says("no handle of framewire")) << name;
    }
    end_all(garbage);
  }
}

TEST(LibraryHandles, OneThatWasEndedIsNamed) {
  fw_sender* sender = nullptr;
  ASSERT_EQ(fw_sender_create(nullptr, &sender), FW_OK);
  fw_sender_destroy(sender);
  EXPECT_EQ(fw_sender_start(sender), FW_ERROR_ARGUMENT);
  EXPECT_TRUE(says("this sender was ended before"));
  fw_sender_destroy(sender);

  fw_sender* next = nullptr;  // in the same place of the table
  ASSERT_EQ(fw_sender_create(nullptr, &next), FW_OK);
  EXPECT_NE(next, sender);
  EXPECT_EQ(fw_sender_start(sender), FW_ERROR_ARGUMENT);
  fw_sender_destroy(sender);  // does not end the other one
  EXPECT_EQ(fw_sender_start(next), FW_ERROR_STATE);
  fw_sender_destroy(next);
}

TEST(LibraryHandles, OneOfAnotherKindIsNamed) {
  SendingProgram sending;
  std::size_t refused = 0;
  for (const auto& [name, call] : all_calls()) {
    if (!name.starts_with("fw_stream")) {
      EXPECT_EQ(call(sending.stream), FW_ERROR_ARGUMENT) << name;
      EXPECT_TRUE(says("this is a stream; it takes a ")) << name;
      ++refused;
    }
  }
  EXPECT_GT(refused, 15U);
  end_all(sending.stream);
  EXPECT_EQ(fw_stream_drop(sending.stream), FW_OK) << fw_message();
}

TEST(LibraryHandles, AStreamEndsWithItsSender) {
  SendingProgram sending;
  fw_stream* const stream = sending.stream;
  fw_sender_destroy(sending.sender);
  EXPECT_EQ(fw_stream_drop(stream), FW_ERROR_ARGUMENT);
  EXPECT_TRUE(says("ended before"));
}

TEST(LibraryHandles, AFrameReleasedTwiceIsNoCrash) {
  SendingProgram sending(every);
  ReceivingProgram receiving(sending);
  ASSERT_EQ(sending.send(1), FW_OK);
  fw_frame* const frame = receiving.acquire();
  fw_frame_unref(frame);
  fw_frame_unref(frame);
  EXPECT_EQ(fw_frame_ref(frame), FW_ERROR_ARGUMENT);
  EXPECT_TRUE(says("this frame was ended before"));
  ASSERT_EQ(sending.send(2), FW_OK);  // in the same place of the table
  fw_frame* const next = receiving.acquire();
  fw_frame_unref(frame);
  EXPECT_TRUE(is_all(view_of(next), 2));
  fw_frame_unref(next);
}

/// While one thread after the other ends a reference, the others use the slot; then its place is another slot's.
TEST(LibraryHandles, ThreadsUseWhatOthersEnd) {
  SendingProgram sending;
  for (int round = 0; round < 50; ++round) {
    fw_slot* slot = nullptr;
    ASSERT_EQ(fw_stream_claim(sending.stream, timeout_ns, FW_CLAIM_UNWATCHED, &slot), FW_OK);
    constexpr int count = 4;
    for (int i = 1; i < count; ++i) {
      ASSERT_EQ(fw_slot_ref(slot), FW_OK);
    }
    std::atomic<int> published = 0;
    std::vector<std::thread> threads;
    for (int i = 0; i < count; ++i) {
      threads.emplace_back([&] {
        fw_view view;
        EXPECT_EQ(fw_slot_view(slot, &view, sizeof view), FW_OK);
        published += fw_slot_publish(slot, nullptr) == FW_OK ? 1 : 0;
        EXPECT_EQ(fw_slot_view(slot, &view, sizeof view), FW_OK);
        fw_slot_unref(slot);
        while (fw_slot_view(slot, &view, sizeof view) == FW_OK) {  // another thread has it still
        }
        EXPECT_TRUE(says("this slot was ended before"));
        fw_slot* next = nullptr;
        EXPECT_EQ(fw_stream_claim(sending.stream, timeout_ns, FW_CLAIM_UNWATCHED, &next), FW_OK);
        EXPECT_EQ(fw_slot_view(slot, &view, sizeof view), FW_ERROR_ARGUMENT);
        fw_slot_unref(next);
      });
    }
    for (std::thread& thread : threads) {
      thread.join();
    }
    EXPECT_EQ(published, 1);
  }
  fw_stream_counts counts{};
  ASSERT_EQ(fw_stream_get_counts(sending.stream, &counts, sizeof counts), FW_OK);
  EXPECT_EQ(counts.frames_published, 50U);
  EXPECT_EQ(counts.slots_in_use, 0U);
}

/// Slots of two formats have the same numbers in their pools.
TEST(LibraryHandles, SlotsOfTheFormatBeforeKeepTheirHandles) {
  SendingProgram sending(every, 2);
  std::vector<fw_slot*> before;
  std::vector<fw_slot*> after;
  const auto claim_all = [&](std::vector<fw_slot*>& slots, std::uint8_t value) {
    fw_slot* slot = nullptr;
    while (fw_stream_claim(sending.stream, 0, FW_CLAIM_UNWATCHED, &slot) == FW_OK) {
      SendingProgram::fill(slot, value);
      slots.push_back(slot);
    }
    EXPECT_TRUE(says("holds all"));
  };
  claim_all(before, 1);
  sending.begin(2, FW_PIXEL_GRAY8, 32, 32);
  claim_all(after, 2);
  ASSERT_EQ(before.size(), after.size());
  EXPECT_GT(before.size(), 3U);
  for (std::size_t i = 0; i < before.size(); ++i) {
    fw_view old_view{};
    fw_view new_view{};
    ASSERT_EQ(fw_slot_view(before[i], &old_view, sizeof old_view), FW_OK) << fw_message();
    ASSERT_EQ(fw_slot_view(after[i], &new_view, sizeof new_view), FW_OK) << fw_message();
    EXPECT_TRUE(old_view.width == 64 && is_all(old_view, 1));
    EXPECT_TRUE(new_view.width == 32 && is_all(new_view, 2));
    EXPECT_EQ(fw_slot_publish(before[i], nullptr), FW_CHANGED);
    EXPECT_EQ(fw_slot_publish(after[i], nullptr), FW_OK) << fw_message();
    fw_slot_unref(before[i]);
    EXPECT_EQ(fw_slot_view(before[i], &old_view, sizeof old_view), FW_ERROR_ARGUMENT);
    fw_slot_unref(after[i]);
  }
  fw_stream_counts counts{};
  ASSERT_EQ(fw_stream_get_counts(sending.stream, &counts, sizeof counts), FW_OK);
  EXPECT_EQ(counts.slots_in_use, 0U);
}

/// One thread gives slots and frames back, while others end what they are of.
TEST(LibraryHandles, WhatIsHeldEndsWhileItsOwnerDoes) {
  for (int round = 0; round < 30; ++round) {
    auto sending = std::make_unique<SendingProgram>(every, 2);
    auto receiving = std::make_unique<ReceivingProgram>(*sending);
    std::vector<fw_frame*> frames;
    std::vector<fw_slot*> slots(4);
    for (int value = 1; value <= 2; ++value) {
      ASSERT_EQ(sending->send(static_cast<std::uint8_t>(value)), FW_OK);
      frames.push_back(receiving->acquire());
    }
    for (fw_slot*& slot : slots) {
      ASSERT_EQ(fw_stream_claim(sending->stream, timeout_ns, FW_CLAIM_UNWATCHED, &slot), FW_OK) << fw_message();
    }
    ASSERT_EQ(fw_slot_publish(slots.front(), nullptr), FW_OK);
    std::atomic<int> ready = 0;
    const auto begin = [&] {
      for (++ready; ready < 3;) {
      }
    };
    std::thread giving_back([&] {
      begin();
      for (fw_slot* const slot : slots) {
        fw_view view{};
        EXPECT_EQ(fw_slot_view(slot, &view, sizeof view), FW_OK);
        fw_slot_unref(slot);
        EXPECT_EQ(fw_slot_view(slot, &view, sizeof view), FW_ERROR_ARGUMENT);
      }
      for (std::size_t i = 0; i < frames.size(); ++i) {
        EXPECT_TRUE(is_all(view_of(frames[i]), static_cast<std::uint8_t>(i + 1)));
        fw_frame_unref(frames[i]);
      }
    });
    std::thread ending_receiver([&] {
      begin();
      receiving.reset();
    });
    begin();
    sending.reset();
    ending_receiver.join();
    giving_back.join();
  }
}

TEST(LibraryHandles, ReferencesAreCounted) {
  SendingProgram sending(every);
  ReceivingProgram receiving(sending);
  ASSERT_EQ(sending.send(1), FW_OK);
  fw_frame* const frame = receiving.acquire();
  ASSERT_EQ(fw_frame_ref(frame), FW_OK);
  fw_frame_unref(frame);
  EXPECT_TRUE(is_all(view_of(frame), 1));
  fw_frame_unref(frame);
  EXPECT_EQ(fw_frame_check(frame), FW_ERROR_ARGUMENT);
}

}  // namespace framewire::test
