#include "viewer/headless.hpp"

#include <cmath>

#include "base/clock.hpp"
#include "base/wait.hpp"
#include "gl/fence.hpp"

namespace framewire {

namespace {

/// A GPU that takes longer for a picture hangs. Continuing then only loses the exact time of one frame.
constexpr std::int64_t draw_deadline_ns = 2 * ns_per_s;

}  // namespace

Headless::Headless(Size size, std::optional<double> refresh_hz, const std::optional<DeviceUuid>& device)
    : size_(size), refresh_hz_(refresh_hz), started_ns_(monotonic_ns()), context_(EglContext::create(device)) {}

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

/// Counted from the start, so that no error adds up.
std::optional<Refresh> Headless::next_refresh(std::int64_t now_ns) noexcept {
  if (!refresh_hz_) {
    return std::nullopt;
  }
  const double period_ns = 1e9 / *refresh_hz_;
  const double count = std::floor(static_cast<double>(now_ns - started_ns_) / period_ns) + 1;
  return Refresh{started_ns_ + std::llround(count * period_ns), std::llround(period_ns),
                 static_cast<std::uint64_t>(std::llround(count))};
}

std::optional<Surface::Presented> Headless::present() noexcept {
  const GpuWait result = GlFence::insert().wait(monotonic_ns() + draw_deadline_ns);
  if (result == GpuWait::failed) {
    return std::nullopt;
  }
  const std::int64_t drawn_ns = monotonic_ns();
  const std::optional<Refresh> refresh = next_refresh(drawn_ns);
  if (!refresh) {
    return Presented{.drawn_ns = drawn_ns, .shown_ns = drawn_ns};
  }
  wait_until({}, refresh->next_ns);
  return Presented{.drawn_ns = drawn_ns,
                   .shown_ns = refresh->next_ns,
                   .refresh = SeenRefresh{.at_ns = refresh->next_ns, .number = refresh->number}};
}

Image Headless::capture(const std::function<void(Size)>& /*draw*/) {
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
