// The sender's side of all sessions: listens or dials, runs each session, and keeps the reports.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "transport/endpoint_options.hpp"
#include "transport/session/sender_session.hpp"

namespace framewire {

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
  /// 0 when it dials.
  [[nodiscard]] std::uint16_t port() const noexcept;

  /// Waits until every session has ended: said bye after the last frame. Sessions that are not done by `deadline_ns`
  /// are cut. The streams have been finished before. Until the deadline the owner can move it closer by calling
  /// cut_at().
  void drain(std::int64_t deadline_ns);
  /// Any thread.
  void cut_at(std::int64_t deadline_ns);

  /// Sessions that have ended, in that order. Any thread.
  [[nodiscard]] std::vector<SessionReport> reports() const;
  /// A dialling sender that was refused: the sentence. Empty otherwise.
  [[nodiscard]] std::string refusal() const;

 private:
  void run_session(Authenticated authenticated, DataWay way);
  void dial_loop() noexcept;
  void dial_once();
  bool pause();

  SenderContext context_;
  HostPort dial_to_;
  AuthenticateOptions authenticate_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::list<SenderSession*> sessions_;
  std::vector<SessionReport> reports_;
  std::string refusal_;
  FileDescriptor
      handshake_fd_;  // a second descriptor of the connection that is dialled: its silence must not hold up the end
  bool stopping_ = false;
  std::unique_ptr<Door> door_;
  std::thread dialler_;
};

}  // namespace framewire
