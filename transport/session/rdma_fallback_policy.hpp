// Whether a viewer that may choose tries RDMA again.
#pragma once

#include <string>

namespace framewire {

/// What connects by small packets may lose every large one on its way (an MTU, a filter): then there would be session
/// after session without a frame. One thread.
class RdmaFallbackPolicy {
 public:
  /// So many sessions over RDMA, one after the other, that ended without a frame are enough.
  static constexpr unsigned max_fruitless_sessions = 2;

  /// Its memory cannot be had, which will not change.
  void set_unusable(const std::string& why) { unusable_ = why; }

  /// A session over RDMA, or over another link, was lost; `how` is a sentence. The one that did without RDMA for the
  /// sake of a doubt ends it: who knows what the way is like now.
  void session_was_lost(bool was_rdma, bool brought_frames, const std::string& how) {
    const bool had_fallen_back = !fruitless_.empty();
    fruitless_.clear();
    sessions_ = was_rdma && !brought_frames && !had_fallen_back ? sessions_ + 1 : 0;
    if (sessions_ >= max_fruitless_sessions) {
      fruitless_ = "it connects, but brought no frame: " + how;
    }
  }

  /// Why the next session shall do without; empty: it may try.
  [[nodiscard]] const std::string& why() const noexcept { return unusable_.empty() ? fruitless_ : unusable_; }

 private:
  std::string unusable_;
  std::string fruitless_;
  unsigned sessions_ = 0;
};

}  // namespace framewire
