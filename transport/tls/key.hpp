// A key that two ends share, and what is computed with keys: random bytes, HMAC, comparison in constant time.
#pragma once

#include <array>
#include <cstddef>
#include <span>

namespace framewire {

/// A value; wiped from memory when it goes.
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

/// From the system's random numbers; for keys, too. Throws Error (failed) where it has none.
void fill_random(std::span<std::byte> bytes);

using Mac = std::array<std::byte, 32>;
/// HMAC-SHA256 (RFC 2104, FIPS 198-1). Throws Error (failed).
Mac hmac_sha256(std::span<const std::byte> key, std::span<const std::byte> text);

/// Whether both hold the same, in constant time. They are of one size.
bool are_equal(std::span<const std::byte> one, std::span<const std::byte> other) noexcept;

/// Overwrites a secret so that the compiler does not leave that out.
void wipe(std::span<std::byte> secret) noexcept;

}  // namespace framewire
