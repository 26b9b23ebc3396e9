// The viewer that has started this framewire-send by ssh.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <thread>

#include "base/error.hpp"
#include "base/file_descriptor.hpp"
#include "command/interruption.hpp"
#include "ssh/sender_plan.hpp"
#include "ssh/viewer_lines.hpp"

namespace framewire {

/// Talks to that viewer through standard input and output, which are /dev/null for the rest of the program. When the
/// input ends, or the viewer or its host has fallen silent, the program is interrupted. If it has not ended three
/// seconds later, it is ended. The main thread makes it and calls everything.
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

  /// Throws why the program was interrupted, if the viewer has not left but was lost.
  void throw_if_lost();

 private:
  bool follow();
  void run() noexcept;
  void end_program();

  Interruption& interruption_;
  FileDescriptor stop_ = make_eventfd();
  std::mutex mutex_;
  ViewerLines viewer_;         // guarded by mutex_, once the thread runs
  std::optional<Error> lost_;  // guarded by mutex_
  std::thread thread_;
};

}  // namespace framewire
