// The command lines of rdsend and rdrecv.
#pragma once

#include <optional>

#include "pipe/receive_bytes.hpp"
#include "pipe/send_bytes.hpp"

namespace framewire {

/// Nothing when --help or --version was asked for, and printed. Both throw Error (usage).
std::optional<SendBytesOptions> parse_rdsend_options(int argc, const char* const* argv);
std::optional<ReceiveBytesOptions> parse_rdrecv_options(int argc, const char* const* argv);

}  // namespace framewire
