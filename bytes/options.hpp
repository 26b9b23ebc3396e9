// The command lines of rdsend and rdrecv.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "bytes/receive_bytes.hpp"
#include "bytes/send_bytes.hpp"

namespace framewire {

/// Nothing when --help or --version was asked for, and printed. Both throw Error (usage).
std::optional<SendBytesOptions> parse_rdsend_options(int argc, const char* const* argv);
std::optional<ReceiveBytesOptions> parse_rdrecv_options(int argc, const char* const* argv);

/// Options of whoever sends, as text; empty: the default.
struct RawChunkOptions {
  std::string limit{}, slots{}, slot_bytes{};
};
/// Leaves alone what is empty. Throws Error (usage) that names the option.
void parse_chunk_options(const RawChunkOptions& raw, std::uint64_t& limit_bytes_per_s, std::uint32_t& slots,
                         std::uint64_t& slot_bytes);

}  // namespace framewire
