// The sender's sessions: listens or dials, runs each session, and keeps their reports.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/error.hpp"
#include "transport/control/no_peer.hpp"
#include "transport/endpoint_options.hpp"
#include "transport/session/sender_session.hpp"

namespace framewire {

/// Why a dial has not led to a session.
struct DialFailure {
  std::string why;
  PeerAbsence absence = PeerAbsence::none;
};

/// Reports of ended sessions, in bounded memory. Not thread-safe.
class SessionHistory {
 public:
  static constexpr std::size_t kept_reports = 64;
  static constexpr std::size_t longest_statistics_bytes = std::size_t{64} * 1024;

  /// Drops viewer statistics longer than longest_statistics_bytes, since the peer chooses their length.
  void add(SessionReport report);
  /// The last kept_reports reports, in the order in which the sessions ended. If there were more, the sums of the
  /// earlier ones come first, one for each of our streams. So the totals are exact, also those of one stream.
  [[nodiscard]] std::vector<SessionReport> reports() const;

 private:
  struct Earlier {
    std::uint64_t count = 0;
    SessionReport sum;
  };

  void add_to_earlier(const SessionReport& report);

  std::vector<Earlier> earlier_;  // one for each stream that had so many
  std::deque<SessionReport> last_;
};

/// Owned by the sender program, which also owns the streams and the log; they outlive the service. Each session has its
/// own thread, so a stalled or dead viewer delays no other.
class SenderService {
 public:
  /// Starts listening or dialling. `on_refused` is called once if the peer refuses a dialling sender, on the dialling
  /// thread and without a lock, when refusal() says why: no viewer will come, and whoever waits in Stream::claim() or
  /// for a stream's descriptor is to be told. It does not throw. Throws Error (port in use, key missing).
  SenderService(const EndpointOptions& endpoint, std::vector<Stream*> streams, const std::string& program, Log& log,
                std::function<void()> on_refused = {});
  /// Cuts the remaining sessions.
  ~SenderService();
  SenderService(const SenderService&) = delete;
  SenderService& operator=(const SenderService&) = delete;

  /// "listening on 127.0.0.1:5290, [::1]:5290" or "dialling HOST:PORT".
  [[nodiscard]] std::string describe() const;
  /// Why no viewer can read the pools by itself (--pull); empty if one can. Asks for this machine's devices.
  [[nodiscard]] std::string pull_unavailable_reason() const;
  /// 0 when it dials.
  [[nodiscard]] std::uint16_t port() const noexcept;

  /// Waits until every session has ended with a bye after its last frame. Call Stream::finish() on the streams before.
  /// At `deadline_ns` the remaining sessions are cut and no new ones begin; handshakes are cut one second later.
  /// cut_at() can move the deadline closer during the wait. False: the deadline has passed, and there were sessions.
  /// The owner's thread.
  bool drain(std::int64_t deadline_ns);
  /// Sets the deadline after which sessions are cut; the earliest one set counts. Any thread.
  void cut_at(std::int64_t deadline_ns);
  /// For an immediate end: like cut_at() for established sessions, but ends handshakes at once, and no session begins.
  /// Any thread.
  void interrupt(std::int64_t deadline_ns);

  /// Limit of concurrent handshakes. A connection beyond it is closed, and handshakes older than one second are ended.
  /// framewire's diallers try again at once.
  static constexpr std::size_t max_handshakes = 100;

  /// Reports of ended sessions; see SessionHistory. Any thread.
  [[nodiscard]] std::vector<SessionReport> reports() const;
  /// Why the peer refused a dialling sender; empty if it did not.
  [[nodiscard]] std::string refusal() const;
  /// Whether an attempt to dial is under way: the first one from the constructor on, each until its session has ended
  /// or the log and last_dial_failure() say why it failed. False between two attempts, and for a listening sender.
  [[nodiscard]] bool is_dialling() const;
  /// The last dial; empty before the first failure, after a session, and for a listening sender.
  [[nodiscard]] DialFailure last_dial_failure() const;

 private:
  struct Running {
    SenderSession* session;
    MessageChannel* channel;  // the session's
    std::int64_t since_ns;
  };
  using RunningIterator = std::list<Running>::iterator;

  void run_session(AuthenticatedChannel authenticated, DataConnector data_connector);
  [[nodiscard]] std::int64_t handshakes_end_ns() const noexcept;
  void end_handshakes();
  std::optional<RunningIterator> register_session(SenderSession& session, MessageChannel& channel);
  void end_stalled_handshakes();
  void dial_loop() noexcept;
  bool try_dial() noexcept;
  void dial_once();
  bool handle_failure(const Error& error);
  bool is_over() const;
  bool are_finished() const;
  bool wait_before_retry();

  SenderContext context_;
  HostPort dial_to_;
  AuthenticateOptions authenticate_;
  const std::function<void()> on_refused_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::list<Running> sessions_;
  SessionHistory history_;
  std::string refusal_;
  DialFailure last_dial_failure_;
  bool is_dialling_ = false;
  FileDescriptor handshake_fd_;  // a second descriptor of the dialled connection, to end its handshake
  bool stopping_ = false;
  bool handshakes_are_over_ = false;
  FileDescriptor stop_event_ = make_eventfd();  // ends dialling
  std::unique_ptr<SessionAcceptor> acceptor_;   // the owner's thread; sessions get a reference from the acceptor itself
  std::thread dialler_;
};

}  // namespace framewire
