// The receives that raw messages complete.
#pragma once

#include <cstdint>

#include "transport/rdma/verbs.hpp"

namespace framewire {

/// Posted in the order in which messages will take them: one for each chunk of a message that is sent, one without
/// memory for each that is written and announced. As deep as the device allows. One thread.
class VerbsReceives {
 public:
  /// Where receives go, and how many it takes. Outlives this.
  struct Queue {
    ibv_qp* queue_pair = nullptr;
    ibv_cq* completions = nullptr;
    std::uint32_t depth = 0;
  };
  /// What a message takes. Those that are sent have buffers: message n stands in slot n modulo `slots`.
  struct Shape {
    bool has_buffers = false;
    std::uint64_t message_bytes = 0;
    std::uint64_t chunk_bytes = 0;
    std::uint32_t slots = 1;
    std::uint64_t address = 0;  // of slot 0
    std::uint64_t stride_bytes = 0;
    std::uint32_t key = 0;
  };

  explicit VerbsReceives(const Queue& queue) noexcept : queue_(queue) {}

  /// Posts them all. Throws Error.
  void begin(const Shape& shape);

  /// Looks once at what has come; false when that was nothing. Throws Error: what came is not what was to come, or the
  /// connection is gone.
  bool poll();
  /// How many messages have come whole, in all.
  [[nodiscard]] std::uint64_t messages() const noexcept { return taken_ / chunks_per_message(); }
  /// Gives the places of what poll() found to what comes next, but for those of messages from `first_unchecked` on,
  /// which somebody is still to look at. Throws Error.
  void post_again(std::uint64_t first_unchecked);

 private:
  [[nodiscard]] std::uint64_t chunks_per_message() const noexcept;
  [[nodiscard]] std::uint64_t bytes_of(std::uint64_t chunk) const noexcept;
  void post(std::uint64_t end);
  void take(const ibv_wc& completion);

  const Queue queue_;
  Shape shape_;
  std::uint64_t posted_ = 0;  // chunks
  std::uint64_t taken_ = 0;
  std::uint64_t depth_ = 0;
};

}  // namespace framewire
