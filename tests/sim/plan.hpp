// What happens in one run of simulated sessions.
#pragma once

#include <array>
#include <cstdint>

#include "base/clock.hpp"
#include "tests/sim/world.hpp"
#include "transport/endpoint_options.hpp"
#include "transport/subscriber_queue.hpp"

namespace framewire::sim {

/// Ticks of timers are longer: what takes as long has waited for one, and a wake-up was lost.
inline constexpr std::int64_t prompt_ns = 45 * ns_per_ms;
inline constexpr std::uint16_t first_port = 5290;
inline constexpr std::int64_t time_limit_ns = 60 * ns_per_ms;

/// The world draws it. Faults of the world are in no way the peers' own.
struct Plan {
  explicit Plan(World& world)
      : link(std::array{LinkKind::local, LinkKind::tcp, LinkKind::rdma}[world.below(3)]),
        delivery(world.chance(50) ? Delivery::every : Delivery::latest),
        viewers(1 + world.below(6)),
        frames(10 + world.below(50)),
        slots(1 + static_cast<std::uint32_t>(world.below(4))),
        largest_frame_bytes(100 + world.below(20'000)),
        frames_per_epoch(world.chance(30) ? 1 + world.below(10) : UINT64_MAX),
        is_cut(world.chance(15)),
        has_slow_viewers(world.chance(50)),
        faults_per_thousand(world.chance(25) ? 1 + static_cast<unsigned>(world.below(10)) : 0) {
    is_auto = uses_rdma() && world.chance(30);
    devices = is_auto && world.chance(20) ? 0 : 1 + world.below(2);
    pull_interval_ns =
        uses_rdma() && !is_auto && world.chance(30) ? 1 + static_cast<std::int64_t>(world.below(10'000'000)) : 0;
    sender_dials = !uses_rdma() && world.chance(25);
    streams = world.chance(25) ? 1 + world.below(3) : 1;
    hides_unix_sockets = !traits(link).needs_same_host && world.chance(50);
    has_key = world.chance(40);
    encrypts = has_key && traits(link).can_be_encrypted && world.chance(60);
    has_refused_viewers = world.chance(20);
    has_dying_viewers = !uses_rdma() && world.chance(20);  // the model of rdma knows no processes
    has_stopped_viewers = !uses_rdma() && world.chance(15);
    unauthenticated_peers = world.chance(25) ? world.below(20) : world.chance(3) ? 130 : 0;
    drops_at_source = world.chance(15);
    source_threads = world.chance(30) ? 1 + world.below(3) : 1;
    slices = world.chance(40) ? 2 + world.below(6) : 1;
    gives_frames_up = slices > 1 && world.chance(30);
    source_has_event_loop = source_threads == 1 && world.chance(40);
    // Drawn from what is drawn already, so that seeds keep their meaning.
    has_frame_limit = frames % 4 == 1;
    has_time_limit = frames % 8 == 3;
    has_one_in_flight = delivery == Delivery::every && frames % 5 == 2 && pull_interval_ns == 0;
    source_sleeps = frames % 3 == 0;
    sends_files = link == LinkKind::tcp && !encrypts && viewers == 1 && !sender_dials && frames % 3 == 1;
    stretches_timeouts =
        !uses_rdma() && is_undisturbed() && !sender_dials && !is_crowded() && !(has_dying_viewers && goes_over_tcp());
  }

  /// Every viewer that is not slow, stopped or dying gets every frame, at once.
  [[nodiscard]] bool is_undisturbed() const { return !is_cut && faults_per_thousand == 0; }
  /// More unauthenticated peers than a listener identifies at a time: who comes then waits.
  [[nodiscard]] bool is_crowded() const { return unauthenticated_peers > 90; }
  [[nodiscard]] bool goes_over_tcp() const { return hides_unix_sockets; }
  [[nodiscard]] bool uses_rdma() const { return link == LinkKind::rdma; }

  LinkKind link;
  Delivery delivery;
  std::uint64_t viewers;
  std::uint64_t frames;
  std::uint32_t slots;
  std::uint64_t largest_frame_bytes;
  std::uint64_t frames_per_epoch;
  bool is_cut;
  bool has_slow_viewers;
  unsigned faults_per_thousand;
  bool is_auto;                   // rdma is the best of two links, and tcp the other one
  std::uint64_t devices;          // of RDMA
  std::int64_t pull_interval_ns;  // of half of the viewers; 0: no viewer pulls
  bool sender_dials;              // one sender for each viewer, all with the same streams
  std::uint64_t streams;
  bool hides_unix_sockets;
  bool has_key;
  bool encrypts;
  bool has_refused_viewers;
  bool has_dying_viewers;
  bool has_stopped_viewers;
  std::uint64_t unauthenticated_peers;
  bool drops_at_source;
  std::uint64_t source_threads;  // of each stream
  std::uint64_t slices;          // of a frame; small frames have fewer
  bool gives_frames_up;          // sources do, when some of their slices are sent
  bool source_has_event_loop;    // it sleeps on the stream's descriptor
  bool has_frame_limit;          // streams end by StreamOptions::max_frames
  bool has_time_limit;           // or by StreamOptions::max_duration_ns
  bool has_one_in_flight;
  bool source_sleeps;  // at once, without polling before
  bool sends_files;    // frames lie in a file, where the link can take them from there
  bool stretches_timeouts;
};

/// The key of this run has number 1.
SecretBytes<32> key_number(std::uint8_t number);
/// What both ends have in common.
EndpointOptions endpoint_of(const Plan& plan);

}  // namespace framewire::sim
