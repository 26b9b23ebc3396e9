// OpenSSL's view of two buffers in place of a socket: whoever owns them makes the system calls, in pieces of its own
// size and outside of what guards the SSL object.
#pragma once

#include <openssl/bio.h>

#include <cstddef>
#include <memory>
#include <span>

#include "transport/tls/bio_method.hpp"

namespace framewire {

/// Outlives the BIO that it makes. What came belongs to the thread that reads, what is sealed to the one that writes;
/// OpenSSL's calls touch each only when made by its own.
class BufferBio {
 public:
  /// Holds up to `max_sealed_bytes`. Throws std::bad_alloc.
  explicit BufferBio(std::size_t max_sealed_bytes)
      : sealed_(std::make_unique_for_overwrite<std::byte[]>(max_sealed_bytes)), room_bytes_(max_sealed_bytes) {}

  /// Null when there is no memory. Once.
  BIO* open() noexcept;

  /// What OpenSSL reads next; stays the caller's until it has all been taken.
  void bring(std::span<const std::byte> came) noexcept { came_ = came; }

  /// What OpenSSL wrote since clear_sealed(): bytes for the socket.
  [[nodiscard]] std::span<const std::byte> sealed() const noexcept { return {sealed_.get(), sealed_bytes_}; }
  [[nodiscard]] std::size_t room_bytes() const noexcept { return room_bytes_ - sealed_bytes_; }
  void clear_sealed() noexcept { sealed_bytes_ = 0; }

  /// OpenSSL may write while it reads (an alert, the answer to a peer that asks for new keys). That would come in
  /// between what another thread is sending, and fails instead: nothing here asks for it.
  void allow_writing(bool allowed) noexcept { may_write_ = allowed; }

  /// For OpenSSL's calls.
  bool write(std::span<const std::byte> bytes) noexcept;
  std::size_t read(std::span<std::byte> into) noexcept;

 private:
  BioMethod method_;
  std::span<const std::byte> came_;
  std::unique_ptr<std::byte[]> sealed_;
  std::size_t sealed_bytes_ = 0;
  std::size_t room_bytes_;
  bool may_write_ = false;
};

}  // namespace framewire
