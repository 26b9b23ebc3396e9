// The sender's side of all sessions: listens or dials, runs each session, and keeps the reports.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/error.hpp"
#include "transport/endpoint_options.hpp"
#include "transport/session/sender_session.hpp"

namespace framewire {

/// What is known of the sessions that have ended, in bounded memory however many there were. Not thread-safe.
class SessionHistory {
 public:
  static constexpr std::size_t kept_reports = 64;
  static constexpr std::size_t longest_statistics_bytes = std::size_t{64} * 1024;

  /// Statistics of the viewer that are longer are dropped: the peer chose how long they are.
  void add(SessionReport report);
  /// The last ones, in the order of their ends. Where there were more, one report before them adds up the earlier ones,
  /// so that sums over all are exact.
  [[nodiscard]] std::vector<SessionReport> reports() const;

 private:
  void add_to_earlier(const SessionReport& report);

  std::uint64_t earlier_count_ = 0;
  SessionReport earlier_;
  std::deque<SessionReport> last_;
};

/// Owned by the sender program, which also owns the streams; both outlive the service. Each session has a thread of its
/// own, so that a viewer that stalls or dies holds up nobody.
class SenderService {
 public:
  /// Starts. Throws Error (port in use, no key where one is needed).
  SenderService(const EndpointOptions& endpoint, std::vector<Stream*> streams, const std::string& program, Log& log);
  /// Cuts what is left.
  ~SenderService();
  SenderService(const SenderService&) = delete;
  SenderService& operator=(const SenderService&) = delete;

  /// "listening on 127.0.0.1:5290, [::1]:5290" or "dialling HOST:PORT".
  [[nodiscard]] std::string describe() const;
  /// Empty where RDMA connections can be made; else why not.
  [[nodiscard]] std::string why_no_rdma() const;
  /// 0 when it dials.
  [[nodiscard]] std::uint16_t port() const noexcept;

  /// Waits until every session has ended: said bye after the last frame. Sessions that are not done by `deadline_ns`
  /// are cut, those that still shake hands a second later, and new ones are not begun. The streams have been finished
  /// before. Until the deadline the owner can move it closer by calling cut_at(). The owner's thread.
  void drain(std::int64_t deadline_ns);
  /// The soonest that was ever said counts. Any thread.
  void cut_at(std::int64_t deadline_ns);
  /// Somebody wants the end now: the same for sessions that serve, but those that still shake hands end at once, and
  /// none begins. Any thread.
  void interrupt(std::int64_t deadline_ns);

  /// So many sessions may shake hands at a time. Whoever comes then makes those go that have been at it for more than a
  /// second, and is hung up on itself: a dialler of ours comes again at once.
  static constexpr std::size_t max_handshakes = 100;

  /// Sessions that have ended, in that order; see SessionHistory. Any thread.
  [[nodiscard]] std::vector<SessionReport> reports() const;
  /// A dialling sender that was refused: the sentence. Empty otherwise.
  [[nodiscard]] std::string refusal() const;
  /// Of who dials: why the last try came to nothing; empty before one has, and after a session.
  [[nodiscard]] std::string trouble() const;

 private:
  struct Running {
    SenderSession* session;
    MessageChannel* channel;  // the session's
    std::int64_t since_ns;
  };
  using Place = std::list<Running>::iterator;

  void run_session(AuthenticatedChannel authenticated, DataEndpoint data_endpoint);
  [[nodiscard]] std::int64_t handshakes_end_ns() const noexcept;
  void end_handshakes();
  std::optional<Place> enter(SenderSession& session, MessageChannel& channel);
  void make_room();
  void dial_loop() noexcept;
  void dial_once();
  bool go_on_after(const Error& error);
  bool is_over() const;
  bool are_finished() const;
  bool pause();

  SenderContext context_;
  HostPort dial_to_;
  AuthenticateOptions authenticate_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::list<Running> sessions_;
  SessionHistory history_;
  std::string refusal_;
  std::string trouble_;
  FileDescriptor
      handshake_fd_;  // a second descriptor of the connection that is dialled: its silence must not hold up the end
  bool stopping_ = false;
  bool handshakes_are_over_ = false;
  FileDescriptor stop_event_ = make_eventfd();  // ends what is dialled
  std::unique_ptr<SessionAcceptor> acceptor_;   // the owner's thread; sessions get theirs from the acceptor itself
  std::thread dialler_;
};

}  // namespace framewire
