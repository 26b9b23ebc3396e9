#include "viewer/sender_process.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <utility>

#include "base/error.hpp"
#include "base/pipe.hpp"
#include "base/text.hpp"

namespace framewire {

namespace {

constexpr std::int64_t shortest_delay_ns = ns_per_s;
constexpr std::int64_t longest_delay_ns = 30 * ns_per_s;
/// From SIGTERM to SIGKILL.
constexpr std::int64_t sender_stop_timeout_ns = 2 * ns_per_s;
constexpr std::size_t longest_sender_line = 1024;
constexpr std::string_view error_mark = "framewire-send: ";
constexpr std::string_view warning_mark = "framewire-send: warning: ";

}  // namespace

std::int64_t RestartDelay::next_ns(std::int64_t ran_ns) noexcept {
  next_ns_ = next_ns_ == 0 || ran_ns > longest_delay_ns ? shortest_delay_ns : std::min(2 * next_ns_, longest_delay_ns);
  return next_ns_;
}

SenderProcess::SenderProcess(std::string program, LocalSource source, const Clock& clock, Log& log)
    : program_(std::move(program)), source_(std::move(source)), clock_(clock), log_(log, source_.source) {}

void SenderProcess::start(std::uint16_t port) {
  unfinished_.clear();
  last_error_.clear();
  last_line_.clear();
  started_ns_ = clock_.now_ns();
  try {
    PipeEnds error = make_pipe();
    set_non_blocking(error.reads.get(), true);
    child_ = ChildProcess::start(sender_command(program_, source_, port), {.error = error.writes.get()}, true, {},
                                 source_.folder);
    output_ = std::move(error.reads);
    state_ = State::running;
  } catch (const Error& error) {
    fail(error.what(), State::failed);
  }
}

void SenderProcess::follow() {
  if (!child_.is_running()) {
    return;
  }
  if (clock_.now_ns() >= kill_at_ns_) {
    child_.signal(SIGKILL);
  }
  ChildExit ending;
  const bool has_ended = child_.has_ended(ending);  // before the rest of its output is read
  read_output();
  if (has_ended) {
    take_end(ending);
  }
}

void SenderProcess::stop() {
  if (child_.is_running() && !is_stopping_) {
    child_.signal(SIGTERM);
    kill_at_ns_ = clock_.now_ns() + sender_stop_timeout_ns;
  } else if (!child_.is_running()) {
    state_ = State::ended;
  }
  is_stopping_ = true;
}

// ---- What it says ----

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
  if (line.empty()) {
    return;
  }
  last_line_ = printable(line, longest_sender_line);
  log_.detail(last_line_);
  if (line.starts_with(error_mark) && !line.starts_with(warning_mark)) {
    last_error_ = printable(line.substr(error_mark.size()), longest_sender_line);
  }
}

// ---- Its end ----

void SenderProcess::take_end(const ChildExit& ending) {
  take_line(std::exchange(unfinished_, {}));
  output_.reset();
  kill_at_ns_ = INT64_MAX;
  if (is_stopping_ || (ending.signal == 0 && ending.status == 0)) {
    state_ = State::ended;
  } else if (ending.signal != 0) {
    fail("framewire-send was ended by " + signal_text(ending.signal), State::failed);
  } else {
    const std::string reason = !last_error_.empty() ? last_error_
                               : !last_line_.empty()
                                   ? last_line_
                                   : "framewire-send ended with status " + std::to_string(ending.status);
    fail(reason, ending.status == static_cast<int>(ExitStatus::usage) ? State::refused : State::failed);
  }
}

/// Says the same reason only once as a warning.
void SenderProcess::fail(const std::string& reason, State state) {
  state_ = state;
  due_ns_ = clock_.now_ns() + delay_.next_ns(clock_.now_ns() - started_ns_);
  const bool is_said = std::exchange(reason_, reason) == reason;
  log_.line(is_said ? LogLevel::detail : LogLevel::warning,
            state == State::failed ? reason + " (the viewer starts it again)" : reason);
}

}  // namespace framewire
