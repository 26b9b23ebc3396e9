#include "viewer/painters.hpp"

#include "base/error.hpp"
#include "gl/gl.hpp"

namespace framewire {

namespace {

void make_opaque(const Rectangle& target) noexcept {
  glEnable(GL_SCISSOR_TEST);
  glScissor(target.x, target.y, target.width, target.height);
  glColorMask(GL_FALSE, GL_FALSE, GL_FALSE, GL_TRUE);
  glClearColor(0, 0, 0, 1);
  glClear(GL_COLOR_BUFFER_BIT);
  glColorMask(GL_TRUE, GL_TRUE, GL_TRUE, GL_TRUE);
  glDisable(GL_SCISSOR_TEST);
}

}  // namespace

std::string explain_gpu_loss(const std::string& loss) {
  return loss + "; start framewire view again, and look for the cause in the kernel's log (dmesg)";
}

Painters::Painters(Downscale downscale) : is_software_(is_software_renderer()), fast_(downscale) {}

bool Painters::draws_well(std::optional<Quality> wanted, const Colour& colour) const noexcept {
  return !has_good_failed_ && quality_for(wanted, colour, is_software_) == Quality::good;
}

bool Painters::draw_well(const Picture& picture, const Rectangle& target, Size framebuffer,
                         std::optional<Quality> wanted) {
  try {
    if (!good_) {
      good_ = std::make_unique<PlaceboPainter>();
    }
    if (good_->draw(picture.frame, picture.format, picture.colour, target, framebuffer, false)) {
      if (has_alpha(picture.format)) {
        make_opaque(target);
      }
      return true;
    }
    throw Error::failed("libplacebo cannot draw this picture");
  } catch (const Error& error) {
    if (const auto loss = find_gl_loss()) {  // the cause of any other failure
      throw Error::failed(explain_gpu_loss(*loss));
    }
    if (wanted == Quality::good) {
      throw Error::failed(std::string(error.what()) + "; take --quality fast");
    }
    has_good_failed_ = has_good_failed_ || !good_;
    warning_ = std::string(error.what()) + "; pictures are drawn in fast quality, and colours as they are coded";
  }
  return false;
}

void Painters::forget_textures() noexcept {
  if (good_) {
    good_->forget_textures();
  }
}

}  // namespace framewire
