// A program that forks: the child's handles are dead, and the parent does not notice.
#include <dirent.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <functional>
#include <initializer_list>
#include <memory>
#include <set>
#include <thread>

#include "base/file_descriptor.hpp"
#include "memory/available_memory.hpp"
#include "tests/base/held_port.hpp"
#include "tests/library/programs.hpp"
#include "transport/control/preamble.hpp"

namespace framewire::test {

namespace {

/// What the process has open, one line each: "7 socket:[1234]".
std::set<std::string> open_descriptors(pid_t process = ::getpid()) {
  std::set<std::string> open;
  const std::string path = "/proc/" + std::to_string(process) + "/fd";
  DIR* const folder = ::opendir(path.c_str());
  while (const dirent* const entry = ::readdir(folder)) {
    std::array<char, 256> target{};
    const std::string name = entry->d_name;
    const bool is_this = process == ::getpid() && name == std::to_string(::dirfd(folder));
    if (!is_this && ::readlink((path + "/" + name).c_str(), target.data(), target.size() - 1) > 0) {
      open.insert(name + " " + target.data());
    }
  }
  ::closedir(folder);
  return open;
}

/// Whether a child that is forked now has something of these kinds open that was not. The child only stops: another
/// thread may hold a lock of the allocator at that moment, which nobody would release there.
bool child_has_new(const std::set<std::string>& before, std::initializer_list<const char*> kinds) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::raise(SIGSTOP);
    ::_exit(0);
  }
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, WUNTRACED), child);
  EXPECT_TRUE(WIFSTOPPED(status));
  const bool has_new = std::ranges::any_of(open_descriptors(child), [&](const std::string& one) {
    const auto is_of = [&](const char* kind) { return one.find(kind) != std::string::npos; };
    return std::ranges::any_of(kinds, is_of) && !before.contains(one);
  });
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  return has_new;
}

/// A process that publishes one frame of so many pixels a side to one viewer. Killed at the end.
class SendingProcess {
 public:
  /// `ends`: a second frame is its last one, and it drains its sender for a minute.
  SendingProcess(std::uint16_t wanted_port, std::uint32_t side_pixels, bool ends = false) {
    int ready[2];
    EXPECT_EQ(::pipe(ready), 0);
    process_ = ::fork();
    if (process_ == 0) {
      SendingProgram sending(every, 0, "127.0.0.1", wanted_port);
      sending.begin(0, FW_PIXEL_GRAY8, side_pixels, side_pixels);
      [[maybe_unused]] const auto written = ::write(ready[1], &sending.port, sizeof sending.port);
      sending.send(1);
      if (ends) {
        fw_event none{};
        fw_stream_next_event(sending.stream, &none, sizeof none);  // so that it takes messages
        sending.send(2);
        fw_sender_drain(sending.sender, 60 * second_ns);
      }
      ::pause();
    }
    ::close(ready[1]);
    EXPECT_EQ(::read(ready[0], &port_, sizeof port_), static_cast<ssize_t>(sizeof port_));
    ::close(ready[0]);
  }
  void stop() const { ::kill(process_, SIGSTOP); }
  ~SendingProcess() {
    ::kill(process_, SIGKILL);
    ::waitpid(process_, nullptr, 0);
  }
  SendingProcess(const SendingProcess&) = delete;
  [[nodiscard]] std::uint16_t port() const noexcept { return port_; }

 private:
  pid_t process_ = -1;
  std::uint16_t port_ = 0;
};

}  // namespace

