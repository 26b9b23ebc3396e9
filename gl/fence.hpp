// Fences: tell when the GPU has finished.
#pragma once

#include <cstdint>
#include <utility>

#include "gl/gl.hpp"

namespace framewire {

/// How waiting for the GPU ended.
enum class GpuWait {
  done,
  pending,  // the deadline came first
  failed,   // the context is lost: the GPU accesses no memory any more, and pending drawing never happens
};

/// A point in the current context's command stream. An empty fence counts as reached. Used on the context's thread.
class GlFence {
 public:
  GlFence() noexcept = default;
  GlFence(GlFence&& other) noexcept
      : sync_(std::exchange(other.sync_, nullptr)), has_failed_(std::exchange(other.has_failed_, false)) {}
  GlFence& operator=(GlFence&& other) noexcept;
  GlFence(const GlFence&) = delete;
  GlFence& operator=(const GlFence&) = delete;
  ~GlFence() { reset(); }

  /// Inserts a fence after all commands issued so far.
  [[nodiscard]] static GlFence insert() noexcept;

  /// Checks whether the GPU has reached the fence. Flushes commands that the driver still holds, so that repeated
  /// polling eventually succeeds.
  GpuWait poll() noexcept;

  /// Waits until the GPU reaches the fence or until `deadline_ns` (monotonic). A failed fence stays failed until
  /// reset().
  GpuWait wait(std::int64_t deadline_ns) noexcept;

  void reset() noexcept;

 private:
  GpuWait wait_for_ns(std::uint64_t timeout_ns) noexcept;

  GLsync sync_ = nullptr;
  bool has_failed_ = false;
};

}  // namespace framewire
