// The progress and the rates that rdsend and rdrecv report with -v and in --stats.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "bytes/transfer_hooks.hpp"
#include "command/terminal_log.hpp"

namespace framewire {

/// "1.2 GB  1.05 GB/s  34 %  12 s left": `bytes` in all so far, `interval_bytes` of them in the last `interval_s`.
std::string progress_text(std::uint64_t bytes, double interval_bytes, double interval_s,
                          std::optional<std::uint64_t> size_bytes);

/// `bytes` in all so far, `interval_bytes` of them in the last `interval_s`.
using SayProgress = std::function<void(std::uint64_t bytes, double interval_bytes, double interval_s)>;
/// Shows progress as a live line of `log`, which must outlive the result.
SayProgress live_line(TerminalLog& log, std::optional<std::uint64_t> size_bytes);

/// Reports the progress every second, from the first byte on, on its own thread ("fw-progress"). add() belongs to one
/// thread, the rest to the owner.
class Progress {
 public:
  /// With an empty `say` nothing is reported.
  explicit Progress(SayProgress say);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// `bytes` more were transferred by now; their transfer began at `begun_ns`.
  void add(std::uint64_t bytes, std::int64_t begun_ns) noexcept;
  /// The last byte has arrived at its destination. Call on add()'s thread.
  void complete() noexcept;
  /// No more reports after this.
  void end() noexcept;

  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_.load(std::memory_order_relaxed); }
  /// From the start of the first byte's transfer to complete(), or until then to the last add(). 0 if there was none.
  [[nodiscard]] double seconds() const noexcept;

 private:
  void run() noexcept;

  SayProgress say_;
  std::atomic<std::uint64_t> bytes_ = 0;
  std::atomic<std::int64_t> first_ns_ = 0;
  std::atomic<std::int64_t> last_ns_ = 0;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_over_ = false;
  std::thread thread_;
};

/// The stages of a transfer, in the order in which bytes pass them.
enum class Bottleneck { source, limit, wire, sink };
const char* name(Bottleneck stage) noexcept;
/// The slowest stage, as the sender sees it.
Bottleneck bottleneck_of(const TransferWaits& waits) noexcept;

/// 0 if `seconds` is 0.
double gigabytes_per_second(std::uint64_t bytes, double seconds) noexcept;

/// "Bandwidth 1.05 GB/s: 12.3 GB in 11.7 s over tcp; the source was the bottleneck".
std::string bandwidth_text(std::uint64_t bytes, double seconds, const std::string& transport, Bottleneck bottleneck);

/// The same for the receiver. It only knows whether it waited longer for its output than for bytes.
std::string received_text(std::uint64_t bytes, double seconds, const std::string& transport, bool is_sink_slowest);

}  // namespace framewire
