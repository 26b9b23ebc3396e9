// One SOURCE of the command line while it runs: its stream and its thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "base/log.hpp"
#include "sender/reports.hpp"
#include "sender/source.hpp"
#include "sender/source_kind.hpp"
#include "transport/stream.hpp"

namespace framewire {

/// Owns a source, its stream and the source's thread ("fw-source"), which shares nothing with other streams. The main
/// thread owns it and calls everything here.
class RunningStream {
 public:
  /// Opens the source, and logs what it is. May wait for a network until `is_cancelled` is true. `log` outlives it.
  /// Throws Error.
  RunningStream(const SourceOptions& source, StreamOptions stream, Log& log, const IsCancelled& is_cancelled);
  /// Stops the source. The sessions must have left the stream before.
  ~RunningStream();
  RunningStream(const RunningStream&) = delete;
  RunningStream& operator=(const RunningStream&) = delete;

  /// Starts the source's thread, which calls `on_end` when the source has ended. Call it once. Throws std::system_error
  /// if there are too many threads.
  void start(std::function<void()> on_end);
  /// Makes the source end soon. Frames that it has published still go out.
  void stop() { stream_.stop(); }
  /// Waits for the source's end.
  void join();

  [[nodiscard]] bool has_ended() const noexcept { return has_ended_.load(); }
  /// Why the source failed. Empty: it did not, or it has not ended yet.
  [[nodiscard]] std::string failure() const { return has_ended() ? failure_ : std::string(); }
  /// The same, once. Then empty.
  [[nodiscard]] std::string take_untold_failure();

  [[nodiscard]] Stream& stream() noexcept { return stream_; }
  /// `fps` is the rate since the last call, which was `seconds` ago.
  [[nodiscard]] StreamProgress progress(double seconds);
  /// Refers to the stream.
  [[nodiscard]] StreamResult result() const;

 private:
  void run() noexcept;

  Stream stream_;
  std::unique_ptr<Source> source_;  // after stream_: it may hold slots of it until it goes
  std::function<void()> on_end_;
  std::string failure_;  // the source's thread writes it before has_ended_
  std::atomic<bool> has_ended_ = false;
  std::thread thread_;
  bool is_failure_told_ = false;
  std::uint64_t frames_at_last_progress_ = 0;
};

}  // namespace framewire
