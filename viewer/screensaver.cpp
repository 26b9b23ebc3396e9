#include "viewer/screensaver.hpp"

#include <dlfcn.h>

namespace framewire {

ScreensaverInhibitor::ScreensaverInhibitor() noexcept {
  // Looked up at run time: GLFW's Wayland build has no X11 display, and the viewer must start without libXss.
  using GetDisplay = void* (*)();
  const auto get_display = reinterpret_cast<GetDisplay>(::dlsym(RTLD_DEFAULT, "glfwGetX11Display"));
  display_ = get_display != nullptr ? get_display() : nullptr;
  library_ = display_ != nullptr ? ::dlopen("libXss.so.1", RTLD_NOW | RTLD_LOCAL) : nullptr;
  if (library_ == nullptr) {
    return;
  }
  using Query = int (*)(void* display, int* event_base, int* error_base);
  const auto query = reinterpret_cast<Query>(::dlsym(library_, "XScreenSaverQueryExtension"));
  int event_base = 0;
  int error_base = 0;
  if (query != nullptr && query(display_, &event_base, &error_base) != 0) {
    suspend_ = reinterpret_cast<Suspend>(::dlsym(library_, "XScreenSaverSuspend"));
  }
}

ScreensaverInhibitor::~ScreensaverInhibitor() {
  set(false);
  // libXss stays loaded: it registers itself in the display, which outlives this object.
}

void ScreensaverInhibitor::set(bool on) noexcept {
  if (suspend_ != nullptr && on != is_on_) {
    suspend_(display_, on ? 1 : 0);
    is_on_ = on;
  }
}

}  // namespace framewire
