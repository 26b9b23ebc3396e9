#include "gl/pinned_blocks.hpp"

#include <algorithm>
#include <cstring>

namespace framewire {

namespace {

bool shows(GLuint buffer, std::span<const std::byte> memory, std::uint64_t offset_bytes,
           std::uint64_t size_bytes) noexcept {
  std::array<std::byte, 256> seen{};
  const std::uint64_t count = std::min<std::uint64_t>(size_bytes, seen.size());
  for (const std::uint64_t at : {offset_bytes, offset_bytes + size_bytes - count}) {
    glGetNamedBufferSubData(buffer, static_cast<GLintptr>(at), static_cast<GLsizeiptr>(count), seen.data());
    if (std::memcmp(seen.data(), memory.data() + at, count) != 0) {
      return false;
    }
  }
  return true;
}

GlBuffer wrap(const HostBlock& block, std::uint64_t offset_bytes, std::uint64_t size_bytes) noexcept {
  drop_gl_errors();
  GlBuffer buffer = GlBuffer::create();
  const auto bytes = block.bytes();
  glBindBuffer(GL_EXTERNAL_VIRTUAL_MEMORY_BUFFER_AMD, buffer.id());
  glBufferData(GL_EXTERNAL_VIRTUAL_MEMORY_BUFFER_AMD, static_cast<GLsizeiptr>(bytes.size()), bytes.data(),
               GL_STREAM_DRAW);
  glBindBuffer(GL_EXTERNAL_VIRTUAL_MEMORY_BUFFER_AMD, 0);
  if (glGetError() != GL_NO_ERROR || !shows(buffer.id(), bytes, offset_bytes, size_bytes) ||
      glGetError() != GL_NO_ERROR) {
    return {};
  }
  return buffer;
}

}  // namespace

GLuint PinnedBlocks::find_or_wrap(const std::shared_ptr<const Block>& block, std::uint64_t offset_bytes,
                                  std::uint64_t size_bytes) noexcept {
  ++uses_;
  auto found = std::ranges::find(entries_, block, &Entry::block);
  if (found == entries_.end()) {
    GlBuffer buffer = wrap(*block->host(), offset_bytes, size_bytes);
    if (!buffer) {
      return 0;
    }
    forget_unshared();
    found = std::ranges::min_element(entries_, {}, &Entry::last_use);  // unused entries have 0
    forget(*found);
    found->block = block;
    found->buffer = std::move(buffer);
  }
  found->last_use = uses_;
  return found->buffer.id();
}

void PinnedBlocks::forget_all() noexcept {
  for (Entry& entry : entries_) {
    forget(entry);
  }
}

void PinnedBlocks::forget_unshared() noexcept {
  for (Entry& entry : entries_) {
    if (entry.block.use_count() == 1) {
      forget(entry);
    }
  }
}

void PinnedBlocks::forget(Entry& entry) noexcept {
  if (entry.block == nullptr) {
    return;
  }
  glFinish();  // the GPU may still read the memory, which may be freed with the block; rare
  entry.buffer.reset();
  entry.block.reset();
  entry.last_use = 0;
}

}  // namespace framewire
