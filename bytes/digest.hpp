// The running digest of a stream of bytes.
#pragma once

#include <xxhash.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace framewire {

/// XXH3, 64 bits, seed 0, as `xxhsum -H3` prints it. One thread. Sender and receiver each digest all bytes. They
/// compare the low half after every chunk, and the whole digest at the end.
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