/// Each sender counts its formats from 1, and its receivers count on.
TEST(LibraryFork, TheNextSendersFormatIsToldByTheEpoch) {
  if (!children_may_start_threads()) {
    GTEST_SKIP() << "the thread sanitizer cannot follow this";
  }
  const HeldPort held;
  auto sending = std::make_unique<SendingProcess>(held.port(), 100);
  fw_receiver* receiver = nullptr;
  ASSERT_EQ(fw_receiver_create(("127.0.0.1:" + std::to_string(held.port())).c_str(), nullptr, &receiver), FW_OK);
  const auto next = [&] {
    fw_frame* frame = nullptr;
    EXPECT_EQ(fw_receiver_acquire(receiver, timeout_ns, &frame), FW_OK) << fw_message();
    const fw_view view = view_of(frame);
    fw_frame_unref(frame);
    return view;
  };
  const fw_view before = next();
  sending.reset();
  sending = std::make_unique<SendingProcess>(held.port(), 200);
  const fw_view after = next();
  EXPECT_EQ(before.width, 100U);
  EXPECT_EQ(after.width, 200U);
  EXPECT_EQ(after.epoch, before.epoch + 1);
  fw_receiver_destroy(receiver);
}

/// How long a receiver takes to tell the end of a stream whose sender is stopped once it has said goodbye.
void measure_end_of_stopped_sender(std::chrono::nanoseconds& took) {
  const SendingProcess sending(0, 100, true);
  fw_receiver* receiver = nullptr;
  fw_frame* frame = nullptr;
  const std::string address = "127.0.0.1:" + std::to_string(sending.port());
  ASSERT_EQ(fw_receiver_create(address.c_str(), SettingsOf(OptionList{{"transport", "tcp"}}).get(), &receiver), FW_OK);
  ASSERT_EQ(fw_receiver_acquire(receiver, timeout_ns, &frame), FW_OK) << fw_message();
  fw_frame_unref(frame);
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  // Until the second frame has come, and then the goodbye: nothing is sent behind that.
  for (fw_result sent = FW_OK; sent == FW_OK || sent == FW_ERROR_REFUSED; sent = fw_receiver_send(receiver, "{}")) {
    ASSERT_TRUE(std::chrono::steady_clock::now() < until) << "no goodbye comes";
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  sending.stop();
  const auto before = std::chrono::steady_clock::now();
  fw_result result = FW_NOTHING;
  while (result != FW_ENDED && std::chrono::steady_clock::now() < until) {
    result = fw_receiver_acquire(receiver, 0, &frame);
    fw_frame_unref(frame);
  }
  EXPECT_EQ(result, FW_ENDED) << fw_message();
  took = std::chrono::steady_clock::now() - before;
  fw_receiver_destroy(receiver);
}

/// To tell it that its frames are taken takes up to a second, in which a program with an event loop does not wait.
/// Where it waits, it does so each time.
TEST(LibraryFork, TheEndOfAStoppedSendersStreamIsToldAtOnce) {
  if (!children_may_start_threads()) {
    GTEST_SKIP() << "the thread sanitizer cannot follow this";
  }
  constexpr std::chrono::milliseconds longest(is_sanitized() ? 900 : 500);
  std::chrono::nanoseconds shortest = std::chrono::nanoseconds::max();
  for (int i = 0; i < 5 && shortest >= longest; ++i) {
    std::chrono::nanoseconds took{};
    ASSERT_NO_FATAL_FAILURE(measure_end_of_stopped_sender(took));
    shortest = std::min(shortest, took);
  }
  EXPECT_LT(shortest, longest);
}

TEST(LibraryFork, TheChildsHandlesAreDead) {
  SendingProgram sending(every, 2);
  ReceivingProgram receiving(sending);
  ASSERT_EQ(sending.send(1), FW_OK);
  fw_frame* const frame = receiving.acquire();
  fw_slot* slot = nullptr;
  ASSERT_EQ(fw_stream_claim(sending.stream, timeout_ns, 0, &slot), FW_OK);
  const fw_view view = view_of(frame);
  EXPECT_EQ(in_child([&] {
              fw_frame* none = nullptr;
              fw_slot* no_slot = nullptr;
              const bool are_dead = fw_receiver_acquire(receiving.receiver, FW_FOR_EVER, &none) == FW_ERROR_FORKED &&
                                    fw_stream_claim(sending.stream, FW_FOR_EVER, 0, &no_slot) == FW_ERROR_FORKED &&
                                    fw_frame_check(frame) == FW_ERROR_FORKED &&
                                    fw_slot_publish(slot, nullptr) == FW_ERROR_FORKED &&
                                    fw_sender_drain(sending.sender, 0) == FW_ERROR_FORKED;
              const bool is_said = std::string(fw_message()).find("forked") != std::string::npos;
              const bool is_readable = is_all(view, 1);
              fw_frame_unref(frame);
              fw_slot_unref(slot);
              fw_receiver_destroy(receiving.receiver);
              fw_sender_destroy(sending.sender);
              return are_dead && is_said && is_readable ? 0 : 1;
            }),
            0);
  SendingProgram::fill(slot, 2);  // the parent goes on
  EXPECT_EQ(fw_slot_publish(slot, nullptr), FW_OK) << fw_message();
  fw_slot_unref(slot);
  EXPECT_TRUE(is_all(view, 1));
  fw_frame_unref(frame);
  fw_frame* const next = receiving.acquire();
  EXPECT_TRUE(is_all(view_of(next), 2));
  fw_frame_unref(next);
}

TEST(LibraryFork, TheChildKeepsNoDescriptor) {
  const std::set<std::string> before = open_descriptors();
  SendingProgram sending(every);
  ReceivingProgram receiving(sending);
  ASSERT_EQ(sending.send(1), FW_OK);
  fw_frame* const frame = receiving.acquire();
  ASSERT_GT(open_descriptors().size(), before.size() + 5);
  EXPECT_EQ(in_child([&] {
              const std::set<std::string> open = open_descriptors();
              for (const std::string& one : open) {
                if (!before.contains(one)) {
                  std::fprintf(stderr, "the child has %s\n", one.c_str());
                }
              }
              return std::ranges::includes(before, open) ? 0 : 1;
            }),
            0);
  fw_frame_unref(frame);
}

/// Whenever the fork happens: while a thread of the program opens and closes connections, and the library's do.
TEST(LibraryFork, AChildThatIsForkedMeanwhileKeepsNoDescriptor) {
  const std::set<std::string> before = open_descriptors();
  SendingProgram sending;
  std::atomic<bool> is_over = false;
  std::thread connecting([&] {
    while (!is_over) {
      const ReceivingProgram receiving(sending);
      fw_frame* frame = nullptr;
      fw_receiver_acquire(receiving.receiver, 2'000'000, &frame);
    }
  });
  int children_with_some = 0;
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(2);
  while (std::chrono::steady_clock::now() < until) {
    children_with_some += child_has_new(before, {"socket", "memfd", "event"}) ? 1 : 0;
  }
  is_over = true;
  connecting.join();
  EXPECT_EQ(children_with_some, 0);
}

TEST(LibraryFork, NorOneThatIsOpenForAMoment) {
  const std::set<std::string> before = open_descriptors();
  const SendingProgram sending;  // from now on fork() waits for those who open descriptors
  std::array<int, 2> ends{};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()), 0);
  std::atomic<bool> is_over = false;
  std::thread identifying([&] {
    while (!is_over) {
      const MoreBytes more(ends[0]);
    }
  });
  std::thread measuring([&] {
    while (!is_over) {
      available_memory();
    }
  });
  int children_with_some = 0;
  for (int i = 0; i < 200; ++i) {
    children_with_some += child_has_new(before, {"event", "/proc/", "/sys/"}) ? 1 : 0;
  }
  is_over = true;
  identifying.join();
  measuring.join();
  ::close(ends[0]);
  ::close(ends[1]);
  EXPECT_EQ(children_with_some, 0);
}

