// TLS 1.3 with an external pre-shared key and (EC)DHE. No certificates, no tickets, no early data.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "transport/byte_stream.hpp"
#include "transport/tls/key.hpp"

namespace framewire {

/// The error message for a wrong key, on both sides.
inline constexpr const char* different_key_message =
    "the peer does not have the same key; run 'framewire key' on one machine and import it on the other";

/// The error message of a dialler when the listener does not know this way to offer the key.
inline constexpr const char* older_listener_message =
    "the peer knows another way to use the shared key: it is an older framewire, or a newer one; bring both to the "
    "same "
    "release";

enum class TlsRole { dialler, listener };

/// Encrypted bytes over a connected socket. When the constructor returns, both sides have proven that they know the
/// key.
class TlsStream final : public ByteStream {
 public:
  /// A dialler calls it once, after its first flight and before it reads. It may peek at the answer (MSG_PEEK) and
  /// throw.
  using CheckAnswer = std::function<void(int fd, std::int64_t deadline_ns)>;
  /// A listener calls it when it refuses the dialler's offer. It sends the reason in plaintext, and throws the same.
  using RefuseOffer = std::function<void(int fd, const std::string& reason)>;

  /// Performs the handshake until the deadline, with a key that both sides derive from `key` (tls_psk.hpp). `peer`
  /// names the other side in errors. Throws Error: refused (different_key_message, older_listener_message, a
  /// connection that has come back to its own machine), lost_peer (deadline, or the peer closed).
  TlsStream(FileDescriptor socket, TlsRole role, const Key& key, std::string peer, std::int64_t deadline_ns,
            const CheckAnswer& check_answer = nullptr, const RefuseOffer& refuse = nullptr);
  ~TlsStream() override;

  IoResult read_now(std::span<std::byte> into) noexcept override;
  IoResult write_now(std::span<const std::byte> from) noexcept override;
  [[nodiscard]] int fd() const noexcept override;
  [[nodiscard]] bool has_buffered() const noexcept override;
  void end_writing() noexcept override;
  void close() noexcept override;
  [[nodiscard]] std::string fault() const override;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace framewire
