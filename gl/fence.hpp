// Knowing when the GPU is done.
#pragma once

#include <cstdint>
#include <utility>

#include "gl/gl.hpp"

namespace framewire {

/// A point in the command stream of the context that is current. An empty fence has passed. The context's thread.
class GlFence {
 public:
  GlFence() noexcept = default;
  GlFence(GlFence&& other) noexcept : sync_(std::exchange(other.sync_, nullptr)) {}
  GlFence& operator=(GlFence&& other) noexcept;
  GlFence(const GlFence&) = delete;
  GlFence& operator=(const GlFence&) = delete;
  ~GlFence() { reset(); }

  /// A fence behind every command so far.
  [[nodiscard]] static GlFence insert() noexcept;

  /// Whether the GPU has got there. Sends the commands off if they still wait in the driver, so that asking again ends
  /// some time.
  bool passed() noexcept;

  /// Waits for it until `deadline_ns` (monotonic). Returns whether it has passed.
  bool wait(std::int64_t deadline_ns) noexcept;

  void reset() noexcept;

 private:
  bool wait_for_ns(std::uint64_t timeout_ns) noexcept;

  GLsync sync_ = nullptr;
};

}  // namespace framewire
