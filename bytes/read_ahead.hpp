// Reads and digests the source ahead of sending.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>

#include "bytes/digest.hpp"
#include "bytes/input.hpp"
#include "transport/claimed_slot.hpp"

namespace framewire {

/// Fills slots from the input, in the order of give(), on its own thread ("fw-reader"): it reads the next chunks while
/// one is sent.
/// The thread that would otherwise wait digests the chunks: the source when it asks for the next chunk, or the reader
/// when it has no slot to fill. (Over some links publishing takes most of the time, over others reading does.) give()
/// and take() belong to one thread, the stream's source.
class ReadAhead {
 public:
  /// `input` and `digest` must outlive this, and nobody else uses them meanwhile. Without `digest` nothing is digested.
  /// A chunk has at most `max_bytes`, and fits its slot.
  ReadAhead(Input& input, RunningDigest* digest, std::uint64_t max_bytes = UINT64_MAX);
  /// Waits for a running read, which the input's is_stopping() ends. Slots that are still here return to the pool.
  ~ReadAhead();
  ReadAhead(const ReadAhead&) = delete;
  ReadAhead& operator=(const ReadAhead&) = delete;

  struct Chunk {
    ClaimedSlot slot;
    Input::Read read;
    std::optional<std::uint64_t> digest{};  // of all bytes up to its end
  };
  void give(ClaimedSlot slot);
  /// Slots given and not yet taken.
  [[nodiscard]] std::size_t in_flight() const noexcept { return in_flight_; }
  /// Waits for the next chunk and returns it. Requires in_flight() > 0, and that every chunk taken so far had the state
  /// `more`. Rethrows the reader's exception.
  Chunk take();

 private:
  void run() noexcept;
  void read_all();
  bool sum_one(std::unique_lock<std::mutex>& lock);

  Input& input_;
  const std::uint64_t max_bytes_;
  RunningDigest* digest_;      // used by the thread that set is_summing_
  std::size_t in_flight_ = 0;  // the source's thread
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_over_ = false;
  std::exception_ptr fault_;
  std::deque<ClaimedSlot> empty_;
  std::deque<Chunk> filled_;
  std::size_t ready_ = 0;    // how many of filled_, from the front, are digested
  bool is_summing_ = false;  // a thread uses the next chunk and the digest without the mutex
  std::thread thread_;
};

}  // namespace framewire
