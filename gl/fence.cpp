#include "gl/fence.hpp"

#include <algorithm>

#include "base/clock.hpp"

namespace framewire {

GlFence& GlFence::operator=(GlFence&& other) noexcept {
  if (this != &other) {
    reset();
    sync_ = std::exchange(other.sync_, nullptr);
    has_failed_ = std::exchange(other.has_failed_, false);
  }
  return *this;
}

GlFence GlFence::insert() noexcept {
  GlFence fence;
  fence.sync_ = glFenceSync(GL_SYNC_GPU_COMMANDS_COMPLETE, 0);
  fence.has_failed_ = fence.sync_ == nullptr;
  return fence;
}

GpuWait GlFence::poll() noexcept {
  return wait_for_ns(0);
}

GpuWait GlFence::wait(std::int64_t deadline_ns) noexcept {
  const std::int64_t left_ns = std::max<std::int64_t>(deadline_ns - monotonic_ns(), 0);
  return wait_for_ns(static_cast<std::uint64_t>(left_ns));
}

void GlFence::reset() noexcept {
  if (sync_ != nullptr) {
    glDeleteSync(std::exchange(sync_, nullptr));
  }
  has_failed_ = false;
}

GpuWait GlFence::wait_for_ns(std::uint64_t timeout_ns) noexcept {
  if (has_failed_) {
    return GpuWait::failed;
  }
  if (sync_ == nullptr) {
    return GpuWait::done;
  }
  switch (glClientWaitSync(sync_, GL_SYNC_FLUSH_COMMANDS_BIT, timeout_ns)) {
    case GL_ALREADY_SIGNALED:
    case GL_CONDITION_SATISFIED:
      reset();
      return GpuWait::done;
    case GL_TIMEOUT_EXPIRED:
      return GpuWait::pending;
    default:  // GL_WAIT_FAILED: waiting again would never end
      reset();
      has_failed_ = true;
      return GpuWait::failed;
  }
}

}  // namespace framewire
