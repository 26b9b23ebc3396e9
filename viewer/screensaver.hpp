// Keeping the screen on while somebody watches.
#pragma once

namespace framewire {

/// Holds X11's screen saver and display power saving back while it is on; does nothing on other systems, or where the X
/// server lacks the MIT-SCREEN-SAVER extension. Made after GLFW was initialised, destroyed before it is terminated; the
/// window's thread.
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
