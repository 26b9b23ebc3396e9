// What send_bytes() and receive_bytes() tell whoever runs them, and ask. All of them may be empty.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace framewire {

/// What a transfer waited for, in seconds; a receiver knows of its own waits alone.
struct TransferWaits {
  double source_s = 0;
  double wire_s = 0;   // room in the ring, and the link
  double limit_s = 0;  // the sender's --limit
  double sink_s = 0;   // the receiver's file or reader
};

/// How a transfer went, at its end.
struct TransferSummary {
  std::uint64_t bytes = 0;
  double seconds = 0;  // from the first byte to the last
  std::string transport{};
  TransferWaits waits{};
};

/// False once the transfer is over, or shall be: whoever waits within a hook asks it several times a second.
using StillRunning = std::function<bool()>;

/// Called on the transfer's own thread, but for progress.
struct TransferHooks {
  /// It listens there.
  std::function<void(std::uint16_t port)> listening{};
  /// The other end is there. The first byte is read, or written, after this has returned.
  std::function<void(const std::string& start_line, const StillRunning& still_running)> connected{};
  /// A sender's source has come to its end: was it a good one? Empty, or why what came is not all there was.
  std::function<std::string(const StillRunning& still_running)> source_result{};
  /// A receiver that was interrupted: because nobody wants any more what it writes?
  std::function<bool()> reader_closed{};
  /// So many bytes so far, and in the last interval. From a thread of its own, once a second; instead of a live line.
  std::function<void(std::uint64_t bytes, double interval_bytes, double interval_s)> progress{};
  /// The last one, of a transfer that went well.
  std::function<void(const TransferSummary& summary)> ended{};
};

}  // namespace framewire
