#include "tests/sim/viewer.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/wait.hpp"
#include "frame/test_pattern.hpp"
#include "tests/sim/descriptors.hpp"

namespace framewire::sim {

Viewer::Viewer(World& world, const Plan& plan, std::uint16_t port, Source& source, bool may_pull)
    : world_(world),
      plan_(plan),
      source_(source),
      is_refused_(plan.has_refused_viewers && world.chance(30)),
      leaves_(world.chance(20) || plan.has_frequent_viewers),
      visits_left_(plan.has_frequent_viewers ? 1 + world.below(100) : 1),
      asks_to_encrypt_(plan.viewers_encrypt && world.chance(50)),
      dies_(plan.has_dying_viewers && world.chance(40)),
      stops_(plan.has_stopped_viewers && world.chance(40)),
      is_slow_(plan.has_slow_viewers && world.chance(50)),
      pulls_(plan.pull_interval_ns > 0 && may_pull && world.chance(50)),
      lacks_memory_(plan.viewers_lack_memory && world.chance(50)),
      wait_mode_(world.chance(50) ? WaitMode::adaptive : WaitMode::block),
      has_event_loop_(world.chance(40)) {
  options_.endpoint = endpoint_of(plan);
  (plan.sender_dials ? options_.endpoint.listen : options_.endpoint.dial) = HostPort{"127.0.0.1", port};
  options_.endpoint.encrypt = asks_to_encrypt_;
  options_.endpoint.pull_interval_ns = pulls_ ? plan.pull_interval_ns : 0;
  options_.stream = source.stream().options().name;
  if (is_refused_) {
    ask_for_refusal();
  }
  options_.driver = world.chance(50) ? Driver::program : Driver::subscriber;
  options_.takes_slices = world.chance(50);
  options_.takes_messages = true;
  if (plan.sender_dials || !plan.is_undisturbed() || plan.has_refused_viewers) {
    options_.retry_ns = (plan.is_interrupted ? 1 : 30) * ns_per_s;  // else a sender comes; the default is to wait
  }
  if (keeps_stream_going()) {
    source_.add_viewer();
  }
}

void Viewer::join() {
  is_joined_ = true;
  if (has_died_) {
    world_.continue_process(process_);
  }
  if (thread_.joinable()) {
    thread_.join();
  }
}

/// By a stream that there is not, by pulling what may not be pulled, by another key, or by none.
void Viewer::ask_for_refusal() {
  if (!plan_.has_key && plan_.viewers % 2 == 0 && !plan_.is_auto && plan_.pull_interval_ns == 0) {
    options_.endpoint.pull_interval_ns = ns_per_ms;
  } else if (!plan_.has_key) {
    options_.stream = "another";
  } else if (world_.chance(50)) {
    options_.endpoint.one_time_key = key_number(2);
  } else {
    options_.endpoint.one_time_key.reset();
    options_.endpoint.insecure = true;
  }
}

/// Under `every` a stream waits for those that are sent its frames.
bool Viewer::keeps_stream_going() const {
  return !pulls_ || plan_.delivery == Delivery::latest;
}

void Viewer::run() {
  process_ = world_.begin_process();
  sleep_up_to(plan_.sender_dials ? 600 * ns_per_ms : 50 * ns_per_ms);
  for (Next next = Next::come_back; next == Next::come_back;) {
    try {
      begun_ns_ = monotonic_ns();
      Subscriber subscriber(options_, log_);
      next = watch(subscriber);
      held_.clear();
      add_up(subscriber.counts());
    } catch (const std::exception& error) {
      EXPECT_FALSE(plan_.is_undisturbed()) << error.what();
      next = !plan_.is_undisturbed() && ++failures_ < 20 ? Next::come_back : Next::end;  // a call failed; another try
    }
  }
  end();
}

void Viewer::add_up(const SubscriberCounts& counts) {
  total_.frames_received += counts.frames_received;
  total_.bytes_received += counts.bytes_received;
  total_.sessions += counts.sessions;
}

void Viewer::end() {
  if (ended_ns_ == INT64_MAX) {
    ended_ns_ = world_.now_ns();
    if (keeps_stream_going()) {
      source_.lose_viewer();
    }
  }
}

Viewer::Next Viewer::watch(Subscriber& subscriber) {
  Session session{.leaves_after = leaves_ ? world_.below(plan_.has_frequent_viewers ? 3 : 20) : UINT64_MAX,
                  .dies_after = dies_ ? world_.below(20) : UINT64_MAX,
                  .stops_after = stops_ ? world_.below(20) : UINT64_MAX,
                  .lacks_memory_after = lacks_memory_ ? world_.below(10) : UINT64_MAX};
  lose_memory(session);
  for (;;) {
    if (const Next next = take_frames(subscriber, session); next != Next::watch) {
      return next;
    }
    const SubscriberStatus status = subscriber.status();
    check_status(status, session);
    check_joined(status, session);
    check_told(status);
    if (status.state == SubscriberState::connected) {
      check_clock(subscriber.clock_offset());
    }
    held_.clear();
    if (status.state == SubscriberState::finished || status.state == SubscriberState::failed) {
      check_end(status, session);
      check_nothing_follows(subscriber);
      close(subscriber);
      if (is_told_of_no_place(status)) {
        total_.sessions -= subscriber.counts().sessions;  // the sender had none
      }
      check_counts(subscriber.counts(), session);
      // A call that failed may have refused the session for good. A new viewer may be luckier.
      const bool tries_again = plan_.uses_rdma() && status.state == SubscriberState::failed &&
                               !plan_.is_undisturbed() && !plan_.is_interrupted && !is_refused_ && ++failures_ < 20;
      return tries_again ? Next::come_back : Next::end;
    }
    if (waits_in_vain(status, session)) {
      close(subscriber);
      return Next::end;
    }
    ask_cadence(subscriber, session);
    send_input(subscriber, session);
    wait(subscriber, session);
  }
}

Viewer::Next Viewer::take_frames(Subscriber& subscriber, Session& session) {
  while (auto frame = subscriber.next()) {
    if (!frame->is_complete()) {
      check_slice(*frame);
      continue;
    }
    check_frame(*frame, session);
    held_.push_back(std::move(*frame));
    if (held_.size() >= plan_.slots || world_.chance(70)) {
      held_.pop_front();
    }
    if (is_slow_) {
      sleep_up_to(20 * ns_per_ms);
    }
    lose_memory(session);
    if (const Next next = misbehave(subscriber, session); next != Next::watch) {
      return next;
    }
  }
  return Next::watch;
}

/// Its process gets none for new epochs, once, for up to a second.
void Viewer::lose_memory(const Session& session) {
  if (session.received >= session.lacks_memory_after && std::exchange(lacks_memory_, false)) {
    world_.take_memory(process_, world_.now_ns() + static_cast<std::int64_t>(world_.below(ns_per_s)));
  }
}

/// Stops, dies or leaves when its time has come.
Viewer::Next Viewer::misbehave(Subscriber& subscriber, const Session& session) {
  if (session.received >= session.stops_after && std::exchange(stops_, false)) {
    has_stopped_ = true;
    world_.stop_process(process_, world_.now_ns() + static_cast<std::int64_t>(world_.below(4'000'000'000)));
  }
  if (session.received >= session.dies_after) {
    die();
    return Next::end;
  }
  if (session.received >= session.leaves_after) {
    leaves_ = --visits_left_ > 0;
    held_.clear();
    if (world_.chance(50)) {
      close(subscriber);
    }
    return Next::come_back;
  }
  return Next::watch;
}

/// A viewer that the sender had, and that nothing disturbed, has been told.
bool Viewer::waits_in_vain(const SubscriberStatus& status, const Session& session) const {
  const bool may_be_untold = session.joined_ns == INT64_MAX || !plan_.is_undisturbed();
  return has_no_sender_ && may_be_untold && status.state != SubscriberState::connected;
}

/// For the source's own period, for one near it, or for what no source has.
void Viewer::ask_cadence(Subscriber& subscriber, Session& session) {
  if (!plan_.viewers_ask_cadence || !world_.chance(20)) {
    return;
  }
  session.has_asked_cadence = true;
  const std::array periods_ns = {
      cadence_period_ns, cadence_period_ns + cadence_period_ns / 60, 2 * cadence_period_ns, std::int64_t{0}, INT64_MIN,
      INT64_MAX};
  const std::array shifts_ns = {std::int64_t{0}, cadence_period_ns / 4, -cadence_period_ns / 4, INT64_MAX, INT64_MIN};
  const std::size_t period = world_.chance(70) ? world_.below(2) : world_.below(periods_ns.size());
  subscriber.ask_cadence(
      {.period_ns = periods_ns.at(period), .shift_ns = shifts_ns.at(world_.below(shifts_ns.size()))});
}

/// A key that is pressed and released again, and few messages: each wakes all viewers.
void Viewer::send_input(Subscriber& subscriber, Session& session) const {
  while (const auto message = subscriber.take_message()) {
    EXPECT_TRUE(plan_.takes_input && plan_.viewers_send_input);
    EXPECT_EQ(message, "{\"a\":1}");
  }
  if (!plan_.viewers_send_input || !world_.chance(30)) {
    return;
  }
  session.has_sent_input = true;
  session.is_key_pressed = !session.is_key_pressed;
  const std::string digits = std::to_string(process_);
  subscriber.send_input({.viewer = std::string(16 - digits.size(), '0') + digits,
                         .epoch = 1,
                         .events = {{1, KeyInput{.usage = 4, .is_pressed = session.is_key_pressed}}}});
  if (session.messages_sent < 4 && subscriber.send_message("{\"a\":1}")) {
    ++session.messages_sent;
  }
}

void Viewer::wait(Subscriber& subscriber, Session& session) {
  const std::uint64_t version = subscriber.status_version();
  if (!has_event_loop_) {
    subscriber.wait(monotonic_ns() + 5 * ns_per_s, wait_mode_);
  } else if (subscriber.arm()) {
    wait_for(subscriber.descriptor(), POLLIN, monotonic_ns() + 5 * ns_per_s);
  }
  if (wait_mode_ == WaitMode::block && !pulls_ && !plan_.fills_wires() && subscriber.status_version() == version) {
    ++session.idle_waits;
    const std::uint64_t wakes =
        plan_.slices > 1 ? (4 + plan_.slices) * source_.stream().frames_produced() : 4 * session.received;
    EXPECT_LT(session.idle_waits, 100 + wakes) << "it wakes without a reason";
  }
}

void Viewer::close(Subscriber& subscriber) const {
  const std::int64_t begun_ns = monotonic_ns();
  subscriber.close("{}");
  if (is_prompt()) {
    EXPECT_LT(monotonic_ns() - begun_ns, prompt_ns) << "the sender answered its bye late";
  }
}

/// Its process ends without a word, or the whole machine does.
void Viewer::die() {
  if (plan_.goes_over_tcp() && world_.chance(50)) {
    descriptors().silence(world_, process_);
  } else {
    descriptors().kill(world_, process_);
  }
  has_died_ = true;
  end();
  if (!is_joined_) {  // else nobody would continue it
    world_.stop_process(process_, INT64_MAX);
  }
}

void Viewer::sleep_up_to(std::int64_t limit_ns) {
  std::this_thread::sleep_for(std::chrono::nanoseconds(world_.below(static_cast<std::uint64_t>(limit_ns))));
}

// ---- What it checks ----

bool Viewer::is_prompt() const {
  return plan_.is_undisturbed() && !plan_.is_crowded() && !plan_.is_short_of_memory && !plan_.fills_wires() &&
         !plan_.loses_packets && !is_slow_ && !has_stopped_ && !has_died_;
}

void Viewer::check_frame(const ReceivedFrame& frame, Session& session) const {
  const std::uint64_t sequence = frame.header().sequence;
  EXPECT_FALSE(find_torn_line(frame.payload(), frame.header().user_tag)) << "torn frame " << sequence;
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
    EXPECT_LT(monotonic_ns() - frame.header().times.completed_ns, prompt_ns) << "a wake-up was lost";
  }
  check_order(frame, session);
  session.number = frame.session_number();
  session.last_sequence = sequence;
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
  EXPECT_FALSE(find_torn_line(slice_bytes(slice.payload(), header), header.user_tag,
                              header.slice_offset_bytes / test_line_bytes))
      << "torn slice " << header.slice << " of frame " << header.sequence;
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
         status.message.find("viewers already; start it with a larger --viewers") != std::string::npos;
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
  const bool is_too_late = comes_late && (plan_.sender_dials || is_told);
  EXPECT_TRUE(is_too_late || status.state == SubscriberState::finished) << status.message;
  if (is_prompt() && !is_too_late) {
    const std::int64_t since_ns = std::max(session.joined_ns, source_.finished_ns());
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
