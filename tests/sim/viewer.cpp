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
#include "tests/sim/sockets.hpp"

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
  total_.frames_skipped += counts.frames_skipped;
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
                  .lacks_memory_after = lacks_memory_ ? world_.below(10) : UINT64_MAX,
                  .reads_before = Network::get().reads[process_]};
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
    if (plan_.viewers_take_one) {
      break;
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
  // What it asks before its session begins is for none.
  const bool is_in_vain = session.joined_ns != INT64_MAX && (!plan_.offers_cadence || period >= 2);
  session.cadence_asked_in_vain_ns = is_in_vain ? monotonic_ns() : INT64_MAX / 2;
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
  // A viewer that there is no place for hears of it when it is connected.
  const bool must_arrive =
      subscriber.status().state == SubscriberState::connected && plan_.is_undisturbed() && !plan_.has_few_places();
  source_.input_is_sent();
  const bool is_sent =
      subscriber.send_input({.viewer = std::string(16 - digits.size(), '0') + digits,
                             .epoch = 1,
                             .events = {{1, KeyInput{.usage = 4, .is_pressed = session.is_key_pressed}}}});
  if (!is_sent) {
    source_.input_is_sent(false);
  }
  EXPECT_TRUE(is_sent || !must_arrive || source_.stream().is_finished()) << "input was dropped";
  if (session.messages_sent < 4 && subscriber.send_message("{\"a\":1}")) {
    ++session.messages_sent;
  }
}

/// How often there may have been one. Over tcp a small buffer brings a frame in many pieces, and each wakes a program
/// that reads them itself.
std::uint64_t Viewer::wakes_with_reason(const Session& session) const {
  const std::uint64_t of_frames =
      plan_.slices > 1 ? (4 + plan_.slices) * source_.stream().frames_produced() : 4 * session.received;
  const bool reads_pieces = (plan_.link == LinkKind::tcp || plan_.is_auto) && options_.driver == Driver::program;
  return std::max(of_frames, reads_pieces ? Network::get().reads[process_] - session.reads_before : 0);
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
    EXPECT_LT(session.idle_waits, 100 + wakes_with_reason(session)) << "it wakes without a reason";
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

}  // namespace framewire::sim
