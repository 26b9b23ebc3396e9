// Decides whether a viewer with --transport auto tries RDMA again.
#pragma once

#include <string>

namespace framewire {

/// RDMA may connect with small packets and then lose every large one (an MTU, a filter). Without this policy every
/// session would end without a frame. One thread.
class RdmaFallbackPolicy {
 public:
  /// After this number of consecutive RDMA sessions without a frame, the next session avoids RDMA.
  static constexpr unsigned max_fruitless_sessions = 2;

  /// RDMA memory cannot be registered; this is permanent.
  void set_unusable(const std::string& why) { unusable_ = why; }

  /// Call when a session was lost; `how` is the reason, as a sentence. When the lost session had fallen back from RDMA,
  /// the fallback ends: the network may have changed.
  void session_was_lost(bool was_rdma, bool brought_frames, const std::string& how) {
    const bool had_fallen_back = !fruitless_.empty();
    fruitless_.clear();
    sessions_ = was_rdma && !brought_frames && !had_fallen_back ? sessions_ + 1 : 0;
    if (sessions_ >= max_fruitless_sessions) {
      fruitless_ = "it connects, but brought no frame: " + how;
    }
  }

  /// Why the next session must not use RDMA; empty if it may.
  [[nodiscard]] const std::string& why() const noexcept { return unusable_.empty() ? fruitless_ : unusable_; }

 private:
  std::string unusable_;
  std::string fruitless_;
  unsigned sessions_ = 0;
};

}  // namespace framewire
