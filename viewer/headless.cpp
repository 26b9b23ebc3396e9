#include "viewer/headless.hpp"

#include "base/clock.hpp"
#include "gl/fence.hpp"

namespace framewire {

namespace {

/// A GPU that takes longer for a picture hangs. Continuing then only loses the exact time of one frame.
constexpr std::int64_t draw_deadline_ns = 2 * ns_per_s;

}  // namespace

Headless::Headless(Size size) : size_(size), context_(EglContext::create()) {}

/// Nobody gives input.
SurfaceEvents Headless::wait_events(std::int64_t deadline_ns) noexcept {
  wake_.wait_until(deadline_ns);
  return {};
}

void Headless::attach() {
  context_.make_current();
  target_.emplace(size_);
}

void Headless::detach() noexcept {
  target_.reset();
  context_.release_current();
}

std::optional<std::int64_t> Headless::present() noexcept {
  const GpuWait result = GlFence::insert().wait(monotonic_ns() + draw_deadline_ns);
  return result == GpuWait::failed ? std::nullopt : std::optional(monotonic_ns());
}

Image Headless::capture(const std::function<void()>& /*draw*/) {
  return read_image(*target_);
}

std::string Headless::describe() const {
  return "headless " + std::to_string(size().width) + "x" + std::to_string(size().height);
}

Image read_image(const OffscreenTarget& target) {
  Image picture{target.size(), std::vector<std::byte>(target.size_bytes())};
  target.read_rgba(picture.pixels);
  for (std::size_t alpha = 3; alpha < picture.pixels.size(); alpha += 4) {
    picture.pixels[alpha] = std::byte{255};
  }
  return picture;
}

}  // namespace framewire
