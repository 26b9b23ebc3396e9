// Calls out of order, from two threads at once, and with wrong arguments.
#include <pthread.h>

#include <atomic>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <map>
#include <thread>

#include "tests/library/programs.hpp"

namespace framewire::test {

TEST(LibraryMisuse, CallsOutOfOrderAreNamed) {
  fw_sender* sender = nullptr;
  fw_stream* stream = nullptr;
  fw_slot* slot = nullptr;
  std::uint16_t port = 0;
  ASSERT_EQ(fw_sender_create(SettingsOf(OptionList{{"listen", "127.0.0.1:0"}}).get(), &sender), FW_OK);
  EXPECT_EQ(fw_sender_start(sender), FW_ERROR_STATE);
  EXPECT_TRUE(says("fw_sender_add_stream() first"));
  EXPECT_EQ(fw_sender_port(sender, &port), FW_ERROR_STATE);
  EXPECT_TRUE(says("fw_sender_start() first"));
  ASSERT_EQ(fw_sender_add_stream(sender, "a", nullptr, &stream), FW_OK);
  fw_stream* second = nullptr;
  EXPECT_EQ(fw_sender_add_stream(sender, "a", nullptr, &second), FW_ERROR_ARGUMENT);
  EXPECT_TRUE(says("already"));
  EXPECT_EQ(fw_stream_claim(stream, FW_FOR_EVER, 0, &slot), FW_ERROR_STATE);
  EXPECT_TRUE(says("fw_stream_begin() first"));
  ASSERT_EQ(fw_sender_start(sender), FW_OK) << fw_message();
  EXPECT_EQ(fw_sender_start(sender), FW_ERROR_STATE);
  EXPECT_EQ(fw_sender_add_stream(sender, "b", nullptr, &second), FW_ERROR_STATE);
  EXPECT_EQ(fw_sender_drain(sender, 0), FW_OK) << "there is no viewer to be cut";
  EXPECT_EQ(fw_sender_start(sender), FW_ERROR_STATE);
  EXPECT_TRUE(says("was drained"));
  EXPECT_EQ(fw_sender_add_stream(sender, "b", nullptr, &second), FW_ERROR_STATE);
  EXPECT_TRUE(says("was drained"));
  fw_format format{};
  fw_format_init(&format, sizeof format, FW_PIXEL_RGBA, 4, 4);
  EXPECT_EQ(fw_stream_begin(stream, &format, 0, nullptr), FW_ERROR_STATE);
  EXPECT_TRUE(says("has ended"));
  fw_sender_destroy(sender);
}

TEST(LibraryMisuse, WrongArgumentsAreNamed) {
  SendingProgram sending;
  fw_slot* slot = nullptr;
  EXPECT_EQ(fw_stream_claim(sending.stream, 0, 4, &slot), FW_ERROR_ARGUMENT);
  EXPECT_TRUE(says("flags is 4"));
  EXPECT_EQ(fw_stream_claim(sending.stream, 0, 0, nullptr), FW_ERROR_ARGUMENT);
  EXPECT_TRUE(says("slot is NULL"));
  fw_format format{};
  fw_format_init(&format, sizeof format, FW_PIXEL_RGBA, 4, 4);
  EXPECT_EQ(fw_stream_begin(sending.stream, &format, 25, nullptr), FW_ERROR_ARGUMENT);
  EXPECT_TRUE(says("kept_slots is 25"));
  fw_view view{};
  ASSERT_EQ(fw_stream_claim(sending.stream, 0, FW_CLAIM_UNWATCHED, &slot), FW_OK);
  EXPECT_EQ(fw_slot_view(slot, nullptr, sizeof view), FW_ERROR_ARGUMENT);
  EXPECT_EQ(fw_slot_view(slot, &view, 3), FW_ERROR_ARGUMENT);
  fw_frame_info info{};
  EXPECT_EQ(fw_slot_publish(slot, &info), FW_ERROR_ARGUMENT);
  EXPECT_TRUE(says("struct_size"));
  info.struct_size = sizeof info;
  info.size_bytes = 1;
  EXPECT_EQ(fw_slot_publish(slot, &info), FW_ERROR_ARGUMENT);
  EXPECT_TRUE(says("FW_PIXEL_BYTES alone"));
  EXPECT_EQ(fw_slot_publish(slot, nullptr), FW_OK) << "the slot is still the caller's: " << fw_message();
  EXPECT_EQ(fw_slot_publish(slot, nullptr), FW_ERROR_STATE);
  EXPECT_TRUE(says("was published before"));
  fw_slot_unref(slot);
}

TEST(LibraryMisuse, TwoThreadsAtOnceAreAnError) {
  SendingProgram sending;
  ReceivingProgram receiving(sending);
  std::thread waiting([&] {
    fw_frame* frame = nullptr;
    EXPECT_EQ(fw_receiver_acquire(receiving.receiver, FW_FOR_EVER, &frame), FW_WOKEN);
  });
  fw_frame* frame = nullptr;
  fw_result result = FW_NOTHING;
  while ((result = fw_receiver_acquire(receiving.receiver, 0, &frame)) == FW_NOTHING) {
    std::this_thread::yield();  // the other thread has not begun
  }
  EXPECT_EQ(result, FW_ERROR_STATE);
  EXPECT_TRUE(says("another thread"));
  while (fw_receiver_wake(receiving.receiver) == FW_OK && waiting.joinable()) {
    waiting.join();
  }
}

TEST(LibraryMisuse, ASignalDoesNotEndAWait) {
  static std::atomic<int> handled = 0;
  struct sigaction action {};
  struct sigaction before {};
  action.sa_handler = [](int) { ++handled; };
  sigaction(SIGUSR1, &action, &before);
  SendingProgram sending(every);
  ReceivingProgram receiving(sending);
  std::atomic<bool> is_over = false;
  const pthread_t here = ::pthread_self();
  std::thread disturbing([&] {
    while (!is_over) {
      ::pthread_kill(here, SIGUSR1);
      std::this_thread::yield();
    }
  });
  while (handled == 0) {
    std::this_thread::yield();
  }
  fw_slot* slot = nullptr;
  fw_frame* frame = nullptr;
  EXPECT_EQ(fw_receiver_acquire(receiving.receiver, second_ns / 10, &frame), FW_NOTHING);
  EXPECT_EQ(fw_stream_claim(sending.stream, timeout_ns, 0, &slot), FW_OK);
  EXPECT_EQ(fw_slot_publish(slot, nullptr), FW_OK);
  fw_slot_unref(slot);
  EXPECT_EQ(fw_receiver_acquire(receiving.receiver, timeout_ns, &frame), FW_OK);
  fw_frame_unref(frame);
  is_over = true;
  disturbing.join();
  EXPECT_GT(handled, 0);
  sigaction(SIGUSR1, &before, nullptr);
}

/// Which signals each of the library's threads blocks, by its name: the mask as the kernel prints it.
std::map<std::string, std::string> masks_of_threads() {
  std::map<std::string, std::string> masks;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream status(task.path() / "status");
    std::string name;
    for (std::string line; std::getline(status, line);) {
      if (line.starts_with("Name:\t")) {
        name = line.substr(6);
      } else if (line.starts_with("SigBlk:\t") && name.starts_with("fw-")) {
        masks[name] = line.substr(8);
      }
    }
  }
  return masks;
}

TEST(LibraryMisuse, ThreadsOfTheLibraryTakeNoSignals) {
  sigset_t before;
  sigset_t after;
  ::pthread_sigmask(SIG_SETMASK, nullptr, &before);
  SendingProgram sending;
  ReceivingProgram receiving(sending);
  ::pthread_sigmask(SIG_SETMASK, nullptr, &after);
  ASSERT_EQ(sending.send(1), FW_OK);
  fw_frame_unref(receiving.acquire());
  const auto masks = masks_of_threads();
  EXPECT_GE(masks.size(), 2U);
  for (const auto& [name, mask] : masks) {
    // All but KILL and STOP, and the two of the C library, which a thread that begins or ends blocks, too.
    constexpr std::uint64_t wanted = 0xfffffffe7ffbfeff;
    EXPECT_EQ(std::stoull(mask, nullptr, 16) & wanted, wanted) << name << ' ' << mask;
  }
  for (int signal = 1; signal < 32; ++signal) {
    EXPECT_EQ(sigismember(&before, signal), sigismember(&after, signal)) << signal;
  }
}

}  // namespace framewire::test
