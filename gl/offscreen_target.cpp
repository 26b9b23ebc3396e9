#include "gl/offscreen_target.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <string>

#include "base/error.hpp"

namespace framewire {

namespace {

constexpr std::size_t bytes_per_pixel = 4;

void turn_rows_over(std::span<std::byte> pixels, std::size_t row_bytes, std::size_t rows) noexcept {
  for (std::size_t top = 0, bottom = rows - 1; top < bottom; ++top, --bottom) {
    auto upper = pixels.subspan(top * row_bytes, row_bytes);
    auto lower = pixels.subspan(bottom * row_bytes, row_bytes);
    std::swap_ranges(upper.begin(), upper.end(), lower.begin());
  }
}

}  // namespace

OffscreenTarget::OffscreenTarget(Size size, bool has_depth, GLenum colour_format) : size_(size) {
  require_drawable(size);
  texture_ = GlTexture::create(GL_TEXTURE_2D);
  glTextureStorage2D(texture_.id(), 1, colour_format, static_cast<GLsizei>(size.width),
                     static_cast<GLsizei>(size.height));
  framebuffer_ = GlFramebuffer::create();
  glNamedFramebufferTexture(framebuffer_.id(), GL_COLOR_ATTACHMENT0, texture_.id(), 0);
  if (has_depth) {
    depth_ = GlTexture::create(GL_TEXTURE_2D);
    glTextureStorage2D(depth_.id(), 1, GL_R32F, static_cast<GLsizei>(size.width), static_cast<GLsizei>(size.height));
    glNamedFramebufferTexture(framebuffer_.id(), GL_COLOR_ATTACHMENT1, depth_.id(), 0);
    constexpr std::array<GLenum, 2> targets = {GL_COLOR_ATTACHMENT0, GL_COLOR_ATTACHMENT1};
    glNamedFramebufferDrawBuffers(framebuffer_.id(), targets.size(), targets.data());
  }
  if (glCheckNamedFramebufferStatus(framebuffer_.id(), GL_FRAMEBUFFER) != GL_FRAMEBUFFER_COMPLETE) {
    throw Error::failed("the OpenGL driver has no memory to draw " + std::to_string(size.width) + "x" +
                        std::to_string(size.height) + "; take a smaller --size");
  }
}

void OffscreenTarget::bind() const noexcept {
  glBindFramebuffer(GL_FRAMEBUFFER, framebuffer_.id());
  glViewport(0, 0, static_cast<GLsizei>(size_.width), static_cast<GLsizei>(size_.height));
}

void OffscreenTarget::read_rgba(std::span<std::byte> pixels, RowOrder order) const noexcept {
  assert(pixels.size() >= size_bytes());
  glBindFramebuffer(GL_FRAMEBUFFER, framebuffer_.id());
  glBindBuffer(GL_PIXEL_PACK_BUFFER, 0);
  glPixelStorei(GL_PACK_ALIGNMENT, 1);
  glPixelStorei(GL_PACK_ROW_LENGTH, 0);
  glReadPixels(0, 0, static_cast<GLsizei>(size_.width), static_cast<GLsizei>(size_.height), GL_RGBA, GL_UNSIGNED_BYTE,
               pixels.data());
  if (order == RowOrder::bottom_up) {
    turn_rows_over(pixels, size_.width * bytes_per_pixel, size_.height);
  }
}

}  // namespace framewire
