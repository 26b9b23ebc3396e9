#include "gl/fence.hpp"

#include <algorithm>

#include "base/clock.hpp"

namespace framewire {

GlFence& GlFence::operator=(GlFence&& other) noexcept {
  if (this != &other) {
    reset();
    sync_ = std::exchange(other.sync_, nullptr);
  }
  return *this;
}

GlFence GlFence::insert() noexcept {
  GlFence fence;
  fence.sync_ = glFenceSync(GL_SYNC_GPU_COMMANDS_COMPLETE, 0);
  return fence;
}

bool GlFence::passed() noexcept {
  return wait_for_ns(0);
}

bool GlFence::wait(std::int64_t deadline_ns) noexcept {
  const std::int64_t left_ns = std::max<std::int64_t>(deadline_ns - monotonic_ns(), 0);
  return wait_for_ns(static_cast<std::uint64_t>(left_ns));
}

void GlFence::reset() noexcept {
  if (sync_ != nullptr) {
    glDeleteSync(std::exchange(sync_, nullptr));
  }
}

bool GlFence::wait_for_ns(std::uint64_t timeout_ns) noexcept {
  if (sync_ == nullptr) {
    return true;
  }
  const GLenum result = glClientWaitSync(sync_, GL_SYNC_FLUSH_COMMANDS_BIT, timeout_ns);
  if (result == GL_TIMEOUT_EXPIRED) {
    return false;
  }
  // GL_WAIT_FAILED means that the context is lost: nothing reads any more, so waiting on would never end.
  reset();
  return true;
}

}  // namespace framewire
