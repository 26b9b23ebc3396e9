// Frames: held, all held, and what becomes of them when a receiver, a sender or a stream ends. Over every link; over
// rdma where there is a device.
#include <unistd.h>

#include <array>
#include <atomic>
#include <thread>

#include "tests/library/programs.hpp"

namespace framewire::test {

class LibraryFrames : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (is_rdma_ && rdma_address().empty()) {
      GTEST_SKIP() << "there is no RDMA device";
    }
  }

  const bool is_rdma_ = std::string(GetParam()) == "rdma";
  SendingProgram sending_{every, 0, is_rdma_ && !rdma_address().empty() ? rdma_address() : "127.0.0.1"};
  OptionList over_this_link_{{"transport", GetParam()}, {"insecure", "yes"}};
};

TEST_P(LibraryFrames, CarryWhatWasPublished) {
  ReceivingProgram receiving(sending_, over_this_link_);
  ASSERT_EQ(sending_.send(42), FW_OK);
  fw_frame* const frame = receiving.acquire();
  const fw_view view = view_of(frame);
  EXPECT_EQ(view.memory, FW_MEMORY_HOST);
  EXPECT_EQ(view.flags, FW_VIEW_READ_ONLY);
  EXPECT_EQ(view.width, 64U);
  EXPECT_EQ(view.height, 48U);
  EXPECT_EQ(view.tag, 42U);
  EXPECT_EQ(view.pts_ns, 42'000);
  EXPECT_EQ(view.epoch, 1U);
  EXPECT_GE(view.received_ns, view.completed_ns);
  EXPECT_GE(view.completed_ns, view.begun_ns);
  EXPECT_EQ(view.plane[0].data, view.data);
  EXPECT_TRUE(is_all(view, 42));
  std::int32_t state = -1;
  std::array<char, 512> text{};
  ASSERT_EQ(fw_receiver_state(receiving.receiver, &state, text.data(), text.size()), FW_OK);
  EXPECT_EQ(state, FW_STATE_CONNECTED);
  EXPECT_NE(std::string(text.data()).find(std::string("transport=") + GetParam()), std::string::npos) << text.data();
  fw_frame_unref(frame);
}

TEST_P(LibraryFrames, OutliveTheirReceiver) {
  fw_frame* frame = nullptr;
  {
    ReceivingProgram receiving(sending_, over_this_link_);
    ASSERT_EQ(sending_.send(5), FW_OK);
    frame = receiving.acquire();
  }
  const fw_view view = view_of(frame);
  for (std::uint8_t i = 0; i < 100; ++i) {  // through every slot of the sender
    ASSERT_EQ(sending_.send(200, FW_CLAIM_UNWATCHED), FW_OK);
  }
  EXPECT_EQ(fw_frame_check(frame), FW_OK);
  EXPECT_TRUE(is_all(view, 5));
  fw_frame_unref(frame);
}

TEST_P(LibraryFrames, WhoHoldsEveryOneIsTold) {
  ReceivingProgram receiving(sending_, over_this_link_);
  std::vector<fw_frame*> held;
  std::atomic<bool> is_over = false;
  std::thread source([&] {
    while (!is_over) {
      fw_slot* slot = nullptr;
      if (fw_stream_claim(sending_.stream, second_ns / 100, 0, &slot) == FW_OK) {
        fw_slot_publish(slot, nullptr);
        fw_slot_unref(slot);
      }
    }
  });
  fw_frame* frame = nullptr;
  fw_result result = FW_OK;
  while ((result = fw_receiver_acquire(receiving.receiver, FW_FOR_EVER, &frame)) == FW_OK) {
    held.push_back(frame);
  }
  EXPECT_EQ(result, FW_ERROR_ALL_HELD);
  EXPECT_TRUE(says("holds all"));
  fw_receiver_counts counts{};
  ASSERT_EQ(fw_receiver_get_counts(receiving.receiver, &counts, sizeof counts), FW_OK);
  EXPECT_EQ(counts.frames_held, held.size());
  EXPECT_EQ(counts.slots, held.size());
  fw_frame_unref(held.back());
  held.pop_back();
  held.push_back(receiving.acquire());
  for (fw_frame* const one : held) {
    fw_frame_unref(one);
  }
  is_over = true;
  source.join();
}

TEST_P(LibraryFrames, EndWithTheirStream) {
  ReceivingProgram receiving(sending_, over_this_link_);
  ASSERT_EQ(sending_.send(1), FW_OK);
  ASSERT_EQ(sending_.send(2), FW_OK);
  fw_frame* const held = receiving.acquire();
  std::thread drained([&] { EXPECT_EQ(fw_sender_drain(sending_.sender, timeout_ns), FW_OK) << fw_message(); });
  fw_frame_unref(receiving.acquire());
  fw_frame* frame = nullptr;
  EXPECT_EQ(fw_receiver_acquire(receiving.receiver, timeout_ns, &frame), FW_ENDED) << fw_message();
  drained.join();  // the receiver still exists, and has a frame
  EXPECT_EQ(fw_receiver_acquire(receiving.receiver, 0, &frame), FW_ENDED);
  EXPECT_TRUE(is_all(view_of(held), 1));
  EXPECT_EQ(fw_frame_check(held), FW_OK);
  fw_frame_unref(held);
}

TEST_P(LibraryFrames, OfACutSessionAreToldFromWholeOnes) {
  ReceivingProgram receiving(sending_, over_this_link_);
  ASSERT_EQ(sending_.send(1), FW_OK);
  ASSERT_EQ(sending_.send(2), FW_OK);  // is not taken: else the session would end in order
  fw_frame* const held = receiving.acquire();
  EXPECT_EQ(fw_frame_check(held), FW_OK);
  fw_sender_destroy(sending_.sender);
  EXPECT_EQ(fw_frame_check(held), std::string(GetParam()) == "local" ? FW_CHANGED : FW_OK);
  fw_frame_unref(held);
}

TEST_P(LibraryFrames, DestroyEndsAWait) {
  ReceivingProgram receiving(sending_, over_this_link_);
  const Waiting waiting([&] {
    fw_frame* frame = nullptr;
    EXPECT_EQ(fw_receiver_acquire(receiving.receiver, FW_FOR_EVER, &frame), FW_ERROR_STATE);
    EXPECT_TRUE(says("the receiver was destroyed"));
  });
  fw_receiver_destroy(receiving.receiver);
}

TEST_P(LibraryFrames, WakeEndsOneWait) {
  ReceivingProgram receiving(sending_, over_this_link_);
  fw_frame* frame = nullptr;
  std::thread waking([&] { EXPECT_EQ(fw_receiver_wake(receiving.receiver), FW_OK); });
  EXPECT_EQ(fw_receiver_acquire(receiving.receiver, FW_FOR_EVER, &frame), FW_WOKEN);
  waking.join();
  EXPECT_EQ(fw_receiver_acquire(receiving.receiver, 1'000'000, &frame), FW_NOTHING);
}

INSTANTIATE_TEST_SUITE_P(OverEachLink, LibraryFrames, ::testing::Values("local", "tcp", "rdma"),
                         [](const auto& link) { return std::string(link.param); });

TEST(LibraryReceivers, OneThatGivesUpSaysWhy) {
  fw_receiver* receiver = nullptr;
  ASSERT_EQ(fw_receiver_create("127.0.0.1:1", SettingsOf(OptionList{{"retry", "50ms"}}).get(), &receiver), FW_OK)
      << fw_message();
  fw_frame* frame = nullptr;
  EXPECT_EQ(fw_receiver_acquire(receiver, timeout_ns, &frame), FW_ERROR_LOST);
  EXPECT_TRUE(says("127.0.0.1:1"));
  std::int32_t state = -1;
  EXPECT_EQ(fw_receiver_state(receiver, &state, nullptr, 0), FW_OK);
  EXPECT_EQ(state, FW_STATE_FAILED);
  EXPECT_EQ(fw_receiver_acquire(receiver, 0, &frame), FW_ERROR_LOST);
  fw_receiver_destroy(receiver);
}

TEST(LibraryReceivers, OneThatDialsHasNoPort) {
  SendingProgram sending;
  ReceivingProgram receiving(sending);
  std::uint16_t port = 1;
  EXPECT_EQ(fw_receiver_port(receiving.receiver, &port), FW_OK);
  EXPECT_EQ(port, 0);
  EXPECT_EQ(fw_receiver_port(receiving.receiver, nullptr), FW_ERROR_ARGUMENT);
  EXPECT_TRUE(says("port is NULL"));
}

TEST(LibraryReceivers, AStreamThatIsNotThereIsRefused) {
  SendingProgram sending;
  fw_receiver* receiver = nullptr;
  const std::string source = "127.0.0.1:" + std::to_string(sending.port) + "/camera";
  ASSERT_EQ(fw_receiver_create(source.c_str(), nullptr, &receiver), FW_OK);
  fw_frame* frame = nullptr;
  EXPECT_EQ(fw_receiver_acquire(receiver, timeout_ns, &frame), FW_ERROR_REFUSED);
  EXPECT_TRUE(says("camera"));
  EXPECT_TRUE(says("render"));
  fw_receiver_destroy(receiver);
}

TEST(LibraryReceivers, ASenderMayDial) {
  fw_receiver* receiver = nullptr;
  fw_sender* sender = nullptr;
  fw_stream* stream = nullptr;
  std::uint16_t port = 0;
  ASSERT_EQ(fw_receiver_create(nullptr, SettingsOf(OptionList{{"listen", "127.0.0.1:0"}}).get(), &receiver), FW_OK)
      << fw_message();
  ASSERT_EQ(fw_receiver_port(receiver, &port), FW_OK);
  const std::string to = "127.0.0.1:" + std::to_string(port);
  ASSERT_EQ(fw_sender_create(SettingsOf(OptionList{{"to", to}}).get(), &sender), FW_OK) << fw_message();
  std::uint16_t no_port = 1;
  EXPECT_EQ(fw_sender_port(sender, &no_port), FW_ERROR_STATE);
  ASSERT_EQ(fw_sender_add_stream(sender, "render", nullptr, &stream), FW_OK);
  ASSERT_EQ(fw_sender_start(sender), FW_OK) << fw_message();
  fw_format format{};
  fw_format_init(&format, sizeof format, FW_PIXEL_GRAY8, 8, 8);
  ASSERT_EQ(fw_stream_begin(stream, &format, 0, nullptr), FW_OK);
  fw_slot* slot = nullptr;
  ASSERT_EQ(fw_stream_claim(stream, timeout_ns, 0, &slot), FW_OK) << fw_message();
  EXPECT_EQ(fw_slot_publish(slot, nullptr), FW_OK);
  fw_slot_unref(slot);
  fw_frame* frame = nullptr;
  EXPECT_EQ(fw_receiver_acquire(receiver, timeout_ns, &frame), FW_OK) << fw_message();
  fw_frame_unref(frame);
  fw_sender_destroy(sender);
  fw_receiver_destroy(receiver);
}

}  // namespace framewire::test