/// A signal handler may fork wherever it interrupts its thread.
TEST(LibraryFork, AThreadMayForkWhileItOpensADescriptor) {
  const SendingProgram sending;  // from now on fork() waits for those who open descriptors
  const UnforkedSection section;
  EXPECT_EQ(in_child([] {
              fw_sender* sender = nullptr;
              fw_stream* stream = nullptr;
              const bool is_made = fw_sender_create(nullptr, &sender) == FW_OK &&
                                   fw_sender_add_stream(sender, "render", nullptr, &stream) == FW_OK;
              fw_sender_destroy(sender);
              return is_made ? 0 : 1;
            }),
            0);
}

TEST(LibraryFork, TheChildMayBeginAnew) {
  if (!children_may_start_threads()) {
    GTEST_SKIP() << "the thread sanitizer cannot follow this";
  }
  SendingProgram sending(every);
  ReceivingProgram receiving(sending);
  ASSERT_EQ(sending.send(1), FW_OK);
  fw_frame_unref(receiving.acquire());
  EXPECT_EQ(in_child([] {
              SendingProgram own(every);
              ReceivingProgram taking(own);
              if (own.send(9) != FW_OK) {
                return 1;
              }
              fw_frame* const frame = taking.acquire();
              const bool is_right = frame != nullptr && is_all(view_of(frame), 9);
              fw_frame_unref(frame);
              return is_right ? 0 : 2;
            }),
            0);
  ASSERT_EQ(sending.send(3), FW_OK);
  fw_frame_unref(receiving.acquire());
}

