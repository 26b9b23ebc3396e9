// What a sender hears of the viewer that has started it by ssh, and tells it (ssh/sender_plan.hpp).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "ssh/controller_liveness.hpp"
#include "ssh/json_lines.hpp"
#include "ssh/sender_plan.hpp"

namespace framewire {

/// Never waits; the caller says what time it is. One thread at a time.
class ViewerLines {
 public:
  /// Says hello. `ssh_connection` is as of ControllerLiveness.
  ViewerLines(JsonLines lines, const std::string& ssh_connection, std::int64_t now_ns);

  /// To poll for reading. The same always.
  [[nodiscard]] int in() const noexcept { return lines_.in(); }
  /// Call follow() then, or when there is something to read.
  [[nodiscard]] std::int64_t next_ns() const noexcept { return next_ns_; }

  /// Reads what the viewer has said, and says now and then that this sender is alive. Returns false once the viewer has
  /// closed its end. Throws Error: lost_peer if it, or its host, has been silent for too long; failed if what it says
  /// cannot be understood.
  bool follow(std::int64_t now_ns);
  /// Once it has come, and only once: its key is not kept here.
  std::optional<SenderPlan> take_plan() { return std::exchange(plan_, std::nullopt); }
  /// Tells the viewer where to connect.
  void announce(std::uint16_t port);

 private:
  JsonLines lines_;
  ControllerLiveness viewer_host_;
  bool has_had_plan_ = false;
  std::optional<SenderPlan> plan_;
  std::int64_t heard_ns_;
  std::int64_t next_sign_ns_;
  std::int64_t next_ns_;
};

}  // namespace framewire
