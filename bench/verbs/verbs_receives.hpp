// The receives of a verbs measurement.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>

namespace framewire {

/// Posted in the order in which messages complete them: for "send" one for each chunk of a message; for a write with
/// immediate one without memory for each message. As many as the device allows. One thread.
class VerbsReceives {
 public:
  /// The queues of a QP, and how many receives it takes. Outlives this.
  struct Queue {
    ibv_qp* queue_pair = nullptr;
    ibv_cq* completions = nullptr;
    std::uint32_t depth = 0;
  };
  /// The receives that a message needs. Sent messages have buffers: message n is in slot n modulo `slots`.
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

  /// Posts all receives. Throws Error.
  void begin(const Shape& shape);

  /// Polls the completions once; false when there was none. Throws Error when an unexpected completion arrives or the
  /// connection is gone.
  bool poll();
  /// How many messages have arrived completely so far.
  [[nodiscard]] std::uint64_t messages() const noexcept { return taken_ / chunks_per_message(); }
  /// Posts the receives that poll() has found complete again, except those of messages from `first_unchecked` on, which
  /// have yet to be checked. Throws Error.
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
