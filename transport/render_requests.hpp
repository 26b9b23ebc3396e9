// The frames that a viewer asks a source to render.
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "frame/camera.hpp"

namespace framewire {

/// Why a source does not render what a viewer asks for.
struct RenderRefusal {
  enum class Reason {
    owned,        // another viewer owns the camera
    busy,         // too many requests of this viewer wait
    unsupported,  // the source never renders on request
  };
  std::uint64_t id = 0;  // of the request
  Reason reason = Reason::busy;
  std::string text;  // for the user
  bool operator==(const RenderRefusal&) const = default;
};

/// Between the sessions of a stream and its source. One viewer at a time owns the camera: the first that asks, until it
/// releases it, leaves, or has nothing rendered for a while: other viewers wait for its frames, too. The others are
/// told what is rendered for it. Any thread.
class RenderRequests {
 public:
  /// So many requests wait at most; a viewer that asks for more is refused.
  static constexpr std::size_t most_waiting = 2;
  /// So many of the newest requests are known.
  static constexpr std::size_t most_known = 8;
  /// An owner for which nothing is rendered for so long, because it asks for nothing, loses the camera.
  static constexpr std::int64_t longest_pause_ns = 2'000'000'000;

  // ---- The source ----

  /// The source renders what is asked for. Without this call all requests are refused.
  void offer() noexcept;
  /// Whether a viewer owns the camera: the source renders nothing else.
  [[nodiscard]] bool is_driven() const noexcept { return is_driven_.load(std::memory_order_relaxed); }
  /// The request that has waited longest. Waits for one until `deadline_ns` (monotonic). Nullopt: the deadline has
  /// passed, nobody owns the camera any more, or stop() was called. What was taken before is rendered by now.
  std::optional<RenderRequest> next(std::int64_t deadline_ns);
  /// Nobody waits any more.
  void stop() noexcept;

  // ---- A session, which `session` identifies ----

  /// Its viewer asks. Returns why the request is refused, or nothing. An owner that asks again for what was rendered
  /// keeps the camera, and gets no second frame.
  std::optional<RenderRefusal> ask(const void* session, const RenderRequest& request);
  /// The owner does not need this frame any more, if it is not rendered yet.
  void revoke(const void* session, std::uint64_t id) noexcept;
  /// The viewer releases the camera, or the session ends.
  void forget(const void* session) noexcept;

  /// How many requests were taken so far.
  [[nodiscard]] std::uint64_t taken() const noexcept { return taken_.load(std::memory_order_acquire); }
  /// Of those after the first `count`, the newest most_known. Sets `count` to taken().
  [[nodiscard]] std::vector<RenderRequest> taken_after(std::uint64_t& count) const;

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool is_offered_ = false;
  bool is_stopping_ = false;
  const void* owner_ = nullptr;
  std::int64_t served_ns_ = 0;          // when the owner became that, or a frame was rendered for it
  bool is_rendering_ = false;           // what next() returned
  std::vector<RenderRequest> waiting_;  // oldest first
  std::array<RenderRequest, most_known> known_{};
  std::atomic<std::uint64_t> taken_ = 0;  // known_[i % most_known] is the i-th; written under the mutex, as is the next
  std::atomic<bool> is_driven_ = false;
};

}  // namespace framewire
