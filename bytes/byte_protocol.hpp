// How a stream of bytes uses frames, and what its two ends say to each other at the end. docs/wire.md, "Bytes".
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/error.hpp"

namespace framewire {

/// What the header of a chunk says beyond its length: pts_ns counts the bytes before it, user_tag is this.
struct ChunkTag {
  bool is_end = false;                   // the payload is an end record, and the last there is
  std::optional<std::uint32_t> check{};  // the low half of the digest of all bytes up to the end of this chunk
  bool operator==(const ChunkTag&) const = default;
};

std::uint64_t encode(const ChunkTag& tag) noexcept;
/// Nothing where bits are set that this version does not know.
std::optional<ChunkTag> decode_chunk_tag(std::uint64_t user_tag) noexcept;

/// 16 hexadecimal digits, as xxhsum prints them.
std::string digest_text(std::uint64_t digest);

/// The sender's last word, behind its last byte: without it a stream is not whole, however it ended. JSON of at most
/// longest_end_record_bytes.
struct EndRecord {
  std::uint64_t bytes = 0;
  std::optional<std::uint64_t> digest{};  // XXH3 (64 bits, seed 0) of all of them; nothing with --no-checksum
  std::string error{};                    // why the source failed; empty: it came to its end
};
inline constexpr std::size_t longest_end_record_bytes = 2048;
std::string to_json_text(const EndRecord& record);
/// Throws Error (failed) that names the field.
EndRecord end_record_from(const std::string& json_text);

/// The receiver's last word: the statistics of its bye.
struct Receipt {
  std::uint64_t bytes = 0;  // written
  std::optional<std::uint64_t> digest{};
  bool is_durable = false;   // --fsync: it stands on the disk
  std::string error{};       // why not all was written; empty: it was
  double sink_seconds = 0;   // spent in waiting for the file or the reader
  bool reader_left = false;  // error says so, too: whoever read what was written wanted no more of it
};
std::string to_json_text(const Receipt& receipt);
/// Throws Error (failed) that names the field.
Receipt receipt_from(const std::string& json_text);

/// Whoever reads what the receiver writes has gone. That is a failure to a file's sender, and none in a pipeline.
class ReaderLeft : public Error {
 public:
  explicit ReaderLeft(const std::string& message) : Error(ExitStatus::failed, message) {}
};

/// The other end failed, and has said so: whoever asks why may find more there.
class PeerFailed : public Error {
 public:
  explicit PeerFailed(const std::string& message) : PeerFailed(ExitStatus::failed, message) {}

 protected:
  PeerFailed(ExitStatus status, const std::string& message) : Error(status, message) {}
};

/// The other end took its leave, and not a word that all is done: somebody has ended it.
class PeerEnded : public PeerFailed {
 public:
  explicit PeerEnded(const std::string& message) : PeerFailed(ExitStatus::lost_peer, message) {}
};

}  // namespace framewire
