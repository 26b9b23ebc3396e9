#include "viewer/recorder.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <exception>
#include <new>
#include <span>
#include <utility>

#include "base/error.hpp"
#include "base/pipe.hpp"
#include "base/text.hpp"
#include "base/wait.hpp"
#include "command/named_files.hpp"
#include "command/standard_streams.hpp"

namespace framewire {

namespace {

constexpr int recorder_niceness = 5;

void require_pipe_on_stdout() {
  if (!is_open_for_writing(STDOUT_FILENO)) {
    throw Error::failed("--output is '-' and standard output is closed; pipe it into a program, or name a file");
  }
  if (::isatty(STDOUT_FILENO) == 1) {
    throw Error::usage(
        "--output is '-' and standard output is a terminal; pipe the frames into a program, as in framewire view "
        "--headless --output - | ffplay -");
  }
}

/// How many frames of a size may wait.
std::size_t most_waiting(std::uint64_t size_bytes) noexcept {
  return std::clamp<std::uint64_t>(Recorder::most_waiting_bytes / std::max<std::uint64_t>(size_bytes, 1), 2,
                                   Recorder::most_waiting_frames);
}

}  // namespace

Recorder::Recorder(const std::optional<std::string>& file, const Clock& clock, Log& log,
                   const Interruption& interruption, Statistics& statistics, std::function<void()> on_end,
                   RecordingWords words)
    : log_(log),
      clock_(clock),
      interruption_(interruption),
      statistics_(statistics),
      on_end_(std::move(on_end)),
      words_(std::move(words)),
      has_file_(file.has_value()),
      frames_(most_waiting_frames) {
  if (!file) {
    return;
  }
  if (*file == "-") {
    require_pipe_on_stdout();
  }
  if (is_named_pipe(*file)) {
    log_.info("--output " + quote(*file, 200) + " is a named pipe; the viewer begins when somebody reads it");
  } else if (*file != "-") {
    require_writable(*file, "--output");
  }
  writer_.emplace(
      *file, log, [this] { return must_stop(); }, 1, words_.tells_conversions);
  states_rate_ = writer_->states_rate();
  thread_ = std::thread([this] { run(); });
}

Recorder::~Recorder() {
  finish();
}

bool Recorder::is_recording() const noexcept {
  return thread_.joinable() && last_.load() == WriteResult::written;
}

/// Polled by the writer while a pipe is full.
bool Recorder::must_stop() const noexcept {
  const std::int64_t since_ns = finishing_since_ns_;
  return interruption_.is_requested() ||
         (since_ns != 0 && clock_.now_ns() - std::max(since_ns, write_begun_ns_.load()) >= last_frames_timeout_ns);
}

// ---- The thread that receives frames ----

void Recorder::record(const ReceivedFrame& frame, const std::optional<StreamFormat>& format, WhenFull when_full) {
  if (!thread_.joinable()) {
    return;
  }
  // fw-record does not touch this entry before it counts.
  const bool is_copied = claim_room(frame.payload().size(), when_full) && copy(frame, format, frames_[next_]);
  {
    const std::scoped_lock lock(mutex_);
    if (!is_copied || has_ended_) {
      statistics_.frame_unrecorded();
      return;
    }
    ++count_;
  }
  next_ = (next_ + 1) % frames_.size();
  changed_.notify_all();
}

/// Returns whether there is memory for the frame.
bool Recorder::make_room(WaitingFrame& waiting, std::uint64_t size_bytes) {
  waiting.size_bytes = size_bytes;
  try {
    if (waiting.memory.size() < size_bytes) {
      waiting.memory.resize(size_bytes);
    }
    return true;
  } catch (const std::bad_alloc&) {
    if (!std::exchange(has_said_no_memory_, true)) {
      log_.warning(words_.about + ": there is no memory for frames that wait to be written; the recording lacks them");
    }
    return false;
  }
}

bool Recorder::copy(const ReceivedFrame& frame, const std::optional<StreamFormat>& format, WaitingFrame& waiting) {
  const FrameHeader& header = frame.header();
  waiting.session = frame.session_number();
  waiting.sequence = header.sequence;
  waiting.format = format.value_or(StreamFormat{});
  waiting.format.layout = header.layout;
  waiting.format.colour = header.colour;
  if (!make_room(waiting, frame.payload().size())) {
    return false;
  }
  std::ranges::copy(frame.payload(), waiting.memory.begin());
  return !frame.is_withdrawn();
}

bool Recorder::claim_room(std::uint64_t size_bytes, WhenFull when_full) {
  const std::size_t most = most_waiting(size_bytes);
  std::unique_lock lock(mutex_);
  if (when_full == WhenFull::wait) {
    changed_.wait(lock, [&] { return count_ < most || !may_wait_ || has_ended_; });
  }
  return count_ < most && !has_ended_;
}

void Recorder::stop_waiting() noexcept {
  {
    const std::scoped_lock lock(mutex_);
    may_wait_ = false;
  }
  changed_.notify_all();
}

// ---- The thread that draws ----

std::span<std::byte> Recorder::claim(std::uint64_t size_bytes) {
  std::size_t claimed = 0;
  bool has_room = false;
  {
    const std::scoped_lock lock(mutex_);
    claimed = claimed_;
    has_room = has_file_ && !has_ended_ && count_ + claimed < most_waiting(size_bytes);
  }
  // fw-record does not touch this entry before it counts.
  WaitingFrame& waiting = frames_[(next_ + claimed) % frames_.size()];
  has_room = has_room && make_room(waiting, size_bytes);
  const std::scoped_lock lock(mutex_);
  if (!has_room || has_ended_) {
    statistics_.frame_unrecorded();
    return {};
  }
  ++claimed_;
  return std::span(waiting.memory).first(size_bytes);
}

void Recorder::complete(const StreamFormat& format, std::uint64_t number) noexcept {
  {
    const std::scoped_lock lock(mutex_);
    if (has_ended_ || claimed_ == 0) {  // finish() has counted it
      return;
    }
    WaitingFrame& frame = frames_[next_];
    frame.format = format;
    frame.sequence = number;
    next_ = (next_ + 1) % frames_.size();
    --claimed_;
    ++count_;
  }
  changed_.notify_all();
}

void Recorder::fail(const std::string& reason) {
  {
    const std::scoped_lock lock(mutex_);
    if (!has_file_ || has_ended_) {
      return;
    }
    has_ended_ = true;
    last_ = WriteResult::failed;
  }
  log_.error("recording has stopped, the stream goes on: " + reason);
  on_end_();
}

// ---- The thread "fw-record" ----

void Recorder::run() noexcept {
  set_thread_name("fw-record");
  ::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), recorder_niceness);
  for (;;) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return count_ > 0 || finishing_since_ns_ != 0; });
    if (count_ == 0) {
      return;
    }
    WaitingFrame& frame = frames_[first_];
    lock.unlock();
    write(frame);
    if (frame.memory.size() > most_waiting_bytes / most_waiting_frames) {
      frame.memory = {};  // or all entries together would have more than they may
    }
    lock.lock();
    first_ = (first_ + 1) % frames_.size();
    has_ended_ = last_ != WriteResult::written;
    if (has_ended_) {
      leave_out_waiting();
    } else {
      --count_;
    }
    lock.unlock();
    changed_.notify_all();
    if (has_ended_) {
      on_end_();
      return;
    }
  }
}

