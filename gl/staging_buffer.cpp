#include "gl/staging_buffer.hpp"

namespace framewire {

std::span<std::byte> StagingBuffer::claim(std::size_t size_bytes, std::int64_t deadline_ns) noexcept {
  const std::size_t next = (current_ + 1) % parts_.size();
  Part& part = parts_[next];
  waited_ = part.fence.wait(deadline_ns);
  if (waited_ != GpuWait::done || (part.bytes.size() < size_bytes && !grow(part, size_bytes))) {
    return {};
  }
  current_ = next;
  return part.bytes.first(size_bytes);
}

bool StagingBuffer::grow(Part& part, std::size_t size_bytes) noexcept {
  constexpr GLbitfield access = GL_MAP_WRITE_BIT | GL_MAP_PERSISTENT_BIT | GL_MAP_COHERENT_BIT;
  const auto size = static_cast<GLsizeiptr>(size_bytes);
  part.bytes = {};
  part.buffer = GlBuffer::create();
  glNamedBufferStorage(part.buffer.id(), size, nullptr, access);
  void* mapped = glMapNamedBufferRange(part.buffer.id(), 0, size, access);
  if (mapped == nullptr) {
    part.buffer.reset();
    return false;
  }
  part.bytes = {static_cast<std::byte*>(mapped), size_bytes};
  return true;
}

}  // namespace framewire
