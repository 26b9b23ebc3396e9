#include "sender/sources/media/stdin_source.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <thread>

#include "tests/sender/media_viewer.hpp"

namespace framewire {
namespace {

using namespace test;

/// A pipe into which a thread writes `text`, `chunk_bytes` at a time.
class Writer {
 public:
  explicit Writer(std::string text, std::size_t chunk_bytes = 1 << 16) {
    std::array<int, 2> ends{};
    EXPECT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
    reader_.reset(ends.at(0));
    thread_ = std::thread([text = std::move(text), chunk_bytes, end = FileDescriptor(ends.at(1))] {
      for (std::size_t at = 0; at < text.size();) {
        const ssize_t count = ::write(end.get(), text.data() + at, std::min(chunk_bytes, text.size() - at));
        if (count < 0) {
          return;
        }
        at += static_cast<std::size_t>(count);
      }
    });
  }
  ~Writer() {
    // Drains unread input, so that the writer can end.
    std::array<char, 4096> rest{};
    while (::read(reader_.get(), rest.data(), rest.size()) > 0) {
    }
    thread_.join();
  }
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;
  [[nodiscard]] int fd() const noexcept { return reader_.get(); }

 private:
  FileDescriptor reader_;
  std::thread thread_;
};

SourceOptions y4m_options() {
  SourceOptions options;
  options.name = "-";
  options.realtime = false;
  return options;
}

SourceOptions raw_options(std::uint32_t width, std::uint32_t height, PixelFormat format) {
  SourceOptions options = y4m_options();
  options.width = width;
  options.height = height;
  options.pixel_format = format;
  return options;
}

Shown show_text(const std::string& text, const SourceOptions& options = y4m_options(),
                StreamOptions stream_options = {}, std::size_t chunk_bytes = 1 << 16) {
  const Writer writer(text, chunk_bytes);
  StdinSource source(options, writer.fd());
  return show(source, std::move(stream_options));
}

std::string filled(std::size_t size, char first) {
  std::string text(size, ' ');
  for (std::size_t i = 0; i < size; ++i) {
    text.at(i) = static_cast<char>(first + static_cast<char>(i % 61));
  }
  return text;
}

std::string text_of(const SeenFrame& frame) {
  return {reinterpret_cast<const char*>(frame.payload.data()), frame.payload.size()};
}

constexpr std::size_t small_bytes = 5 * 3 + 2 * 3 * 2;  // 5x3, 4:2:0

TEST(StdinY4m, FramesArriveAsTheyWereWritten) {
  const std::string a = filled(small_bytes, 'a');
  const std::string b = filled(small_bytes, '\n');  // the payload looks like line ends
  const std::string c = "FRAME\nFRAME\nFRAME\nFRAME\nFRA";
  for (const std::size_t chunk_bytes : {std::size_t{1}, std::size_t{7}, std::size_t{100'000}}) {
    std::string text = "YUV4MPEG2 W5 H3 F25:1 C420mpeg2 XCOLORRANGE=FULL\n";
    text.append("FRAME\n").append(a).append("FRAME Ipp\n").append(b).append("FRAME\n").append(c);
    const Shown shown = show_text(text, y4m_options(), {}, chunk_bytes);
    EXPECT_EQ(shown.error, "");
    ASSERT_EQ(shown.frames.size(), 3U);
    EXPECT_EQ(text_of(shown.frames.at(0)), a);
    EXPECT_EQ(text_of(shown.frames.at(1)), b);
    EXPECT_EQ(text_of(shown.frames.at(2)), c);
    EXPECT_EQ(shown.frames.at(2).header.pts_ns, 80 * ns_per_ms);
    EXPECT_EQ(shown.frames.at(0).header.layout, packed_layout(PixelFormat::yuv420p, 5, 3));
    EXPECT_EQ(shown.frames.at(0).header.colour.range, ColourRange::full);
  }
}

TEST(StdinRaw, FramesLeaveInSlices) {
  const std::string a = filled(100 * 400, 'a');
  const std::string b = filled(100 * 400, 'b');
  for (const bool realtime : {false, true}) {
    SourceOptions options = raw_options(100, 100, PixelFormat::rgba);
    options.slices = 8;
    options.frames_per_s = 100;
    options.realtime = realtime;
    const Shown shown = show_text(a + b, options, {}, 1234);
    EXPECT_EQ(shown.error, "");
    EXPECT_EQ(shown.slices, 16U);
    ASSERT_EQ(shown.frames.size(), 2U);
    EXPECT_EQ(text_of(shown.frames.at(0)), a);
    EXPECT_EQ(text_of(shown.frames.at(1)), b);
  }
}

TEST(StdinRaw, AFrameThatEndsTooEarlyIsAborted) {
  SourceOptions options = raw_options(100, 100, PixelFormat::rgba);
  options.slices = 8;
  const Shown shown = show_text(filled(40'000, 'a') + filled(25'000, 'b'), options);
  EXPECT_EQ(shown.error, "standard input ended in the middle of frame 2 (25000 of 40000 bytes); 1 frame was sent");
  EXPECT_EQ(shown.frames.size(), 1U);
  EXPECT_EQ(shown.frames_aborted, 1U);
}

TEST(StdinY4m, BrokenInputsSaySoAfterTheGoodFrames) {
  const std::string header = "YUV4MPEG2 W5 H3 F25:1\n";
  const std::string frame = "FRAME\n" + filled(small_bytes, 'a');
  struct Broken {
    std::string text;
    std::size_t good_frames;
    std::string message;
  };
  const std::array cases = {
      Broken{"", 0, "nothing came on standard input; it takes y4m, or raw frames with --size WxH --pix-fmt NAME"},
      Broken{"YUV4", 0,
             "standard input begins with 'YUV4', so it is not y4m (YUV4MPEG2); for raw frames say --size WxH and "
             "--pix-fmt NAME"},
      Broken{"YUV4MPEG2 W5 H3", 0, "standard input ended in the middle of the y4m header"},
      Broken{"YUV4MPEG2 " + std::string(5000, 'X'), 0, "the y4m header on standard input has no end within 1024 bytes"},
      Broken{"YUV4MPEG2 W5 H99999\n" + frame, 0,
             "the y4m header says a height of '99999'; it must be 1 to 32768 pixels"},
      Broken{header, 0, "standard input ended after the y4m header; there was no frame"},
      Broken{header + frame + frame.substr(0, 10), 1,
             "standard input ended in the middle of frame 2 (4 of 27 bytes); 1 frame was sent"},
      Broken{header + frame + "FRAME\n", 1,
             "standard input ended in the middle of frame 2 (0 of 27 bytes); 1 frame was sent"},
      Broken{header + frame + frame + "FRA", 2, "standard input ended in the line before frame 3; 2 frames were sent"},
      Broken{header + frame + "JUNK\n" + frame, 1,
             "standard input has 'JUNK' where y4m has FRAME, before frame 2; 1 frame was sent"},
      Broken{header + frame + std::string(5000, 'J'), 1,
             "standard input has 'JJJJJJJJJJJJJJJJJJJJ…' where y4m has FRAME, before frame 2; 1 frame was sent"},
  };
  for (const Broken& broken : cases) {
    const Shown shown = show_text(broken.text);
    EXPECT_EQ(shown.error, broken.message);
    EXPECT_EQ(shown.frames.size(), broken.good_frames) << broken.message;
  }
}

TEST(StdinY4m, OptionsThatContradictTheHeaderAreRefused) {
  const std::string text = "YUV4MPEG2 W5 H3 F25:1\nFRAME\n" + filled(small_bytes, 'a');
  EXPECT_NE(show_text(text, raw_options(5, 4, PixelFormat::yuv420p)).error.find("--size 5x4 was asked"),
            std::string::npos);
  EXPECT_NE(show_text(text, raw_options(5, 3, PixelFormat::rgba)).error.find("--pix-fmt rgba was asked"),
            std::string::npos);
  EXPECT_EQ(show_text(text, raw_options(5, 3, PixelFormat::yuv420p)).frames.size(), 1U);
}

TEST(StdinY4m, TheLimitOfFramesIsKeptAndReached) {
  std::string text = "YUV4MPEG2 W5 H3 F25:1\n";
  for (int i = 0; i < 10; ++i) {
    text += "FRAME\n" + filled(small_bytes, 'a');
  }
  StreamOptions limited;
  limited.max_frames = 4;
  const Shown shown = show_text(text, y4m_options(), limited);
  EXPECT_EQ(shown.frames.size(), 4U);
  EXPECT_EQ(shown.error, "");
}

TEST(StdinRaw, FramesArriveAsTheyWereWritten) {
  SourceOptions options = raw_options(4, 2, PixelFormat::rgb24);
  options.frames_per_s = 10;
  const std::string text = filled(72, '0');
  const Shown shown = show_text(text, options);
  EXPECT_EQ(shown.error, "");
  ASSERT_EQ(shown.frames.size(), 3U);
  EXPECT_EQ(text_of(shown.frames.at(0)) + text_of(shown.frames.at(1)) + text_of(shown.frames.at(2)), text);
  EXPECT_EQ(shown.frames.at(2).header.pts_ns, 200 * ns_per_ms);
  EXPECT_EQ(shown.frames.at(0).header.colour.matrix, ColourMatrix::rgb);
}

TEST(StdinRaw, ExactAtEveryEdge) {
  constexpr std::size_t frame_bytes = 4096;
  for (const std::size_t size :
       {frame_bytes - 1, frame_bytes, frame_bytes + 1, 16 * frame_bytes - 1, 16 * frame_bytes, 16 * frame_bytes + 1}) {
    const Shown shown = show_text(filled(size, 0), raw_options(64, 64, PixelFormat::gray8));
    EXPECT_EQ(shown.frames.size(), size / frame_bytes);
    EXPECT_EQ(shown.error.empty(), size % frame_bytes == 0) << shown.error;
  }
  EXPECT_EQ(show_text("a", raw_options(1, 1, PixelFormat::gray8)).frames.size(), 1U);  // shorter than y4m's magic
  EXPECT_EQ(show_text("", raw_options(1, 1, PixelFormat::gray8)).error,
            "nothing came on standard input; it takes y4m, or raw frames with --size WxH --pix-fmt NAME");
}

TEST(StdinRaw, NeedsSizeAndFormat) {
  SourceOptions options = raw_options(4, 2, PixelFormat::rgba);
  options.pixel_format.reset();
  EXPECT_NE(show_text(filled(100, 'a'), options).error.find("--pix-fmt NAME"), std::string::npos);
}

TEST(Stdin, WhatTheOptionsShowIsRefusedAtOnce) {
  SourceOptions loops = y4m_options();
  loops.loop = true;
  const Writer writer("");
  EXPECT_THROW(StdinSource(loops, writer.fd()), Error);
  EXPECT_THROW(StdinSource(raw_options(4, 2, PixelFormat::bytes), writer.fd()), Error);
  EXPECT_THROW(StdinSource(raw_options(40000, 2, PixelFormat::rgba), writer.fd()), Error);
  constexpr int closed_fd = 987;
  EXPECT_THROW(StdinSource(y4m_options(), closed_fd), Error);
}

TEST(Stdin, StopEndsAReadThatWaits) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
  const FileDescriptor reader(ends.at(0));
  const FileDescriptor writer(ends.at(1));
  const std::string begun = "YUV4MPEG2 W5 H3 F25:1\nFRAME\nabc";  // an unfinished frame; the writer is alive
  ASSERT_EQ(::write(writer.get(), begun.data(), begun.size()), static_cast<ssize_t>(begun.size()));
  StreamOptions options;
  options.delivery = Delivery::every;
  Stream stream(options);
  TestViewer viewer(stream, false);
  std::thread stopper([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    stream.stop();
  });
  StdinSource source(y4m_options(), reader.get());
  source.run(stream);  // the test's time limit is the assertion
  stopper.join();
  stream.finish();
  viewer.wait();
  EXPECT_TRUE(viewer.frames().empty());
}

}  // namespace
}  // namespace framewire
