// Bytes that must not stay in memory after their use.
#pragma once

#include <string.h>

#include <array>
#include <cstddef>
#include <span>

namespace framewire {

/// A value; the destructor of each copy wipes it from memory.
template <std::size_t count>
class SecretBytes {
 public:
  SecretBytes() noexcept = default;
  SecretBytes(const SecretBytes&) noexcept = default;
  SecretBytes& operator=(const SecretBytes&) noexcept = default;
  ~SecretBytes() { ::explicit_bzero(bytes_.data(), bytes_.size()); }  // the compiler cannot remove it

  [[nodiscard]] std::span<const std::byte, count> bytes() const noexcept { return bytes_; }
  [[nodiscard]] std::span<std::byte, count> bytes() noexcept { return bytes_; }

 private:
  std::array<std::byte, count> bytes_{};
};

}  // namespace framewire
