// Records received frames, or pictures that the viewer has drawn (--output).
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.hpp"
#include "base/log.hpp"
#include "command/interruption.hpp"
#include "media/video_writer.hpp"
#include "transport/session/subscriber.hpp"
#include "viewer/repeats.hpp"
#include "viewer/statistics.hpp"

namespace framewire {

/// How messages speak of a recording.
struct RecordingWords {
  std::string about = "--output";
  bool tells_conversions = true;  // also what a reader of the file should know of its format
  bool is_of_pictures = false;    // that were drawn: claim() and complete()
  bool tells_missing = true;      // at the end, if the recording is too short
};

/// Records every received frame in order, including frames that newer ones supersede before display. In y4m a frame is
/// repeated to fill the gap of frames that are missing before it, so that the file plays in real time. If recording
/// fails (a full disk), the stream continues.
///
/// A thread of its own, "fw-record", writes at a lower priority. record() only copies the frame, into memory that is
/// allocated once, so that a slow disk or reader does not hold frames back.
///
/// Pictures that were drawn are read back into memory of the recorder; they come by claim() and complete(), in place of
/// record().
class Recorder {
 public:
  /// The most frames that wait to be written, and the most memory for them; two frames may always wait.
  static constexpr std::size_t most_waiting_frames = 8;
  static constexpr std::uint64_t most_waiting_bytes = std::uint64_t{256} * 1024 * 1024;
  /// A reader of the pipe that takes longer than this for one frame gets no more after finish().
  static constexpr std::int64_t last_frames_timeout_ns = 5'000'000'000;

  /// What record() does if no more frames may wait.
  enum class WhenFull {
    leave_out,  // the frame is not recorded, and counts as unrecorded
    wait,       // until there is room, or stop_waiting()
  };

  /// Does nothing without a `file`. `clock`, `log`, `interruption` and `statistics` outlive it; `interruption` also
  /// ends waiting for the reader of a pipe. `on_end` is called when recording ends by itself, on the thread that
  /// writes. Throws Error if the file cannot be written, or if "-" is a terminal. What a file holds stays until the
  /// first frame is written.
  Recorder(const std::optional<std::string>& file, const Clock& clock, Log& log, const Interruption& interruption,
           Statistics& statistics, std::function<void()> on_end, RecordingWords words = {});
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;
  /// As finish().
  ~Recorder();

  // ---- The thread that receives frames ----

  /// Copies the frame to be written. `format` is the stream's newest. Counts the frame as unrecorded if there is no
  /// room or no memory for it, or once recording has ended.
  void record(const ReceivedFrame& frame, const std::optional<StreamFormat>& format, WhenFull when_full);

  // ---- The thread that draws ----

  /// Memory for a picture, until complete() says that it is there; those that were claimed become complete in their
  /// order. Empty, and counted as unrecorded, if there is no room or no memory for it, or once recording has ended.
  std::span<std::byte> claim(std::uint64_t size_bytes);
  /// The picture that was claimed first is in its memory, as `format` says. `number` counts from 0 at the format's
  /// rate: the picture also stands for the numbers that are missing before it.
  void complete(const StreamFormat& format, std::uint64_t number) noexcept;
  /// Counts a picture as unrecorded.
  void leave_out() noexcept { statistics_.frame_unrecorded(); }
  /// There will be no more pictures, for this reason: recording has failed.
  void fail(const std::string& reason);

  // ---- The main thread ----

  /// Writes what waits, closes the file, and reports missing frames. What comes later is not recorded.
  void finish();

  // ---- Any thread ----

  /// record() waits no more.
  void stop_waiting() noexcept;
  [[nodiscard]] bool is_recording() const noexcept;
  /// Whether the file has a rate, so that frames are repeated. Constant.
  [[nodiscard]] bool states_rate() const noexcept { return states_rate_; }
  /// Whether the reader of the pipe has closed it. It was logged as an error.
  [[nodiscard]] bool reader_has_left() const noexcept { return last_.load() == WriteResult::reader_gone; }
  [[nodiscard]] bool has_failed() const noexcept { return last_.load() == WriteResult::failed; }
  /// Missing frames that the file does not make up for; it plays too fast by as many. After finish().
  [[nodiscard]] std::uint64_t frames_missing() const noexcept { return repeats_.missing(); }
  /// The same in words, behind "the recording". After finish().
  [[nodiscard]] std::string describe_missing() const;

 private:
  struct WaitingFrame {
    std::uint64_t session = 0;
    std::uint64_t sequence = 0;
    StreamFormat format{};
    std::vector<std::byte> memory{};  // kept for the next frame, if all that is kept stays below most_waiting_bytes
    std::uint64_t size_bytes = 0;
  };

  bool claim_room(std::uint64_t size_bytes, WhenFull when_full);
  bool make_room(WaitingFrame& waiting, std::uint64_t size_bytes);
  void run() noexcept;
  void write(const WaitingFrame& frame);
  void leave_out_waiting();
  void leave_out_claimed();
  /// Returns whether the copy is whole.
  bool copy(const ReceivedFrame& frame, const std::optional<StreamFormat>& format, WaitingFrame& waiting);
  [[nodiscard]] bool must_stop() const noexcept;

  Log& log_;
  const Clock& clock_;
  const Interruption& interruption_;
  Statistics& statistics_;
  const std::function<void()> on_end_;
  const RecordingWords words_;
  std::optional<VideoWriter> writer_;  // fw-record's, once that runs
  const bool has_file_;
  bool states_rate_ = false;  // constant after construction
  Repeats repeats_;           // fw-record's
  std::atomic<WriteResult> last_ = WriteResult::written;
  std::atomic<std::int64_t> write_begun_ns_ = 0;
  std::atomic<std::int64_t> finishing_since_ns_ = 0;  // 0: not yet

  std::vector<WaitingFrame> frames_;  // circular; fw-record has those that count
  std::size_t next_ = 0;              // where the next frame goes; of the thread that gives frames
  std::size_t first_ = 0;             // the first that waits; fw-record's

  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::size_t count_ = 0;    // frames that wait, with the one that is being written
  std::size_t claimed_ = 0;  // behind them, and not complete
  bool may_wait_ = true;
  bool has_ended_ = false;  // fw-record writes no more

  bool has_said_no_memory_ = false;  // of the thread that gives frames

  std::thread thread_;
};

}  // namespace framewire
