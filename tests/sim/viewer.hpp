// A simulated viewer: what its program does, and what it checks.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <string>
#include <thread>

#include "tests/base/logs.hpp"
#include "tests/sim/plan.hpp"
#include "tests/sim/source.hpp"
#include "tests/sim/world.hpp"
#include "transport/session/subscriber.hpp"

namespace framewire::sim {

/// One viewer's program, in a process of its own.
class Viewer {
 public:
  /// `may_pull`: not the first viewer of a stream, which needs one that watches.
  Viewer(World& world, const Plan& plan, std::uint16_t port, Source& source, bool may_pull);
  void start() {
    thread_ = std::thread([this] { run(); });
  }
  /// The sender has told all viewers that it had of the end. One that comes later, or comes back, would wait for ever.
  void sender_has_ended() { has_no_sender_ = true; }
  /// Its counts of all sessions.
  [[nodiscard]] const SubscriberCounts& total() const { return total_; }
  /// Waits for its end. One that has died lives again, to take its program down.
  void join();
  ~Viewer() { join(); }
  Viewer(const Viewer&) = delete;
  Viewer& operator=(const Viewer&) = delete;

  /// Whether the sender gets no session with it.
  [[nodiscard]] bool is_refused() const { return is_refused_; }
  /// When it ended or died; INT64_MAX before.
  [[nodiscard]] std::int64_t ended_ns() const { return ended_ns_; }
  [[nodiscard]] std::string log_text() { return log_.text(); }

 private:
  /// What it knows of a subscriber's session, and after how many frames it does something else than to watch.
  struct Session {
    std::uint64_t leaves_after = UINT64_MAX;
    std::uint64_t dies_after = UINT64_MAX;
    std::uint64_t stops_after = UINT64_MAX;
    std::uint64_t lacks_memory_after = UINT64_MAX;
    std::uint64_t number = 0;
    std::uint64_t received = 0;
    std::uint64_t bytes = 0;
    std::uint64_t skipped = 0;
    std::uint64_t last_sequence = 0;
    std::uint32_t last_epoch = 0;
    std::uint64_t told_number = 0;  // of the session, by its status
    std::uint64_t told_epochs = 0;
    std::int64_t joined_ns = INT64_MAX;
    std::int64_t frame_came_ns = 0;  // the last one
    std::uint64_t idle_waits = 0;
    std::uint64_t reads_before = 0;  // its process's, when it began
    bool has_asked_cadence = false;
    std::int64_t cadence_asked_in_vain_ns = INT64_MAX / 2;  // when it last asked, if for what is impossible
    bool has_sent_input = false;
    bool is_key_pressed = false;
    int messages_sent = 0;
  };
  enum class Next { watch, come_back, end };

  void ask_for_refusal();
  void run();
  void end();
  [[nodiscard]] bool keeps_stream_going() const;
  Next watch(Subscriber& subscriber);
  Next take_frames(Subscriber& subscriber, Session& session);
  void lose_memory(const Session& session);
  Next misbehave(Subscriber& subscriber, const Session& session);
  [[nodiscard]] bool waits_in_vain(const SubscriberStatus& status, const Session& session) const;
  void ask_cadence(Subscriber& subscriber, Session& session);
  void send_input(Subscriber& subscriber, Session& session) const;
  [[nodiscard]] std::uint64_t wakes_with_reason(const Session& session) const;
  void wait(Subscriber& subscriber, Session& session);
  void close(Subscriber& subscriber) const;
  void die();
  void add_up(const SubscriberCounts& counts);
  void sleep_up_to(std::int64_t limit_ns);

  [[nodiscard]] bool is_prompt() const;
  [[nodiscard]] std::int64_t awaited_since_ns(std::int64_t event_ns, const Session& session) const;
  void check_frame(const ReceivedFrame& frame, Session& session) const;
  void check_order(const ReceivedFrame& frame, Session& session) const;
  void check_status(const SubscriberStatus& status, Session& session) const;
  void check_start_line(const SubscriberStatus& status) const;
  void check_cadence(const SubscriberStatus& status, const Session& session) const;
  void check_input(const SubscriberStatus& status, const Session& session) const;
  void check_clock(const Subscriber::ClockOffset& clock) const;
  void check_slice(const ReceivedFrame& slice) const;
  void check_header(const FrameHeader& header) const;
  void check_joined(const SubscriberStatus& status, Session& session) const;
  void check_nothing_follows(Subscriber& subscriber);
  void check_told(const SubscriberStatus& status) const;
  [[nodiscard]] bool is_told_of_no_place(const SubscriberStatus& status) const;
  void check_end(const SubscriberStatus& status, const Session& session) const;
  void check_counts(const SubscriberCounts& counts, const Session& session) const;

  World& world_;
  const Plan& plan_;
  Source& source_;
  test::KeptLog log_;  // its own: a process that is dead may hold its mutex
  const bool is_refused_;
  bool leaves_;
  std::uint64_t visits_left_;  // after this one, before it stays
  const bool asks_to_encrypt_;
  const bool dies_;
  bool stops_;
  const bool is_slow_;
  const bool pulls_;
  bool lacks_memory_;  // some time, and has not yet
  const WaitMode wait_mode_;
  const bool has_event_loop_;  // it sleeps on the subscriber's descriptor
  std::atomic<bool> has_no_sender_ = false;
  bool has_stopped_ = false;
  bool has_died_ = false;
  bool is_joined_ = false;
  unsigned failures_ = 0;
  int process_ = 0;
  std::int64_t begun_ns_ = 0;
  std::int64_t ended_ns_ = INT64_MAX;
  SubscriberOptions options_;
  SubscriberCounts total_;
  std::deque<ReceivedFrame> held_;
  std::thread thread_;
};

}  // namespace framewire::sim
