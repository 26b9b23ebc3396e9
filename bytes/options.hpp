// The command lines of rdsend and rdrecv.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "bytes/receive_bytes.hpp"
#include "bytes/send_bytes.hpp"

namespace framewire {

/// Return nothing if --help or --version was given; its text is printed then. Both throw Error (usage).
std::optional<SendBytesOptions> parse_rdsend_options(int argc, const char* const* argv);
std::optional<ReceiveBytesOptions> parse_rdrecv_options(int argc, const char* const* argv);

/// The sender's options as text; empty: the default.
struct RawChunkOptions {
  std::string limit{}, slots{}, slot_bytes{};
};
/// An empty text leaves its value unchanged. Throws Error (usage) that names the option.
void parse_chunk_options(const RawChunkOptions& raw, std::uint64_t& limit_bytes_per_s, std::uint32_t& slots,
                         std::uint64_t& slot_bytes);

}  // namespace framewire
