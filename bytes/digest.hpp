// The digest of a stream of bytes, as far as it has come.
#pragma once

#include <xxhash.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace framewire {

/// XXH3, 64 bits, seed 0: what `xxhsum -H3` prints. One thread. Both ends take it once over all bytes, and compare it
/// at every chunk (its low half) and at the end.
class RunningDigest {
 public:
  /// Throws std::bad_alloc.
  RunningDigest();

  void add(std::span<const std::byte> bytes) noexcept;
  /// Of all bytes so far; more may follow.
  [[nodiscard]] std::uint64_t value() const noexcept { return XXH3_64bits_digest(state_.get()); }

 private:
  struct Free {
    void operator()(XXH3_state_t* state) const noexcept { XXH3_freeState(state); }
  };
  std::unique_ptr<XXH3_state_t, Free> state_;
};

}  // namespace framewire
