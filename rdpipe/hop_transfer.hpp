// One side of a hop: a process that moves bytes between a descriptor, or a file, and the host of the next stage.
#pragma once

#include <csignal>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "bytes/transfer_hooks.hpp"
#include "command/child_process.hpp"
#include "rdpipe/plan.hpp"
#include "ssh/json_lines.hpp"

namespace framewire {

/// Source or destination of the bytes on this side: standard input or output of rdpipe itself, a pipe, or a file.
struct HopFile {
  std::string path = "-";
  bool appends = false;
  int fd = -1;  // for "-": instead of the standard stream
};

enum class HopResult {
  ok,           // the receiver has confirmed that all is written
  reader_left,  // the reader of the receiver's output closed it
  told,         // the peer failed and reported it, or ended without a report that it was done
  lost,         // the peer is gone
  failed,       // this side failed
};

/// The final report of one side of a hop.
struct HopReport {
  std::size_t number = 0;
  bool sends = false;
  HopResult result = HopResult::failed;
  std::string message{};
  std::optional<TransferSummary> summary{};
  bool was_stopped = false;  // because something else had failed: not the cause
};
nlohmann::json to_json(const HopReport& report);
/// Throws Error (failed) that names the field.
HopReport hop_report_from(const nlohmann::json& message);

/// The parent's handle of the process. One thread. The process sends messages of the types "listening" (hop, port),
/// "connected" (hop, sends, start_line, file: its file_identity), "progress" (hop, bytes, bytes_per_s) and, as the last
/// one, "hop_ended" (a HopReport).
class HopTransfer {
 public:
  /// Starts the process. `target`: the address to dial, if it does not listen. `who` prefixes its warnings on standard
  /// error. Throws Error.
  HopTransfer(const HopPlan& plan, const HopFile& file, const std::optional<HopTarget>& target, const std::string& who);

  [[nodiscard]] JsonLines& status_lines() noexcept { return status_lines_; }
  [[nodiscard]] const HopPlan& plan() const noexcept { return plan_; }

  /// Allows a sender to begin reading.
  void go() noexcept;
  /// Tells a sender the result of its source: empty, or why the bytes are not complete. Call after go().
  void send_source_result(const std::string& error) noexcept;

  /// Tells a receiver that the reader of its output closed it. It ends, and tells its sender why.
  void close_reader() noexcept;
  /// Asks the process to end.
  void stop() noexcept { process_.signal(SIGTERM); }
  void kill() noexcept { process_.signal(SIGKILL); }
  /// The process's report; nothing yet while it runs. A process that ended without one gets a report that says so.
  [[nodiscard]] const std::optional<HopReport>& report() const noexcept { return report_; }
  void set_report(HopReport report) { report_ = std::move(report); }
  /// Whether the process has ended. Does not wait.
  bool has_ended() noexcept;

 private:
  HopPlan plan_;
  FileDescriptor control_;
  JsonLines status_lines_;
  ChildProcess process_;
  std::optional<HopReport> report_;
};

}  // namespace framewire
