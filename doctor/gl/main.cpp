// framewire-doctor-gl: prints, as one JSON object for framewire-doctor, which OpenGL is available.
#include "gl/gl.hpp"

#include <cstdio>
#include <exception>
#include <nlohmann/json.hpp>
#include <string>

#include "base/error.hpp"
#include "base/failure_text.hpp"
#include "gl/egl_context.hpp"

namespace {

using Json = nlohmann::ordered_json;

std::string gl_text(GLenum name) {
  const GLubyte* text = glGetString(name);
  return text != nullptr ? reinterpret_cast<const char*>(text) : "";
}

Json describe() {
  framewire::EglContext context = framewire::EglContext::create();
  context.make_current();
  GLint max_texels = 0;
  glGetIntegerv(GL_MAX_TEXTURE_SIZE, &max_texels);
  return {{"renderer", framewire::gl_renderer()},
          {"vendor", gl_text(GL_VENDOR)},
          {"version", gl_text(GL_VERSION)},
          {"is_software", framewire::is_software_renderer()},
          {"has_pinned_memory", GLAD_GL_AMD_pinned_memory != 0},
          {"max_texture_side_pixels", max_texels}};
}

void print(const Json& said) {
  std::printf("%s\n", said.dump(-1, ' ', false, Json::error_handler_t::replace).c_str());
}

}  // namespace

int main() {
  try {
    print(describe());
    return 0;
  } catch (const framewire::Error& error) {
    print({{"error", error.what()}});
  } catch (const std::exception& error) {  // std::bad_alloc
    std::fprintf(stderr, "framewire-doctor-gl: %s\n", framewire::failure_text(error));
  }
  return 1;
}
