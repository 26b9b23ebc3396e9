// TLS 1.3 with an external pre-shared key and (EC)DHE. No certificates, no tickets, no early data.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "transport/control/byte_stream.hpp"
#include "transport/control/key_file.hpp"

namespace framewire {

/// The one sentence for a wrong key, on both ends.
inline constexpr const char* different_key_sentence =
    "the peer does not have the same key; run 'framewire key' on one machine and import it on the other";

enum class TlsRole { dialler, listener };

/// Encrypted bytes over a connected socket. Both ends have proven the key once the constructor returns.
class TlsStream final : public ByteStream {
 public:
  /// Called once, by a dialler, after its first flight and before anything is read: it may look at the answer
  /// (MSG_PEEK) and throw.
  using LookAtAnswer = std::function<void(int fd, std::int64_t deadline_ns)>;

  /// Shakes hands until the deadline. `peer` names the far end in errors. Throws Error: refused
  /// (different_key_sentence), lost_peer (deadline, or the peer hung up).
  TlsStream(FileDescriptor socket, TlsRole role, const Key& key, std::string peer, std::int64_t deadline_ns,
            const LookAtAnswer& look = nullptr);
  ~TlsStream() override;

  StreamResult read_now(std::span<std::byte> into) noexcept override;
  StreamResult write_now(std::span<const std::byte> from) noexcept override;
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
