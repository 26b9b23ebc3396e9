// What happens in one run of simulated sessions.
#pragma once

#include <algorithm>
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
inline constexpr std::uint64_t large_frame_bytes = 1'000'000;
inline constexpr std::int64_t time_limit_ns = 60 * ns_per_ms;
/// Of a source that offers one.
inline constexpr std::int64_t cadence_period_ns = 2 * ns_per_ms;

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
    files_are_cut = sends_files && largest_frame_bytes % 4 == 1;
    viewers_encrypt = has_key && traits(link).can_be_encrypted && largest_frame_bytes % 5 == 1;
    has_frequent_viewers = largest_frame_bytes % 10 == 7;
    is_short_of_memory = largest_frame_bytes % 8 == 3;
    is_interrupted = frames % 10 == 7 && largest_frame_bytes % 2 == 0;
    accepting_fails = faults_per_thousand % 3 == 1;
    offers_cadence = frames % 2 == 0;
    viewers_ask_cadence = largest_frame_bytes % 3 == 0;
    takes_input = frames % 3 != 0;
    viewers_send_input = largest_frame_bytes % 3 == 1;
    mixes_claims = source_threads > 1 && frames % 4 != 0;
    // Where no frame waits, nothing but a claim asks the link for a wake-up.
    has_one_in_flight = has_one_in_flight || (mixes_claims && delivery == Delivery::every && pull_interval_ns == 0);
    if (largest_frame_bytes % 25 == 5 && !files_are_cut) {
      largest_frame_bytes = 3 * large_frame_bytes;
      frames = std::min(frames, std::uint64_t{8});
    }
    if (is_interrupted) {
      frames *= 10;  // it goes on when the interruption comes
    }
    max_viewers = sends_files ? 1 : frames % 8 == 4 && !sender_dials && pull_interval_ns == 0 ? 1 + slots % 3 : 8;
    loses_packets = goes_over_tcp() && link == LinkKind::tcp && largest_frame_bytes % 4 == 2;
    crowd_stays = is_crowded() && frames % 3 != 0;
    viewers_lack_memory = sender_dials && largest_frame_bytes % 3 == 2;
    cuts_some_wires = is_cut && frames % 2 == 1;
    viewers_take_one = frames % 7 == 1;
    if (viewers_lack_memory && frames_per_epoch == UINT64_MAX) {
      frames_per_epoch = 1 + frames % 10;  // each takes memory
    }
    // Credits of small frames are held back only where a ring has as many slots.
    slots = largest_frame_bytes % 6 == 2 ? 8 + static_cast<std::uint32_t>(frames % 9) : slots;
    stretches_timeouts = !uses_rdma() && is_undisturbed() && !sender_dials && !is_crowded() && !is_short_of_memory &&
                         !loses_packets && !(has_dying_viewers && goes_over_tcp());
  }

  /// Every viewer that is not slow, stopped or dying gets every frame, at once.
  [[nodiscard]] bool is_undisturbed() const { return !viewers_lack_memory && is_undisturbed_otherwise(); }
  /// But by viewers that have no memory for a while.
  [[nodiscard]] bool is_undisturbed_otherwise() const {
    return !is_cut && faults_per_thousand == 0 && !is_interrupted && !files_are_cut;
  }
  /// Viewers that come when all places are taken are refused.
  [[nodiscard]] bool has_few_places() const { return max_viewers < viewers; }
  /// More unauthenticated peers than a listener identifies at a time: who comes then waits.
  [[nodiscard]] bool is_crowded() const { return unauthenticated_peers > 90; }
  [[nodiscard]] bool goes_over_tcp() const { return hides_unix_sockets; }
  /// Each of its frames takes many reads, or milliseconds on the slowest device.
  [[nodiscard]] bool fills_wires() const {
    // A slice may take two milliseconds there, and as many frames may wait as there are slots.
    constexpr std::uint64_t slice_ns = 2 * ns_per_ms;
    const bool has_many_slices = slices > 1 && slices * slots * viewers * slice_ns > prompt_ns;
    return largest_frame_bytes > large_frame_bytes ||
           (uses_rdma() && (largest_frame_bytes * slots > 50'000 || has_many_slices));
  }
  /// Each format begins with all its credits: where formats follow each other sooner than a slow device sends their
  /// frames, those of many are on their way together, and a frame comes long after it was complete.
  [[nodiscard]] bool queues_formats() const {
    return uses_rdma() && delivery == Delivery::every && frames_per_epoch != UINT64_MAX;
  }
  [[nodiscard]] bool uses_rdma() const { return link == LinkKind::rdma; }

  LinkKind link;
  Delivery delivery;
  std::uint64_t viewers;
  std::uint64_t frames;
  std::uint32_t slots;
  std::uint64_t largest_frame_bytes;
  std::uint64_t frames_per_epoch;
  bool is_cut;
  bool cuts_some_wires;  // and leaves others: of a session, perhaps, one of its two
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
  bool mixes_claims;             // some wait for room as long as it takes, and others for a moment
  std::uint64_t slices;          // of a frame; small frames have fewer
  bool gives_frames_up;          // sources do, when some of their slices are sent
  bool source_has_event_loop;    // it sleeps on the stream's descriptor
  bool has_frame_limit;          // streams end by StreamOptions::max_frames
  bool has_time_limit;           // or by StreamOptions::max_duration_ns
  bool has_one_in_flight;
  bool source_sleeps;         // at once, without polling before
  bool sends_files;           // frames lie in a file, where the link can take them from there
  bool files_are_cut;         // after some frames the file is shorter than it was said to be
  bool viewers_encrypt;       // some ask for it; encrypts: the sender does
  bool has_frequent_viewers;  // they come back so often that reports are added up
  bool is_short_of_memory;    // the kernel takes a part of what is sent, however short that is
  bool is_interrupted;        // the sender's program is
  bool accepting_fails;       // for a while
  bool offers_cadence;        // sources can render at other times
  bool viewers_ask_cadence;   // at times, also for what there is not
  bool takes_input;           // sources do, and messages, which they send back to all viewers
  bool viewers_send_input;    // and messages, at times
  std::uint32_t max_viewers;  // of each stream
  bool loses_packets;         // the network does, and brings them again later
  bool crowd_stays;           // peers that say nothing, and do not leave by themselves
  bool viewers_take_one;      // frame each time they are woken
  bool viewers_lack_memory;   // some have none for new epochs for a while
  bool stretches_timeouts;
};

/// The seeds of a test: FRAMEWIRE_SEED is the first, and alone unless FRAMEWIRE_SEEDS says how many there are.
struct SeedRange {
  std::uint64_t first = 1;
  std::uint64_t count = 1;
};
/// `usual_count`: where neither variable is set.
SeedRange chosen_seeds(std::uint64_t usual_count);

/// The key of this run has number 1.
SecretBytes<32> key_number(std::uint8_t number);
/// What both ends have in common.
EndpointOptions endpoint_of(const Plan& plan);

}  // namespace framewire::sim
