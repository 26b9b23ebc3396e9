// Whole sessions in a simulated world: real streams, sender services, acceptors, links and subscribers. Viewers come,
// are slow, leave, come back, stop and die; wires are cut; calls fail; unauthenticated peers connect. A seed decides
// everything; FRAMEWIRE_SEED repeats one run.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "tests/base/logs.hpp"
#include "tests/base/temporary_folder.hpp"
#include "tests/sim/cm_model.hpp"
#include "tests/sim/descriptors.hpp"
#include "tests/sim/plan.hpp"
#include "tests/sim/sockets.hpp"
#include "tests/sim/source.hpp"
#include "tests/sim/unauthenticated_peers.hpp"
#include "tests/sim/verbs_model.hpp"
#include "tests/sim/viewer.hpp"
#include "tests/sim/world.hpp"
#include "transport/session/sender_service.hpp"

namespace framewire::sim {
namespace {

void check_reports(const Plan& plan, const SenderService& service) {
  for (const SessionReport& report : service.reports()) {
    const SubscriberQueueCounts& counts = report.counts;
    EXPECT_EQ(counts.frames_produced, counts.frames_skipped + counts.frames_sent + counts.frames_aborted)
        << report.ending;
    EXPECT_EQ(counts.frames_sent == 0, counts.bytes_sent == 0);
    EXPECT_LE(counts.bytes_sent, counts.frames_sent * plan.largest_frame_bytes);
    const bool is_sum = report.ending == "added up";
    EXPECT_TRUE(report.transport == name(plan.link) ||
                (plan.is_auto && (report.transport == "tcp" || (is_sum && report.transport == "several"))))
        << report.transport;
    EXPECT_TRUE(report.stream.starts_with("test") || (is_sum && report.stream == "several")) << report.stream;
    EXPECT_EQ(report.memory, "host");
    EXPECT_FALSE(report.viewer.empty());
    EXPECT_FALSE(report.was_refused);
    EXPECT_FALSE(report.ending.empty());
    // Where packets are lost, a bye may come after the time for which the viewer waits: its end is closed then, and
    // answers what the sender still writes with a reset, so that the bye is never read.
    const bool byes_arrive = plan.is_undisturbed() && !plan.has_dying_viewers && !plan.loses_packets;
    if (byes_arrive) {
      EXPECT_TRUE(report.ending == "the stream ended" || report.ending.starts_with("the viewer left") || is_sum)
          << report.ending;
    }
    if (report.bye_received) {
      EXPECT_EQ(counts.frames_sent, report.frames_received + report.frames_lost) << report.ending;
    }
    if (byes_arrive) {
      EXPECT_TRUE(report.bye_received) << "a viewer that left or had all counts as lost: " << report.ending;
    }
    if (plan.is_undisturbed() && plan.delivery == Delivery::every && !plan.gives_frames_up &&
        report.ending == "the stream ended") {
      EXPECT_EQ(counts.frames_skipped, 0U);
    }
  }
}

/// What the sender's reports and its viewers' counts say of the same sessions.
struct Totals {
  std::uint64_t sessions = 0;
  std::uint64_t frames_received = 0;
  std::uint64_t frames_skipped = 0;
  bool has_whole_sessions_only = true;  // of viewers that stayed to the end, and did not pull

  void add(const SessionReport& report) {
    sessions += report.ending == "added up" ? std::stoull(report.viewer) : 1;  // "5 earlier sessions"
    frames_received += report.frames_received + report.frames_pulled;
    frames_skipped += report.counts.frames_skipped;
    has_whole_sessions_only =
        has_whole_sessions_only && report.ending == "the stream ended" && !report.pulls && report.frames_lost == 0;
  }
};

/// One run: the sender's streams and services, and everybody who comes.
class Run {
 public:
  explicit Run(World& world) : world_(world), plan_(world) {}

