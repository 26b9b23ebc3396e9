// That a stream and its inbox hold no mutex while they wake sessions.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <functional>
#include <future>
#include <memory>
#include <thread>

#include "base/file_descriptor.hpp"
#include "tests/base/eventually.hpp"
#include "transport/source_inbox.hpp"
#include "transport/stream.hpp"

namespace framewire::test {
namespace {

const StreamFormat woken_format{.layout = bytes_layout(100), .colour = {}};

/// Stands for a session's event: who signals it waits until empty() is called.
class FullPipe {
 public:
  FullPipe() {
    std::array<int, 2> ends{};
    EXPECT_EQ(::pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK), 0);
    reads_ = FileDescriptor::from([&] { return ends[0]; });
    event = std::make_shared<const FileDescriptor>(FileDescriptor::from([&] { return ends[1]; }));
    const std::array<std::byte, 4096> page{};
    while (::write(event->get(), page.data(), page.size()) > 0) {
    }
    set_non_blocking(event->get(), false);
  }
  void empty() const {
    std::array<std::byte, 4096> page;
    while (::read(reads_.get(), page.data(), page.size()) > 0) {
    }
  }

  SharedEvent event;

 private:
  FileDescriptor reads_;
};

/// `has_happened` takes the mutex: it returns only if `act` does not hold it while it signals the pipe.
void expect_no_mutex_while_signalling(const FullPipe& pipe, const std::function<void()>& act,
                                      const std::function<bool()>& has_happened) {
  const auto acting = std::async(std::launch::async, act);
  const auto seen = std::async(std::launch::async, [&] {
    while (!has_happened()) {
      std::this_thread::yield();
    }
  });
  if (seen.wait_for(std::chrono::nanoseconds(timeout_ns)) != std::future_status::ready) {
    ADD_FAILURE() << "a session is woken under the mutex";
    std::_Exit(1);
  }
  pipe.empty();
}

TEST(WakingSessions, HappensWithTheMutexFreeAtTheEnd) {
  Stream stream({.name = "test", .allows_pull = true});
  const FullPipe pipe;
  ASSERT_TRUE(stream.add_puller(pipe.event));
  expect_no_mutex_while_signalling(
      pipe, [&] { stream.finish(); }, [&] { return stream.is_finished(); });
  stream.remove_puller(pipe.event);
}

TEST(WakingSessions, HappensWithTheMutexFreeWhenADeviceHasFinished) {
  Stream stream({.name = "test"});
  stream.begin_epoch(woken_format);
  const FullPipe pipe;
  ASSERT_TRUE(stream.add_puller(pipe.event));
  const auto filled = std::make_shared<Fence>();
  stream.publish(std::move(*stream.claim()), {.ready = filled});
  ASSERT_EQ(stream.slots_in_use(), 1U);
  expect_no_mutex_while_signalling(
      pipe, [&] { filled->finish(FenceState::done); }, [&] { return stream.slots_in_use() == 0; });
  stream.remove_puller(pipe.event);
}

TEST(WakingSessions, HappensWithTheMutexFreeForAMessage) {
  SourceInbox inbox;
  const FullPipe pipe;
  inbox.join(&pipe, pipe.event);
  expect_no_mutex_while_signalling(
      pipe, [&] { inbox.broadcast("{}"); }, [&] { return inbox.counts().messages_sent == 1; });
  inbox.leave(&pipe);
}

TEST(WakingSessions, KeepsTheEventOfOneThatHasEnded) {
  SharedEvent event = make_shared_event();
  const FileDescriptor same = duplicate(event->get());
  {
    EventList sessions;
    sessions.add(event);
    event.reset();
  }
  EXPECT_TRUE(clear_eventfd(same.get()));
}

}  // namespace
}  // namespace framewire::test
