#include "gl/scene_renderer.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "gl/readback.hpp"
#include "tests/pixels/gl_test.hpp"
#include "tests/sender/gl_counter_reader.hpp"

namespace framewire {
namespace {

using test::read_counter;
using test::read_counter_text;

/// Outside the counter the frame shows only the scene.
const ShaderScene corners{
    "corners",
    "void mainImage(out vec4 c, in vec2 p) {\n"
    "  bool up = p.y > 0.5 * iResolution.y, right = p.x > 0.5 * iResolution.x;\n"
    "  c = up ? (right ? vec4(1, 0, 0, 0) : vec4(1)) : (right ? vec4(0, 0, 1, 0) : vec4(0, 1, 0, 0));\n"
    "}\n"};

std::vector<std::byte> frame_of(const SceneRenderer& renderer, const SceneUniforms& moment) {
  Readback readback(renderer.readback_size().width, renderer.readback_size().height);
  const auto block = HostBlock::create("frame", readback.size_bytes());
  renderer.draw(moment);
  readback.begin(block, 0, block->bytes());
  EXPECT_TRUE(readback.wait_finished(monotonic_ns() + 60 * ns_per_s));
  const auto bytes = block->bytes().first(renderer.layout().size_bytes);
  return {bytes.begin(), bytes.end()};
}

std::array<int, 4> pixel(const std::vector<std::byte>& frame, Size size, std::size_t x, std::size_t y) {
  std::array<int, 4> components{};
  for (std::size_t i = 0; i < 4; ++i) {
    components.at(i) = std::to_integer<int>(frame.at((y * size.width + x) * 4 + i));
  }
  return components;
}

class SceneRendererTest : public GlTest {};

TEST_F(SceneRendererTest, EverySceneShowsManyColoursAndMoves) {
  constexpr Size size{320, 180};
  for (const std::string_view name : scene_names()) {
    SCOPED_TRACE(name);
    const SceneRenderer renderer(load_scene(name), size, PixelFormat::rgba);
    const auto first = frame_of(renderer, {.time_s = 5.0, .frame = 300});
    const auto second = frame_of(renderer, {.time_s = 5.5, .frame = 330});
    std::set<std::array<int, 4>> colours;
    std::size_t changed = 0;
    std::size_t dark = 0;
    for (std::size_t y = 40; y < size.height; ++y) {  // below the counter
      for (std::size_t x = 0; x < size.width; ++x) {
        const auto now = pixel(first, size, x, y);
        colours.insert(now);
        changed += std::size_t{now != pixel(second, size, x, y)};
        dark += std::size_t{now[0] + now[1] + now[2] < 24};
        ASSERT_EQ(now[3], 255);
      }
    }
    const std::size_t all = std::size_t{320} * 140;
    EXPECT_GT(colours.size(), 800U);
    EXPECT_GT(changed, all / 10);
    EXPECT_LT(dark, all / 2);
  }
}

TEST_F(SceneRendererTest, TheSameMomentGivesTheSameFrame) {
  const SceneRenderer renderer(load_scene("gl:"), {320, 180}, PixelFormat::rgba);
  const SceneUniforms moment{.time_s = 12.5, .frame = 750};
  EXPECT_EQ(frame_of(renderer, moment), frame_of(renderer, moment));
}

TEST_F(SceneRendererTest, TheFirstRowInMemoryIsTheTopRow) {
  constexpr Size size{320, 180};
  const auto frame = frame_of(SceneRenderer(corners, size, PixelFormat::rgba), {});
  EXPECT_EQ(pixel(frame, size, 0, 0), (std::array{255, 255, 255, 255}));  // top left
  EXPECT_EQ(pixel(frame, size, 319, 0), (std::array{255, 0, 0, 255}));    // top right
  EXPECT_EQ(pixel(frame, size, 0, 179), (std::array{0, 255, 0, 255}));    // bottom left
  EXPECT_EQ(pixel(frame, size, 319, 179), (std::array{0, 0, 255, 255}));  // bottom right
}

TEST_F(SceneRendererTest, CoordinatesAndDerivativesAreShadertoys) {
  const ShaderScene scene{
      "coordinates",
      "void mainImage(out vec4 c, in vec2 p) {\n"
      "  c = vec4(p.x / 255.0, p.y / 255.0, dFdy(p.y) == 1.0 && gl_FragCoord.y == p.y ? 1.0 : 0.0, 1.0);\n"
      "}\n"};
  constexpr Size size{200, 100};
  const auto frame = frame_of(SceneRenderer(scene, size, PixelFormat::rgba), {});
  for (const std::size_t y : {50U, 71U, 99U}) {
    const auto at = pixel(frame, size, 150, y);
    EXPECT_NEAR(at[0], 150.5, 0.51);
    EXPECT_NEAR(at[1], 100 - static_cast<int>(y) - 0.5, 0.51);  // y counts from the bottom
    EXPECT_EQ(at[2], 255);
  }
}

TEST_F(SceneRendererTest, BgraExchangesRedAndBlue) {
  constexpr Size size{320, 180};
  const auto frame = frame_of(SceneRenderer(corners, size, PixelFormat::bgra), {});
  EXPECT_EQ(pixel(frame, size, 319, 0), (std::array{0, 0, 255, 255}));
  EXPECT_EQ(pixel(frame, size, 319, 179), (std::array{255, 0, 0, 255}));
}

TEST_F(SceneRendererTest, TheCounterCanBeReadAtEverySize) {
  for (const Size size : {Size{240, 60}, Size{640, 360}, Size{1280, 720}, Size{1920, 1080}, Size{3840, 2160}}) {
    SCOPED_TRACE(size.width);
    const SceneRenderer renderer(corners, size, PixelFormat::rgba);  // a white background is the worst case
    const auto frame = frame_of(renderer, {.time_s = 20.57, .frame = 1234});
    EXPECT_EQ(read_counter_text(frame, size, 4, 1).substr(0, 23), "frame 001234    20.57 s");
    EXPECT_EQ(read_counter(frame, size), 1234U);
  }
}

TEST_F(SceneRendererTest, TheCounterShowsEveryDigitAndLongNumbers) {
  constexpr Size size{640, 360};
  const SceneRenderer renderer(load_scene("gl:"), size, PixelFormat::rgba);
  for (const std::uint64_t number :
       {std::uint64_t{0}, std::uint64_t{123456}, std::uint64_t{987650}, std::uint64_t{4294967299}}) {
    EXPECT_EQ(read_counter(frame_of(renderer, {.time_s = 3661.5, .frame = number}), size), number);
  }
}

TEST_F(SceneRendererTest, ASmallPictureStillDraws) {
  for (const Size size : {Size{1, 1}, Size{16, 16}, Size{33, 7}}) {
    EXPECT_EQ(frame_of(SceneRenderer(load_scene("gl:"), size, PixelFormat::rgba), {}).size(),
              std::size_t{size.width} * size.height * 4);
  }
}

/// Independent of the shader: BT.709, limited range, from ITU-R BT.709-6 §3.
std::array<double, 3> yuv_of(const std::array<double, 3>& rgb) {
  const auto& [r, g, b] = rgb;
  const double y = 0.2126 * r + 0.7152 * g + 0.0722 * b;
  return {16 + 219 * y, 128 + 224 * (b - y) / 1.8556, 128 + 224 * (r - y) / 1.5748};
}

std::array<double, 3> yuv_of(const std::array<int, 4>& rgb) {
  return yuv_of(std::array{rgb[0] / 255.0, rgb[1] / 255.0, rgb[2] / 255.0});
}

TEST_F(SceneRendererTest, FormatsOfEightBitsAreThePictureInBt709) {
  constexpr Size size{328, 182};  // the V plane begins in the middle of a drawn row
  // Blocks of constant colour are larger than a chroma filter's reach, so the filter does not matter.
  const ShaderScene blocks{
      "blocks",
      "void mainImage(out vec4 c, in vec2 p) {\n"
      "  vec2 b = floor(vec2(p.x, iResolution.y - p.y) / 16.0);\n"
      "  c = vec4(fract(b.x * 0.37), fract(b.y * 0.29 + b.x * 0.11), fract(b.x * 0.53 + b.y * 0.71), 1.0);\n"
      "}\n"};
  const auto rgba = frame_of(SceneRenderer(blocks, size, PixelFormat::rgba), {});
  for (const PixelFormat format : {PixelFormat::nv12, PixelFormat::yuv420p, PixelFormat::yuv422p}) {
    SCOPED_TRACE(info(format).name);
    const SceneRenderer renderer(blocks, size, format);
    EXPECT_EQ(renderer.colour().matrix, ColourMatrix::bt709);
    EXPECT_EQ(renderer.colour().range, ColourRange::limited);
    const FrameLayout layout = renderer.layout();
    const auto frame = frame_of(renderer, {});
    ASSERT_EQ(frame.size(), layout.size_bytes);
    const auto at = [&](std::size_t plane, std::size_t x, std::size_t y) {
      return std::to_integer<int>(
          frame.at(layout.planes.at(plane).offset_bytes + y * layout.planes.at(plane).pitch_bytes + x));
    };
    for (std::size_t y = 56; y < size.height; y += 16) {  // the middles of blocks below the counter
      for (std::size_t x = 8; x < size.width; x += 16) {
        const auto wanted = yuv_of(pixel(rgba, size, x, y));
        EXPECT_NEAR(at(0, x, y), wanted[0], 1.01) << x << "," << y;
        const bool packed = format == PixelFormat::nv12;
        const std::size_t row = y >> info(format).planes[1].log2_height;
        EXPECT_NEAR(packed ? at(1, x, row) : at(1, x / 2, row), wanted[1], 1.01) << x << "," << y;
        EXPECT_NEAR(packed ? at(1, x + 1, row) : at(2, x / 2, row), wanted[2], 1.01) << x << "," << y;
      }
    }
    EXPECT_EQ(read_counter(frame, size, 1, 0), 0U);
  }
}

/// Colours of 16 bits that differ from pixel to pixel; half of them are outside of what can be shown.
const ShaderScene fine_noise{"fine noise",
                             "void mainImage(out vec4 c, in vec2 p) {\n"
                             "  ivec2 at = ivec2(p.x, iResolution.y - p.y);\n"
                             "  ivec3 k = (at.x * ivec3(9973, 4001, 30011) + at.y * ivec3(7919, 6007, 611)) & 131071;\n"
                             "  c = vec4(vec3(k - 32768) / 65535.0, 1.0);\n"
                             "}\n"};

std::array<double, 3> fine_noise_at(std::int64_t x, std::int64_t y) {
  constexpr std::array<std::array<std::int64_t, 2>, 3> factors{{{9973, 7919}, {4001, 6007}, {30011, 611}}};
  std::array<double, 3> rgb{};
  for (std::size_t i = 0; i < rgb.size(); ++i) {
    const std::int64_t k = ((x * factors.at(i)[0] + y * factors.at(i)[1]) & 131071) - 32768;
    rgb.at(i) = static_cast<double>(std::clamp<std::int64_t>(k, 0, 65535)) / 65535.0;
  }
  return rgb;
}

/// U and V of the sample that begins with pixel (x, y), sited left, of 8 bits but not rounded. The mean of `rows` rows.
std::array<double, 2> fine_chroma_at(std::int64_t x, std::int64_t y, std::int64_t rows, std::int64_t width) {
  std::array<double, 3> rgb{};
  for (std::int64_t row = 0; row < rows; ++row) {
    for (const auto& [column, weight] : {std::pair(x - 1, 0.25), std::pair(x, 0.5), std::pair(x + 1, 0.25)}) {
      const auto pixel = fine_noise_at(std::clamp<std::int64_t>(column, 0, width - 1), y + row);
      for (std::size_t i = 0; i < rgb.size(); ++i) {
        rgb.at(i) += pixel.at(i) * weight / static_cast<double>(rows);
      }
    }
  }
  const auto yuv = yuv_of(rgb);
  return {yuv[1], yuv[2]};
}

/// One frame of 10 bits; `left_bits`: how far they are shifted.
void expect_fine_noise(const std::vector<std::byte>& frame, const FrameLayout& layout, unsigned left_bits) {
  const auto at = [&](std::size_t plane, std::size_t x, std::size_t y) {
    std::uint16_t word = 0;
    std::memcpy(&word,
                frame.data() + layout.planes.at(plane).offset_bytes + y * layout.planes.at(plane).pitch_bytes + x * 2,
                sizeof word);
    EXPECT_EQ(word & ((1U << left_bits) - 1), 0U);
    return word >> left_bits;
  };
  constexpr double nearest = 0.51;  // the driver computes in floats
  const std::size_t rows = layout.height / layout.planes[1].rows;
  const bool packed = layout.plane_count == 2;
  for (std::size_t y = 56; y < layout.height; ++y) {  // below the counter
    for (std::size_t x = 0; x < layout.width; ++x) {
      const auto column = static_cast<std::int64_t>(x), row = static_cast<std::int64_t>(y);
      ASSERT_NEAR(at(0, x, y), 4 * yuv_of(fine_noise_at(column, row))[0], nearest) << x << "," << y;
      if (x % 2 == 0 && y % rows == 0) {
        const auto uv = fine_chroma_at(column, row, static_cast<std::int64_t>(rows), layout.width);
        ASSERT_NEAR(packed ? at(1, x, y / rows) : at(1, x / 2, y / rows), 4 * uv[0], nearest) << x << "," << y;
        ASSERT_NEAR(packed ? at(1, x + 1, y / rows) : at(2, x / 2, y / rows), 4 * uv[1], nearest) << x << "," << y;
      }
    }
  }
}

TEST_F(SceneRendererTest, FormatsOfTenBitsAreTheSceneItselfToTheNearestStep) {
  for (const auto& [format, size, left_bits] :
       {std::tuple(PixelFormat::p010le, Size{328, 182}, 6U), std::tuple(PixelFormat::yuv420p10le, Size{328, 182}, 0U),
        std::tuple(PixelFormat::yuv422p10le, Size{328, 181}, 0U)}) {
    SCOPED_TRACE(info(format).name);
    const SceneRenderer renderer(fine_noise, size, format);
    EXPECT_EQ(renderer.colour().matrix, ColourMatrix::bt709);
    EXPECT_EQ(renderer.colour().range, ColourRange::limited);
    const auto frame = frame_of(renderer, {});
    ASSERT_EQ(frame.size(), renderer.layout().size_bytes);
    expect_fine_noise(frame, renderer.layout(), left_bits);
    if (format == PixelFormat::p010le) {
      EXPECT_EQ(read_counter(frame, size, 2, 1), 0U);
    }
  }
}

TEST_F(SceneRendererTest, ComputedFramesAreThoseThatAreDrawn) {
  constexpr Size size{328, 182};
  constexpr GLintptr at = 4096;
  constexpr std::byte untouched{0xa5};
  for (const PixelFormat format : {PixelFormat::nv12, PixelFormat::yuv420p, PixelFormat::yuv422p, PixelFormat::p010le,
                                   PixelFormat::yuv420p10le, PixelFormat::yuv422p10le}) {
    SCOPED_TRACE(info(format).name);
    const auto drawn = frame_of(SceneRenderer(fine_noise, size, format, ConvertBy::drawing), {});
    const SceneRenderer renderer(fine_noise, size, format, ConvertBy::computing);
    const ReadbackSource* const source = renderer.draw_for_readback({});
    ASSERT_NE(source, nullptr);
    ASSERT_TRUE(source->can_write(at));
    ASSERT_FALSE(source->can_write(at + 1));
    std::vector<std::byte> memory(at + drawn.size() + at, untouched);
    const GlBuffer buffer = GlBuffer::create();
    glNamedBufferData(buffer.id(), static_cast<GLsizeiptr>(memory.size()), memory.data(), GL_DYNAMIC_READ);
    const std::uint32_t rows = renderer.readback_size().height;
    for (const std::uint32_t first : {0U, 7U, 190U}) {  // in slices that end in the middle of work groups
      source->write_rows(buffer.id(), at, first, first == 0 ? 7 : first == 7 ? 190 : rows);
    }
    glGetNamedBufferSubData(buffer.id(), 0, static_cast<GLsizeiptr>(memory.size()), memory.data());
    const auto frame = std::span(memory).subspan(at, drawn.size());
    EXPECT_TRUE(std::ranges::equal(frame, drawn));
    EXPECT_EQ(memory[at - 1], untouched);
    EXPECT_EQ(memory[at + drawn.size()], untouched);
    EXPECT_EQ(frame_of(renderer, {}), drawn) << "it can be drawn, too";
  }
}

TEST_F(SceneRendererTest, OnlyYuvIsComputed) {
  for (const PixelFormat format : {PixelFormat::rgba, PixelFormat::bgr0}) {
    const SceneRenderer renderer(corners, {64, 64}, format, ConvertBy::computing);
    EXPECT_EQ(renderer.draw_for_readback({}), nullptr);
  }
}

std::string error_of(Size size, PixelFormat format) {
  try {
    const SceneRenderer renderer(load_scene("gl:"), size, format);
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

TEST_F(SceneRendererTest, DepthsFollowTheColoursAsFloats) {
  constexpr Size size{70, 34};  // no multiple of anything
  const ShaderScene ramp{.name = "ramp",
                         .text =
                             "void mainImageDepth(out vec4 c, out float d, in vec2 p) {\n"
                             "  c = vec4(p / iResolution.xy, hasPart(2) ? 1.0 : 0.0, 0.0);\n"
                             "  d = p.x > 60.0 ? noDepth : p.y < 10.0 ? uintBitsToFloat(0x7fc00001u) : p.x / p.y;\n"
                             "}\n",
                         .parts = 2};
  ASSERT_TRUE(ramp.has_depth());
  const SceneRenderer renderer(ramp, size, PixelFormat::rgba_grayf32le);
  const auto frame = frame_of(renderer, {});
  ASSERT_EQ(frame.size(), std::size_t{size.width} * size.height * 8);
  for (std::size_t y = 0; y < size.height; ++y) {
    for (std::size_t x = 0; x < size.width; ++x) {
      const auto colour = pixel(frame, size, x, y);
      EXPECT_EQ(colour[2], 255) << "it draws part 2";
      EXPECT_EQ(colour[3], 255);
      float depth = 0;
      std::memcpy(&depth, frame.data() + (std::size_t{size.height} * size.width + y * size.width + x) * 4,
                  sizeof depth);
      const float from_left = static_cast<float>(x) + 0.5F;
      const float from_below = static_cast<float>(size.height - y) - 0.5F;
      if (from_left > 60) {
        EXPECT_EQ(depth, std::numeric_limits<float>::infinity());
      } else if (from_below < 10) {
        EXPECT_TRUE(std::isnan(depth));
      } else {
        EXPECT_FLOAT_EQ(depth, from_left / from_below) << x << " " << y;
      }
    }
  }
}

TEST_F(SceneRendererTest, ASceneWithoutDepthIsOneError) {
  try {
    const SceneRenderer renderer(load_scene("gl:waves"), {64, 64}, PixelFormat::rgba_grayf32le);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), ExitStatus::usage);
    EXPECT_NE(std::string(error.what()).find("mainImageDepth"), std::string::npos) << error.what();
  }
}

TEST_F(SceneRendererTest, OtherFormatsAndSizesAreOneError) {
  EXPECT_NE(error_of({640, 360}, PixelFormat::yuv444p).find("yuv444p"), std::string::npos);
  EXPECT_NE(error_of({640, 360}, PixelFormat::yuv444p).find("p010le"), std::string::npos);
  EXPECT_NE(error_of({642, 360}, PixelFormat::nv12).find("642x360"), std::string::npos);
  EXPECT_NE(error_of({640, 361}, PixelFormat::yuv420p).find("640x361"), std::string::npos);
  EXPECT_NE(error_of({640, 361}, PixelFormat::p010le).find("even heights, not 640x361"), std::string::npos);
  EXPECT_NE(error_of({642, 361}, PixelFormat::yuv422p10le).find("a multiple of 8, not 642x361"), std::string::npos);
  EXPECT_NE(error_of({1U << 20, 64}, PixelFormat::rgba).find("1048576"), std::string::npos);
}

}  // namespace
}  // namespace framewire
