// How long the GPU works.
#pragma once

#include <cstdint>
#include <optional>

#include "gl/handle.hpp"

namespace framewire {

/// Measures some of the context's commands, without waiting for them. One measurement at a time, and none of another
/// stopwatch in between. Used on the context's thread.
class GpuStopwatch {
 public:
  /// begin() gives up what take() has not returned.
  void begin() noexcept;
  void end() noexcept;
  /// Whether take() will have something once the GPU is that far.
  [[nodiscard]] bool is_pending() const noexcept { return is_pending_; }
  /// How long the GPU worked from begin() to end(), ns, once it has; each measurement once.
  std::optional<std::int64_t> take() noexcept;

 private:
  GlTimeQuery query_;
  bool is_pending_ = false;
};

}  // namespace framewire
