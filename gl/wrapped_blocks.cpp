#include "gl/wrapped_blocks.hpp"

#include <algorithm>
#include <cstring>
#include <exception>
#include <utility>

#include "base/error.hpp"
#include "base/text.hpp"
#include "gl/device_uuid.hpp"

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

GlBuffer pin(const HostBlock& block, std::uint64_t offset_bytes, std::uint64_t size_bytes) noexcept {
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

std::string error_text(GLenum error) {
  switch (error) {
    case GL_INVALID_ENUM:
      return "GL_INVALID_ENUM";
    case GL_INVALID_VALUE:
      return "GL_INVALID_VALUE";
    case GL_INVALID_OPERATION:
      return "GL_INVALID_OPERATION";
    case GL_OUT_OF_MEMORY:
      return "GL_OUT_OF_MEMORY";
    default:
      return "OpenGL's error " + std::to_string(error);
  }
}

void require_success(const char* function) {
  if (const GLenum error = glGetError(); error != GL_NO_ERROR) {
    throw Error::failed(std::string(function) + ": " + error_text(error));
  }
}

/// The descriptor becomes the driver's if that takes it. Throws Error (failed).
GlMemoryObject import(OpaqueMemory memory) {
  GlMemoryObject object = GlMemoryObject::create();
  const GLint is_dedicated = GL_TRUE;  // cuMemCreate makes each block an allocation of its own
  glMemoryObjectParameterivEXT(object.id(), GL_DEDICATED_MEMORY_OBJECT_EXT, &is_dedicated);
  require_success("glMemoryObjectParameterivEXT");
  glImportMemoryFdEXT(object.id(), memory.size_bytes, GL_HANDLE_TYPE_OPAQUE_FD_EXT, memory.descriptor.get());
  require_success("glImportMemoryFdEXT");
  static_cast<void>(memory.descriptor.release());
  return object;
}

/// Throws Error (failed).
GlBuffer buffer_in(const GlMemoryObject& memory, std::uint64_t size_bytes) {
  GlBuffer buffer = GlBuffer::create();
  glNamedBufferStorageMemEXT(buffer.id(), static_cast<GLsizeiptr>(size_bytes), memory.id(), 0);
  require_success("glNamedBufferStorageMemEXT");
  return buffer;
}

}  // namespace

std::optional<std::string> WrappedBlocks::why_not(const MemoryKind& kind) {
  const std::optional<DeviceUuid> uuid = kind.device_uuid();
  if (!uuid) {
    return "OpenGL imports no memory of the kind " + quote(kind.name());
  }
  if (GLAD_GL_EXT_memory_object == 0 || GLAD_GL_EXT_memory_object_fd == 0) {
    return "the OpenGL driver (" + gl_renderer() + ") has no GL_EXT_memory_object_fd";
  }
  if (!context_draws_with(*uuid, loaded_queries())) {
    return "OpenGL draws with another device (" + gl_renderer() + ")";
  }
  return std::nullopt;
}

/// An entry without a buffer if the driver refuses.
WrappedBlocks::Entry WrappedBlocks::wrap(const std::shared_ptr<const Block>& block, std::uint64_t offset_bytes,
                                         std::uint64_t size_bytes) noexcept {
  drop_gl_errors();
  Entry made;
  made.block = block;
  if (const HostBlock* const host = block->host()) {
    made.buffer = pin(*host, offset_bytes, size_bytes);
    return made;
  }
  try {
    made.memory = import(block->for_opengl());
    made.buffer = buffer_in(made.memory, block->size_bytes());
  } catch (const std::exception& error) {
    refusal_ = error.what();
  }
  return made;
}

GLuint WrappedBlocks::find_or_wrap(const std::shared_ptr<const Block>& block, std::uint64_t offset_bytes,
                                   std::uint64_t size_bytes) noexcept {
  ++uses_;
  auto found = std::ranges::find(entries_, block, &Entry::block);
  if (found == entries_.end()) {
    Entry made = wrap(block, offset_bytes, size_bytes);
    if (!made.buffer) {
      return 0;
    }
    forget_unshared();
    found = std::ranges::min_element(entries_, {}, &Entry::last_use);  // unused entries have 0
    forget(*found);
    *found = std::move(made);
  }
  found->last_use = uses_;
  return found->buffer.id();
}

void WrappedBlocks::forget_all() noexcept {
  for (Entry& entry : entries_) {
    forget(entry);
  }
}

void WrappedBlocks::forget_unshared() noexcept {
  for (Entry& entry : entries_) {
    if (entry.block.use_count() == 1) {
      forget(entry);
    }
  }
}

void WrappedBlocks::forget(Entry& entry) noexcept {
  if (entry.block == nullptr) {
    return;
  }
  glFinish();  // the GPU may still read the memory, which may be freed with the block; rare
  entry.buffer.reset();
  entry.memory.reset();
  entry.block.reset();
  entry.last_use = 0;
}

}  // namespace framewire