void Recorder::write(const WaitingFrame& frame) {
  const std::int64_t begun_ns = clock_.now_ns();
  write_begun_ns_ = begun_ns;
  // The file's rate is that of its first frame.
  const Rational rate = writer_->frames_written() == 0 ? frame.format.frame_rate : writer_->frame_rate();
  const std::uint32_t copies = writer_->states_rate() ? repeats_.copies(frame.session, frame.sequence, rate) : 1;
  const WriteResult result =
      writer_->write(frame.format, frame.format.layout, std::span(frame.memory).first(frame.size_bytes), copies);
  switch (result) {
    case WriteResult::written:
      repeats_.written(copies, clock_.now_ns() - begun_ns);
      statistics_.frame_recorded(copies);
      break;
    case WriteResult::failed:
      log_.error("recording has stopped, the stream goes on: " + writer_->message());
      break;
    case WriteResult::reader_gone:
      log_.error("recording has ended: " + writer_->message());
      break;
    case WriteResult::stopped:
      break;
  }
  if (result != WriteResult::written) {  // else fail() may have said otherwise
    last_ = result;
  }
}

/// Counts the frames that are not written any more, also the one whose writing has failed. Call with the mutex.
void Recorder::leave_out_waiting() {
  for (; count_ > 0; --count_) {
    statistics_.frame_unrecorded();
  }
  leave_out_claimed();
}

void Recorder::leave_out_claimed() {
  for (; claimed_ > 0; --claimed_) {
    statistics_.frame_unrecorded();
  }
}

// ---- The main thread ----

std::string Recorder::describe_missing() const {
  const std::string count = std::to_string(frames_missing());
  return words_.is_of_pictures
             ? "lacks " + count +
                   " repeated pictures and plays too fast, because writing, or this machine, was too slow"
             : "lacks " + count +
                   " skipped frames and plays too fast, because writing, or this machine, was too slow, or more than a "
                   "second "
                   "was skipped at once";
}

void Recorder::finish() {
  stop_waiting();
  if (!thread_.joinable()) {
    return;
  }
  {
    const std::scoped_lock lock(mutex_);
    finishing_since_ns_ = clock_.now_ns();
  }
  changed_.notify_all();
  thread_.join();
  {
    const std::scoped_lock lock(mutex_);  // the drawing thread may be blocked, and have claimed some
    has_ended_ = true;
    leave_out_claimed();
  }
  if (frames_missing() > 0 && words_.tells_missing && last_ == WriteResult::written) {
    log_.warning(words_.about + ": the recording " + describe_missing());
  }
  writer_.reset();
}

}  // namespace framewire