  void go() {
    make_devices(world_, plan_.devices);
    world_.stretch_timeouts(plan_.stretches_timeouts);
    Network::get().hides_unix_sockets = plan_.hides_unix_sockets;
    Network::get().is_short_of_memory = plan_.is_short_of_memory;
    Network::get().loses_packets = plan_.loses_packets;
    for (std::uint32_t i = 0; i < plan_.streams; ++i) {
      sources_.push_back(std::make_unique<Source>(world_, plan_, i));
    }
    if (!plan_.sender_dials) {
      add_service(first_port);
    }
    for (std::uint64_t i = 0; i < plan_.viewers; ++i) {
      viewers_.push_back(std::make_unique<Viewer>(world_, plan_, port_of(i), source_for(i), i >= plan_.streams));
    }
    start();
    for (const auto& source : sources_) {
      source->join();
    }
    drain();
    for (const auto& viewer : viewers_) {
      viewer->sender_has_ended();
    }
    for (const auto& viewer : viewers_) {
      viewers_logs_.push_back(viewer->log_text());
    }
    world_.stretch_timeouts(false);
    end_viewers();
    check_pauses();
    world_.set_faults(0);
    check_dialling_has_ended();
    const std::int64_t begun_ns = world_.now_ns();
    services_.clear();
    if (plan_.is_undisturbed()) {
      EXPECT_LT(world_.now_ns() - begun_ns, prompt_ns) << "a peer that says nothing delays the end";
    }
    unauthenticated_.reset();
    for (const auto& source : sources_) {
      // Viewers that pull may always read the newest frame.
      EXPECT_LE(source->stream().slots_in_use(), plan_.pull_interval_ns > 0 ? 1U : 0U) << "somebody still has a slot";
    }
  }

  void describe() {
    std::fprintf(
        stderr, "link %s%s%s, %s, %llu viewers, %u slots, %s, %u faults per thousand, %s%s%s, %llu unauthenticated\n",
        std::string(name(plan_.link)).c_str(), plan_.is_auto ? " or tcp" : "", plan_.encrypts ? " encrypted" : "",
        plan_.delivery == Delivery::every ? "every" : "latest", static_cast<unsigned long long>(plan_.viewers),
        plan_.slots, plan_.is_cut ? "cut" : "not cut", plan_.faults_per_thousand,
        plan_.sender_dials ? "the sender dials" : "viewers dial", plan_.has_key ? ", by key" : "",
        plan_.hides_unix_sockets ? ", over TCP" : "", static_cast<unsigned long long>(plan_.unauthenticated_peers));
    std::fprintf(stderr, "%llu streams of %llu threads, %llu slices%s, pulls %lld ns apart\n",
                 static_cast<unsigned long long>(plan_.streams), static_cast<unsigned long long>(plan_.source_threads),
                 static_cast<unsigned long long>(plan_.slices), plan_.has_slow_viewers ? ", slow viewers" : "",
                 static_cast<long long>(plan_.pull_interval_ns));
    std::fprintf(stderr, "frames of at most %llu bytes%s%s%s%s%s%s\n",
                 static_cast<unsigned long long>(plan_.largest_frame_bytes), plan_.sends_files ? ", in files" : "",
                 plan_.files_are_cut ? " that are cut" : "", plan_.viewers_encrypt ? ", viewers encrypt" : "",
                 plan_.has_frequent_viewers ? ", viewers come often" : "",
                 plan_.is_short_of_memory ? ", the kernel is short of memory" : "",
                 plan_.is_interrupted ? ", interrupted" : "");
    std::fprintf(stderr, "places for %llu viewers%s%s%s\n", static_cast<unsigned long long>(plan_.max_viewers),
                 plan_.loses_packets ? ", packets are lost" : "", plan_.crowd_stays ? ", the crowd stays" : "",
                 plan_.viewers_lack_memory ? ", viewers lack memory" : "");
    std::fprintf(stderr, "%s\n", log_.text().c_str());
    for (const std::string& text : viewers_logs_) {
      std::fprintf(stderr, "-- a viewer:\n%s", text.c_str());
    }
  }

  [[nodiscard]] const Plan& plan() const { return plan_; }

  void check_log() const {
    EXPECT_EQ(log_.text().find("a frame was skipped"), std::string::npos) << "there is no device";
  }

