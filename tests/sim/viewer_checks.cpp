// What a simulated viewer checks.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "frame/test_pattern.hpp"
#include "tests/sim/viewer.hpp"

namespace framewire::sim {

bool Viewer::is_prompt() const {
  return plan_.is_undisturbed() && !plan_.is_crowded() && !plan_.is_short_of_memory && !plan_.fills_wires() &&
         !plan_.loses_packets && !is_slow_ && !has_stopped_ && !has_died_;
}

/// Since when nothing but a wake-up was needed to see an event. What waits behind frames that keep coming waits for the
/// device; a wake-up that was lost stops them, too.
std::int64_t Viewer::awaited_since_ns(std::int64_t event_ns, const Session& session) const {
  return plan_.queues_formats() ? std::max(event_ns, session.frame_came_ns) : event_ns;
}

void Viewer::check_frame(const ReceivedFrame& frame, Session& session) const {
  const std::uint64_t sequence = frame.header().sequence;
  const bool is_torn = find_torn_line(frame.payload(), frame.header().user_tag).has_value();
  EXPECT_TRUE(!is_torn || frame.is_withdrawn()) << "torn frame " << sequence;
  check_header(frame.header());
  if (frame.session_number() == session.number && session.received > 0) {
    session.skipped += sequence - session.last_sequence - 1;
    EXPECT_GT(sequence, session.last_sequence) << "out of order, or twice";
    if (plan_.delivery == Delivery::every && !pulls_ && !plan_.gives_frames_up) {
      EXPECT_EQ(sequence, session.last_sequence + 1) << "a frame is missing under every";
    }
  }
  const bool may_be_old = pulls_ && frame.session_number() != session.number;  // published before this viewer came
  if (is_prompt() && !may_be_old) {
    EXPECT_LT(monotonic_ns() - awaited_since_ns(frame.header().times.completed_ns, session), prompt_ns)
        << "a wake-up was lost" << (pulls_ ? " of one that pulls" : "");
  }
  check_order(frame, session);
  session.number = frame.session_number();
  session.last_sequence = sequence;
  session.frame_came_ns = world_.now_ns();
  ++session.received;
  session.bytes += frame.payload().size();
}

/// Of one session.
void Viewer::check_order(const ReceivedFrame& frame, Session& session) const {
  const FrameHeader& header = frame.header();
  if (frame.session_number() != session.number) {
    EXPECT_GT(frame.session_number(), session.number);
    session.last_epoch = 0;
  }
  EXPECT_GE(header.epoch, std::max(session.last_epoch, std::uint32_t{1})) << "a frame of an earlier epoch";
  session.last_epoch = header.epoch;
  EXPECT_GE(header.layout.size_bytes, 1U);
  EXPECT_LE(header.layout.size_bytes, plan_.largest_frame_bytes);
  EXPECT_EQ(frame.payload().size(), header.layout.size_bytes);
  EXPECT_FALSE(header.is_aborted);
  EXPECT_EQ(header.pts_ns, static_cast<std::int64_t>(header.user_tag) * ns_per_ms);
}

/// What its program is told of the session.
void Viewer::check_status(const SubscriberStatus& status, Session& session) const {
  EXPECT_GE(status.session_number, session.told_number);
  EXPECT_GE(status.epochs_begun, session.told_epochs);
  session.told_number = status.session_number;
  session.told_epochs = status.epochs_begun;
  const bool has_ended = status.state == SubscriberState::finished || status.state == SubscriberState::failed;
  EXPECT_TRUE(has_ended || status.exit_status == ExitStatus::ok);
  EXPECT_FALSE(status.is_out_of_memory && plan_.is_undisturbed()) << status.message;
  check_cadence(status, session);
  check_input(status, session);
  if (status.state != SubscriberState::connected) {
    return;
  }
  EXPECT_GT(status.session_number, 0U);
  EXPECT_TRUE(status.transport == name(plan_.link) || (plan_.is_auto && status.transport == "tcp")) << status.transport;
  EXPECT_EQ(status.memory, "host");
  EXPECT_EQ(status.delivery, pulls_ ? Delivery::latest : plan_.delivery);
  check_start_line(status);
  EXPECT_TRUE(status.epochs_begun == 0 || status.format.has_value());
  if (status.format) {
    EXPECT_LE(status.format->layout.size_bytes, plan_.largest_frame_bytes);
  }
  EXPECT_LT(status.connecting_since_ns, monotonic_ns());
  EXPECT_GE(status.connecting_since_ns, begun_ns_);
}

void Viewer::check_cadence(const SubscriberStatus& status, const Session& session) const {
  const std::string& refusal = status.cadence_refusal;
  EXPECT_TRUE(refusal.empty() || session.has_asked_cadence) << refusal;
  const bool is_of_offer =
      refusal.find("another viewer") != std::string::npos || refusal.find("too far") != std::string::npos;
  const bool is_of_no_offer = refusal.find("times of its own") != std::string::npos;
  EXPECT_TRUE(refusal.empty() || (plan_.offers_cadence ? is_of_offer : is_of_no_offer)) << refusal;
}

void Viewer::check_input(const SubscriberStatus& status, const Session& session) const {
  const std::string& refusal = status.input_refusal;
  EXPECT_TRUE(refusal.empty() || session.has_sent_input) << refusal;
  EXPECT_TRUE(refusal.empty() ||
              refusal.find(plan_.takes_input ? "another viewer" : "takes no input") != std::string::npos)
      << refusal;
  EXPECT_TRUE(status.message_refusal.empty() || (!plan_.takes_input && session.has_sent_input));
}

/// All processes have one clock here.
void Viewer::check_clock(const Subscriber::ClockOffset& clock) const {
  EXPECT_LE(std::abs(clock.offset_ns), clock.uncertainty_ns);
  EXPECT_EQ(clock.uncertainty_ns > 0, plan_.goes_over_tcp());
}

void Viewer::check_start_line(const SubscriberStatus& status) const {
  EXPECT_EQ(status.start_line.find("transport=" + status.transport + " "), 0U) << status.start_line;
  const bool is_encrypted = (plan_.encrypts || asks_to_encrypt_) && status.transport == "tcp";
  EXPECT_NE(status.start_line.find(is_encrypted ? "=tls" : "=plaintext"), std::string::npos) << status.start_line;
  const std::string_view identity = plan_.has_key           ? "auth=psk control=tls1.3 "
                                    : plan_.goes_over_tcp() ? "auth=none control=plain "
                                                            : "auth=user control=unix ";
  EXPECT_NE(status.start_line.find(identity), std::string::npos) << status.start_line;
}

void Viewer::check_slice(const ReceivedFrame& slice) const {
  const FrameHeader& header = slice.header();
  EXPECT_TRUE(options_.takes_slices);
  const auto bytes = slice_bytes(slice.payload(), header);
  const bool is_torn = find_torn_line(bytes, header.user_tag, header.slice_offset_bytes / test_line_bytes).has_value();
  EXPECT_TRUE(!is_torn || slice.is_withdrawn()) << "torn slice " << header.slice << " of frame " << header.sequence;
}

void Viewer::check_header(const FrameHeader& header) const {
  EXPECT_EQ(header.stream, source_.stream().options().number);
  EXPECT_TRUE(header.has_test_pattern);
  EXPECT_LE(header.times.begun_ns, header.times.completed_ns);
  EXPECT_LE(header.times.completed_ns, monotonic_ns());
  if (!pulls_) {  // a frame that is pulled is not offered
    EXPECT_LE(header.times.completed_ns, header.times.offered_ns);
    EXPECT_LE(header.times.offered_ns, monotonic_ns());
  }
  EXPECT_GT(header.times.begun_ns, 0);
}

void Viewer::check_joined(const SubscriberStatus& status, Session& session) const {
  if (session.joined_ns == INT64_MAX && status.state == SubscriberState::connected) {
    session.joined_ns = monotonic_ns();
    if (is_prompt() && !plan_.sender_dials) {
      EXPECT_LT(session.joined_ns - begun_ns_, prompt_ns) << "it joined late";
    }
    // A listener waits for a second before it closes peers that say nothing, to make room.
    if (plan_.is_undisturbed() && plan_.is_crowded() && !plan_.sender_dials && !plan_.loses_packets && !has_stopped_) {
      EXPECT_LT(session.joined_ns - begun_ns_, 5 * ns_per_s) << "peers that say nothing keep it out";
    }
  }
}

/// After the end that the sender has told, there are no more frames. A viewer that pulls can always read the newest.
void Viewer::check_nothing_follows(Subscriber& subscriber) {
  if (pulls_ || subscriber.status().state != SubscriberState::finished ||
      world_.chance(plan_.is_interrupted ? 0 : 50)) {
    return;
  }
  sleep_up_to(10 * ns_per_ms);
  EXPECT_FALSE(subscriber.next()) << "a frame came after the end";
}

/// Nobody closes a connection without a word while the stream goes on: whoever is refused hears why.
void Viewer::check_told(const SubscriberStatus& status) const {
  if (!plan_.is_undisturbed() || plan_.is_crowded() || has_stopped_ || source_.stream().is_finished()) {
    return;
  }
  for (const char* const ending : {"closed the connection", "is gone", "hung up", "reset"}) {
    EXPECT_EQ(status.message.find(ending), std::string::npos) << status.message;
  }
}

bool Viewer::is_told_of_no_place(const SubscriberStatus& status) const {
  return plan_.has_few_places() && status.exit_status == ExitStatus::refused &&
         status.message.find(" already; start it with a larger --viewers") != std::string::npos;
}

void Viewer::check_end(const SubscriberStatus& status, const Session& session) const {
  if (plan_.viewers_lack_memory && plan_.is_undisturbed_otherwise() && plan_.sender_dials && !is_refused_) {
    EXPECT_TRUE(status.state == SubscriberState::finished || source_.stream().is_finished())
        << "a sender stays in a session that failed here: " << status.message;
  }
  if (!plan_.is_undisturbed() || is_told_of_no_place(status)) {
    return;
  }
  // After the last frame, a sender that dials has no session for a viewer that comes, and one that listens does not
  // offer the stream while others go on.
  const bool comes_late = session.joined_ns == INT64_MAX && source_.stream().is_finished();
  const bool is_told = status.message.find("has no stream") != std::string::npos;
  if (is_refused_) {
    EXPECT_EQ(status.state, SubscriberState::failed) << status.message;
    EXPECT_EQ(status.exit_status, plan_.sender_dials ? ExitStatus::lost_peer : ExitStatus::refused) << status.message;
    // A sender that dials says why to itself only.
    const std::string reason = plan_.has_key ? "key" : options_.stream == "another" ? "another" : "pull";
    EXPECT_TRUE(plan_.sender_dials || (comes_late && is_told) || status.message.find(reason) != std::string::npos)
        << status.message;
    return;
  }
  if (is_prompt() && session.cadence_asked_in_vain_ns + 2 * prompt_ns < source_.finished_ns()) {
    EXPECT_FALSE(status.cadence_refusal.empty()) << "it was not told that its cadence is impossible";
  }
  const bool is_too_late = comes_late && (plan_.sender_dials || is_told);
  EXPECT_TRUE(is_too_late || status.state == SubscriberState::finished) << status.message;
  if (is_prompt() && !is_too_late) {
    const std::int64_t since_ns = awaited_since_ns(std::max(session.joined_ns, source_.finished_ns()), session);
    EXPECT_LT(monotonic_ns() - since_ns, prompt_ns) << "it heard of the end late";
  }
}

void Viewer::check_counts(const SubscriberCounts& counts, const Session& session) const {
  EXPECT_EQ(counts.frames_received, session.received);
  EXPECT_EQ(counts.bytes_received, session.bytes);
  EXPECT_EQ(counts.frames_skipped, session.skipped);
  if (plan_.is_undisturbed()) {
    EXPECT_EQ(counts.frames_lost, 0U);
    if (plan_.delivery == Delivery::every && !pulls_ && !plan_.gives_frames_up) {
      EXPECT_EQ(counts.frames_skipped, 0U);
    }
  }
}

}  // namespace framewire::sim
