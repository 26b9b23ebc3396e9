#include "gl/gl.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace framewire {

namespace {

std::string gl_string(GLenum what) {
  const auto* text = reinterpret_cast<const char*>(glGetString(what));
  return text != nullptr ? text : "unknown";
}

}  // namespace

void load_gl(GlFunctionLoader loader) {
  const int version = gladLoadGL(loader);
  if (version == 0) {
    throw Error::failed("the OpenGL functions cannot be loaded; make an OpenGL context current first");
  }
  if (version < GLAD_MAKE_VERSION(4, 5)) {
    throw Error::failed("OpenGL 4.5 is needed and " + quote(gl_renderer()) + " has " + quote(gl_string(GL_VERSION)) +
                        "; use a newer driver, or Mesa's software renderer with LIBGL_ALWAYS_SOFTWARE=1");
  }
}

std::string gl_renderer() {
  return gl_string(GL_RENDERER);
}

std::optional<std::string> find_gl_loss() {
  switch (glGetGraphicsResetStatus()) {
    case GL_NO_ERROR:
      return std::nullopt;
    case GL_GUILTY_CONTEXT_RESET:
      return "the GPU was reset, because of what this program drew";
    case GL_INNOCENT_CONTEXT_RESET:
      return "the GPU was reset, because of what another program drew";
    default:
      return "the GPU was reset, or went away";
  }
}

void drop_gl_errors() noexcept {
  for (int i = 0; i < 16 && glGetError() != GL_NO_ERROR; ++i) {
  }
}

GLuint bound_for_drawing() noexcept {
  GLint framebuffer = 0;
  glGetIntegerv(GL_DRAW_FRAMEBUFFER_BINDING, &framebuffer);
  return static_cast<GLuint>(framebuffer);
}

void require_drawable(Size size) {
  GLint max_side = 0;
  glGetIntegerv(GL_MAX_TEXTURE_SIZE, &max_side);
  if (size.width == 0 || size.height == 0 || std::max(size.width, size.height) > static_cast<std::uint32_t>(max_side)) {
    throw Error::failed("a picture of " + std::to_string(size.width) + "x" + std::to_string(size.height) +
                        " cannot be drawn; the OpenGL driver takes sides of 1 to " + std::to_string(max_side) +
                        ", so take another --size");
  }
}

bool is_software_renderer() {
  const std::string renderer = gl_renderer();
  return renderer.starts_with("llvmpipe") || renderer.starts_with("softpipe") || renderer.starts_with("SWR");
}

}  // namespace framewire
