// The viewer that has started this framewire-send by ssh.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <thread>

#include "base/file_descriptor.hpp"
#include "command/interruption.hpp"
#include "ssh/controller_liveness.hpp"
#include "ssh/json_lines.hpp"
#include "ssh/sender_plan.hpp"

namespace framewire {

/// Talks to that viewer through standard input and output, which are /dev/null for the rest of the program. When the
/// input ends, or the viewer's host has fallen silent, the program is interrupted. If it has not ended three seconds
/// later, it is ended. The main thread makes it and calls everything.
class ViewerChannel {
 public:
  /// Says hello. `interruption` outlives it. Throws Error.
  explicit ViewerChannel(Interruption& interruption);
  ~ViewerChannel();
  ViewerChannel(const ViewerChannel&) = delete;
  ViewerChannel& operator=(const ViewerChannel&) = delete;

  /// Waits for the plan, and then follows the viewer on the thread "fw-viewer". Returns nothing if the viewer leaves
  /// before, or the program is interrupted. Call it once. Throws Error.
  std::optional<SenderPlan> take_plan();

  /// Tells the viewer where to connect.
  void announce(std::uint16_t port);

 private:
  bool follow();
  void run() noexcept;

  Interruption& interruption_;
  FileDescriptor stop_ = make_eventfd();
  ControllerLiveness viewer_;
  std::mutex mutex_;
  JsonLines channel_;  // guarded by mutex_, once the thread runs
  std::int64_t next_sign_ns_ = 0;
  std::thread thread_;
};

}  // namespace framewire
