#include "viewer/screenshot.hpp"

#include <array>

#include "base/error.hpp"
#include "media/png.hpp"

namespace framewire {

std::string screenshot_name(std::time_t at) {
  std::tm local{};
  ::localtime_r(&at, &local);
  std::array<char, 64> text{};
  std::strftime(text.data(), text.size(), "framewire-%Y%m%d-%H%M%S.png", &local);
  return text.data();
}

void write_screenshot(const std::string& file, const Image& image) {
  if (const auto fault = write_png(file, image.size.width, image.size.height, image.pixels)) {
    throw Error::failed(*fault);
  }
}

}  // namespace framewire
