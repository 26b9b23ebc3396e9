// A data connection inside TLS 1.3, with a key of its own (docs/wire.md, "Encrypted data connections").
#pragma once

#include <cstdint>
#include <memory>

#include "base/file_descriptor.hpp"
#include "transport/byte_wire.hpp"
#include "transport/tls/key.hpp"
#include "transport/tls/tls_stream.hpp"

namespace framewire {

/// Records that one key seals before the next follows. RFC 8446, section 5.5 allows AES-GCM 2^24.5 full ones; OpenSSL
/// does not count.
inline constexpr std::uint32_t max_records_per_key = std::uint32_t{1} << 22;

/// A write is cut into records of 16 KiB straight from where it lies, and many of them leave in one system call; only
/// what does not fill a record is gathered first. No system call is made under the lock that guards the SSL object: a
/// reader waits for one record of the writer's at most, and the writer for one of the reader's.
class TlsWire final : public ByteWire {
 public:
  /// Takes a data connection whose proofs have been exchanged, and performs the handshake until the deadline or until
  /// the peer ends the connection of `lifeline` (-1: none). `key` belongs to this connection alone (make_data_key()).
  /// Throws Error: lost_peer, also when the handshake was disturbed; failed.
  TlsWire(FileDescriptor socket, TlsRole role, const Key& key, std::int64_t deadline_ns, int cancel_fd = -1,
          std::uint32_t records_per_key = max_records_per_key);
  ~TlsWire() override;

  [[nodiscard]] int fd() const noexcept override;
  WireRead read(std::span<std::byte> into) noexcept override;
  WireStatus fill(std::span<std::byte> into) noexcept override;
  WireRead read_now(std::span<std::byte> into) noexcept override;
  bool write(std::span<iovec> parts) noexcept override;
  bool write_now(std::span<const std::byte> bytes) noexcept override;
  [[nodiscard]] bool saw_tampering() const noexcept override;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace framewire
