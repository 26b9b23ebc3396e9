// What the tests of PlaceboPainter share.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "gl/frame_texture.hpp"
#include "gl/offscreen_target.hpp"
#include "gl/placebo_painter.hpp"
#include "tests/pixels/gl_test.hpp"

namespace framewire {

/// A frame in memory.
struct Picture {
  Picture(PixelFormat format, Size size)
      : layout(packed_layout(format, size.width, size.height)), bytes(layout.size_bytes) {}

  [[nodiscard]] FrameView view() const {
    FrameView view{.layout = layout, .colour = colour, .payload = bytes};
    view.chroma_location = chroma_location;
    return view;
  }

  FrameLayout layout;
  std::vector<std::byte> bytes;
  Colour colour;
  ChromaLocation chroma_location = ChromaLocation::unspecified;
};

/// One painter for all tests of a suite: there may be only one per context, and it keeps its shaders.
class PlaceboTest : public GlTest {
 protected:
  static void SetUpTestSuite() {
    GlTest::SetUpTestSuite();
    painter = std::make_unique<PlaceboPainter>();
    texture = std::make_unique<FrameTexture>();
  }
  static void TearDownTestSuite() {
    texture.reset();
    painter.reset();
    GlTest::TearDownTestSuite();
  }

  /// Draws into the bound target, which has the size `framebuffer`.
  static void draw(const Picture& picture, const Rectangle& at, Size framebuffer, bool flip_y = false) {
    ASSERT_TRUE(texture->upload(picture.view()));
    ASSERT_TRUE(painter->draw(texture->painted(), picture.layout.format, picture.colour, at, framebuffer, flip_y));
  }

  /// The whole picture drawn in that size: RGBA, top row first.
  static std::vector<std::byte> drawn(const Picture& picture, Size size) {
    const OffscreenTarget target(size);
    target.bind();
    draw(picture, {0, 0, static_cast<int>(size.width), static_cast<int>(size.height)}, size);
    std::vector<std::byte> pixels(target.size_bytes());
    target.read_rgba(pixels);
    return pixels;
  }

  static inline std::unique_ptr<PlaceboPainter> painter;
  static inline std::unique_ptr<FrameTexture> texture;
};

}  // namespace framewire