 private:
  /// Viewers that pull need one beside them that watches, or their stream does not go on.
  Source& source_for(std::uint64_t viewer) {
    const bool may_pull = plan_.pull_interval_ns > 0;
    return *sources_[may_pull ? viewer % plan_.streams : world_.below(plan_.streams)];
  }

  [[nodiscard]] std::uint16_t port_of(std::uint64_t viewer) const {
    return static_cast<std::uint16_t>(first_port + (plan_.sender_dials ? viewer : 0));
  }

  void add_service(std::uint16_t port) {
    EndpointOptions endpoint = endpoint_of(plan_);
    (plan_.sender_dials ? endpoint.dial : endpoint.listen) = HostPort{"127.0.0.1", port};
    endpoint.encrypt = plan_.encrypts;
    std::vector<Stream*> streams;
    for (const auto& source : sources_) {
      streams.push_back(&source->stream());
    }
    services_.push_back(std::make_unique<SenderService>(endpoint, streams, "test", log_));
  }

  void start() {
    for (const auto& source : sources_) {
      source->start();
    }
    for (const auto& viewer : viewers_) {
      viewer->start();
    }
    unauthenticated_.emplace(world_, plan_.unauthenticated_peers, port_of(0), 200 * ns_per_ms, plan_.crowd_stays);
    world_.set_faults(plan_.faults_per_thousand);
    for (std::uint64_t i = 0; plan_.sender_dials && i < plan_.viewers; ++i) {
      sleep_up_to(200 * ns_per_ms);
      try_to_add_service(port_of(i));
    }
    if (plan_.is_cut) {
      sleep_up_to(100 * ns_per_ms);
      plan_.cuts_some_wires ? Network::get().cut_some(world_) : Network::get().cut(world_);
    }
    if (plan_.accepting_fails) {
      sleep_up_to(50 * ns_per_ms);
      Network::get().accepting_fails_until_ns = world_.now_ns() + static_cast<std::int64_t>(world_.below(ns_per_s));
    }
    if (plan_.is_interrupted) {
      interrupt();
    }
  }

  /// As a program does on Ctrl-C: first the sources, so that nobody fills the slots of a viewer that is late.
  void interrupt() {
    sleep_up_to(100 * ns_per_ms);
    for (const auto& source : sources_) {
      source->stream().stop();
    }
    const std::int64_t deadline_ns = world_.now_ns() + static_cast<std::int64_t>(world_.below(200 * ns_per_ms));
    for (const auto& service : services_) {
      service->interrupt(deadline_ns);
    }
    for (const auto& service : services_) {
      service->drain(INT64_MAX);
    }
    if (plan_.faults_per_thousand == 0) {
      EXPECT_LT(world_.now_ns() - deadline_ns, final_words_ns + prompt_ns) << "an interrupted sender ends late";
    }
    for (const auto& source : sources_) {
      EXPECT_EQ(source->stream().viewer_count(), 0U) << "a session goes on";
    }
  }

  /// Ends them; what they received is what the sender's reports say.
  void end_viewers() {
    Totals seen;
    for (const auto& viewer : viewers_) {
      viewer->join();
      seen.sessions += viewer->total().sessions;
      seen.frames_received += viewer->total().frames_received;
      seen.frames_skipped += viewer->total().frames_skipped;
    }
    Totals told;
    for (const auto& service : services_) {
      if (plan_.loses_packets) {  // a session that a slow handshake made after drain() may not have read its bye yet
        service->drain(world_.now_ns() + 20 * ns_per_s);
      }
      for (const SessionReport& report : service->reports()) {
        told.add(report);
      }
    }
    if (plan_.is_undisturbed() && !plan_.has_dying_viewers) {
      // Where packets are lost, a viewer that gives up after the end may not have heard that it had a session.
      EXPECT_TRUE(told.sessions == seen.sessions || (plan_.loses_packets && told.sessions > seen.sessions))
          << told.sessions << " sessions at the sender, and " << seen.sessions << " at its viewers";
      EXPECT_EQ(told.frames_received, seen.frames_received);
      if (told.has_whole_sessions_only && !plan_.gives_frames_up) {
        EXPECT_EQ(told.frames_skipped, seen.frames_skipped) << "the counts begin with the first frame";
      }
    }
    viewers_.clear();
  }

