// A data connection inside TLS 1.3, with a key of its own (docs/wire.md, "Encrypted data connections").
#pragma once

#include <cstdint>
#include <memory>

#include "base/file_descriptor.hpp"
#include "transport/byte_wire.hpp"
#include "transport/tls/key.hpp"
#include "transport/tls/tls_stream.hpp"

namespace framewire {

/// The number of records before a key update. RFC 8446, section 5.5, allows 2^24.5 full records for AES-GCM; OpenSSL
/// does not count them.
inline constexpr std::uint32_t max_records_per_key = std::uint32_t{1} << 22;

/// write_some() seals records of 16 KiB directly from the caller's memory, and sends many of them in one system call.
/// It copies only bytes that do not fill a record. The lock that guards the SSL object is never held during a system
/// call: the reader and the writer wait for at most one record of each other.
class TlsWire final : public ByteWire {
 public:
  /// Takes a data connection after both proofs, and performs the handshake until the deadline or until the peer closes
  /// `cancel_fd` (the control connection; -1: none). Only this connection has `key` (make_data_key()). Throws Error:
  /// lost_peer, also when the handshake was disturbed; failed.
  TlsWire(FileDescriptor socket, TlsRole role, const Key& key, std::int64_t deadline_ns, int cancel_fd = -1,
          std::uint32_t records_per_key = max_records_per_key);
  ~TlsWire() override;

  [[nodiscard]] int fd() const noexcept override;
  WireRead read(std::span<std::byte> first, std::span<std::byte> second) noexcept override;
  WireWrite write_some(std::span<iovec>& parts) noexcept override;
  [[nodiscard]] bool saw_tampering() const noexcept override;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace framewire
