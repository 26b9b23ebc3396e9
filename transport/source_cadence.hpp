// When a source renders, as a viewer asks for it.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>

namespace framewire {

/// What a viewer asks of a source that can render at any time, so that its frames arrive just before they are needed.
struct CadenceRequest {
  std::int64_t period_ns = 0;  // from frame to frame
  std::int64_t shift_ns = 0;   // the next frame, and those after it, are so much later; negative: earlier
  bool operator==(const CadenceRequest&) const = default;
};

/// Between the sessions of a stream and its source. One viewer at a time decides, the first that asks; when it leaves,
/// the source has its own period again. Any thread.
class SourceCadence {
 public:
  /// The source can render at any time, and has this period of its own. Without this call all requests are refused:
  /// files and live sources have times of their own.
  void offer(std::int64_t period_ns) noexcept;

  /// The source: what has changed since the last call, if anything has. The shifts are added up.
  std::optional<CadenceRequest> take_change() noexcept;

  /// A session: its viewer asks at `now_ns` (monotonic). `session` identifies it. Returns why the request is refused,
  /// or nothing. In each quarter of a second the source is shifted by one period at most; what is asked for beyond that
  /// is left out.
  std::string ask(const void* session, const CadenceRequest& request, std::int64_t now_ns);
  /// The session ends.
  void forget(const void* session) noexcept;

 private:
  std::mutex mutex_;
  std::int64_t own_period_ns_ = 0;  // 0: the source does not follow
  const void* owner_ = nullptr;
  std::int64_t shifts_since_ns_ = 0;  // shifted_ns_ counts since then
  std::int64_t shifted_ns_ = 0;
  std::optional<CadenceRequest> change_;
};

}  // namespace framewire
