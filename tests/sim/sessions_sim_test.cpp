// Whole sessions in a simulated world: a real stream, sender service, acceptor, links and subscribers. Viewers come,
// are slow, leave and come back; wires are cut; calls fail. A seed decides everything; FRAMEWIRE_SEED repeats one run.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <deque>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "frame/test_pattern.hpp"
#include "tests/base/kept_log.hpp"
#include "tests/base/temporary_folder.hpp"
#include "tests/sim/cm_model.hpp"
#include "tests/sim/descriptors.hpp"
#include "tests/sim/sockets.hpp"
#include "tests/sim/verbs_model.hpp"
#include "tests/sim/world.hpp"
#include "transport/session/sender_service.hpp"
#include "transport/session/subscriber.hpp"

namespace framewire::sim {
namespace {

/// What happens in one run.
struct Plan {
  explicit Plan(World& world)
      : link(std::array{LinkKind::local, LinkKind::tcp, LinkKind::rdma, LinkKind::rdma}[world.below(4)]),
        is_auto(link == LinkKind::rdma && world.chance(30)),
        devices(is_auto && world.chance(20) ? 0 : 1 + world.below(2)),
        pull_interval_ns(link == LinkKind::rdma && !is_auto && world.chance(30)
                             ? 1 + static_cast<std::int64_t>(world.below(10'000'000))
                             : 0),
        delivery(world.chance(50) ? Delivery::every : Delivery::latest),
        viewers(1 + world.below(6)),
        frames(10 + world.below(50)),
        slots(1 + static_cast<std::uint32_t>(world.below(4))),
        largest_frame_bytes(100 + world.below(20'000)),
        frames_per_epoch(world.chance(30) ? 1 + world.below(10) : UINT64_MAX),
        is_cut(world.chance(15)),
        has_slow_viewers(world.chance(50)),
        faults_per_thousand(world.chance(25) ? 1 + static_cast<unsigned>(world.below(10)) : 0) {}

  [[nodiscard]] bool is_undisturbed() const { return !is_cut && faults_per_thousand == 0; }
  /// Whether no viewer is slow.
  [[nodiscard]] bool is_prompt() const { return is_undisturbed() && !has_slow_viewers; }

  /// Under auto, rdma is the best of two links, and tcp the other one.
  [[nodiscard]] EndpointOptions endpoint() const {
    EndpointOptions options;
    options.allowed_links = {link};
    if (is_auto) {
      options.allowed_links.push_back(LinkKind::tcp);
    }
    options.transport_is_auto = is_auto;
    options.native_on_loopback = true;
    return options;
  }

  LinkKind link;
  bool is_auto;
  std::uint64_t devices;          // of RDMA
  std::int64_t pull_interval_ns;  // of half of the viewers; 0: no viewer pulls
  Delivery delivery;
  std::uint64_t viewers;
  std::uint64_t frames;
  std::uint32_t slots;
  std::uint64_t largest_frame_bytes;
  std::uint64_t frames_per_epoch;
  bool is_cut;
  bool has_slow_viewers;
  unsigned faults_per_thousand;
};

/// One viewer's program.
class Viewer {
 public:
  Viewer(World& world, const Plan& plan, bool may_pull, std::uint16_t port, Log& log)
      : world_(world),
        plan_(plan),
        log_(log),
        leaves_(world.chance(20)),
        is_slow_(plan.has_slow_viewers && world.chance(50)),
        pulls_(plan.pull_interval_ns > 0 && may_pull && world.chance(50)) {
    options_.endpoint = plan.endpoint();
    options_.endpoint.dial = HostPort{"127.0.0.1", port};
    options_.endpoint.pull_interval_ns = pulls_ ? plan.pull_interval_ns : 0;
    options_.retry_ns = 30 * ns_per_s;
    thread_ = std::thread([this] { run(); });
  }
  ~Viewer() { thread_.join(); }
  Viewer(const Viewer&) = delete;
  Viewer& operator=(const Viewer&) = delete;

 private:
  void run() {
    sleep_up_to(50 * ns_per_ms);
    for (bool again = true; again;) {
      try {
        Subscriber subscriber(options_, log_);
        again = watch(subscriber);
      } catch (const Error&) {
        again = !plan_.is_undisturbed() && ++failures_ < 20;  // a call failed; another try
        ASSERT_FALSE(plan_.is_undisturbed());
      } catch (const std::exception&) {
        again = !plan_.is_undisturbed() && ++failures_ < 20;
        ASSERT_FALSE(plan_.is_undisturbed());
      }
    }
  }

  /// Takes frames until the stream ends. Returns true when it has left, to come back.
  bool watch(Subscriber& subscriber) {
    std::deque<ReceivedFrame> held;
    std::uint64_t last_sequence = 0;
    std::uint64_t received = 0;
    std::uint64_t session = 0;
    const std::uint64_t leaves_after = leaves_ ? world_.below(20) : UINT64_MAX;
    for (;;) {
      while (auto frame = subscriber.next()) {
        const std::uint64_t sequence = frame->header().sequence;
        EXPECT_FALSE(find_torn_line(frame->payload(), sequence)) << "torn frame " << sequence;
        if (frame->session_number() == session && received > 0) {
          EXPECT_GT(sequence, last_sequence) << "out of order, or twice";
          if (plan_.delivery == Delivery::every && !pulls_) {
            EXPECT_EQ(sequence, last_sequence + 1) << "a frame is missing under every";
          }
        }
        const bool may_be_old = pulls_ && frame->session_number() != session;  // published before this viewer came
        if (plan_.is_prompt() && !may_be_old) {
          // A tick of any timer is longer: a frame that takes as long has waited for one, and a wake-up was lost.
          EXPECT_LT(monotonic_ns() - frame->header().times.completed_ns, 40 * ns_per_ms) << "a wake-up was lost";
        }
        session = frame->session_number();
        last_sequence = sequence;
        ++received;
        held.push_back(std::move(*frame));
        if (held.size() >= plan_.slots || world_.chance(70)) {
          held.pop_front();
        }
        if (is_slow_) {
          sleep_up_to(20 * ns_per_ms);
        }
        if (received >= leaves_after) {
          leaves_ = false;
          held.clear();
          if (world_.chance(50)) {
            subscriber.close("{}");
          }
          return true;
        }
      }
      const SubscriberStatus status = subscriber.status();
      if (status.state == SubscriberState::finished || status.state == SubscriberState::failed) {
        if (plan_.is_undisturbed()) {
          EXPECT_EQ(status.state, SubscriberState::finished) << status.message;
        }
        held.clear();
        subscriber.close("{}");
        const SubscriberCounts counts = subscriber.counts();
        EXPECT_EQ(counts.frames_received, received);
        if (plan_.is_undisturbed()) {
          EXPECT_EQ(counts.frames_lost, 0U);
          if (plan_.delivery == Delivery::every && !pulls_) {
            EXPECT_EQ(counts.frames_skipped, 0U);
          }
        }
        // A call that failed may have refused the session for good. A new viewer may be luckier.
        return status.state == SubscriberState::failed && !plan_.is_undisturbed() && ++failures_ < 20;
      }
      held.clear();
      subscriber.wait(monotonic_ns() + 5 * ns_per_s);
    }
  }

  void sleep_up_to(std::int64_t limit_ns) {
    std::this_thread::sleep_for(std::chrono::nanoseconds(world_.below(static_cast<std::uint64_t>(limit_ns))));
  }

  World& world_;
  const Plan& plan_;
  Log& log_;
  bool leaves_;
  const bool is_slow_;
  const bool pulls_;
  unsigned failures_ = 0;
  SubscriberOptions options_;
  std::thread thread_;
};

void produce(World& world, const Plan& plan, Stream& stream) {
  std::uint64_t produced = 0;
  bool begins_epoch = true;
  while (produced < plan.frames) {
    try {
      if (begins_epoch) {
        stream.begin_epoch({.layout = bytes_layout(1 + world.below(plan.largest_frame_bytes)), .colour = {}});
        begins_epoch = false;
      }
    } catch (const Error&) {
      ASSERT_FALSE(plan.is_undisturbed());
      continue;  // no memory; the next call may have some
    }
    auto slot = stream.claim();
    if (!slot) {
      break;
    }
    write_test_lines(slot->bytes(), slot->next_sequence());
    stream.publish(std::move(*slot), {.has_test_pattern = true, .layout = {}});
    ++produced;
    begins_epoch = produced % plan.frames_per_epoch == 0;
    if (plan.delivery == Delivery::latest) {
      stream.sleep_until(monotonic_ns() + static_cast<std::int64_t>(world.below(5'000'000)));
    }
  }
  stream.finish();
}

void check_reports(const Plan& plan, const SenderService& service) {
  for (const SessionReport& report : service.reports()) {
    const SubscriberQueueCounts& counts = report.counts;
    EXPECT_EQ(counts.frames_produced, counts.frames_skipped + counts.frames_sent) << report.ending;
    if (report.bye_received) {
      EXPECT_EQ(counts.frames_sent, report.frames_received + report.frames_lost) << report.ending;
    }
    if (plan.is_undisturbed() && plan.delivery == Delivery::every && report.ending == "the stream ended") {
      EXPECT_EQ(counts.frames_skipped, 0U);
    }
  }
}

void run_sessions(World& world) {
  const Plan plan(world);
  const test::TemporaryFolder folder;
  ::setenv("XDG_CONFIG_HOME", folder.path().c_str(), 1);  // this machine's own key has no effect
  test::KeptLog log;
  make_devices(world, plan.devices);
  {
    StreamOptions options;
    options.name = "test";
    options.delivery = plan.delivery;
    options.slots_per_viewer = plan.slots;
    options.max_viewers = 8;
    options.allows_pull = plan.pull_interval_ns > 0;
    Stream stream(options);
    EndpointOptions listening = plan.endpoint();
    listening.listen = HostPort{"127.0.0.1", 5290};
    SenderService service(listening, {&stream}, "test", log.log());
    std::thread source([&] { produce(world, plan, stream); });
    {
      std::vector<std::unique_ptr<Viewer>> viewers;
      for (std::uint64_t i = 0; i < plan.viewers; ++i) {
        viewers.push_back(std::make_unique<Viewer>(world, plan, i > 0, service.port(), log.log()));
      }
      world.set_faults(plan.faults_per_thousand);
      if (plan.is_cut) {
        std::this_thread::sleep_for(std::chrono::nanoseconds(world.below(100'000'000)));
        Network::get().cut(world);
      }
      source.join();
      service.drain(monotonic_ns() + 20 * ns_per_s);
      check_reports(plan, service);
      EXPECT_EQ(stream.viewer_count(), 0U);
    }
    world.set_faults(0);
  }
  if (plan.is_undisturbed()) {
    EXPECT_EQ(receivers_not_ready(), 0U) << "a message came for which no receive was posted";
  }
  EXPECT_EQ(open_descriptors(), 0U) << "descriptors are left open";
  EXPECT_EQ(clear_connections(), "");
  EXPECT_EQ(clear_devices(), "");
  clear_descriptors();
  if (testing::Test::HasFailure()) {
    std::fprintf(stderr, "link %s%s, %s, %llu viewers, %u slots, %s, %u faults per thousand\n",
                 std::string(name(plan.link)).c_str(), plan.is_auto ? " or tcp" : "",
                 plan.delivery == Delivery::every ? "every" : "latest", static_cast<unsigned long long>(plan.viewers),
                 plan.slots, plan.is_cut ? "cut" : "not cut", plan.faults_per_thousand);
    std::fprintf(stderr, "%s\n", log.text().c_str());
  }
}

std::uint64_t run_seed(std::uint64_t seed) {
  return World::run(seed, [] { run_sessions(*World::current()); });
}

TEST(SessionsInSimulation, KeepEveryPromise) {
  const char* const chosen = std::getenv("FRAMEWIRE_SEED");
  const char* const wanted = std::getenv("FRAMEWIRE_SEEDS");
  const std::uint64_t first = chosen == nullptr ? 1 : std::strtoull(chosen, nullptr, 10);
  const std::uint64_t count = wanted != nullptr ? std::strtoull(wanted, nullptr, 10) : chosen != nullptr ? 1 : 200;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    run_seed(seed);
    ASSERT_FALSE(HasFailure()) << "FRAMEWIRE_SEED=" << seed << " repeats it";
  }
}

TEST(SessionsInSimulation, AreTheSameWithTheSameSeed) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    EXPECT_EQ(run_seed(seed), run_seed(seed)) << seed;
  }
}

}  // namespace
}  // namespace framewire::sim
