// Streams in simulated worlds, without sessions: who waits for something is told of it, whenever it comes. A source
// that is not told waits for ever, which the world sees. A seed decides everything; FRAMEWIRE_SEED repeats one run.
#include <gtest/gtest.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "base/file_descriptor.hpp"
#include "base/wait.hpp"
#include "tests/sim/descriptors.hpp"
#include "tests/sim/plan.hpp"
#include "tests/sim/world.hpp"
#include "tests/transport/attached_viewer.hpp"
#include "transport/stream.hpp"

namespace framewire::sim {
namespace {

const StreamFormat format{.layout = bytes_layout(100), .colour = {}};

using test::claim_all;

/// A stream with a format.
class BegunStream : public Stream {
 public:
  explicit BegunStream(StreamOptions options) : Stream(std::move(options)) { begin_epoch(sim::format); }
};

/// A viewer that is ready for its stream's format.
class ReadyViewer : public test::AttachedViewer {
 public:
  ReadyViewer(Stream& stream, Delivery delivery) : AttachedViewer(stream, delivery) { EXPECT_TRUE(get_ready()); }
};

/// How a source waits for room.
enum class Way { claim, claim_in_time, wait_for_room, descriptor };
constexpr std::array ways{Way::claim, Way::claim_in_time, Way::wait_for_room, Way::descriptor};

/// False: the stream stops.
bool find_room(Stream& stream, Way way) {
  if (way == Way::claim) {
    return stream.claim().has_value();
  }
  if (way == Way::claim_in_time) {
    return stream.claim({.deadline_ns = monotonic_ns() + 3600 * ns_per_s}).has_value();
  }
  if (way == Way::wait_for_room) {
    return stream.wait_for_room();
  }
  while (!stream.is_stopping()) {
    if (stream.claim_now()) {
      return true;
    }
    if (stream.arm()) {
      wait_for(stream.descriptor(), POLLIN, INT64_MAX);
    }
  }
  return false;
}

void sleep_up_to(World& world, std::int64_t limit_ns) {
  std::this_thread::sleep_for(std::chrono::nanoseconds(world.below(static_cast<std::uint64_t>(limit_ns))));
}

StreamOptions options_of(World& world, Delivery delivery) {
  return {.name = "test",
          .delivery = delivery,
          .slots_per_viewer = 1 + static_cast<std::uint32_t>(world.below(3)),
          .max_viewers = 2,
          .wait = world.chance(50) ? WaitMode::block : WaitMode::adaptive};
}

/// A source waits until `act` gives it room, at whatever moment that comes.
void expect_told(World& world, Stream& stream, Way way, const std::function<void()>& act, bool finds_room = true) {
  bool found = !finds_room;
  std::thread source([&] { found = find_room(stream, way); });
  sleep_up_to(world, 50'000);
  act();
  source.join();
  EXPECT_EQ(found, finds_room);
}

void a_viewer_comes(World& world, Way way) {
  BegunStream stream(options_of(world, Delivery::latest));
  std::optional<test::AttachedViewer> viewer;
  expect_told(world, stream, way, [&] { viewer.emplace(stream, Delivery::latest); });
}

void a_viewer_that_pulls_comes(World& world, Way way) {
  BegunStream stream(options_of(world, Delivery::latest));
  const SharedEvent event = make_shared_event();
  expect_told(world, stream, way, [&] { EXPECT_TRUE(stream.add_puller(event)); });
  stream.remove_puller(event);
}

void a_viewer_is_ready(World& world, Way way) {
  BegunStream stream(options_of(world, Delivery::every));
  test::AttachedViewer viewer(stream, Delivery::every);
  expect_told(world, stream, way, [&] { EXPECT_TRUE(viewer.get_ready()); });
}

void the_first_format_comes(World& world, Way way) {
  Stream stream(options_of(world, Delivery::latest));
  const test::AttachedViewer viewer(stream, Delivery::latest);
  expect_told(world, stream, way, [&] { stream.begin_epoch(format); });
}

void a_claimed_slot_comes_back(World& world, Way way) {
  BegunStream stream(options_of(world, Delivery::latest));
  const test::AttachedViewer viewer(stream, Delivery::latest);
  std::vector<ClaimedSlot> all = claim_all(stream);
  expect_told(world, stream, way, [&] { all.pop_back(); });
}

void a_kept_slot_comes_back(World& world, Way way) {
  BegunStream stream(options_of(world, Delivery::latest));
  ReadyViewer viewer(stream, Delivery::latest);
  viewer.link.releases_at_once = true;
  std::vector<KeptSlot> kept;
  for (ClaimedSlot& slot : claim_all(stream)) {
    kept.push_back(*stream.publish_and_keep(std::move(slot), {}));
  }
  expect_told(world, stream, way, [&] { kept.pop_back(); });
}

void a_credit_comes(World& world, Way way) {
  BegunStream stream(options_of(world, Delivery::every));
  ReadyViewer viewer(stream, Delivery::every);
  viewer.link.credits = world.below(2);
  while (auto slot = stream.claim_now()) {
    stream.publish(std::move(*slot), {});
  }
  expect_told(world, stream, way, [&] {
    viewer.link.credits = 5;
    viewer.make_progress();
  });
}

void a_slow_viewer_leaves(World& world, Way way) {
  BegunStream stream(options_of(world, Delivery::every));
  ReadyViewer quick(stream, Delivery::every);
  quick.link.releases_at_once = true;
  std::optional<test::AttachedViewer> slow;
  slow.emplace(stream, Delivery::every);
  slow->link.credits = 0;
  while (auto slot = stream.claim_now()) {
    stream.publish(std::move(*slot), {});
  }
  expect_told(world, stream, way, [&] { slow.reset(); });
}

void a_place_within_the_limit_comes_back(World& world, Way way) {
  StreamOptions options = options_of(world, Delivery::latest);
  options.max_frames = 1;
  BegunStream stream(options);
  const test::AttachedViewer viewer(stream, Delivery::latest);
  auto slot = stream.claim();
  EXPECT_TRUE(slot);
  expect_told(world, stream, way, [&] { slot.reset(); });
}

void it_stops(World& world, Way way) {
  BegunStream stream(options_of(world, Delivery::latest));
  expect_told(
      world, stream, way, [&] { stream.stop(); }, false);
}

void the_last_viewer_leaves(World& world, Way way) {
  StreamOptions options = options_of(world, Delivery::latest);
  options.ends_with_viewers = true;
  BegunStream stream(options);
  std::optional<test::AttachedViewer> viewer;
  viewer.emplace(stream, Delivery::latest);
  const std::vector<ClaimedSlot> all = claim_all(stream);
  expect_told(
      world, stream, way, [&] { viewer.reset(); }, false);
}

void run_seeds(const std::function<void(World&)>& scene) {
  constexpr std::uint64_t most = 2000;  // orders of threads: there are not many more
  const auto [first, wanted] = chosen_seeds(50);
  const std::uint64_t count = std::min(wanted, most);
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    World::run(seed, [&] { scene(*World::current()); });
    EXPECT_EQ(open_descriptors(), 0U) << "descriptors are left open";
    clear_descriptors();
    ASSERT_FALSE(testing::Test::HasFailure()) << "FRAMEWIRE_SEED=" << seed << " repeats it";
  }
}

struct Event {
  std::string name;
  void (*happens)(World& world, Way way);
};

class WhoWaitsForRoom : public testing::TestWithParam<Event> {};

TEST_P(WhoWaitsForRoom, IsTold) {
  run_seeds([](World& world) {
    for (const Way way : ways) {
      GetParam().happens(world, way);
    }
  });
}

INSTANTIATE_TEST_SUITE_P(
    Streams, WhoWaitsForRoom,
    testing::Values(Event{"AViewerComes", a_viewer_comes}, Event{"AViewerThatPullsComes", a_viewer_that_pulls_comes},
                    Event{"AViewerIsReady", a_viewer_is_ready}, Event{"TheFirstFormatComes", the_first_format_comes},
                    Event{"AClaimedSlotComesBack", a_claimed_slot_comes_back},
                    Event{"AKeptSlotComesBack", a_kept_slot_comes_back}, Event{"ACreditComes", a_credit_comes},
                    Event{"ASlowViewerLeaves", a_slow_viewer_leaves},
                    Event{"APlaceWithinTheLimitComesBack", a_place_within_the_limit_comes_back},
                    Event{"ItStops", it_stops}, Event{"TheLastViewerLeaves", the_last_viewer_leaves}),
    [](const auto& event) { return event.param.name; });

/// What a source has done that has filled two frames for which there is no credit, and found no room for a third one.
void look_in_vain(Stream& stream, test::AttachedViewer& viewer) {
  EXPECT_TRUE(viewer.get_ready());
  viewer.link.credits = 0;
  for (int i = 0; i < 2; ++i) {
    stream.publish(std::move(*stream.claim_now()), {});
    EXPECT_TRUE(viewer.link.is_armed.load()) << "nobody has looked yet";
  }
  stream.claim_now();
}

/// To wake a session costs more than to look. Under `latest` nobody else looks in time, nor after the source has ended.
TEST(StreamsInSimulation, ASourceThatSpinsLooksForCreditsItself) {
  run_seeds([](World&) {
    for (const WaitMode mode : {WaitMode::spin, WaitMode::block}) {
      for (const Delivery delivery : {Delivery::every, Delivery::latest}) {
        Stream stream({.name = "test", .delivery = delivery, .wait = mode});
        stream.begin_epoch(format);
        test::AttachedViewer viewer(stream, delivery);
        look_in_vain(stream, viewer);
        EXPECT_EQ(viewer.link.is_armed.load(), mode == WaitMode::block || delivery == Delivery::latest);
        stream.finish();
        viewer.make_progress();
        EXPECT_TRUE(viewer.link.is_armed.load());
      }
    }
  });
}

/// As long as the source looks, the session leaves it to do so.
TEST(StreamsInSimulation, TheSessionLooksForCreditsThatASpinningSourceLooksForNoMore) {
  run_seeds([](World& world) {
    Stream stream({.name = "test", .delivery = Delivery::every, .wait = WaitMode::spin});
    stream.begin_epoch(format);
    test::AttachedViewer viewer(stream, Delivery::every);
    look_in_vain(stream, viewer);
    EXPECT_TRUE(clear_eventfd(viewer.event->get())) << "the session does not know when to look";
    for (std::uint64_t looks = 1 + world.below(5); looks > 0; --looks) {
      std::this_thread::sleep_until(as_time_point(viewer.make_progress()));
      stream.claim_now();
    }
    const std::int64_t next_look_ns = viewer.make_progress();
    EXPECT_LE(next_look_ns, monotonic_ns() + ns_per_ms);
    EXPECT_FALSE(viewer.link.is_armed.load());
    EXPECT_FALSE(clear_eventfd(viewer.event->get()));
    std::this_thread::sleep_until(as_time_point(next_look_ns));
    EXPECT_EQ(viewer.make_progress(), INT64_MAX);
    EXPECT_TRUE(viewer.link.is_armed.load());
  });
}

// ---- Sleep, and requests ----

TEST(StreamsInSimulation, ASleepEndsWhenItIsDueOrTheStreamStops) {
  run_seeds([](World& world) {
    StreamOptions options{.name = "test", .max_viewers = 1};
    options.max_duration_ns = world.chance(30) ? 3 * ns_per_ms : 0;
    Stream stream(options);
    stream.begin_epoch(format);
    stream.publish(std::move(*stream.claim({.unwatched = true})), {});
    std::int64_t stopped_ns = INT64_MAX;
    std::thread other([&] {
      sleep_up_to(world, 10 * ns_per_ms);
      stopped_ns = monotonic_ns();
      stream.stop();
    });
    const std::int64_t begun_ns = monotonic_ns();
    const std::int64_t due_ns = begun_ns + static_cast<std::int64_t>(world.below(10 * ns_per_ms));
    const bool is_due = stream.sleep_until(due_ns);
    const std::int64_t now_ns = monotonic_ns();
    EXPECT_TRUE(is_due || stream.is_stopping());
    EXPECT_TRUE(!is_due || now_ns >= due_ns);
    EXPECT_LT(now_ns, due_ns + ns_per_ms);
    other.join();
    EXPECT_TRUE(is_due || now_ns >= std::min(stopped_ns, begun_ns + 2 * ns_per_ms)) << "it ended for no reason";
  });
}

/// A source sleeps while the viewer that has its camera asks for nothing.
TEST(StreamsInSimulation, WhoWaitsForARequestIsTold) {
  run_seeds([](World& world) {
    for (const int what : {0, 1, 2, 3}) {
      StreamOptions options{.name = "test"};
      options.ends_with_viewers = true;
      Stream stream(options);
      stream.begin_epoch(format);
      stream.renders().offer();
      std::optional<test::AttachedViewer> viewer;
      viewer.emplace(stream, Delivery::latest);
      EXPECT_FALSE(stream.renders().ask(&viewer, {.id = 7}));
      const auto first = stream.next_render(INT64_MAX);
      EXPECT_TRUE(first && first->id == 7);
      std::optional<RenderRequest> second;
      std::thread source([&] { second = stream.next_render(INT64_MAX); });
      sleep_up_to(world, 50'000);
      const std::int64_t acted_ns = monotonic_ns();
      if (what == 0) {
        EXPECT_FALSE(stream.renders().ask(&viewer, {.id = 8}));
      } else if (what == 1) {
        stream.stop();
      } else if (what == 2) {
        viewer.reset();
      } else {
        stream.renders().forget(&viewer);
      }
      source.join();
      EXPECT_EQ(second.has_value(), what == 0);
      EXPECT_LT(monotonic_ns() - acted_ns, ns_per_ms) << "only its timer has woken it";
      viewer.reset();
    }
  });
}

}  // namespace
}  // namespace framewire::sim
