// A key that two machines share, and functions for keys: random bytes, HMAC, comparison in constant time.
#pragma once

#include <array>
#include <cstddef>
#include <span>

namespace framewire {

/// A value; the destructor wipes it from memory.
class Key {
 public:
  static constexpr std::size_t size_bytes = 32;

  Key() noexcept = default;
  explicit Key(std::span<const std::byte, size_bytes> bytes) noexcept;
  Key(const Key&) noexcept = default;
  Key& operator=(const Key&) noexcept = default;
  ~Key();

  [[nodiscard]] std::span<const std::byte, size_bytes> bytes() const noexcept { return bytes_; }
  [[nodiscard]] std::span<std::byte, size_bytes> bytes() noexcept { return bytes_; }

  /// In constant time.
  bool operator==(const Key& other) const noexcept;

 private:
  std::array<std::byte, size_bytes> bytes_{};
};

/// Fills `bytes` from the system's random numbers, which are good enough for keys. Throws Error (failed).
void fill_random(std::span<std::byte> bytes);

using Mac = std::array<std::byte, 32>;
/// HMAC-SHA256 (RFC 2104, FIPS 198-1). Throws Error (failed).
Mac hmac_sha256(std::span<const std::byte> key, std::span<const std::byte> text);

/// Compares in constant time. Both have the same size.
bool are_equal(std::span<const std::byte> one, std::span<const std::byte> other) noexcept;

/// Overwrites a secret. The compiler cannot remove the write.
void wipe(std::span<std::byte> secret) noexcept;

}  // namespace framewire
