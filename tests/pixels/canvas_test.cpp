#include "gl/canvas.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/error.hpp"
#include "gl/offscreen_target.hpp"
#include "tests/pixels/gl_test.hpp"

namespace framewire {
namespace {

constexpr Size canvas_size{40, 30};
constexpr Rectangle whole_canvas{0, 0, 40, 30};

/// Fills a part of what is bound for drawing.
void fill(const Rectangle& part, float red, float green, float blue, float alpha) {
  glEnable(GL_SCISSOR_TEST);
  glScissor(part.x, part.y, part.width, part.height);
  glClearColor(red, green, blue, alpha);
  glClear(GL_COLOR_BUFFER_BIT);
  glDisable(GL_SCISSOR_TEST);
}

std::vector<std::uint8_t> texture_values(GLuint texture, Size size) {
  std::vector<std::uint8_t> values(std::size_t{size.width} * size.height * 4);
  glGetTextureImage(texture, 0, GL_RGBA, GL_UNSIGNED_BYTE, static_cast<GLsizei>(values.size()), values.data());
  return values;
}

std::vector<std::uint8_t> pixel_of(const std::vector<std::uint8_t>& values, Size size, int x, int y) {
  const auto at = (static_cast<std::ptrdiff_t>(y) * size.width + x) * 4;
  return {values.begin() + at, values.begin() + at + 4};
}

class CanvasTest : public GlTest {
 protected:
  /// All values are different, alpha too.
  void fill_canvas() const {
    std::vector<std::uint8_t> values(std::size_t{canvas_size.width} * canvas_size.height * 4);
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = static_cast<std::uint8_t>(i * 2654435761U >> 13U);
    }
    glTextureSubImage2D(canvas_.texture(), 0, 0, 0, 40, 30, GL_RGBA, GL_UNSIGNED_BYTE, values.data());
  }

  /// Shows `part` in a framebuffer that was 7 everywhere, and compares all of that.
  void expect_shown(const Rectangle& part, Size shown_size) const {
    const OffscreenTarget shown(shown_size);
    shown.bind();
    glClearColor(7 / 255.0F, 7 / 255.0F, 7 / 255.0F, 7 / 255.0F);
    glClear(GL_COLOR_BUFFER_BIT);
    canvas_.show(part);
    const auto seen = texture_values(shown.texture(), shown_size);
    const auto canvas = texture_values(canvas_.texture(), canvas_size);
    for (int y = 0; y < static_cast<int>(shown_size.height); ++y) {
      for (int x = 0; x < static_cast<int>(shown_size.width); ++x) {
        const bool is_shown = !is_empty(common_part(common_part(part, whole_canvas), Rectangle{x, y, 1, 1}));
        const auto expected = is_shown ? pixel_of(canvas, canvas_size, x, y) : std::vector<std::uint8_t>(4, 7);
        ASSERT_EQ(pixel_of(seen, shown_size, x, y), expected) << x << "," << y;
      }
    }
  }

