// painter_speed [WIDTH HEIGHT]: how long a frame of each pixel format takes to be drawn, in both qualities: at its own
// size, which converts its colours, and at half of it. Prints rows of a table: medians in milliseconds, and in brackets
// the processor time, which other programs disturb less. scripts/painter-speed starts it.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "gl/egl_context.hpp"
#include "gl/frame_texture.hpp"
#include "gl/gl.hpp"
#include "gl/offscreen_target.hpp"
#include "gl/placebo_painter.hpp"

namespace framewire {
namespace {

constexpr Size usual_size{1280, 720};

/// Medians of 31 runs, after five that do not count: "4.27 (8.31)".
template <typename Run>
std::string times_of(Run&& run) {
  constexpr std::size_t warm_up = 5, runs = 31;
  std::array<std::int64_t, runs> passed_ns{}, processor_ns{};
  for (std::size_t i = 0; i < warm_up + runs; ++i) {
    const std::int64_t begun_ns = monotonic_ns(), before_ns = process_cpu_ns();
    run();
    if (i >= warm_up) {
      passed_ns.at(i - warm_up) = monotonic_ns() - begun_ns;
      processor_ns.at(i - warm_up) = process_cpu_ns() - before_ns;
    }
  }
  std::array<char, 64> text{};
  std::ranges::nth_element(passed_ns, passed_ns.begin() + runs / 2);
  std::ranges::nth_element(processor_ns, processor_ns.begin() + runs / 2);
  std::snprintf(text.data(), text.size(), "%.2f (%.2f)", static_cast<double>(passed_ns[runs / 2]) / 1e6,
                static_cast<double>(processor_ns[runs / 2]) / 1e6);
  return text.data();
}

class PaintersUnderTest {
 public:
  std::string fast(const FrameTexture& texture, Size drawn) {
    return times_of_drawing(drawn,
                            [&](const Rectangle& all) { fast_.draw(texture.painted(), all, false, Alpha::opaque); });
  }
  std::string good(const FrameTexture& texture, PixelFormat format, Size drawn) {
    return times_of_drawing(drawn, [&](const Rectangle& all) {
      if (!good_.draw(texture.painted(), format, {}, all, drawn, false)) {
        throw Error::failed("libplacebo cannot draw this format");
      }
    });
  }

 private:
  template <typename Draw>
  static std::string times_of_drawing(Size drawn, Draw&& draw) {
    const OffscreenTarget target(drawn);
    return times_of([&] {
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
  const std::string upload = times_of([&] {
    if (!texture.upload({.layout = layout, .colour = {}, .payload = bytes})) {
      throw Error::failed("the frame cannot be uploaded");
    }
    glFinish();
  });
  const Size half{size.width / 2, size.height / 2};
  std::printf("| %s | %s | %s | %s | %s | %s |\n", std::string(info(format).name).c_str(), upload.c_str(),
              painters.fast(texture, size).c_str(), painters.good(texture, format, size).c_str(),
              painters.fast(texture, half).c_str(), painters.good(texture, format, half).c_str());
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
