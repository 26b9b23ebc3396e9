// Owners of GL objects. Create and destroy them while their context is current.
#pragma once

#include <utility>

#include "gl/gl.hpp"

namespace framewire {

/// Move-only owner of a GL object name; 0 is none. `Kind` creates and deletes the object.
template <typename Kind>
class GlHandle {
 public:
  GlHandle() noexcept = default;
  GlHandle(GlHandle&& other) noexcept : id_(std::exchange(other.id_, 0)) {}
  GlHandle& operator=(GlHandle&& other) noexcept {
    if (this != &other) {
      reset();
      id_ = std::exchange(other.id_, 0);
    }
    return *this;
  }
  GlHandle(const GlHandle&) = delete;
  GlHandle& operator=(const GlHandle&) = delete;
  ~GlHandle() { reset(); }

  /// A new object.
  [[nodiscard]] static GlHandle create() noexcept requires requires { Kind::make(); }
  { return GlHandle(Kind::make()); }

  /// A new object of a kind that needs a type at creation: a texture's target, a shader's stage.
  [[nodiscard]] static GlHandle create(GLenum sort) noexcept requires requires { Kind::make(sort); }
  { return GlHandle(Kind::make(sort)); }

  void reset() noexcept {
    if (id_ != 0) {
      Kind::destroy(std::exchange(id_, 0));
    }
  }

  [[nodiscard]] GLuint id() const noexcept { return id_; }
  explicit operator bool() const noexcept { return id_ != 0; }

 private:
  explicit GlHandle(GLuint id) noexcept : id_(id) {}

  GLuint id_ = 0;
};

namespace gl_kinds {

struct Buffer {
  static GLuint make() noexcept {
    GLuint id = 0;
    glCreateBuffers(1, &id);
    return id;
  }
  static void destroy(GLuint id) noexcept { glDeleteBuffers(1, &id); }
};

struct Texture {
  static GLuint make(GLenum target) noexcept {
    GLuint id = 0;
    glCreateTextures(target, 1, &id);
    return id;
  }
  static void destroy(GLuint id) noexcept { glDeleteTextures(1, &id); }
};

/// Not yet a texture: glTextureView makes it one.
struct TextureView {
  static GLuint make() noexcept {
    GLuint id = 0;
    glGenTextures(1, &id);
    return id;
  }
  static void destroy(GLuint id) noexcept { glDeleteTextures(1, &id); }
};

struct Framebuffer {
  static GLuint make() noexcept {
    GLuint id = 0;
    glCreateFramebuffers(1, &id);
    return id;
  }
  static void destroy(GLuint id) noexcept { glDeleteFramebuffers(1, &id); }
};

struct VertexArray {
  static GLuint make() noexcept {
    GLuint id = 0;
    glCreateVertexArrays(1, &id);
    return id;
  }
  static void destroy(GLuint id) noexcept { glDeleteVertexArrays(1, &id); }
};

struct Shader {
  static GLuint make(GLenum stage) noexcept { return glCreateShader(stage); }
  static void destroy(GLuint id) noexcept { glDeleteShader(id); }
};

struct Program {
  static GLuint make() noexcept { return glCreateProgram(); }
  static void destroy(GLuint id) noexcept { glDeleteProgram(id); }
};

struct MemoryObject {
  static GLuint make() noexcept {
    GLuint id = 0;
    glCreateMemoryObjectsEXT(1, &id);
    return id;
  }
  static void destroy(GLuint id) noexcept { glDeleteMemoryObjectsEXT(1, &id); }
};

struct TimeQuery {
  static GLuint make() noexcept {
    GLuint id = 0;
    glCreateQueries(GL_TIME_ELAPSED, 1, &id);
    return id;
  }
  static void destroy(GLuint id) noexcept { glDeleteQueries(1, &id); }
};

}  // namespace gl_kinds

using GlBuffer = GlHandle<gl_kinds::Buffer>;
using GlTexture = GlHandle<gl_kinds::Texture>;
using GlTextureView = GlHandle<gl_kinds::TextureView>;
using GlFramebuffer = GlHandle<gl_kinds::Framebuffer>;
using GlVertexArray = GlHandle<gl_kinds::VertexArray>;
using GlShader = GlHandle<gl_kinds::Shader>;
using GlProgram = GlHandle<gl_kinds::Program>;
using GlTimeQuery = GlHandle<gl_kinds::TimeQuery>;
using GlMemoryObject = GlHandle<gl_kinds::MemoryObject>;

}  // namespace framewire