  Canvas canvas_{canvas_size};
};

TEST_F(CanvasTest, RefusesSizesThatTheDriverDoesNotTake) {
  EXPECT_THROW(Canvas({0, 10}), Error);
  EXPECT_THROW(Canvas({1U << 20, 10}), Error);
}

TEST_F(CanvasTest, BeginsBlackAndOpaqueAndIsClearedInParts) {
  const std::vector<std::uint8_t> black{0, 0, 0, 255};
  const auto first = texture_values(canvas_.texture(), canvas_size);
  for (int y = 0; y < 30; ++y) {
    for (int x = 0; x < 40; ++x) {
      ASSERT_EQ(pixel_of(first, canvas_size, x, y), black);
    }
  }
  fill_canvas();
  const auto before = texture_values(canvas_.texture(), canvas_size);
  for (const Rectangle& part : {Rectangle{3, 4, 5, 6}, {-3, 25, 10, 20}, {60, 60, 5, 5}, {10, 10, 0, 3}}) {
    canvas_.clear(part);
  }
  const auto after = texture_values(canvas_.texture(), canvas_size);
  for (int y = 0; y < 30; ++y) {
    for (int x = 0; x < 40; ++x) {
      const bool is_cleared = (x >= 3 && x < 8 && y >= 4 && y < 10) || (x < 7 && y >= 25);
      ASSERT_EQ(pixel_of(after, canvas_size, x, y), is_cleared ? black : pixel_of(before, canvas_size, x, y));
    }
  }
}

/// As light 0.5 is encoded: 0.7354, which is 188, or on llvmpipe, whose curve is rough,
/// 187.
TEST_F(CanvasTest, CodedValuesAndLinearLightAreInOnePicture) {
  {
    const auto drawing = canvas_.draw(BlendValues::coded);
    fill({0, 0, 40, 15}, 128 / 255.0F, 1, 0, 1);
  }
  {
    const auto drawing = canvas_.draw(BlendValues::linear_light);
    fill({0, 15, 20, 15}, 0.5F, 1, 0, 1);
  }
  {
    const auto drawing = canvas_.draw(BlendValues::coded);
    fill({20, 15, 20, 15}, 0.25F, 0, 1, 1);
  }
  const auto values = texture_values(canvas_.texture(), canvas_size);
  EXPECT_EQ(pixel_of(values, canvas_size, 39, 14), (std::vector<std::uint8_t>{128, 255, 0, 255}));
  const auto light = pixel_of(values, canvas_size, 0, 15);
  EXPECT_NEAR(light[0], 188, 1);
  EXPECT_EQ(std::vector<std::uint8_t>(light.begin() + 1, light.end()), (std::vector<std::uint8_t>{255, 0, 255}));
  EXPECT_EQ(pixel_of(values, canvas_size, 20, 29), (std::vector<std::uint8_t>{64, 0, 255, 255}));
}

TEST_F(CanvasTest, DrawingEndsWithWhatWasBoundBefore) {
  const OffscreenTarget before({8, 8});
  before.bind();
  for (const BlendValues values : {BlendValues::coded, BlendValues::linear_light}) {
    {
      const auto drawing = canvas_.draw(values);
      EXPECT_EQ(glIsEnabled(GL_FRAMEBUFFER_SRGB) == GL_TRUE, values == BlendValues::linear_light);
      std::array<GLint, 4> viewport{};
      glGetIntegerv(GL_VIEWPORT, viewport.data());
      EXPECT_EQ(viewport, (std::array<GLint, 4>{0, 0, 40, 30}));
    }
    EXPECT_FALSE(glIsEnabled(GL_FRAMEBUFFER_SRGB));
    GLint bound = 0;
    glGetIntegerv(GL_DRAW_FRAMEBUFFER_BINDING, &bound);
    EXPECT_EQ(static_cast<GLuint>(bound), before.framebuffer());
  }
}

TEST_F(CanvasTest, IsCopiedOpaqueAndWithTheTopRowFirst) {
  fill_canvas();
  const auto canvas = texture_values(canvas_.texture(), canvas_size);
  const OffscreenTarget before({8, 8}), target({50, 33});
  before.bind();
  glEnable(GL_SCISSOR_TEST);
  glScissor(0, 0, 1, 1);
  canvas_.copy_to(target, {6, 2, 40, 30});
  EXPECT_TRUE(glIsEnabled(GL_SCISSOR_TEST));
  glDisable(GL_SCISSOR_TEST);
  EXPECT_EQ(bound_for_drawing(), before.framebuffer());
  std::array<GLboolean, 4> mask{};
  glGetBooleanv(GL_COLOR_WRITEMASK, mask.data());
  EXPECT_EQ(mask, (std::array<GLboolean, 4>{GL_TRUE, GL_TRUE, GL_TRUE, GL_TRUE}));
  const auto copied = texture_values(target.texture(), target.size());
  for (int y = 0; y < 33; ++y) {
    for (int x = 0; x < 50; ++x) {
      const bool is_inside = x >= 6 && x < 46 && y >= 2 && y < 32;
      auto expected = is_inside ? pixel_of(canvas, canvas_size, x - 6, 31 - y) : std::vector<std::uint8_t>(4, 0);
      expected[3] = 255;
      ASSERT_EQ(pixel_of(copied, target.size(), x, y), expected) << x << "," << y;
    }
  }
}

TEST_F(CanvasTest, ShowsAPartExactlyAndNothingElse) {
  fill_canvas();
  for (const Size shown_size : {canvas_size, Size{25, 50}}) {
    for (const Rectangle& part :
         {whole_canvas, Rectangle{3, 4, 20, 11}, {-5, -6, 20, 20}, {30, 20, 100, 100}, {50, 1, 10, 10}, {8, 8, 0, 4}}) {
      ASSERT_NO_FATAL_FAILURE(expect_shown(part, shown_size)) << part.x << "," << part.y;
    }
  }
}

TEST_F(CanvasTest, ShowsWhatTheScissorTestWouldCutAndLeavesItOn) {
  fill_canvas();
  const OffscreenTarget shown(canvas_size);
  shown.bind();
  glEnable(GL_SCISSOR_TEST);
  glScissor(1, 1, 2, 2);
  canvas_.show(whole_canvas);
  EXPECT_TRUE(glIsEnabled(GL_SCISSOR_TEST));
  glDisable(GL_SCISSOR_TEST);
  EXPECT_EQ(texture_values(shown.texture(), canvas_size), texture_values(canvas_.texture(), canvas_size));
}

/// A window may be one of sRGB: values are not converted for it.
TEST_F(CanvasTest, ShowsTheSameValuesInAFramebufferOfSrgb) {
  fill_canvas();
  auto texture = GlTexture::create(GL_TEXTURE_2D);
  glTextureStorage2D(texture.id(), 1, GL_SRGB8_ALPHA8, 40, 30);
  auto framebuffer = GlFramebuffer::create();
  glNamedFramebufferTexture(framebuffer.id(), GL_COLOR_ATTACHMENT0, texture.id(), 0);
  glBindFramebuffer(GL_DRAW_FRAMEBUFFER, framebuffer.id());
  canvas_.show(whole_canvas);
  glBindFramebuffer(GL_DRAW_FRAMEBUFFER, 0);
  EXPECT_EQ(texture_values(texture.id(), canvas_size), texture_values(canvas_.texture(), canvas_size));
}

}  // namespace
}  // namespace framewire
