// rdsend: reads bytes, sends them, and waits until the receiver has written them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/error.hpp"
#include "bytes/chunks.hpp"
#include "bytes/transfer_hooks.hpp"
#include "command/interruption.hpp"
#include "command/terminal_log.hpp"
#include "transport/endpoint_options.hpp"

namespace framewire {

struct SendBytesOptions {
  EndpointOptions endpoint;
  std::string input = "-";
  bool takes_digest = true;
  std::uint64_t limit_bytes_per_s = 0;  // 0: none
  std::uint64_t slot_bytes = default_slot_bytes;
  std::uint32_t slots = default_slots;
  /// For the receiver to connect; < 0: no timeout. An attempt to dial that is under way then has 2 s more.
  std::int64_t connect_timeout_ns = 10'000'000'000;
  std::optional<std::string> stats_file{};
  bool is_verbose = false;
  TransferHooks hooks{};
};

/// Returns ok once the receiver has confirmed that all bytes are written and that its digest matches. Throws Error, one
/// sentence: the source failed, or the receiver could not write, was lost, refused the session, or did not connect.
/// Throws ReaderLeft.
ExitStatus send_bytes(const SendBytesOptions& options, Interruption& interruption, TerminalLog& log);

}  // namespace framewire
