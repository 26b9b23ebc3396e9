// Keeps the screen on while the viewer is in fullscreen.
#pragma once

namespace framewire {

/// Suspends X11's screen saver and display power saving. Does nothing on other systems, or if the X server lacks the
/// MIT-SCREEN-SAVER extension. Construct it after GLFW is initialised and destroy it before GLFW is terminated. Used on
/// the window's thread.
class ScreensaverInhibitor {
 public:
  ScreensaverInhibitor() noexcept;
  ScreensaverInhibitor(const ScreensaverInhibitor&) = delete;
  ScreensaverInhibitor& operator=(const ScreensaverInhibitor&) = delete;
  ~ScreensaverInhibitor();

  void set(bool on) noexcept;

 private:
  // void XScreenSaverSuspend(Display*, Bool), of libXss
  using Suspend = void (*)(void* display, int on);

  void* library_ = nullptr;
  void* display_ = nullptr;
  Suspend suspend_ = nullptr;
  bool is_on_ = false;
};

}  // namespace framewire
