// Knowing when the GPU is done.
#pragma once

#include <cstdint>
#include <utility>

#include "gl/gl.hpp"

namespace framewire {

/// How waiting for the GPU ended.
enum class GpuWait {
  done,
  pending,  // the deadline came first
  failed,   // the context is lost: the GPU reads and draws nothing any more, and what it was to draw was not drawn
};

/// A point in the command stream of the context that is current. An empty fence has been reached. The context's thread.
class GlFence {
 public:
  GlFence() noexcept = default;
  GlFence(GlFence&& other) noexcept
      : sync_(std::exchange(other.sync_, nullptr)), has_failed_(std::exchange(other.has_failed_, false)) {}
  GlFence& operator=(GlFence&& other) noexcept;
  GlFence(const GlFence&) = delete;
  GlFence& operator=(const GlFence&) = delete;
  ~GlFence() { reset(); }

  /// A fence behind every command so far.
  [[nodiscard]] static GlFence insert() noexcept;

  /// Whether the GPU has got there. Sends the commands off if they still wait in the driver, so that asking again ends
  /// some time.
  GpuWait poll() noexcept;

  /// Waits for it until `deadline_ns` (monotonic). One that has failed says so until it is reset.
  GpuWait wait(std::int64_t deadline_ns) noexcept;

  void reset() noexcept;

 private:
  GpuWait wait_for_ns(std::uint64_t timeout_ns) noexcept;

  GLsync sync_ = nullptr;
  bool has_failed_ = false;
};

}  // namespace framewire
