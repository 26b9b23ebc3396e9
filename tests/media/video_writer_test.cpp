#include "media/video_writer.hpp"
#include "tests/base/logs.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <random>
#include <thread>

#include "base/error.hpp"
#include "media/png.hpp"
#include "tests/media/media_files.hpp"

namespace framewire {
namespace {

using namespace test;

class VideoWriterTest : public ::testing::Test {
 protected:
  /// Frames in which every byte differs from its neighbours. With 10-bit formats only the bits in use differ.
  static std::vector<std::byte> frames_of(PixelFormat format, std::uint32_t width, std::uint32_t height,
                                          std::size_t count) {
    std::vector<std::byte> frames(packed_layout(format, width, height).size_bytes * count);
    std::minstd_rand random(7);
    for (std::byte& value : frames) {
      value = static_cast<std::byte>(random() >> 11 & 0xff);
    }
    const bool is_10_bits = info(format).depth == 10;
    for (std::size_t i = 0; is_10_bits && i + 1 < frames.size(); i += 2) {
      const bool is_at_the_top = format == PixelFormat::p010le;
      frames.at(i) &= is_at_the_top ? std::byte{0xc0} : std::byte{0xff};
      frames.at(i + 1) &= is_at_the_top ? std::byte{0xff} : std::byte{0x03};
    }
    return frames;
  }

  static StreamFormat format_of(PixelFormat format, std::uint32_t width, std::uint32_t height) {
    const bool is_rgb = !info(format).is_yuv && format != PixelFormat::gray8;
    return {.layout = packed_layout(format, width, height),
            .colour = {is_rgb ? ColourMatrix::rgb : ColourMatrix::unspecified,
                       is_rgb ? ColourRange::full : ColourRange::unspecified, ColourTransfer::unspecified,
                       ColourPrimaries::unspecified},
            .sample_aspect_ratio = {1, 1},
            .frame_rate = {25, 1},
            .field_order = FieldOrder::progressive};
  }

  /// The same planes, with rows of `pitch_bytes`.
  static FrameLayout padded_layout(FrameLayout layout, std::uint32_t pitch_bytes) {
    layout.size_bytes = 0;
    for (std::uint32_t i = 0; i < layout.plane_count; ++i) {
      layout.planes.at(i).pitch_bytes = pitch_bytes;
      layout.planes.at(i).offset_bytes = layout.size_bytes;
      layout.size_bytes += std::uint64_t{pitch_bytes} * layout.planes.at(i).rows;
    }
    return layout;
  }

  static std::vector<std::byte> padded_frame(const FrameLayout& layout, std::span<const std::byte> frame,
                                             const FrameLayout& padded) {
    std::vector<std::byte> payload(padded.size_bytes, std::byte{0xee});
    for (std::uint32_t i = 0; i < layout.plane_count; ++i) {
      const PlaneLayout& from = layout.planes.at(i);
      const PlaneLayout& to = padded.planes.at(i);
      for (std::uint64_t row = 0; row < from.rows; ++row) {
        std::ranges::copy(frame.subspan(from.offset_bytes + row * from.pitch_bytes, from.row_bytes),
                          std::span(payload).subspan(to.offset_bytes + row * to.pitch_bytes).begin());
      }
    }
    return payload;
  }

  static WriteResult write_all(VideoWriter& writer, const StreamFormat& format, std::span<const std::byte> frames) {
    WriteResult result = WriteResult::written;
    for (; result == WriteResult::written && !frames.empty(); frames = frames.subspan(format.layout.size_bytes)) {
      result = writer.write(format, format.layout, frames);
    }
    return result;
  }

