#include "viewer/sender_process.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <utility>

#include "base/error.hpp"
#include "base/pipe.hpp"
#include "base/text.hpp"
#include "viewer/ssh_source.hpp"

namespace framewire {

namespace {

constexpr std::int64_t shortest_delay_ns = ns_per_s;
constexpr std::int64_t longest_delay_ns = 30 * ns_per_s;
/// From SIGTERM to SIGKILL.
constexpr std::int64_t sender_stop_timeout_ns = 2 * ns_per_s;
/// After so long the user is told that ssh has not led to a sender; there may be good reasons.
constexpr std::int64_t ssh_silence_ns = 10 * ns_per_s;
constexpr std::size_t longest_sender_line = 1024;
constexpr std::string_view error_mark = "framewire-send: ";
constexpr std::string_view warning_mark = "framewire-send: warning: ";

}  // namespace

std::int64_t RestartDelay::next_ns(std::int64_t ran_ns) noexcept {
  next_ns_ = next_ns_ == 0 || ran_ns > longest_delay_ns ? shortest_delay_ns : std::min(2 * next_ns_, longest_delay_ns);
  return next_ns_;
}

SenderProcess::SenderProcess(std::string program, LocalSource source, const Clock& clock, Log& log, SshOptions ssh)
    : program_(std::move(program)),
      source_(std::move(source)),
      clock_(clock),
      log_(log, name_of(source_)),
      ssh_options_(std::move(ssh)) {}

void SenderProcess::start(const SenderStart& how) {
  unfinished_.clear();
  last_error_.clear();
  last_line_.clear();
  started_ns_ = clock_.now_ns();
  must_work_ = how.must_work;
  try {
    launch(how);
    state_ = State::running;
  } catch (const Error& error) {
    exit_status_ = error.status();
    fail(error.what(), must_work_ ? State::refused : State::failed);
  }
}

void SenderProcess::launch(const SenderStart& how) {
  PipeEnds error = make_pipe();
  set_non_blocking(error.reads.get(), true);
  if (source_.host) {
    ssh_fault_.clear();
    has_noted_silence_ = false;
    ssh_.emplace(source_, ssh_options_, how.rendezvous);
    child_ = ssh_->start(error.writes.get());
  } else {
    child_ = ChildProcess::start(sender_command(program_, source_, how.port, how.drawn_size),
                                 {.error = error.writes.get()}, true, {}, source_.folder);
  }
  output_ = std::move(error.reads);
}

void SenderProcess::follow(const std::function<bool()>& is_ending) {
  if (!child_.is_running()) {
    return;
  }
  if (clock_.now_ns() >= kill_at_ns_) {
    child_.signal(SIGKILL);
  }
  ChildExit ending;
  const bool has_ended = child_.has_ended(ending);  // before the rest of its output is read
  follow_ssh();
  read_output();
  if (has_ended) {
    is_stopping_ |= ssh_ && is_ending && is_ending();  // asked only now: the signal came before the end
    take_end(ending);
  }
}

void SenderProcess::stop() {
  if (child_.is_running() && !is_stopping_) {
    if (ssh_ && ssh_->has_answered()) {
      ssh_->close();  // a signal would only end ssh
    } else {
      child_.signal(SIGTERM);
    }
    kill_at_ns_ = clock_.now_ns() + sender_stop_timeout_ns;
  } else if (!child_.is_running()) {
    state_ = State::ended;
  }
  is_stopping_ = true;
}

// ---- What it says ----

void SenderProcess::follow_ssh() {
  if (!ssh_ || !ssh_fault_.empty()) {
    return;
  }
  try {
    ssh_->follow(clock_.now_ns());
  } catch (const Error& error) {
    ssh_fault_ = error.what();
    child_.signal(SIGTERM);
    kill_at_ns_ = std::min(kill_at_ns_, clock_.now_ns() + sender_stop_timeout_ns);
    return;
  }
  if (!ssh_->has_answered() && !has_noted_silence_ && clock_.now_ns() - started_ns_ > ssh_silence_ns) {
    has_noted_silence_ = true;
    log_.info("nothing is heard of framewire-send there so far; ssh may be waiting for an answer or for the network");
  }
}

/// Reads a pipe's content at most, so that a program that says very much does not hold the viewer.
void SenderProcess::read_output() {
  std::array<char, 4096> part{};
  for (int i = 0; i < 16 && output_.valid(); ++i) {
    const ssize_t got = ::read(output_.get(), part.data(), part.size());
    if (got <= 0) {
      if (got == 0) {
        output_.reset();
      }
      return;
    }
    unfinished_.append(part.data(), static_cast<std::size_t>(got));
    for (auto end = unfinished_.find('\n'); end != std::string::npos; end = unfinished_.find('\n')) {
      take_line(std::string_view(unfinished_).substr(0, end));
      unfinished_.erase(0, end + 1);
    }
    if (unfinished_.size() > longest_sender_line) {
      take_line(std::exchange(unfinished_, {}));
    }
  }
}

void SenderProcess::take_line(std::string_view line) {
  while (line.ends_with('\r')) {  // ssh's lines end so
    line.remove_suffix(1);
  }
  if (line.empty()) {
    return;
  }
  last_line_ = printable(line, longest_sender_line);
  // ssh's own words are for the user, who may have to answer.
  log_.line(ssh_ && !ssh_->has_answered() ? LogLevel::info : LogLevel::detail, last_line_);
  if (line.starts_with(error_mark) && !line.starts_with(warning_mark)) {
    last_error_ = printable(line.substr(error_mark.size()), longest_sender_line);
  }
}

// ---- Its end ----

void SenderProcess::take_end(const ChildExit& ending) {
  take_line(std::exchange(unfinished_, {}));
  output_.reset();
  kill_at_ns_ = INT64_MAX;
  if (ssh_) {
    ssh_->ended();
  }
  if (const auto failure = ssh_failure(ending)) {
    exit_status_ = ExitStatus::failed;
    fail(failure->reason, failure->is_final ? State::refused : State::failed);
  } else if (is_stopping_ || (ending.signal == 0 && ending.status == 0)) {
    state_ = State::ended;
  } else if (ending.signal != 0) {
    fail("framewire-send was ended by " + signal_text(ending.signal), State::failed);
  } else {
    const std::string reason = !last_error_.empty() ? last_error_
                               : !last_line_.empty()
                                   ? last_line_
                                   : "framewire-send ended with status " + std::to_string(ending.status);
    const bool is_usage = ending.status == static_cast<int>(ExitStatus::usage);
    exit_status_ = is_usage ? ExitStatus::usage : ExitStatus::failed;
    fail(reason, is_usage || gives_up() ? State::refused : State::failed);
  }
}

/// Of a sender on another host, unless that sender itself has ended, and said why.
std::optional<SshFailure> SenderProcess::ssh_failure(const ChildExit& ending) const {
  if (!ssh_ || is_stopping_) {
    return std::nullopt;
  }
  if (!ssh_fault_.empty()) {
    return SshFailure{.reason = ssh_fault_, .is_final = true};
  }
  auto failure = ssh_->failure(ending, last_line_);
  if (failure) {
    failure->is_final |= gives_up();
  }
  return failure;
}

/// Says the same reason only once as a warning.
void SenderProcess::fail(const std::string& reason, State state) {
  state_ = state;
  due_ns_ = clock_.now_ns() + delay_.next_ns(clock_.now_ns() - started_ns_);
  const bool is_said = std::exchange(reason_, reason) == reason;
  const LogLevel level = state == State::refused && source_.host ? LogLevel::error : LogLevel::warning;
  log_.line(is_said ? LogLevel::detail : level,
            state == State::failed ? reason + " (the viewer starts it again)" : reason);
}

}  // namespace framewire
