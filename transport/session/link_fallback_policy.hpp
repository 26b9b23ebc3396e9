// Decides whether a viewer with --transport auto tries a link again that may prove unusable.
#pragma once

#include <map>
#include <string>

#include "transport/link_kinds.hpp"

namespace framewire {

/// For links with LinkTraits::may_prove_unusable. rdma may connect with small packets and then lose every large one (an
/// MTU, a filter). Without this policy every session would end without a frame. One thread.
class LinkFallbackPolicy {
 public:
  /// After this number of consecutive sessions over the link without a frame, the next session avoids the link.
  static constexpr unsigned max_sessions_without_frame = 2;

  /// The link cannot be used on this machine; this is permanent.
  void set_unusable(LinkKind link, const std::string& why) { links_[link].unusable = why; }

  /// Call when a session over `link` was lost, and why. When the lost session had fallen back from another link, that
  /// fallback ends: the network may have changed.
  void session_was_lost(LinkKind link, bool brought_frames, const std::string& why) {
    bool had_fallen_back = false;
    for (auto& [kind, state] : links_) {
      had_fallen_back = had_fallen_back || !state.without_frame.empty();
      state.without_frame.clear();
      if (kind != link) {
        state.sessions_without_frame = 0;
      }
    }
    if (!traits(link).may_prove_unusable) {
      return;
    }
    State& state = links_[link];
    state.sessions_without_frame = !brought_frames && !had_fallen_back ? state.sessions_without_frame + 1 : 0;
    if (state.sessions_without_frame >= max_sessions_without_frame) {
      state.without_frame = "it connects, but brought no frame: " + why;
    }
  }

  /// The links that the next session must not use, and why.
  [[nodiscard]] std::map<LinkKind, std::string> avoided() const {
    std::map<LinkKind, std::string> avoided;
    for (const auto& [link, state] : links_) {
      if (const std::string& why = state.unusable.empty() ? state.without_frame : state.unusable; !why.empty()) {
        avoided[link] = why;
      }
    }
    return avoided;
  }

 private:
  struct State {
    std::string unusable;       // why; empty: it is usable
    std::string without_frame;  // why the link is avoided for one session; empty: it is not
    unsigned sessions_without_frame = 0;
  };
  std::map<LinkKind, State> links_;
};

}  // namespace framewire