  TemporaryFolder folder_;
  test::ShownLog log_;
};

std::string name_of(PixelFormat format) {
  return std::string(info(format).name);
}

class EveryFormat : public VideoWriterTest, public ::testing::WithParamInterface<PixelFormat> {};

TEST_P(EveryFormat, RawFilesHoldTheVeryBytes) {
  const StreamFormat format = format_of(GetParam(), 50, 38);
  const auto frames = frames_of(GetParam(), 50, 38, 3);
  {
    VideoWriter writer(folder_.file("out.raw"), log_);
    EXPECT_EQ(write_all(writer, format, frames), WriteResult::written);
    EXPECT_EQ(writer.frames_written(), 3U);
  }
  EXPECT_EQ(read_file(folder_.file("out.raw")), frames);
}

/// Reading the y4m file gives the same frames: exactly for YUV, approximately for RGB, since y4m has no RGB.
TEST_P(EveryFormat, Y4mIsReadAsTheSamePictures) {
  const StreamFormat format = format_of(GetParam(), 50, 38);
  const auto frames = frames_of(GetParam(), 50, 38, 3);
  const std::string file = folder_.file("out.y4m");
  {
    VideoWriter writer(file, log_);
    EXPECT_EQ(write_all(writer, format, frames), WriteResult::written);
  }
  const auto read = decoded_by_ffmpeg(folder_, file, name_of(GetParam()));
  if (format.colour.matrix != ColourMatrix::rgb) {
    EXPECT_TRUE(read == frames);
    return;
  }
  ASSERT_EQ(read.size(), frames.size());
  const std::uint32_t pixel_bytes = info(GetParam()).planes.at(0).bytes_per_texel;
  int worst = 0;
  for (std::size_t i = 0; i < read.size(); ++i) {
    const bool is_alpha = pixel_bytes == 4 && i % 4 == 3;
    const int difference = std::abs(std::to_integer<int>(read.at(i)) - std::to_integer<int>(frames.at(i)));
    worst = std::max(worst, is_alpha ? 0 : difference);
  }
  EXPECT_LE(worst, 5);  // rounding to 8-bit limited range and back
}

INSTANTIATE_TEST_SUITE_P(Formats, EveryFormat, ::testing::ValuesIn([] {
                           std::vector<PixelFormat> formats;
                           for (const PixelFormatInfo& entry : pixel_formats()) {
                             formats.push_back(entry.format);
                           }
                           return formats;
                         }()),
                         [](const auto& test) { return name_of(test.param); });

TEST_F(VideoWriterTest, PaddedRowsAreWrittenWithoutTheirPadding) {
  const StreamFormat format = format_of(PixelFormat::yuv420p, 50, 38);
  const auto frames = frames_of(PixelFormat::yuv420p, 50, 38, 1);
  const FrameLayout padded = padded_layout(format.layout, 64);
  VideoWriter writer(folder_.file("out.raw"), log_);
  EXPECT_EQ(writer.write(format, padded, padded_frame(format.layout, frames, padded)), WriteResult::written);
  EXPECT_EQ(read_file(folder_.file("out.raw")), frames);
}

TEST_F(VideoWriterTest, ALaterFormatIsBroughtToTheFirst) {
  const StreamFormat small = format_of(PixelFormat::yuv420p, 50, 38);
  const StreamFormat large = format_of(PixelFormat::rgba, 80, 60);
  VideoWriter writer(folder_.file("out.y4m"), log_);
  EXPECT_EQ(write_all(writer, small, frames_of(PixelFormat::yuv420p, 50, 38, 2)), WriteResult::written);
  EXPECT_EQ(write_all(writer, large, frames_of(PixelFormat::rgba, 80, 60, 2)), WriteResult::written);
  EXPECT_EQ(decoded_by_ffmpeg(folder_, folder_.file("out.y4m"), "yuv420p").size(), 4 * small.layout.size_bytes);
}

TEST_F(VideoWriterTest, LaterFramesOfAnotherRangeHaveTheColoursOfTheFirst) {
  constexpr std::byte full_white{255};
  constexpr std::byte limited_white{235};
  constexpr std::byte no_colour{128};
  const auto white_frame = [&](const StreamFormat& format, std::byte white) {
    const std::size_t luma_bytes = std::size_t{format.layout.width} * format.layout.height;
    std::vector<std::byte> frame(format.layout.size_bytes, no_colour);
    std::fill_n(frame.begin(), luma_bytes, white);
    return frame;
  };
  const StreamFormat limited = format_of(PixelFormat::yuv420p, 64, 48);
  StreamFormat full = limited;
  full.colour.range = ColourRange::full;
  VideoWriter writer(folder_.file("out.raw"), log_);
  const auto first = white_frame(limited, limited_white);
  ASSERT_EQ(write_all(writer, limited, first), WriteResult::written);
  ASSERT_EQ(write_all(writer, full, white_frame(full, full_white)), WriteResult::written);
  const auto written = read_file(folder_.file("out.raw"));
  ASSERT_EQ(written.size(), 2 * first.size());
  EXPECT_TRUE(are_equal(std::span(written).last(first.size()), first));
}

TEST_F(VideoWriterTest, ColoursThatOnlyHaveAnotherNameAreNotConverted) {
  StreamFormat format = format_of(PixelFormat::yuv420p, 50, 38);
  const auto frames = frames_of(PixelFormat::yuv420p, 50, 38, 1);
  VideoWriter writer(folder_.file("out.raw"), log_);
  for (const ColourMatrix matrix : {ColourMatrix::unspecified, ColourMatrix::smpte170m, ColourMatrix::bt470bg}) {
    format.colour.matrix = matrix;
    ASSERT_EQ(write_all(writer, format, frames), WriteResult::written);
    const auto written = read_file(folder_.file("out.raw"));
    EXPECT_TRUE(are_equal(std::span(written).last(frames.size()), frames)) << name(matrix);
  }
}

/// libav has no format with depth.
TEST_F(VideoWriterTest, DepthIsWrittenWithoutPaddingAndNeverConverted) {
  const StreamFormat format = format_of(PixelFormat::rgba_grayf32le, 50, 38);
  const auto frame = frames_of(PixelFormat::rgba_grayf32le, 50, 38, 1);
  const FrameLayout padded = padded_layout(format.layout, 256);
  VideoWriter writer(folder_.file("out.raw"), log_);
  ASSERT_EQ(writer.write(format, padded, padded_frame(format.layout, frame, padded)), WriteResult::written);
  EXPECT_EQ(read_file(folder_.file("out.raw")), frame);
  for (const StreamFormat& other :
       {format_of(PixelFormat::rgba_grayf32le, 80, 60), format_of(PixelFormat::rgba, 50, 38)}) {
    VideoWriter later(folder_.file("later.raw"), log_);
    ASSERT_EQ(write_all(later, format, frame), WriteResult::written);
    const auto bytes = frames_of(other.layout.format, other.layout.width, other.layout.height, 1);
    EXPECT_EQ(write_all(later, other, bytes), WriteResult::failed);
    EXPECT_NE(later.message().find("could not be converted"), std::string::npos) << later.message();
    EXPECT_EQ(read_file(folder_.file("later.raw")), frame);
  }
}

TEST_F(VideoWriterTest, AFrameThatIsNotWhatItsLayoutSaysIsRefused) {
  const StreamFormat format = format_of(PixelFormat::rgba, 50, 38);
  VideoWriter writer(folder_.file("out.raw"), log_);
  const std::vector<std::byte> short_payload(format.layout.size_bytes - 1);
  EXPECT_EQ(writer.write(format, format.layout, short_payload), WriteResult::failed);
  EXPECT_NE(writer.message(), "");
}

TEST_F(VideoWriterTest, AFullDiskLeavesWholeFramesAndAnError) {
  const StreamFormat format = format_of(PixelFormat::yuv420p, 64, 48);
  const auto frames = frames_of(PixelFormat::yuv420p, 64, 48, 5);
  const std::string file = folder_.file("out.y4m");
  rlimit before{};
  ::getrlimit(RLIMIT_FSIZE, &before);
  const auto signal_before = std::signal(SIGXFSZ, SIG_IGN);
  rlimit limit = before;
  limit.rlim_cur = 3 * format.layout.size_bytes + 1000;  // in the middle of the fourth frame
  VideoWriter writer(file, log_);
  ::setrlimit(RLIMIT_FSIZE, &limit);
  const WriteResult result = write_all(writer, format, frames);
  const WriteResult again = write_all(writer, format, frames);
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, signal_before);
  EXPECT_EQ(result, WriteResult::failed);
  EXPECT_EQ(again, WriteResult::failed);
  EXPECT_EQ(writer.frames_written(), 3U);
  EXPECT_EQ(writer.message(), "cannot write '" + file + "': File too large; it got 3 whole frames");
  const auto read = decoded_by_ffmpeg(folder_, file, "yuv420p");
  ASSERT_EQ(read.size(), 3 * format.layout.size_bytes);
  EXPECT_TRUE(std::equal(read.begin(), read.end(), frames.begin()));
}

TEST_F(VideoWriterTest, ADeviceWithoutRoomIsReported) {
  const StreamFormat format = format_of(PixelFormat::gray8, 16, 16);
  VideoWriter writer("/dev/full", log_);
  const std::vector<std::byte> frame(256);
  EXPECT_EQ(writer.write(format, format.layout, frame), WriteResult::failed);
  EXPECT_EQ(writer.message(), "cannot write '/dev/full': No space left on device; it got 0 whole frames");
}

TEST_F(VideoWriterTest, WhatCannotBeOpenedIsAnError) {
  VideoWriter writer(folder_.file("none/out.y4m"), log_);
  const StreamFormat format = format_of(PixelFormat::gray8, 16, 16);
  EXPECT_EQ(write_all(writer, format, std::vector<std::byte>(256)), WriteResult::failed);
  EXPECT_NE(writer.message().find("No such file or directory"), std::string::npos) << writer.message();
  EXPECT_NE(writer.message().find("none/out.y4m"), std::string::npos) << writer.message();
}

TEST_F(VideoWriterTest, AFileKeepsWhatItHoldsUntilTheFirstFrame) {
  const std::string file = folder_.file("keep.raw");
  std::ofstream(file) << std::string(1000, 'x');
  VideoWriter writer(file, log_);
  EXPECT_EQ(std::filesystem::file_size(file), 1000U);
  const StreamFormat format = format_of(PixelFormat::gray8, 16, 16);
  EXPECT_EQ(write_all(writer, format, std::vector<std::byte>(256)), WriteResult::written);
  EXPECT_EQ(std::filesystem::file_size(file), 256U);
}

/// A pipe with both ends held by the test.
struct Pipe {
  Pipe() {
    std::array<int, 2> ends{};
    EXPECT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
    reader.reset(ends.at(0));
    writer.reset(ends.at(1));
  }
  FileDescriptor reader;
  FileDescriptor writer;
};

TEST_F(VideoWriterTest, APipeGetsEverythingHoweverSlowlyItIsRead) {
  const StreamFormat format = format_of(PixelFormat::rgba, 640, 480);
  std::vector<std::byte> frame(format.layout.size_bytes);
  Pipe pipe;
  std::string got;
  std::thread reader([&] {
    std::array<char, 7777> buffer{};
    for (ssize_t count = 1; count > 0;) {
      count = ::read(pipe.reader.get(), buffer.data(), buffer.size());
      got.append(buffer.data(), static_cast<std::size_t>(std::max<ssize_t>(0, count)));
    }
  });
  {
    VideoWriter writer("-", log_, {}, pipe.writer.get());
    // O_NONBLOCK would affect other users of this open file description.
    EXPECT_EQ(::fcntl(pipe.writer.get(), F_GETFL) & O_NONBLOCK, 0);
    pipe.writer.reset();
    for (int i = 0; i < 5; ++i) {
      EXPECT_EQ(writer.write(format, format.layout, frame), WriteResult::written);
    }
  }
  reader.join();
  const std::size_t y4m_frame_bytes = 6 + packed_layout(PixelFormat::yuv444p, 640, 480).size_bytes;
  const std::size_t header_bytes = got.find('\n') + 1;
  EXPECT_EQ(got.substr(0, header_bytes), "YUV4MPEG2 W640 H480 F25:1 Ip A1:1 C444 XCOLORRANGE=LIMITED\n");
  EXPECT_EQ(got.size(), header_bytes + 5 * y4m_frame_bytes);
}

TEST_F(VideoWriterTest, AReaderThatGoesIsToldApart) {
  const StreamFormat format = format_of(PixelFormat::gray8, 640, 480);
  const std::vector<std::byte> frame(format.layout.size_bytes);
  Pipe pipe;
  VideoWriter writer("-", log_, {}, pipe.writer.get());
  pipe.reader.reset();
  EXPECT_EQ(writer.write(format, format.layout, frame), WriteResult::reader_gone);  // the writer must not raise SIGPIPE
  EXPECT_NE(writer.message().find("the reader of standard output has gone"), std::string::npos);
}

TEST_F(VideoWriterTest, StoppingEndsTheWaitForAReader) {
  const StreamFormat format = format_of(PixelFormat::gray8, 1920, 1080);
  const std::vector<std::byte> frame(format.layout.size_bytes);
  Pipe pipe;
  int asked = 0;
  VideoWriter writer(
      "-", log_, [&] { return ++asked > 2; }, pipe.writer.get());
  EXPECT_EQ(writer.write(format, format.layout, frame), WriteResult::stopped);
}

TEST_F(VideoWriterTest, ScreenshotsAreWholeAndExact) {
  const auto pixels = frames_of(PixelFormat::rgba, 101, 77, 1);
  const std::string file = folder_.file("shot.png");
  write_file(file, "what was there before");
  EXPECT_EQ(write_png(file, 101, 77, pixels), std::nullopt);
  EXPECT_EQ(decoded_by_ffmpeg(folder_, file, "rgba"), pixels);
  std::size_t files = 0;
  for ([[maybe_unused]] const auto& entry :
       std::filesystem::directory_iterator(std::filesystem::path(file).parent_path())) {
    files += entry.path().string().find("shot.png") != std::string::npos ? 1U : 0U;
  }
  EXPECT_EQ(files, 1U);  // no temporary file is left
}

TEST_F(VideoWriterTest, ScreenshotsThatFailSayWhy) {
  const std::vector<std::byte> pixels(16);
  const auto no_folder = write_png(folder_.file("none/shot.png"), 2, 2, pixels);
  ASSERT_TRUE(no_folder);
  EXPECT_NE(no_folder->find("No such file or directory"), std::string::npos) << *no_folder;
  EXPECT_TRUE(write_png(folder_.file("shot.png"), 3, 2, pixels));  // too few bytes for the size
  EXPECT_FALSE(std::filesystem::exists(folder_.file("shot.png")));
}

}  // namespace
}  // namespace framewire
