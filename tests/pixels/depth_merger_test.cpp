#include "gl/depth_merger.hpp"

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "gl/scene_program.hpp"
#include "gl/shader_scene.hpp"
#include "tests/pixels/gl_test.hpp"

namespace framewire {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();

using Texel = std::array<std::uint8_t, 4>;

/// A picture in host memory, and its textures.
struct TestPicture {
  TestPicture(Size size, std::vector<Texel> its_colours, std::vector<float> its_depths)
      : colours(std::move(its_colours)), depths(std::move(its_depths)) {
    colour_texture = texture(size, GL_RGBA8, GL_RGBA, GL_UNSIGNED_BYTE, colours.data());
    depth_texture = texture(size, GL_R32F, GL_RED, GL_FLOAT, depths.data());
  }
  static GlTexture texture(Size size, GLenum format, GLenum components, GLenum type, const void* values) {
    GlTexture made = GlTexture::create(GL_TEXTURE_2D);
    const auto width = static_cast<GLsizei>(size.width), height = static_cast<GLsizei>(size.height);
    glTextureStorage2D(made.id(), 1, format, width, height);
    glTextureSubImage2D(made.id(), 0, 0, 0, width, height, components, type, values);
    return made;
  }
  [[nodiscard]] DepthPicture picture() const { return {.colour = colour_texture.id(), .depth = depth_texture.id()}; }

  std::vector<Texel> colours;
  std::vector<float> depths;
  GlTexture colour_texture;
  GlTexture depth_texture;
};

std::vector<Texel> pixels_of(GLuint texture, Size size) {
  std::vector<Texel> pixels(std::size_t{size.width} * size.height);
  glGetTextureImage(texture, 0, GL_RGBA, GL_UNSIGNED_BYTE, static_cast<GLsizei>(pixels.size() * 4), pixels.data());
  return pixels;
}

/// The rule, the long way.
Texel nearest(const std::vector<TestPicture>& pictures, std::size_t at) {
  const auto distance = [&](std::size_t i) -> double {
    const float depth = pictures[i].depths[at];
    return std::isfinite(depth) ? double{depth} : HUGE_VAL;
  };
  std::size_t best = 0;
  for (std::size_t i = 1; i < pictures.size(); ++i) {
    best = distance(i) < distance(best) ? i : best;
  }
  const Texel& colour = pictures[best].colours[at];
  return {colour[0], colour[1], colour[2], 255};
}

class DepthMergerTest : public GlTest {
 protected:
  DepthMerger merger_;
};

TEST_F(DepthMergerTest, TheNearestIsSeenAndTheEarlierOneOfEquals) {
  constexpr Size size{37, 23};
  std::mt19937 random(5);
  // Few values, so that many are equal, and what is no distance among them.
  constexpr std::array<float, 10> depths{0.0F, 1e-30F, 0.5F,     1.0F,         1.0000001F,
                                         7.0F, 3e38F,  infinity, not_a_number, -1.0F};
  for (std::size_t count = 1; count <= DepthMerger::most_pictures; ++count) {
    std::vector<TestPicture> pictures;
    for (std::size_t i = 0; i < count; ++i) {
      std::vector<Texel> colours(std::size_t{size.width} * size.height);
      std::vector<float> distances(colours.size());
      for (std::size_t at = 0; at < colours.size(); ++at) {
        for (std::uint8_t& value : colours[at]) {
          value = static_cast<std::uint8_t>(random());
        }
        distances[at] = depths.at(random() % depths.size());
      }
      pictures.emplace_back(size, std::move(colours), std::move(distances));
    }
    std::vector<DepthPicture> given;
    for (const TestPicture& picture : pictures) {
      given.push_back(picture.picture());
    }
    merger_.merge(size, given);
    const auto merged = pixels_of(merger_.texture(), size);
    std::size_t wrong = 0;
    for (std::size_t at = 0; at < merged.size(); ++at) {
      wrong += merged[at] != nearest(pictures, at) ? 1U : 0U;
    }
    EXPECT_EQ(wrong, 0U) << count << " pictures";
  }
}

TEST_F(DepthMergerTest, NothingEverywhereShowsTheFirst) {
  constexpr Size size{4, 4};
  const std::vector<float> nothing(16, infinity), no_number(16, not_a_number);
  const TestPicture first(size, std::vector<Texel>(16, {10, 20, 30, 0}), no_number);
  const TestPicture second(size, std::vector<Texel>(16, {1, 2, 3, 4}), nothing);
  merger_.merge(size, std::array{first.picture(), second.picture()});
  EXPECT_EQ(pixels_of(merger_.texture(), size), std::vector<Texel>(16, {10, 20, 30, 255}));
}

/// What makes it possible to divide a scene among machines: a part looks the same, and is as far, whoever draws it.
TEST_F(DepthMergerTest, PartsOfASceneMergeToTheWholeScene) {
  constexpr Size size{320, 180};
  const auto draw = [&](const char* scene, const SceneUniforms& moment) {
    OffscreenTarget target(size, true);
    target.bind();
    SceneProgram(load_scene(scene), ComponentOrder::rgba).draw(size, moment);
    return target;
  };
  for (const double turn : {0.0, 0.8, 2.5, 4.0}) {
    const SceneUniforms moment{.time_s = 1.7 * turn, .camera = orbiting_camera(turn, 0.3 - 0.2 * turn, 3.9)};
    const OffscreenTarget whole = draw("gl:helix", moment);
    const std::array parts{draw("gl:helix:1", moment), draw("gl:helix:2", moment), draw("gl:helix:3", moment)};
    std::vector<DepthPicture> pictures;
    for (const OffscreenTarget& part : parts) {
      pictures.push_back({.colour = part.texture(), .depth = part.depth_texture()});
      EXPECT_NE(pixels_of(part.texture(), size), pixels_of(whole.texture(), size)) << "each part alone lacks something";
    }
    merger_.merge(size, pictures);
    EXPECT_EQ(pixels_of(merger_.texture(), size), pixels_of(whole.texture(), size)) << "turn " << turn;
  }
}

}  // namespace
}  // namespace framewire
