#include "frame/frame_header.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <random>

namespace framewire {
namespace {

FrameHeader full_header() {
  FrameHeader header;
  header.sequence = 0x1'0000'0005;
  header.stream = 3;
  header.epoch = 7;
  header.slot = 11;
  header.slice = 1;
  header.slice_count = 4;
  header.layout = packed_layout(PixelFormat::yuv420p10le, 1920, 1080);
  header.slice_offset_bytes = 1000;
  header.slice_bytes = 5000;
  header.user_tag = 0x0123456789abcdef;
  header.pts_ns = -5;
  header.times = {1, 2, 3};
  header.colour = {ColourMatrix::bt2020nc, ColourRange::limited, ColourTransfer::hlg, ColourPrimaries::bt2020};
  header.has_test_pattern = true;
  return header;
}

using Bytes = std::array<std::byte, max_frame_header_bytes>;

TEST(FrameHeader, ComesBackAsItWent) {
  for (const PixelFormatInfo& format : pixel_formats()) {
    FrameHeader header = full_header();
    header.layout = packed_layout(format.format, 642, 358);
    Bytes bytes{};
    const std::size_t size = encode(header, bytes);
    EXPECT_EQ(size, encoded_bytes(header));
    EXPECT_EQ(header_bytes_from_prefix(std::span(bytes).first(8)), size);
    FrameHeader back;
    ASSERT_EQ(decode(std::span(bytes).first(size), back), HeaderFault::none) << format.name;
    EXPECT_EQ(back, header);
  }
}

TEST(FrameHeader, SaysOfWhatFormatAPlaneOfDepthsIs) {
  FrameHeader header = full_header();
  header.layout = packed_layout(PixelFormat::rgba_grayf32le, 642, 358);
  Bytes bytes{};
  const std::size_t size = encode(header, bytes);
  const auto number_at = [&bytes](std::size_t offset) {
    std::uint32_t number = 0;
    std::memcpy(&number, bytes.data() + offset, sizeof number);
    return number;
  };
  EXPECT_EQ(number_at(100), 18U);
  EXPECT_EQ(number_at(128 + 20), 2U);
  EXPECT_EQ(number_at(160 + 20), 256U);
  FrameHeader back;
  ASSERT_EQ(decode(std::span(bytes).first(size), back), HeaderFault::none);
  EXPECT_EQ(back, header);
}

TEST(FrameHeader, CarriesByteStreams) {
  FrameHeader header;
  header.layout = bytes_layout(12345);
  header.slice_bytes = 12345;
  Bytes bytes{};
  const std::size_t size = encode(header, bytes);
  EXPECT_EQ(size, frame_header_fixed_bytes);
  FrameHeader back;
  ASSERT_EQ(decode(std::span(bytes).first(size), back), HeaderFault::none);
  EXPECT_EQ(back, header);
}

TEST(FrameHeader, CutAnywhereIsRefused) {
  Bytes bytes{};
  const std::size_t size = encode(full_header(), bytes);
  for (std::size_t cut = 0; cut < size; ++cut) {
    FrameHeader back;
    EXPECT_NE(decode(std::span(bytes).first(cut), back), HeaderFault::none) << cut;
  }
}

TEST(FrameHeader, AnyFlippedBitIsRefused) {
  Bytes good{};
  const std::size_t size = encode(full_header(), good);
  for (std::size_t bit = 0; bit < size * 8; ++bit) {
    Bytes bytes = good;
    bytes[bit / 8] ^= std::byte{1} << (bit % 8);
    FrameHeader back;
    EXPECT_NE(decode(std::span(bytes).first(size), back), HeaderFault::none) << "bit " << bit;
  }
}

/// A hostile peer computes a valid checksum, so decode() must check the values, too.
void expect_refused(const FrameHeader& header, const char* why) {
  Bytes bytes{};
  const std::size_t size = encode(header, bytes);
  FrameHeader back;
  EXPECT_EQ(decode(std::span(bytes).first(size), back), HeaderFault::wrong_value) << why;
}

TEST(FrameHeader, LiesAreRefused) {
  FrameHeader header = full_header();
  header.slice = 4;
  expect_refused(header, "slice past the count");
  header = full_header();
  header.slice_count = 0;
  expect_refused(header, "no slices");
  header = full_header();
  header.slice_count = max_slices + 1;
  expect_refused(header, "too many slices");
  header = full_header();
  header.slice_bytes = header.layout.size_bytes;
  expect_refused(header, "slice past the payload");
  header = full_header();
  header.slice_offset_bytes = UINT64_MAX;
  expect_refused(header, "slice offset that wraps");
  header = full_header();
  header.layout.planes[2].offset_bytes = header.layout.size_bytes;
  expect_refused(header, "plane past the payload");
  header = full_header();
  header.layout.planes[1].offset_bytes = 0;
  expect_refused(header, "planes on each other");
  header = full_header();
  header.layout.size_bytes = max_slot_bytes + 1;
  expect_refused(header, "larger than any slot");
  header = full_header();
  header.layout.width = max_frame_side_pixels + 1;
  expect_refused(header, "too wide");
  header = full_header();
  header.layout.width = 0;
  expect_refused(header, "no width");
  header = full_header();
  header.layout.format = static_cast<PixelFormat>(77);
  expect_refused(header, "a format nobody knows");
  header = full_header();
  header.layout.plane_count = 1;
  expect_refused(header, "planes missing");
}

TEST(FrameHeader, NoiseIsRefused) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 20'000; ++i) {
    Bytes bytes;
    for (std::byte& byte : bytes) {
      byte = static_cast<std::byte>(random());
    }
    if (i % 2 == 0) {  // half of them begin like a valid header
      std::memcpy(bytes.data(), &frame_header_magic, sizeof frame_header_magic);
      const std::uint16_t version = 1;
      std::memcpy(bytes.data() + 4, &version, sizeof version);
    }
    FrameHeader back;
    ASSERT_NE(decode(bytes, back), HeaderFault::none);
  }
}

TEST(FrameHeader, AnotherVersionIsNamed) {
  Bytes bytes{};
  const std::size_t size = encode(full_header(), bytes);
  bytes[4] = std::byte{2};
  FrameHeader back;
  EXPECT_EQ(decode(std::span(bytes).first(size), back), HeaderFault::wrong_version);
  EXPECT_FALSE(header_bytes_from_prefix(std::span(bytes).first(8)));
}

}  // namespace
}  // namespace framewire
