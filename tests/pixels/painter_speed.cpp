// painter_speed [WIDTH HEIGHT]: how long a frame of each pixel format takes to be drawn, in both qualities: at its own
// size, which converts its colours, and at half of it. Prints rows of a table, milliseconds. scripts/painter-speed
// starts it.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "gl/egl_context.hpp"
#include "gl/frame_texture.hpp"
#include "gl/gl.hpp"
#include "gl/offscreen_target.hpp"
#include "gl/placebo_painter.hpp"
#include "tests/gpu/median_time.hpp"

namespace framewire {
namespace {

constexpr Size usual_size{1280, 720};

class PaintersUnderTest {
 public:
  double fast_ms(const FrameTexture& texture, Size drawn) {
    return drawing_ms(drawn, [&](const Rectangle& all) { fast_.draw(texture.painted(), all, false, Alpha::opaque); });
  }
  double good_ms(const FrameTexture& texture, PixelFormat format, Size drawn) {
    return drawing_ms(drawn, [&](const Rectangle& all) {
      if (!good_.draw(texture.painted(), format, {}, all, drawn, false)) {
        throw Error::failed("libplacebo cannot draw this format");
      }
    });
  }

 private:
  template <typename Draw>
  static double drawing_ms(Size drawn, Draw&& draw) {
    const OffscreenTarget target(drawn);
    return median_ms([&] {
      target.bind();
      draw(Rectangle{0, 0, static_cast<int>(drawn.width), static_cast<int>(drawn.height)});
      glFinish();
    });
  }

  FramePainter fast_;
  PlaceboPainter good_;
};

void measure(PixelFormat format, Size size, PaintersUnderTest& painters) {
  const FrameLayout layout = packed_layout(format, size.width, size.height);
  std::vector<std::byte> bytes(layout.size_bytes);
  std::mt19937 random(1);
  for (std::byte& byte : bytes) {
    byte = static_cast<std::byte>(random() & 0xffU);
  }
  FrameTexture texture;
  const double upload_ms = median_ms([&] {
    if (!texture.upload({.layout = layout, .colour = {}, .payload = bytes})) {
      throw Error::failed("the frame cannot be uploaded");
    }
    glFinish();
  });
  const Size half{size.width / 2, size.height / 2};
  std::printf("| %s | %.2f | %.2f | %.2f | %.2f | %.2f |\n", std::string(info(format).name).c_str(), upload_ms,
              painters.fast_ms(texture, size), painters.good_ms(texture, format, size), painters.fast_ms(texture, half),
              painters.good_ms(texture, format, half));
  std::fflush(stdout);
}

void measure_all(Size size) {
  EglContext context = EglContext::create();
  context.make_current();
  std::printf("%ux%u, %s\n| format | upload | fast | good | half, fast | half, good |\n|---|---|---|---|---|---|\n",
              size.width, size.height, gl_renderer().c_str());
  PaintersUnderTest painters;
  for (const PixelFormatInfo& format : pixel_formats()) {
    measure(format.format, size, painters);
  }
}

}  // namespace
}  // namespace framewire

int main(int argc, char** argv) {
  const auto number = [&](int index, std::uint32_t usual) {
    return argc == 3 ? static_cast<std::uint32_t>(std::strtoul(argv[index], nullptr, 10)) : usual;
  };
  try {
    framewire::measure_all({number(1, framewire::usual_size.width), number(2, framewire::usual_size.height)});
    return 0;
  } catch (const framewire::Error& error) {
    std::fprintf(stderr, "painter_speed: %s\n", error.what());
    return 1;
  }
}
