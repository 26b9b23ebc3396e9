// TLS 1.3 with an external pre-shared key and (EC)DHE. No certificates, no tickets, no early data.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "transport/byte_stream.hpp"
#include "transport/tls/key.hpp"

namespace framewire {

/// The one sentence for a wrong key, on both ends.
inline constexpr const char* different_key_message =
    "the peer does not have the same key; run 'framewire key' on one machine and import it on the other";

/// Of a dialler whose way to offer the key means nothing to the listener.
inline constexpr const char* older_listener_sentence =
    "the peer knows another way to use the shared key: it is an older framewire, or a newer one; bring both to the "
    "same "
    "release";

enum class TlsRole { dialler, listener };

/// Encrypted bytes over a connected socket. Both ends have proven the key once the constructor returns.
class TlsStream final : public ByteStream {
 public:
  /// Called once, by a dialler, after its first flight and before anything is read: it may look at the answer
  /// (MSG_PEEK) and throw.
  using CheckAnswer = std::function<void(int fd, std::int64_t deadline_ns)>;
  /// Called by a listener that refuses what the dialler offers: tells it the sentence in plain, and throws the same.
  using RefuseOffer = std::function<void(int fd, const std::string& why_not)>;

  /// Shakes hands until the deadline, with a key that both have of `key` (tls_psk.hpp). `peer` names the far end in
  /// errors. Throws Error: refused (different_key_message, older_listener_sentence, a connection that has come back to
  /// its own machine), lost_peer (deadline, or the peer hung up).
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
