// Recordings with a rotation or mirroring in their metadata.
#include <gtest/gtest.h>

#include <array>
#include <cstring>

#include "media/av_input.hpp"
#include "media/orientation.hpp"
#include "tests/base/logs.hpp"
#include "tests/media/media_files.hpp"

namespace framewire {
namespace {

using namespace test;

/// x' = ax + cy, y' = bx + dy, and ffmpeg's name for it.
struct Turn {
  const char* name;
  std::array<std::int32_t, 4> abcd;
  const char* filter;
  bool is_transposed = false;
};

constexpr std::array turns = {Turn{"upright", {1, 0, 0, 1}, "null"},
                              Turn{"mirrored", {-1, 0, 0, 1}, "hflip"},
                              Turn{"upside_down", {1, 0, 0, -1}, "vflip"},
                              Turn{"half_turn", {-1, 0, 0, -1}, "hflip,vflip"},
                              Turn{"clockwise", {0, 1, -1, 0}, "transpose=clock", true},
                              Turn{"counterclockwise", {0, -1, 1, 0}, "transpose=cclock", true},
                              Turn{"transposed", {0, 1, 1, 0}, "transpose=cclock_flip", true},
                              Turn{"other_diagonal", {0, -1, -1, 0}, "transpose=clock_flip", true}};

class OrientationTest : public ::testing::Test {
 protected:
  /// Writes the matrix of a film's first track (ISO/IEC 14496-12 §8.3.2: 40 bytes behind "tkhd", big-endian 16.16).
  static void turn(const std::string& file, const std::array<std::int32_t, 4>& abcd) {
    std::vector<std::byte> bytes = read_file(file);
    constexpr std::string_view tag = "tkhd";
    const auto at = std::search(bytes.begin(), bytes.end(), tag.begin(), tag.end(),
                                [](std::byte left, char right) { return std::to_integer<char>(left) == right; });
    ASSERT_NE(at, bytes.end());
    const std::ptrdiff_t matrix = at - bytes.begin() + 4 + 40;
    constexpr std::array places = {0, 1, 3, 4};
    for (std::size_t i = 0; i < places.size(); ++i) {
      const auto value = static_cast<std::uint32_t>(abcd.at(i)) << 16;
      for (int byte = 0; byte < 4; ++byte) {
        bytes.at(static_cast<std::size_t>(matrix + places.at(i) * 4 + byte)) =
            static_cast<std::byte>(value >> (24 - 8 * byte));
      }
    }
    write_file(file, bytes);
  }

  std::vector<std::byte> played(AvInputOptions options) {
    AvInput input(std::move(options), log_);
    std::vector<std::byte> bytes;
    while (input.read() == AvRead::frame) {
      format_ = input.format();
      const std::size_t size = bytes.size();
      bytes.resize(size + format_.layout.size_bytes);
      input.copy_to(std::span(bytes).subspan(size));
    }
    return bytes;
  }

  std::vector<std::byte> by_ffmpeg(const std::string& options, const std::string& pixel_format) {
    const std::string raw = folder_.file("reference.raw");
    ffmpeg(options + " -f rawvideo -pix_fmt " + pixel_format + " " + raw);
    return read_file(raw);
  }

