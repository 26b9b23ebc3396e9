// Threads that get no memory at all, not even for the message of an error.
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/syscall.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/wait.hpp"
#include "tests/base/eventually.hpp"
#include "tests/base/logs.hpp"
#include "tests/base/temporary_folder.hpp"
#include "tests/data_path/heap_watch.hpp"
#include "transport/session/sender_service.hpp"
#include "transport/session/subscriber.hpp"
#include "transport/stream.hpp"

namespace framewire {
namespace {

using test::eventually;

/// Whether this process's thread of that name waits in ppoll().
bool waits_for_descriptors(const std::string& thread) {
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::string name;
    std::getline(std::ifstream(task.path() / "comm"), name);
    long call = -1;  // stays so while the thread runs: the file says "running"
    std::ifstream(task.path() / "syscall") >> call;
    if (name == thread) {
      return call == SYS_ppoll;
    }
  }
  return false;
}

class OutOfMemory : public testing::Test {
 protected:
  OutOfMemory() { ::setenv("XDG_CONFIG_HOME", folder_.path().c_str(), 1); }
  ~OutOfMemory() override { test::let_allocations_fail_in(nullptr); }

  static EndpointOptions dialling(std::uint16_t port) {
    EndpointOptions endpoint;
    endpoint.dial = HostPort{"127.0.0.1", port};
    return endpoint;
  }
  static SubscriberOptions subscribing(const EndpointOptions& endpoint) {
    return {.endpoint = endpoint, .stream = {}, .delivery = {}};
  }

  void expect_failure(const Subscriber& subscriber) {
    EXPECT_TRUE(eventually([&] { return subscriber.status().state == SubscriberState::failed; }));
    EXPECT_EQ(subscriber.status().message, "out of memory");
    EXPECT_EQ(subscriber.status().exit_status, ExitStatus::failed);
  }

  test::TemporaryFolder folder_;
  test::ShownLog log_;
  Stream stream_{StreamOptions{.name = "test"}};
};

TEST_F(OutOfMemory, ASubscriberThatDialsFails) {
  test::let_allocations_fail_in("fw-subscriber");
  const Subscriber subscriber(subscribing(dialling(1)), log_);
  expect_failure(subscriber);
}

TEST_F(OutOfMemory, ASubscriberThatLosesItsSessionFails) {
  EndpointOptions listening;
  listening.listen = HostPort{"127.0.0.1", 0};
  stream_.begin_epoch({.layout = bytes_layout(100), .colour = {}});
  auto service = std::make_unique<SenderService>(listening, std::vector<Stream*>{&stream_}, "test", log_);
  Subscriber subscriber(subscribing(dialling(service->port())), log_);
  // Until a frame arrives the thread writes messages. nlohmann's destructor of a message takes memory, and ends the
  // program if there is none.
  ASSERT_TRUE(eventually([&] {
    if (auto slot = stream_.claim_now()) {
      stream_.publish(std::move(*slot), {});
    }
    return subscriber.next().has_value();
  }));
  ASSERT_TRUE(eventually([] { return waits_for_descriptors("fw-subscriber"); }));
  test::let_allocations_fail_in("fw-subscriber");
  service.reset();
  expect_failure(subscriber);
}

TEST_F(OutOfMemory, ASenderThatDialsTriesAgain) {
  EndpointOptions listening;
  listening.listen = HostPort{"127.0.0.1", 0};
  const Subscriber subscriber(subscribing(listening), log_);
  test::let_allocations_fail_in("fw-dial");
  const SenderService service(dialling(subscriber.port()), {&stream_}, "test", log_);
  EXPECT_TRUE(eventually([] { return test::failed_allocations() > 0; }));
  test::let_allocations_fail_in(nullptr);
  EXPECT_TRUE(eventually([&] { return subscriber.status().state == SubscriberState::connected; }));
}

/// The session's thread that returns the last slot of an old epoch frees its memory. That takes no memory.
TEST_F(OutOfMemory, TheLastSlotOfAnOldEpochIsTakenBack) {
  stream_.begin_epoch({.layout = bytes_layout(100), .colour = {}}, 0, 1);
  auto slot = stream_.claim_spare();
  ASSERT_TRUE(slot);
  const std::weak_ptr<HostBlock> old_memory = slot->host_block();
  stream_.begin_epoch({.layout = bytes_layout(200), .colour = {}});
  EXPECT_FALSE(old_memory.expired());
  std::thread([&] {
    set_thread_name("fw-poor");
    test::let_allocations_fail_in("fw-poor");
    slot.reset();
    test::let_allocations_fail_in(nullptr);
  }).join();
  EXPECT_TRUE(old_memory.expired());
}

}  // namespace
}  // namespace framewire
