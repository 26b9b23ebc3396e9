// Records of the simulated TLS (openssl.cpp): real framing, no secrecy, and a proof that only finds faults.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace framewire::sim {

// RFC 8446, section 5.1: the longest plaintext of a record, its header, and the types. A sealed record has 17 bytes
// more: the type and the proof, as with AES-GCM.
inline constexpr std::size_t max_plain_bytes = std::size_t{16} * 1024;
inline constexpr std::size_t record_header_bytes = 5;
inline constexpr std::size_t proof_bytes = 16;
enum class RecordType : char { alert = 21, handshake = 22, data = 23 };

/// Depends on every byte of both; anybody who knows this formula can forge it.
std::uint64_t weak_mac(std::uint64_t key, std::string_view text) noexcept;
std::string as_bytes(std::uint64_t number);

std::string plain_record(RecordType type, std::string_view body);
std::size_t body_bytes_of(std::string_view header) noexcept;

/// One direction of an established connection.
class RecordSequence {
 public:
  void begin(std::uint64_t key) noexcept { key_ = key; }
  void next_key() noexcept;

  std::string seal(RecordType type, std::string_view plain);
  /// Nothing if the body is not the next record: changed, lost, repeated, or of another key.
  struct Opened {
    RecordType type;
    std::string plain;
  };
  std::optional<Opened> open(std::string body);

 private:
  std::string proof_of(std::string_view inner);

  std::uint64_t key_ = 0;
  std::uint64_t number_ = 0;
};

}  // namespace framewire::sim