  TemporaryFolder folder_;
  test::ShownLog log_;
  StreamFormat format_;
};

TEST_F(OrientationTest, EveryTurnIsWhatFfmpegMakesOfIt) {
  for (const auto& [encode, pixel_format] :
       {std::pair{"-c:v libx264 -preset ultrafast", "yuv420p"}, std::pair{"-c:v libx264 -preset ultrafast", "yuv444p"},
        std::pair{"-c:v rawvideo", "rgb24"}, std::pair{"-c:v png", "gray"}, std::pair{"-c:v png", "rgba"}}) {
    for (const Turn& one : turns) {
      const std::string file = folder_.file("film.mov");
      ffmpeg(test_pictures("150", "98", 25, 3) + encode + " -pix_fmt " + pixel_format + " " + file);
      turn(file, one.abcd);
      const std::vector<std::byte> wanted =
          by_ffmpeg("-noautorotate -i " + file + " -vf format=" + pixel_format + "," + one.filter, pixel_format);
      EXPECT_TRUE(played({.name = file}) == wanted) << one.name << " " << pixel_format;
      EXPECT_EQ(format_.layout.width, one.is_transposed ? 98U : 150U) << one.name;
    }
  }
}

TEST_F(OrientationTest, WhatAPhoneWritesIsWhatFfmpegShows) {
  for (const char* degrees : {"90", "180", "270"}) {
    const std::string upright = folder_.file("upright.mp4");
    const std::string file = folder_.file("phone.mp4");
    ffmpeg(test_pictures("160", "98", 25, 3) + "-vf setsar=2 -c:v libx264 -pix_fmt yuv420p " + upright);
    ffmpeg("-i " + upright + " -c copy -metadata:s:v:0 rotate=" + degrees + " " + file);
    EXPECT_TRUE(played({.name = file}) == by_ffmpeg("-i " + file, "yuv420p")) << degrees;
    const bool is_half_turn = std::string(degrees) == "180";
    EXPECT_EQ(format_.sample_aspect_ratio, (is_half_turn ? Rational{2, 1} : Rational{1, 2})) << degrees;
  }
}

TEST_F(OrientationTest, FormatsThatCannotBeTurnedAreConvertedFirst) {
  const std::string file = folder_.file("pairs.mov");
  ffmpeg(test_pictures("160", "98", 25, 2) + "-c:v rawvideo -pix_fmt uyvy422 " + file);
  turn(file, turns.at(4).abcd);
  played({.name = file});
  EXPECT_EQ(format_.layout, packed_layout(PixelFormat::yuv444p, 98, 160));
  AvInputOptions asked{.name = file};
  asked.pixel_format = PixelFormat::uyvy422;
  EXPECT_ANY_THROW(AvInput(asked, log_));
}

TEST_F(OrientationTest, ASizeThatWasAskedForIsThatOfTheTurnedPicture) {
  const std::string file = folder_.file("scaled.mov");
  ffmpeg(test_pictures("160", "98", 25, 2) + "-c:v rawvideo -pix_fmt rgb24 " + file);
  turn(file, turns.at(4).abcd);
  played({.name = file, .size = {49, 80}});
  EXPECT_EQ(format_.layout, packed_layout(PixelFormat::rgb24, 49, 80));
}

TEST(OrientationOfMatrix, ChromaTurnsWithThePicture) {
  using libav::Orientation;
  using libav::turned;
  EXPECT_EQ(turned(ChromaLocation::left, {}), ChromaLocation::left);
  EXPECT_EQ(turned(ChromaLocation::left, {.is_transposed = true}), ChromaLocation::top);
  EXPECT_EQ(turned(ChromaLocation::topleft, {.flips_y = true}), ChromaLocation::bottomleft);
  EXPECT_EQ(turned(ChromaLocation::left, {.flips_y = true}), ChromaLocation::left);
  EXPECT_EQ(turned(ChromaLocation::left, {.flips_x = true}), ChromaLocation::unspecified);
  EXPECT_EQ(turned(ChromaLocation::center, {true, true, true}), ChromaLocation::center);
}

TEST(OrientationOfMatrix, OtherAnglesAreNone) {
  constexpr std::int32_t one = 1 << 16;
  constexpr std::array<std::int32_t, 9> by_45 = {46341, 46341, 0, -46341, 46341, 0, 0, 0, 1 << 30};
  EXPECT_FALSE(libav::orientation_of(by_45.data()));
  constexpr std::array<std::int32_t, 9> nothing{};
  EXPECT_TRUE(libav::orientation_of(nothing.data())->is_upright());
  constexpr std::array<std::int32_t, 9> nearly = {one, 300, 0, -300, one, 0, 0, 0, 1 << 30};
  EXPECT_TRUE(libav::orientation_of(nearly.data())->is_upright());
}

}  // namespace
}  // namespace framewire
