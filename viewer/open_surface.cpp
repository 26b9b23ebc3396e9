#include "viewer/open_surface.hpp"

#include "gl/device_uuid.hpp"
#include "viewer/headless.hpp"
#include "viewer/window.hpp"

namespace framewire {

namespace {

constexpr Size default_headless_size{960, 540};
constexpr Size default_window_size{1280, 720};

/// The only source, or how many there are.
std::string title_of(const ViewerOptions& options) {
  return options.sources.size() == 1 ? options.sources[0].peer_text
                                     : std::to_string(options.sources.size()) + " streams";
}

}  // namespace

std::unique_ptr<Surface> open_surface(const ViewerOptions& options) {
  if (options.is_headless) {
    const std::vector<const MemoryKind*>& memory = options.session.memory;
    return std::make_unique<Headless>(options.size.value_or(default_headless_size), options.refresh_hz,
                                      memory.empty() ? std::nullopt : memory.front()->device_uuid());
  }
  auto window = std::make_unique<Window>(WindowOptions{.size = options.size.value_or(default_window_size),
                                                       .is_fullscreen = options.is_fullscreen,
                                                       .monitor = options.monitor,
                                                       .wants_vsync = !options.is_low_latency,
                                                       .awaits_server = options.frame_times_file.has_value()});
  window->set_title("framewire – " + title_of(options));
  return window;
}

std::vector<DeviceUuid> devices_that_draw(Surface& surface) {
  surface.attach();
  std::vector<DeviceUuid> devices = devices_of_context();
  surface.detach();
  return devices;
}

}  // namespace framewire
