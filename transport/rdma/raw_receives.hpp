// The receives that raw messages complete.
#pragma once

#include <cstdint>

#include "transport/rdma/connection.hpp"
#include "transport/rdma/raw_memory.hpp"

namespace framewire {

/// Posted in the order in which messages will take them: one for each chunk of a message that is sent, one without
/// memory for each that is written and announced. As deep as the device allows. One thread.
class RawReceives {
 public:
  /// What a message takes. `first_slot` and `slots` say where in the memory.
  struct Shape {
    bool has_buffers = false;  // of messages that are sent
    std::uint64_t message_bytes = 0;
    std::uint64_t chunk_bytes = 0;
    std::uint32_t slots = 1;
  };

  /// Both outlive this.
  RawReceives(const RdmaConnection& connection, const RawMemory& memory) noexcept;

  /// Posts them all. Throws Error.
  void begin(const Shape& shape);

  /// Looks once at what has come; false when that was nothing. Throws Error: what came is not what was to come, or the
  /// connection is gone.
  bool poll();
  /// How many messages have come whole, in all.
  [[nodiscard]] std::uint64_t messages() const noexcept { return taken_ / chunks_per_message(); }
  /// Gives the places of what poll() found to what comes next. Throws Error.
  void post_again();

 private:
  [[nodiscard]] std::uint64_t chunks_per_message() const noexcept;
  [[nodiscard]] std::uint64_t bytes_of(std::uint64_t chunk) const noexcept;
  void take(const ibv_wc& completion);

  const RdmaConnection& connection_;
  const RawMemory& memory_;
  Shape shape_;
  std::uint64_t posted_ = 0;  // chunks
  std::uint64_t taken_ = 0;
  std::uint64_t depth_ = 0;
};

}  // namespace framewire
