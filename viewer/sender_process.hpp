// One framewire-send that the viewer runs for a layer, here or by ssh on another host.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/file_descriptor.hpp"
#include "base/log.hpp"
#include "base/prefixed_log.hpp"
#include "command/child_process.hpp"
#include "viewer/local_source.hpp"
#include "viewer/ssh_sender.hpp"

namespace framewire {

/// How long to wait before a program that has failed is started again: 1 s, 2 s, 4 s and so on, up to 30 s. After a run
/// that lasted longer than that it begins anew.
class RestartDelay {
 public:
  std::int64_t next_ns(std::int64_t ran_ns) noexcept;

 private:
  std::int64_t next_ns_ = 0;
};

/// How a sender finds its viewer, and what its failure means.
struct SenderStart {
  std::uint16_t port = 0;                    // of a sender on this machine
  Size drawn_size{};                         // of the same: see sender_command()
  std::shared_ptr<Rendezvous> rendezvous{};  // with a sender on another host
  bool must_work = false;                    // on another host: if its source is not opened now, it is not tried again
};

/// Starts the program, follows it and ends it. On this machine it leads a process group, so that Ctrl-C in a terminal
/// reaches only the viewer, which then ends it. It inherits no descriptor but the pipe that is its standard error. It
/// is killed when the thread that calls start() ends, however that happens. That thread, the viewer's main one, makes
/// all calls.
class SenderProcess {
 public:
  enum class State {
    running,
    failed,   // is to be started again: see is_due()
    refused,  // as of wrong options; starting it again is of no use
    ended,    // as its source did, or because of stop()
  };

  /// Does not start it. `clock` and `log` outlive it.
  SenderProcess(std::string program, LocalSource source, const Clock& clock, Log& log, SshOptions ssh = {});
  SenderProcess(const SenderProcess&) = delete;
  SenderProcess& operator=(const SenderProcess&) = delete;
  /// Kills it if it still runs.
  ~SenderProcess() = default;

  /// Has it send. If that fails, the state says so. Not while it runs.
  void start(const SenderStart& how);
  /// Logs what it has said, and notices its end. Never waits. `is_ending`: whether the user has asked the viewer to
  /// end; Ctrl-C in a terminal has ended ssh as well then, which is no failure.
  void follow(const std::function<bool()>& is_ending = {});
  /// Its stream has begun: what it fails of later is news again.
  void forget_reason() noexcept { reason_.clear(); }
  /// Asks it to end; follow() kills it if it has not ended two seconds later.
  void stop();

  [[nodiscard]] const LocalSource& source() const noexcept { return source_; }
  [[nodiscard]] State state() const noexcept { return state_; }
  /// If it was refused.
  [[nodiscard]] ExitStatus exit_status() const noexcept { return exit_status_; }
  /// Why it failed or was refused, the last time that it did: one sentence.
  [[nodiscard]] const std::string& reason() const noexcept { return reason_; }
  /// It has failed, and the time to start it again has come.
  [[nodiscard]] bool is_due() const noexcept { return state_ == State::failed && clock_.now_ns() >= due_ns_; }
  /// Readable when it has said something or has ended; -1: it does not run.
  [[nodiscard]] int descriptor() const noexcept { return output_.get(); }
  [[nodiscard]] pid_t pid() const noexcept { return child_.pid(); }

 private:
  void launch(const SenderStart& how);
  void follow_ssh();
  void read_output();
  void take_line(std::string_view line);
  void take_end(const ChildExit& ending);
  [[nodiscard]] std::optional<SshFailure> ssh_failure(const ChildExit& ending) const;
  /// Whether this failure is the last one, whatever it is of.
  [[nodiscard]] bool gives_up() const noexcept { return must_work_ && !(ssh_ && ssh_->is_listening()); }
  void fail(const std::string& reason, State state);

  const std::string program_;
  const LocalSource source_;
  const Clock& clock_;
  PrefixedLog log_;
  const SshOptions ssh_options_;
  std::optional<SshSender> ssh_;  // of this run, on another host
  std::string ssh_fault_;         // what it said is no message of a sender
  bool must_work_ = false;
  bool has_noted_silence_ = false;
  ChildProcess child_;
  FileDescriptor output_;   // its standard error
  std::string unfinished_;  // a line of it
  std::string last_error_;  // the last line of this run that is an error
  std::string last_line_;   // the last one of any kind
  std::string reason_;
  State state_ = State::ended;
  ExitStatus exit_status_ = ExitStatus::usage;
  RestartDelay delay_;
  std::int64_t started_ns_ = 0;
  std::int64_t due_ns_ = INT64_MAX;
  std::int64_t kill_at_ns_ = INT64_MAX;
  bool is_stopping_ = false;
};

}  // namespace framewire
