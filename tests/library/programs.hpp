// A sending and a receiving program, as the tests of the C interface need them.
#pragma once

#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "library/include/framewire/framewire.h"

namespace framewire::test {

constexpr std::int64_t second_ns = 1'000'000'000;
/// For what comes soon; only a failing test waits so long.
constexpr std::int64_t timeout_ns = 20 * second_ns;

using OptionList = std::vector<std::pair<std::string, std::string>>;

/// Of a stream whose frames all arrive.
inline const OptionList every{{"delivery", "every"}};

/// fw_settings with memory of its own.
class SettingsOf {
 public:
  explicit SettingsOf(OptionList options) : list_(std::move(options)) {
    for (const auto& [name, value] : list_) {
      options_.push_back({name.c_str(), value.c_str()});
    }
    settings_ = {sizeof settings_, options_.data(), options_.size(), nullptr, nullptr};
  }
  SettingsOf(const SettingsOf&) = delete;
  [[nodiscard]] fw_settings* get() noexcept { return &settings_; }

 private:
  OptionList list_;
  std::vector<fw_option> options_;
  fw_settings settings_{};
};

/// Where senders of these tests listen: in the lab the address of an RDMA device, if a test asks for it.
inline std::string rdma_address() {
  const char* const address = std::getenv("FRAMEWIRE_LAB_ADDRESS");
  return address != nullptr ? address : "";
}

/// A sender on a free port of this machine with one stream, "render", of small pictures.
class SendingProgram {
 public:
  explicit SendingProgram(OptionList of_stream = {}, std::uint32_t kept_slots = 0, std::string host = "127.0.0.1",
                          std::uint16_t wanted_port = 0)
      : host_(std::move(host)) {
    OptionList of_sender{{"listen", host_ + ":" + std::to_string(wanted_port)}, {"insecure", "yes"}};
    EXPECT_EQ(fw_sender_create(SettingsOf(std::move(of_sender)).get(), &sender), FW_OK) << fw_message();
    EXPECT_EQ(fw_sender_add_stream(sender, "render", SettingsOf(std::move(of_stream)).get(), &stream), FW_OK)
        << fw_message();
    EXPECT_EQ(fw_sender_start(sender), FW_OK) << fw_message();
    EXPECT_EQ(fw_sender_port(sender, &port), FW_OK);
    begin(kept_slots);
  }
  ~SendingProgram() { fw_sender_destroy(sender); }
  SendingProgram(const SendingProgram&) = delete;

  std::uint32_t begin(std::uint32_t kept_slots = 0, std::int32_t pixel_format = FW_PIXEL_RGBA, std::uint32_t width = 64,
                      std::uint32_t height = 48) {
    fw_format format{};
    std::uint32_t epoch = 0;
    EXPECT_EQ(fw_format_init(&format, sizeof format, pixel_format, width, height), FW_OK) << fw_message();
    EXPECT_EQ(fw_stream_begin(stream, &format, kept_slots, &epoch), FW_OK) << fw_message();
    return epoch;
  }
  [[nodiscard]] std::string address() const { return host_ + ":" + std::to_string(port) + "/render"; }

  /// Publishes a frame whose bytes are all `value`, and whose tag it is.
  fw_result send(std::uint8_t value, std::uint32_t flags = 0) {
    fw_slot* slot = nullptr;
    if (const fw_result claimed = fw_stream_claim(stream, timeout_ns, flags, &slot); claimed != FW_OK) {
      return claimed;
    }
    fill(slot, value);
    const fw_frame_info info{sizeof info, value * 1000, value, 0, 0};
    const fw_result published = fw_slot_publish(slot, &info);
    fw_slot_unref(slot);
    return published;
  }
  static void fill(fw_slot* slot, std::uint8_t value) {
    fw_view view{};
    ASSERT_EQ(fw_slot_view(slot, &view, sizeof view), FW_OK) << fw_message();
    std::fill_n(static_cast<std::uint8_t*>(view.data), view.size_bytes, value);
  }

  fw_sender* sender = nullptr;
  fw_stream* stream = nullptr;
  std::uint16_t port = 0;

 private:
  std::string host_;
};

class ReceivingProgram {
 public:
  explicit ReceivingProgram(const SendingProgram& from, OptionList options = {}) {
    EXPECT_EQ(fw_receiver_create(from.address().c_str(), SettingsOf(std::move(options)).get(), &receiver), FW_OK)
        << fw_message();
  }
  ~ReceivingProgram() { fw_receiver_destroy(receiver); }
  ReceivingProgram(const ReceivingProgram&) = delete;

  /// The next frame; null after a failure.
  [[nodiscard]] fw_frame* acquire() {
    fw_frame* frame = nullptr;
    EXPECT_EQ(fw_receiver_acquire(receiver, timeout_ns, &frame), FW_OK) << fw_message();
    return frame;
  }

  fw_receiver* receiver = nullptr;
};

inline fw_view view_of(fw_frame* frame) {
  fw_view view{};
  EXPECT_EQ(fw_frame_view(frame, &view, sizeof view), FW_OK) << fw_message();
  return view;
}

/// Whether all bytes of the frame are `value`.
inline bool is_all(const fw_view& view, std::uint8_t value) {
  const auto* const bytes = static_cast<const std::uint8_t*>(view.data);
  return std::all_of(bytes, bytes + view.size_bytes, [&](std::uint8_t byte) { return byte == value; });
}

/// A thread that is in a call, and asleep there, once it is made. Joined at the end.
class Waiting {
 public:
  explicit Waiting(std::function<void()> call)
      : thread_([this, call = std::move(call)] {
          number_ = ::gettid();
          call();
          has_returned_ = true;
        }) {
    while (!has_returned_ && !is_asleep()) {
      std::this_thread::yield();
    }
    EXPECT_FALSE(has_returned_) << "the call did not wait";
  }
  ~Waiting() { thread_.join(); }
  Waiting(const Waiting&) = delete;

 private:
  /// What follows the name in parentheses is the thread's state.
  [[nodiscard]] bool is_asleep() const {
    std::ifstream file("/proc/self/task/" + std::to_string(number_.load()) + "/stat");
    std::string stat;
    std::getline(file, stat);
    const std::size_t name_end = stat.rfind(')');
    return number_ != 0 && name_end != std::string::npos && stat.compare(name_end, 3, ") S") == 0;
  }

  std::atomic<int> number_ = 0;
  std::atomic<bool> has_returned_ = false;
  std::thread thread_;  // the last member: it uses the others
};

/// Runs `body` in a child, which ends without destructors. Returns its exit status; 255 after a signal. A child that
/// hangs is ended before ctest ends the test, after 120 s. `body` executes no other program: that would be ended, too.
inline int in_child(const std::function<int()>& body) {
  constexpr unsigned longest_s = 60;
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(longest_s);
    ::_exit(body());
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM) {
    ADD_FAILURE() << "the child hung, and was ended after " << longest_s << " s";
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 255;
}

/// Sanitizers make programs several times slower, and map memory of their own whenever they like.
constexpr bool is_sanitized() noexcept {
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
  return true;
#endif
#endif
  return false;
}

/// The thread sanitizer ends children that start threads.
constexpr bool children_may_start_threads() noexcept {
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
  return false;
#endif
#endif
  return true;
}

/// The message of the last error contains this.
inline ::testing::AssertionResult says(const std::string& text) {
  const std::string message = fw_message();
  return message.find(text) != std::string::npos ? ::testing::AssertionSuccess()
                                                 : ::testing::AssertionFailure() << "it says: " << message;
}

}  // namespace framewire::test
