#include "gl/canvas.hpp"

#include <array>
#include <cstdint>
#include <string>

#include "base/error.hpp"

namespace framewire {

namespace {

GlFramebuffer framebuffer_of(GLuint texture, Size size) {
  auto framebuffer = GlFramebuffer::create();
  glNamedFramebufferTexture(framebuffer.id(), GL_COLOR_ATTACHMENT0, texture, 0);
  if (glCheckNamedFramebufferStatus(framebuffer.id(), GL_FRAMEBUFFER) != GL_FRAMEBUFFER_COMPLETE) {
    throw Error::failed("the OpenGL driver has no memory to draw " + std::to_string(size.width) + "x" +
                        std::to_string(size.height) + "; take a smaller --size");
  }
  return framebuffer;
}

/// While one lives, the scissor test cuts nothing.
class Uncut {
 public:
  Uncut() noexcept : was_cutting_(glIsEnabled(GL_SCISSOR_TEST) == GL_TRUE) { glDisable(GL_SCISSOR_TEST); }
  ~Uncut() {
    if (was_cutting_) {
      glEnable(GL_SCISSOR_TEST);
    }
  }
  Uncut(const Uncut&) = delete;
  Uncut& operator=(const Uncut&) = delete;

 private:
  const bool was_cutting_;
};

}  // namespace

Canvas::Canvas(Size size) : size_(size) {
  require_drawable(size);
  texture_ = GlTexture::create(GL_TEXTURE_2D);
  glTextureStorage2D(texture_.id(), 1, GL_RGBA8, static_cast<GLsizei>(size.width), static_cast<GLsizei>(size.height));
  coded_ = framebuffer_of(texture_.id(), size);
  linear_view_ = GlTextureView::create();
  glTextureView(linear_view_.id(), GL_TEXTURE_2D, texture_.id(), GL_SRGB8_ALPHA8, 0, 1, 0, 1);
  linear_ = framebuffer_of(linear_view_.id(), size);
  clear({0, 0, static_cast<int>(size.width), static_cast<int>(size.height)});
}

Canvas::Drawing::Drawing(GLuint framebuffer, Size size, BlendValues values) noexcept
    : framebuffer_before_(bound_for_drawing()) {
  glBindFramebuffer(GL_DRAW_FRAMEBUFFER, framebuffer);
  glViewport(0, 0, static_cast<GLsizei>(size.width), static_cast<GLsizei>(size.height));
  if (values == BlendValues::linear_light) {
    glEnable(GL_FRAMEBUFFER_SRGB);
  }
}

Canvas::Drawing::~Drawing() {
  glDisable(GL_FRAMEBUFFER_SRGB);
  glBindFramebuffer(GL_DRAW_FRAMEBUFFER, framebuffer_before_);
}

Canvas::Drawing Canvas::draw(BlendValues values) const noexcept {
  return {values == BlendValues::linear_light ? linear_.id() : coded_.id(), size_, values};
}

Rectangle Canvas::inside(const Rectangle& part) const noexcept {
  return common_part(part, Rectangle{0, 0, static_cast<int>(size_.width), static_cast<int>(size_.height)});
}

void Canvas::clear(const Rectangle& part) noexcept {
  const auto [x, y, width, height] = inside(part);
  if (width > 0 && height > 0) {
    constexpr std::array<std::uint8_t, 4> black = {0, 0, 0, 255};
    glClearTexSubImage(texture_.id(), 0, x, y, 0, width, height, 1, GL_RGBA, GL_UNSIGNED_BYTE, black.data());
  }
}

void Canvas::show(const Rectangle& part) const noexcept {
  const auto [x, y, width, height] = inside(part);
  if (width == 0 || height == 0) {
    return;
  }
  const Uncut uncut;
  glBlitNamedFramebuffer(coded_.id(), bound_for_drawing(), x, y, x + width, y + height, x, y, x + width, y + height,
                         GL_COLOR_BUFFER_BIT, GL_NEAREST);
}

void Canvas::copy_to(const OffscreenTarget& target, const Rectangle& place) const noexcept {
  constexpr std::array<GLfloat, 4> black = {0, 0, 0, 1};
  const int width = static_cast<int>(size_.width), height = static_cast<int>(size_.height);
  const bool is_scaled = place.width != width || place.height != height;
  const Uncut uncut;
  glClearNamedFramebufferfv(target.framebuffer(), GL_COLOR, 0, black.data());
  glBlitNamedFramebuffer(coded_.id(), target.framebuffer(), 0, 0, width, height, place.x, place.y + place.height,
                         place.x + place.width, place.y, GL_COLOR_BUFFER_BIT, is_scaled ? GL_LINEAR : GL_NEAREST);
  // What was blended may have left another alpha.
  std::array<GLboolean, 4> mask{};
  glGetBooleanv(GL_COLOR_WRITEMASK, mask.data());
  glColorMask(GL_FALSE, GL_FALSE, GL_FALSE, GL_TRUE);
  glClearNamedFramebufferfv(target.framebuffer(), GL_COLOR, 0, black.data());
  glColorMask(mask[0], mask[1], mask[2], mask[3]);
}

}  // namespace framewire
