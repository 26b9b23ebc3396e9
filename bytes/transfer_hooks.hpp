// Callbacks by which send_bytes() and receive_bytes() report to their caller and ask it. Each may be empty.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace framewire {

/// What a transfer waited for, in seconds. A receiver only knows its own waits.
struct TransferWaits {
  double source_s = 0;
  double wire_s = 0;   // a free slot of the ring, and the link
  double limit_s = 0;  // the sender's --limit
  double sink_s = 0;   // the receiver's file or reader
};

/// The result of a transfer.
struct TransferSummary {
  std::uint64_t bytes = 0;
  double seconds = 0;  // from the first byte to the last
  std::string transport{};
  TransferWaits waits{};
};

/// False once the transfer is over or is to end. A hook that waits calls it several times a second.
using StillRunning = std::function<bool()>;

/// All are called on the transfer's own thread, except `progress`.
struct TransferHooks {
  /// The transfer listens on this port.
  std::function<void(std::uint16_t port)> listening{};
  /// The peer has connected. The first byte is read, or written, after this has returned.
  std::function<void(const std::string& start_line, const StillRunning& still_running)> connected{};
  /// Called when a sender's source has ended. Returns an empty string if the source is complete, else why it is not.
  std::function<std::string(const StillRunning& still_running)> source_result{};
  /// Called when a receiver is interrupted: did that happen because the reader of its output closed it?
  std::function<bool()> reader_closed{};
  /// Progress: bytes so far, and in the last interval. Called once a second on its own thread, and replaces the live
  /// line.
  std::function<void(std::uint64_t bytes, double interval_bytes, double interval_s)> progress{};
  /// The last call, after a transfer that succeeded.
  std::function<void(const TransferSummary& summary)> ended{};
};

}  // namespace framewire
