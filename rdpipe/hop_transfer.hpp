// One end of a hop: a process of its own that moves bytes between a descriptor, or a file, and the next stage's host.
#pragma once

#include <csignal>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "bytes/transfer_hooks.hpp"
#include "rdpipe/child_process.hpp"
#include "rdpipe/json_lines.hpp"
#include "rdpipe/plan.hpp"

namespace framewire {

/// Where the bytes of this end come from or go to: standard input or output of rdpipe itself, a pipe, or a file.
struct HopEndpoint {
  std::string path = "-";
  bool appends = false;
  int fd = -1;  // for "-": instead of the standard stream
};

enum class HopResult {
  ok,           // everything has been written, and said to be
  reader_left,  // nobody reads any more at the receiving end
  told,         // the other end failed, and said so, or ended without a word that it was done
  lost,         // the other end is gone
  failed,       // this end failed
};

/// What a hop's end says of itself when it is over.
struct HopReport {
  std::size_t number = 0;
  bool sends = false;
  HopResult result = HopResult::failed;
  std::string message{};
  std::optional<TransferSummary> summary{};
  bool was_stopped = false;  // because something else had failed: it is not to blame
};
nlohmann::json to_json(const HopReport& report);
/// Throws Error (failed) that names the field.
HopReport hop_report_from(const nlohmann::json& message);

/// The process, as its parent sees it. One thread. Its messages have the types "listening" (hop, port), "connected"
/// (hop, sends, start_line, file: its file_identity), "progress" (hop, bytes, bytes_per_s) and "hop_ended" (a
/// HopReport), which is the last.
class HopTransfer {
 public:
  /// Starts it. `target`: where it dials, if it does not listen. `who` stands before its warnings, on standard error.
  /// Throws Error.
  HopTransfer(const HopPlan& plan, const HopEndpoint& end, const std::optional<HopTarget>& target,
              const std::string& who);

  [[nodiscard]] JsonLines& status_lines() noexcept { return status_lines_; }
  [[nodiscard]] const HopPlan& plan() const noexcept { return plan_; }

  /// A sender may read from now on.
  void go() noexcept;
  /// What a sender's source came to: empty, or why what came from it is not all there was. After go().
  void send_source_result(const std::string& error) noexcept;

  /// A receiver, whose reader wants no more: it ends, and its sender is told so.
  void close_reader() noexcept;
  /// Asks it to end.
  void stop() noexcept { process_.signal(SIGTERM); }
  void kill() noexcept { process_.signal(SIGKILL); }
  /// Whether its report has come, or it has ended without one; the report then says that it did.
  [[nodiscard]] const std::optional<HopReport>& report() const noexcept { return report_; }
  void set_report(HopReport report) { report_ = std::move(report); }
  /// Looks whether the process is gone.
  bool has_ended() noexcept;

 private:
  HopPlan plan_;
  FileDescriptor control_;
  JsonLines status_lines_;
  ChildProcess process_;
  std::optional<HopReport> report_;
};

}  // namespace framewire
