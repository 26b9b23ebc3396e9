#include "gl/dma_buf_image.hpp"

#include <glad/egl.h>

#include <array>
#include <cstddef>
#include <string_view>

#include "base/error.hpp"

namespace framewire {

namespace {

/// GL_OES_EGL_image, which Mesa also has for OpenGL. Its registry names it for OpenGL ES only, so glad does not know it
/// here.
using TextureFromImage = void (*)(GLenum target, void* image);

/// glad has both by name, but not for what is current here.
TextureFromImage texture_from_image() noexcept {
  return reinterpret_cast<TextureFromImage>(eglGetProcAddress("glEGLImageTargetTexture2DOES"));
}
PFNEGLCREATEIMAGEKHRPROC create_image() noexcept {
  return reinterpret_cast<PFNEGLCREATEIMAGEKHRPROC>(eglGetProcAddress("eglCreateImageKHR"));
}
PFNEGLDESTROYIMAGEKHRPROC destroy_image() noexcept {
  return reinterpret_cast<PFNEGLDESTROYIMAGEKHRPROC>(eglGetProcAddress("eglDestroyImageKHR"));
}

bool current_has(std::string_view extension) noexcept {
  GLint count = 0;
  glGetIntegerv(GL_NUM_EXTENSIONS, &count);
  for (GLint i = 0; i < count; ++i) {
    const auto* name = reinterpret_cast<const char*>(glGetStringi(GL_EXTENSIONS, static_cast<GLuint>(i)));
    if (name != nullptr && extension == name) {
      return true;
    }
  }
  return false;
}

/// DRM_FORMAT_R8, DRM_FORMAT_GR88, DRM_FORMAT_R16, DRM_FORMAT_GR1616: the first number in memory is red.
constexpr EGLint drm_format(std::uint32_t components, std::uint32_t component_bytes) noexcept {
  constexpr auto code = [](std::string_view text) {
    EGLint value = 0;
    for (std::size_t i = 0; i < 4; ++i) {
      value |= static_cast<EGLint>(text[i]) << (8 * i);
    }
    return value;
  };
  if (component_bytes == 1) {
    return components == 1 ? code("R8  ") : code("GR88");
  }
  return components == 1 ? code("R16 ") : code("GR32");
}

std::string hexadecimal(std::uint64_t value) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text;
  for (; value != 0 || text.empty(); value /= 16) {
    text.insert(text.begin(), digits[value % 16]);
  }
  return "0x" + text;
}

}  // namespace

DmaBufImporter::DmaBufImporter(const EglContext& context)
    : display_(context.display()),
      knows_modifiers_(context.has_extension("EGL_EXT_image_dma_buf_import_modifiers")),
      renderer_(gl_renderer()) {
  if (!context.has_extension("EGL_EXT_image_dma_buf_import") || create_image() == nullptr ||
      destroy_image() == nullptr) {
    throw Error::failed("the driver (" + renderer_ + ") has no EGL_EXT_image_dma_buf_import");
  }
  if (!current_has("GL_OES_EGL_image") || texture_from_image() == nullptr) {
    throw Error::failed("the driver (" + renderer_ + ") has no GL_OES_EGL_image");
  }
}

GlTextureView DmaBufImporter::import(const DmaBufPlane& plane, std::uint32_t component_bytes) const {
  std::array<EGLint, 17> attributes = {EGL_WIDTH,
                                       static_cast<EGLint>(plane.width),
                                       EGL_HEIGHT,
                                       static_cast<EGLint>(plane.height),
                                       EGL_LINUX_DRM_FOURCC_EXT,
                                       drm_format(plane.components, component_bytes),
                                       EGL_DMA_BUF_PLANE0_FD_EXT,
                                       plane.descriptor,
                                       EGL_DMA_BUF_PLANE0_OFFSET_EXT,
                                       static_cast<EGLint>(plane.offset_bytes),
                                       EGL_DMA_BUF_PLANE0_PITCH_EXT,
                                       static_cast<EGLint>(plane.pitch_bytes),
                                       EGL_DMA_BUF_PLANE0_MODIFIER_LO_EXT,
                                       static_cast<EGLint>(plane.modifier & 0xFFFFFFFF),
                                       EGL_DMA_BUF_PLANE0_MODIFIER_HI_EXT,
                                       static_cast<EGLint>(plane.modifier >> 32),
                                       EGL_NONE};
  const bool is_said = plane.modifier != no_modifier;
  if (is_said && !knows_modifiers_ && plane.modifier != linear_modifier) {
    throw Error::failed("the driver (" + renderer_ + ") has no EGL_EXT_image_dma_buf_import_modifiers, for modifier " +
                        hexadecimal(plane.modifier));
  }
  if (!is_said || !knows_modifiers_) {
    attributes[12] = EGL_NONE;
  }
  void* const image = create_image()(display_, EGL_NO_CONTEXT, EGL_LINUX_DMA_BUF_EXT, nullptr, attributes.data());
  if (image == EGL_NO_IMAGE_KHR) {
    throw Error::failed("the driver (" + renderer_ + ") does not import such a DMA-BUF (EGL error " +
                        hexadecimal(static_cast<std::uint64_t>(eglGetError())) + ", modifier " +
                        (is_said ? hexadecimal(plane.modifier) : "none") + ")");
  }
  drop_gl_errors();
  GlTextureView texture = GlTextureView::create();
  glBindTexture(GL_TEXTURE_2D, texture.id());
  texture_from_image()(GL_TEXTURE_2D, image);
  glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MIN_FILTER, GL_NEAREST);
  glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MAG_FILTER, GL_NEAREST);
  glBindTexture(GL_TEXTURE_2D, 0);
  destroy_image()(display_, image);  // the texture keeps what it is of
  if (const GLenum error = glGetError(); error != GL_NO_ERROR) {
    throw Error::failed("the driver (" + renderer_ + ") makes no texture of a DMA-BUF (OpenGL error " +
                        hexadecimal(error) + ")");
  }
  return texture;
}

}  // namespace framewire
