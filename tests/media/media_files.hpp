// Test media made with the ffmpeg program, and ffmpeg's view of their content.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "tests/base/equal_bytes.hpp"
#include "tests/base/temporary_folder.hpp"

namespace framewire::test {

/// In one read: films are large, and a call for each byte takes most of a test's time with sanitizers.
inline std::vector<std::byte> read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  std::vector<std::byte> bytes(file ? static_cast<std::size_t>(file.tellg()) : 0);
  file.seekg(0);
  file.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  return bytes;
}

inline void write_file(const std::string& path, std::string_view text) {
  std::ofstream(path, std::ios::binary).write(text.data(), static_cast<std::streamsize>(text.size()));
}

inline void write_file(const std::string& path, const std::vector<std::byte>& bytes) {
  write_file(path, std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
}

/// Runs `ffmpeg -y arguments`. The test fails if ffmpeg fails.
inline void ffmpeg(const std::string& arguments) {
  const std::string command = "ffmpeg -nostdin -v error -y " + arguments;
  ASSERT_EQ(std::system(command.c_str()), 0) << command;
}

/// Returns ffmpeg's decoding of `file` as concatenated raw frames of `pixel_format`.
inline std::vector<std::byte> decoded_by_ffmpeg(const TemporaryFolder& folder, const std::string& file,
                                                const std::string& pixel_format) {
  const std::string raw = folder.file("reference.raw");
  ffmpeg("-i " + file + " -fps_mode passthrough -f rawvideo -pix_fmt " + pixel_format + " " + raw);
  return read_file(raw);
}

/// ffmpeg's test source in any size. The filter itself supports even sizes only.
inline std::string test_pictures(const std::string& width, const std::string& height, int rate, int count) {
  return "-f lavfi -i testsrc2=size=160x120:rate=" + std::to_string(rate) + ",scale=" + width + ":" + height +
         " -frames:v " + std::to_string(count) + " ";
}

}  // namespace framewire::test
