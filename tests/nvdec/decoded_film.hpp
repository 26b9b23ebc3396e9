// Films for the stand-in for NVDEC, and how they come out of the sender.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "memory/cuda/cuda_memory.hpp"
#include "sender/sources/media/av_source.hpp"
#include "tests/base/logs.hpp"
#include "tests/cuda/stand_in.hpp"
#include "tests/media/media_files.hpp"
#include "tests/nvdec/nvcuvid.hpp"
#include "tests/nvdec/pattern.hpp"
#include "tests/sender/media_viewer.hpp"

namespace framewire::test {

inline constexpr int film_frames = 30;
inline constexpr int unknown_error = 999;  // CUDA_ERROR_UNKNOWN

/// One film, decoded by libav's own code for NVDEC.
class DecodedFilm : public ::testing::Test {
 protected:
  void SetUp() override {
    cuda_stand_in::reset();
    nvcuvid_stand_in::reset();
  }
  void TearDown() override {
    cuda_stand_in::reset();
    nvcuvid_stand_in::reset();
  }

  /// One picture in a hundred is coded by itself, so that the decoder counts all of them from the first.
  std::string film(const std::string& name, const std::string& encode, const char* width = "320",
                   const char* height = "180") {
    std::string file = folder_.file(name);
    ffmpeg(test_pictures(width, height, 25, film_frames) + encode + " -g 100 " + file);
    return file;
  }
  std::string h264() {
    return film("film.mkv", "-c:v libx264 -preset fast -bf 3 -refs 4 -pix_fmt yuv420p -x264-params scenecut=0");
  }
  std::string h265(const std::string& pixel_format) {
    return film("film.mkv", "-c:v libx265 -x265-params log-level=none:scenecut=0 -pix_fmt " + pixel_format);
  }

  static SourceOptions on(const std::string& hw_accel, const std::string& file) {
    SourceOptions options;
    options.name = file;
    options.realtime = false;
    options.hw_accel = hw_accel;
    return options;
  }

  /// What the constructor of the source throws; empty if it does not.
  std::string refusal(const SourceOptions& options) {
    try {
      const AvSource source(options, log_);
      return {};
    } catch (const Error& error) {
      return error.what();
    }
  }

  TemporaryFolder folder_;
  KeptLog log_;
};

/// The pattern of one plane with one byte for each of `width` samples in each of `height` rows.
inline void append_8_bit(std::vector<std::byte>& to, unsigned number, unsigned plane, std::size_t width,
                         std::size_t height, std::size_t left = 0, std::size_t top = 0) {
  for (std::size_t y = 0; y < height; ++y) {
    for (std::size_t x = 0; x < width; ++x) {
      to.push_back(static_cast<std::byte>(decoded_8_bit(number, plane, left + x, top + y)));
    }
  }
}

inline void append_10_bit(std::vector<std::byte>& to, unsigned number, unsigned plane, std::size_t width,
                          std::size_t height) {
  for (std::size_t y = 0; y < height; ++y) {
    for (std::size_t x = 0; x < width; ++x) {
      const std::uint16_t sample = decoded_10_bit(number, plane, x, y);
      to.push_back(static_cast<std::byte>(sample & 0xFFU));
      to.push_back(static_cast<std::byte>(sample >> 8U));
    }
  }
}

inline std::vector<std::byte> nv12(unsigned number, std::size_t width, std::size_t height) {
  std::vector<std::byte> picture;
  append_8_bit(picture, number, 0, width, height);
  append_8_bit(picture, number, 1, width, height / 2);
  return picture;
}

/// Whether each frame has its own picture, in order. `wanted` gives one by its number.
template <typename Wanted>
void expect_pictures(const Shown& shown, std::size_t count, const Wanted& wanted) {
  EXPECT_EQ(shown.error, "");
  ASSERT_EQ(shown.frames.size(), count);
  EXPECT_EQ(shown.frames_changed, 0U);
  for (std::size_t i = 0; i < count; ++i) {
    ASSERT_TRUE(packed(shown.frames[i]) == wanted(static_cast<unsigned>(i))) << "picture " << i;
  }
}

}  // namespace framewire::test
