#include "viewer/screenshot.hpp"

#include <unistd.h>

#include "base/error.hpp"
#include "base/text.hpp"
#include "media/png.hpp"
#include "viewer/new_file.hpp"

namespace framewire {

void require_picture(const std::string& file, const std::string& error) {
  if (!error.empty()) {
    throw Error::failed("there is no screenshot in " + quote(file) + ": " + error);
  }
}

void write_screenshot(const std::string& file, const Image& image) {
  if (const auto fault = write_png(file, image.size.width, image.size.height, image.pixels)) {
    throw Error::failed(*fault);
  }
}

std::string write_new_screenshot(const std::string& file, const Image& image) {
  std::string claimed = claim_new_file(file, "the screenshot");
  try {
    write_screenshot(claimed, image);
  } catch (...) {
    ::unlink(claimed.c_str());
    throw;
  }
  return claimed;
}

}  // namespace framewire
