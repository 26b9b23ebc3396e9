// How a stream of bytes uses frames, and the messages that sender and receiver exchange at its end. docs/wire.md,
// "Bytes".
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/error.hpp"

namespace framewire {

/// The user_tag of a chunk's header, decoded. The header's pts_ns counts the bytes before the chunk.
struct ChunkTag {
  bool is_end = false;                   // the payload is an end record; no chunk follows
  std::optional<std::uint32_t> check{};  // the low half of the digest of all bytes up to the end of this chunk
  bool operator==(const ChunkTag&) const = default;
};

std::uint64_t encode(const ChunkTag& tag) noexcept;
/// Returns nothing if a bit is set that this version does not know.
std::optional<ChunkTag> decode_chunk_tag(std::uint64_t user_tag) noexcept;

/// 16 hexadecimal digits, as xxhsum prints them.
std::string digest_text(std::uint64_t digest);

/// The sender's final message, after its last byte. A stream without it is incomplete, however it ended. JSON, at most
/// longest_end_record_bytes.
struct EndRecord {
  std::uint64_t bytes = 0;
  std::optional<std::uint64_t> digest{};  // XXH3 (64 bits, seed 0) of all bytes; nothing with --no-checksum
  std::string error{};                    // why the source failed; empty: it ended normally
};
inline constexpr std::size_t longest_end_record_bytes = 2048;
std::string to_json_text(const EndRecord& record);
/// Throws Error (failed) that names the field.
EndRecord end_record_from(const std::string& json_text);

/// The receiver's final message: it travels as the statistics of its bye.
struct Receipt {
  std::uint64_t bytes = 0;  // written
  std::optional<std::uint64_t> digest{};
  bool is_durable = false;   // --fsync: all bytes are on the disk
  std::string error{};       // why some bytes were not written; empty: all were
  double sink_seconds = 0;   // waiting for the file or the reader
  bool reader_left = false;  // the reader of the output closed it; `error` says so, too
};
std::string to_json_text(const Receipt& receipt);
/// Throws Error (failed) that names the field.
Receipt receipt_from(const std::string& json_text);

/// The reader of the receiver's output has closed it. This is an error for a transfer to a file, and none in a
/// pipeline.
class ReaderLeft : public Error {
 public:
  explicit ReaderLeft(const std::string& message) : Error(ExitStatus::failed, message) {}
};

/// The peer reported that it failed. Its own report may say more.
class PeerFailed : public Error {
 public:
  explicit PeerFailed(const std::string& message) : PeerFailed(ExitStatus::failed, message) {}

 protected:
  PeerFailed(ExitStatus status, const std::string& message) : Error(status, message) {}
};

/// The peer said goodbye before the transfer was complete: somebody ended it.
class PeerEnded : public PeerFailed {
 public:
  explicit PeerEnded(const std::string& message) : PeerFailed(ExitStatus::lost_peer, message) {}
};

}  // namespace framewire