  /// Nobody tries again and again without a pause.
  void check_pauses() {
    const auto pauses = [&](std::int64_t longest_ns) {
      return static_cast<std::uint64_t>((world_.now_ns() - begun_ns_) / longest_ns);
    };
    const std::uint64_t diallers = plan_.viewers + plan_.unauthenticated_peers;
    EXPECT_LE(Network::get().dials_in_vain, diallers * (4 + pauses(50 * ns_per_ms)));
    EXPECT_LE(Network::get().accepts_in_vain, plan_.viewers * (4 + pauses(25 * ns_per_ms)));
  }

  /// A sender dials no more when its streams are finished.
  void check_dialling_has_ended() {
    if (!plan_.sender_dials) {
      return;
    }
    const std::uint64_t& dials = Network::get().dials[0];
    std::this_thread::sleep_for(std::chrono::seconds(4));
    const std::uint64_t dials_before = dials;
    std::this_thread::sleep_for(std::chrono::seconds(1));
    EXPECT_EQ(dials, dials_before) << "a sender without frames goes on dialling";
  }

  void try_to_add_service(std::uint16_t port) {
    try {
      add_service(port);
    } catch (const std::exception& error) {
      EXPECT_FALSE(plan_.is_undisturbed()) << error.what();
    }
  }

  void drain() {
    const std::int64_t begun_ns = world_.now_ns();
    for (const auto& service : services_) {
      const bool is_in_time = service->drain(begun_ns + 20 * ns_per_s);
      EXPECT_TRUE(is_in_time || !plan_.is_undisturbed()) << "sessions were cut";
      check_reports(plan_, *service);
    }
    std::int64_t since_ns = begun_ns;
    for (const auto& viewer : viewers_) {
      since_ns = std::max(since_ns, viewer->ended_ns());
    }
    if (plan_.is_undisturbed() && !plan_.is_crowded() && !plan_.has_dying_viewers && !plan_.loses_packets) {
      EXPECT_LT(world_.now_ns() - since_ns, prompt_ns) << "it heard late that the last viewer has gone";
    }
    for (const auto& source : sources_) {
      // Where packets are lost, a handshake takes seconds. One that began before may make a session after this.
      EXPECT_TRUE(plan_.loses_packets || source->stream().viewer_count() == 0) << "a session goes on";
    }
  }

  void sleep_up_to(std::int64_t limit_ns) {
    std::this_thread::sleep_for(std::chrono::nanoseconds(world_.below(static_cast<std::uint64_t>(limit_ns))));
  }

  /// A sender takes half a second for its byes, and as long again for handshakes.
  static constexpr std::int64_t final_words_ns = ns_per_s;

  World& world_;
  const Plan plan_;
  const std::int64_t begun_ns_ = monotonic_ns();
  test::KeptLog log_;
  std::vector<std::string> viewers_logs_;
  std::vector<std::unique_ptr<Source>> sources_;
  std::vector<std::unique_ptr<SenderService>> services_;
  std::vector<std::unique_ptr<Viewer>> viewers_;
  std::optional<UnauthenticatedPeers> unauthenticated_;
};

void run_sessions(World& world) {
  const test::TemporaryFolder folder;
  ::setenv("XDG_CONFIG_HOME", folder.path().c_str(), 1);  // this machine's own key has no effect
  {
    Run run(world);
    run.go();
    run.check_log();
    if (run.plan().is_undisturbed()) {
      EXPECT_EQ(receivers_not_ready(), 0U) << "a message came for which no receive was posted";
    }
    if (testing::Test::HasFailure()) {
      run.describe();
    }
  }
  EXPECT_EQ(open_descriptors(), 0U) << "descriptors are left open";
  EXPECT_EQ(clear_connections(), "");
  EXPECT_EQ(clear_devices(), "");
  clear_descriptors();
}

std::uint64_t run_seed(std::uint64_t seed) {
  return World::run(seed, [] { run_sessions(*World::current()); });
}

TEST(SessionsInSimulation, KeepEveryPromise) {
  const auto [first, count] = chosen_seeds(200);
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
