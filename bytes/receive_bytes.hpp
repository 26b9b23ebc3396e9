// rdrecv: receives bytes, writes them, and confirms that to the sender.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/adaptive_spin.hpp"
#include "base/error.hpp"
#include "bytes/transfer_hooks.hpp"
#include "command/interruption.hpp"
#include "command/terminal_log.hpp"
#include "transport/endpoint_options.hpp"

namespace framewire {

struct ReceiveBytesOptions {
  EndpointOptions endpoint;
  std::string output = "-";
  bool appends = false;     // to a file, after its present contents
  bool is_durable = false;  // --fsync
  WaitMode wait = WaitMode::adaptive;
  std::int64_t connect_timeout_ns = -1;  // for the sender to connect; < 0: no timeout
  std::optional<std::string> stats_file{};
  bool is_verbose = false;
  TransferHooks hooks{};
};

/// Returns ok once all bytes of the sender are written and the digests match. Throws Error, one sentence: the sender's
/// source failed, the output failed, or the sender was lost or refused the session. Throws ReaderLeft.
ExitStatus receive_bytes(const ReceiveBytesOptions& options, Interruption& interruption, TerminalLog& log);

}  // namespace framewire
