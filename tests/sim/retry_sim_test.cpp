// Ends without a peer, in simulated time: how often they try, and when they give up. A seed decides everything;
// FRAMEWIRE_SEED repeats one run.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <thread>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "tests/base/logs.hpp"
#include "tests/base/temporary_folder.hpp"
#include "tests/sim/descriptors.hpp"
#include "tests/sim/plan.hpp"
#include "tests/sim/sockets.hpp"
#include "tests/sim/world.hpp"
#include "transport/session/sender_service.hpp"
#include "transport/session/subscriber.hpp"
#include "transport/stream.hpp"

namespace framewire::sim {
namespace {

/// The longest pause of a viewer between two dials, and of a sender.
constexpr std::int64_t viewer_pause_ns = 200 * ns_per_ms;
constexpr std::int64_t sender_pause_ns = 250 * ns_per_ms;

EndpointOptions open_endpoint() {
  EndpointOptions endpoint;
  endpoint.allowed_links = {LinkKind::tcp};
  endpoint.insecure = true;
  return endpoint;
}

SubscriberOptions viewer_options(bool listens, std::int64_t retry_ns) {
  SubscriberOptions options;
  options.endpoint = open_endpoint();
  (listens ? options.endpoint.listen : options.endpoint.dial) = HostPort{"127.0.0.1", first_port};
  options.retry_ns = retry_ns;
  return options;
}

/// The program of a sender that dies without a word, in a process of its own.
class DyingSender {
 public:
  DyingSender(World& world, bool has_frames, std::int64_t lives_ns, Log& log)
      : world_(world), thread_([this, has_frames, lives_ns, &log] { run(has_frames, lives_ns, log); }) {}
  /// It lives again, to take its program down.
  ~DyingSender() {
    world_.continue_process(process_);
    thread_.join();
  }
  DyingSender(const DyingSender&) = delete;
  DyingSender& operator=(const DyingSender&) = delete;

 private:
  void run(bool has_frames, std::int64_t lives_ns, Log& log) {
    process_ = world_.begin_process();
    Stream stream(StreamOptions{.name = "test"});
    stream.begin_epoch({.layout = bytes_layout(1000), .colour = {}});
    EndpointOptions endpoint = open_endpoint();
    endpoint.listen = HostPort{"127.0.0.1", first_port};
    SenderService service(endpoint, {&stream}, "test", log);
    if (has_frames) {
      stream.publish(*stream.claim(), {});  // waits for the viewer
    }
    std::this_thread::sleep_for(std::chrono::nanoseconds(lives_ns));
    descriptors().kill(world_, process_);
    world_.stop_process(process_, INT64_MAX);
    stream.finish();
  }

  World& world_;
  int process_ = 0;
  std::thread thread_;
};

/// How long after `since_ns` the viewer gives up, which must be for want of a sender.
std::int64_t gives_up_after_ns(Subscriber& viewer, std::int64_t since_ns) {
  while (viewer.status().state != SubscriberState::failed) {
    viewer.wait(monotonic_ns() + 5 * ns_per_s, WaitMode::block);
  }
  EXPECT_EQ(viewer.status().exit_status, ExitStatus::lost_peer);
  EXPECT_FALSE(viewer.status().message.empty());
  return monotonic_ns() - since_ns;
}

std::int64_t random_retry_ns(World& world) {
  return world.chance(20) ? 0 : static_cast<std::int64_t>(world.below(3 * ns_per_s));
}

void viewer_alone(World& world) {
  const bool listens = world.chance(50);
  const std::int64_t retry_ns = random_retry_ns(world);
  test::KeptLog log;
  const std::int64_t begun_ns = monotonic_ns();
  Subscriber viewer(viewer_options(listens, retry_ns), log);
  const std::int64_t after_ns = gives_up_after_ns(viewer, begun_ns);
  EXPECT_GE(after_ns, retry_ns);
  EXPECT_LT(after_ns, retry_ns + (listens ? 0 : viewer_pause_ns) + prompt_ns);
  EXPECT_LE(Network::get().dials_in_vain, 2 + static_cast<std::uint64_t>(retry_ns / viewer_pause_ns));
}

/// The time of --retry begins anew with the end of a session that had frames, and of no other one.
void viewer_whose_sender_dies(World& world) {
  const bool has_frames = world.chance(50);
  const auto lives_ns = static_cast<std::int64_t>(300 * ns_per_ms + world.below(500 * ns_per_ms));
  const std::int64_t retry_ns = ns_per_s + static_cast<std::int64_t>(world.below(3 * ns_per_s));
  test::KeptLog log;
  DyingSender sender(world, has_frames, lives_ns, log);
  const std::int64_t begun_ns = monotonic_ns();
  test::KeptLog viewers_log;
  Subscriber viewer(viewer_options(false, retry_ns), viewers_log);
  std::uint64_t frames = 0;
  while (viewer.status().state != SubscriberState::lost) {
    viewer.wait(monotonic_ns() + 5 * ns_per_s, WaitMode::block);
    while (viewer.next()) {
      ++frames;
    }
    ASSERT_NE(viewer.status().state, SubscriberState::failed) << viewer.status().message;
  }
  EXPECT_EQ(frames, has_frames ? 1U : 0U);
  const std::int64_t since_ns = has_frames ? monotonic_ns() : begun_ns;
  const std::int64_t after_ns = gives_up_after_ns(viewer, since_ns);
  EXPECT_GE(after_ns, retry_ns - prompt_ns);
  EXPECT_LT(after_ns, retry_ns + viewer_pause_ns + prompt_ns);
}

void sender_alone(World& world) {
  test::KeptLog log;
  Stream stream(StreamOptions{.name = "test"});
  EndpointOptions endpoint = open_endpoint();
  endpoint.dial = HostPort{"127.0.0.1", first_port};
  SenderService service(endpoint, {&stream}, "test", log);
  const auto alone_ns = static_cast<std::int64_t>(world.below(5 * ns_per_s));
  std::this_thread::sleep_for(std::chrono::nanoseconds(alone_ns));
  const std::uint64_t dials = Network::get().dials_in_vain;
  const auto pauses = static_cast<std::uint64_t>(alone_ns / sender_pause_ns);
  EXPECT_LE(dials, pauses + 1);
  EXPECT_GE(dials, pauses);
  const std::string text = log.text();
  EXPECT_EQ(std::ranges::count(text, '\n'), 1) << "it says once why it has no session: " << text;
  EXPECT_NE(service.last_dial_failure().why.find("127.0.0.1"), std::string::npos);
  stream.finish();
}

void run_seeds(void (*scene)(World&)) {
  const auto [first, count] = chosen_seeds(50);
  const test::TemporaryFolder folder;
  ::setenv("XDG_CONFIG_HOME", folder.path().c_str(), 1);  // this machine's own key has no effect
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    World::run(seed, [scene] { scene(*World::current()); });
    EXPECT_EQ(open_descriptors(), 0U) << "descriptors are left open";
    clear_descriptors();
    ASSERT_FALSE(testing::Test::HasFailure()) << "FRAMEWIRE_SEED=" << seed << " repeats it";
  }
}

TEST(RetriesInSimulation, AViewerWithoutASenderGivesUpInTime) {
  run_seeds(viewer_alone);
}

TEST(RetriesInSimulation, AViewerWhoseSenderDiesGivesUpInTime) {
  run_seeds(viewer_whose_sender_dies);
}

TEST(RetriesInSimulation, ASenderWithoutAViewerDialsAtIntervals) {
  run_seeds(sender_alone);
}

}  // namespace
}  // namespace framewire::sim
