// What rdsend and rdrecv say of themselves with -v, and in --stats.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "base/log.hpp"
#include "bytes/transfer_hooks.hpp"

namespace framewire {

/// "1.2 GB  1.05 GB/s  34 %  12 s left": so many bytes after `seconds`, the last `interval_bytes` of them in
/// `interval_s`.
std::string progress_text(std::uint64_t bytes, double interval_bytes, double interval_s,
                          std::optional<std::uint64_t> size_bytes);

/// So many bytes so far, the last `interval_bytes` of them in `interval_s`.
using SayProgress = std::function<void(std::uint64_t bytes, double interval_bytes, double interval_s)>;
/// As a live line of `log`, which outlives what says it.
SayProgress live_line(Log& log, std::optional<std::uint64_t> size_bytes);

/// Says how far it is every second, by a thread of its own ("fw-progress"), from the first byte on. add() belongs to
/// one thread, the rest to the owner.
class Progress {
 public:
  /// Says nothing where `say` is empty.
  explicit Progress(SayProgress say);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// So many more have gone (or come) by now, and began to at that time.
  void add(std::uint64_t bytes, std::int64_t begun_ns) noexcept;
  /// The last of them has arrived where it was to go. The thread of add().
  void complete() noexcept;
  /// Nothing is said after this.
  void end() noexcept;

  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_.load(std::memory_order_relaxed); }
  /// From when the first byte began to go to complete(), or to the last add() before that; 0 where there was none.
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

/// Where the time went, in the order in which the bytes pass.
enum class Bottleneck { source, limit, wire, sink };
const char* name(Bottleneck stage) noexcept;
/// Who made the others wait, as the sender sees it.
Bottleneck bottleneck_of(const TransferWaits& waits) noexcept;

/// 0 where no time was taken.
double gigabytes_per_second(std::uint64_t bytes, double seconds) noexcept;

/// "Bandwidth 1.05 GB/s: 12.3 GB in 11.7 s over tcp; the source was the bottleneck".
std::string bandwidth_text(std::uint64_t bytes, double seconds, const std::string& transport, Bottleneck bottleneck);

/// The same for the receiver, which only knows whether it waited longer for its own output than for bytes.
std::string received_text(std::uint64_t bytes, double seconds, const std::string& transport, bool is_sink_slowest);

}  // namespace framewire