/// A viewer that holds every slot is killed, and its forked child lives on.
TEST(LibraryFork, SlotsOfAKilledViewerComeBackAlthoughItsChildLives) {
  if (!children_may_start_threads()) {
    GTEST_SKIP() << "the thread sanitizer cannot follow this";
  }
  SendingProgram sending(every);
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t viewer = ::fork();
  if (viewer == 0) {
    fw_receiver* receiver = nullptr;
    fw_frame* frame = nullptr;
    if (fw_receiver_create(sending.address().c_str(), nullptr, &receiver) != FW_OK) {
      ::_exit(1);
    }
    while (fw_receiver_acquire(receiver, timeout_ns, &frame) == FW_OK) {
    }
    const pid_t grandchild = ::fork();
    if (grandchild == 0) {
      ::pause();
      ::_exit(0);
    }
    [[maybe_unused]] const auto written = ::write(ready[1], &grandchild, sizeof grandchild);
    ::pause();
  }
  fw_result result = FW_OK;
  fw_slot* slot = nullptr;
  ASSERT_EQ(fw_stream_claim(sending.stream, timeout_ns, 0, &slot), FW_OK);  // it has come
  do {
    fw_slot_publish(slot, nullptr);
    fw_slot_unref(slot);
  } while ((result = fw_stream_claim(sending.stream, timeout_ns / 10, 0, &slot)) == FW_OK);
  EXPECT_EQ(result, FW_NOTHING);  // the viewer holds all it may
  pid_t grandchild = 0;
  ASSERT_EQ(::read(ready[0], &grandchild, sizeof grandchild), static_cast<ssize_t>(sizeof grandchild));
  fw_stream_counts counts{};
  ASSERT_EQ(fw_stream_get_counts(sending.stream, &counts, sizeof counts), FW_OK);
  EXPECT_GE(counts.slots_in_use, 3U);
  ::kill(viewer, SIGKILL);
  ::waitpid(viewer, nullptr, 0);
  // Who goes is missed far earlier than a silent viewer, after ten seconds: its sockets are closed.
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(4);
  do {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    ASSERT_EQ(fw_stream_get_counts(sending.stream, &counts, sizeof counts), FW_OK);
  } while ((counts.viewers > 0 || counts.slots_in_use > 0) && std::chrono::steady_clock::now() < until);
  EXPECT_EQ(counts.viewers, 0U);
  EXPECT_EQ(counts.slots_in_use, 0U);
  EXPECT_EQ(::kill(grandchild, 0), 0);  // it lives
  ::kill(grandchild, SIGKILL);
  ::close(ready[0]);
  ::close(ready[1]);
}

}  // namespace framewire::test
