// Options passed to libav, the start position of recordings, and pipes.
#include <gtest/gtest.h>

#include <sys/stat.h>

#include <atomic>
#include <fstream>
#include <thread>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "media/av_input.hpp"
#include "tests/base/logs.hpp"
#include "tests/media/media_files.hpp"

namespace framewire {
namespace {

using namespace test;

class AvInputOptionsTest : public ::testing::Test {
 protected:
  using Pictures = std::vector<std::vector<std::byte>>;

  static Pictures pictures_of(AvInput& input) {
    Pictures pictures;
    while (input.read() == AvRead::frame) {
      pictures.emplace_back(input.format().layout.size_bytes);
      input.copy_to(pictures.back());
    }
    return pictures;
  }
  Pictures pictures_of(AvInputOptions options) {
    AvInput input(std::move(options), log_);
    return pictures_of(input);
  }

  std::string refusal(AvInputOptions options) {
    try {
      const AvInput input(std::move(options), log_);
    } catch (const Error& error) {
      return error.what();
    }
    return "(it was opened)";
  }

  static void expect_in(const std::string& part, const std::string& whole) {
    EXPECT_NE(whole.find(part), std::string::npos) << whole;
  }

  std::string make(const std::string& name, const std::string& encode) {
    std::string file = folder_.file(name);
    ffmpeg("-f lavfi -i testsrc2=size=128x96:rate=25 -frames:v 30 " + encode + " -pix_fmt yuv420p " + file);
    return file;
  }

  TemporaryFolder folder_;
  test::ShownLog log_;
};

TEST_F(AvInputOptionsTest, GoToTheFormatAndTheDecoder) {
  const std::string file = make("film.mkv", "-c:v libx264 -g 5 -sc_threshold 0 -bf 0");
  EXPECT_EQ(pictures_of({.name = file}).size(), 30U);
  EXPECT_EQ(pictures_of({.name = file, .options = {{"skip_frame", "nokey"}, {"probesize", "100000"}}}).size(), 6U);
}

TEST_F(AvInputOptionsTest, ThatNobodyKnowsAreNamed) {
  const std::string file = make("film.mkv", "-c:v ffv1");
  const std::string message = refusal({.name = file, .options = {{"rtsp_transport", "tcp"}, {"threads", "1"}}});
  expect_in("--input-option gives 'rtsp_transport'", message);
  EXPECT_EQ(message.find("'threads'"), std::string::npos) << message;
  const std::string two = refusal({.name = file, .options = {{"no_a", "1"}, {"no_b", "2"}}});
  expect_in("'no_a' and 'no_b'", two);
}

TEST_F(AvInputOptionsTest, AFormatCanBeSaid) {
  const std::string file = folder_.file("no_suffix");
  ffmpeg("-f lavfi -i testsrc2=size=64x48 -frames:v 3 -f rawvideo -pix_fmt rgb24 " + file);
  const Pictures pictures =
      pictures_of({.name = file, .size = {64, 48}, .pixel_format = PixelFormat::rgb24, .format = "rawvideo"});
  ASSERT_EQ(pictures.size(), 3U);
  EXPECT_EQ(pictures_of({.name = "testsrc2=size=64x48:rate=10:duration=1", .format = "lavfi"}).size(), 10U);
  expect_in("--input-format is 'nosuch'", refusal({.name = file, .format = "nosuch"}));
}

TEST_F(AvInputOptionsTest, StartIsThePictureOfThatTime) {
  for (const auto& [name, encode] :
       {std::pair{"film.mp4", "-c:v libx264 -g 10 -bf 3"}, std::pair{"film.mkv", "-c:v libx264 -g 10 -bf 3"},
        std::pair{"film.ts", "-c:v libx264 -g 10"}, std::pair{"film.y4m", ""},
        std::pair{"film.h264", "-c:v libx264 -g 10 -bf 0"}}) {
    const std::string file = make(name, encode);
    const Pictures all = pictures_of({.name = file});
    ASSERT_EQ(all.size(), 30U) << name;
    AvInput input({.name = file, .start_ns = 520 * ns_per_ms}, log_);
    for (int round = 0; round < 2; ++round) {
      const Pictures rest = pictures_of(input);
      EXPECT_TRUE(rest == Pictures(all.begin() + 13, all.end())) << name << " " << rest.size();
      ASSERT_TRUE(input.rewind()) << name << ": " << input.fault();
    }
    ASSERT_EQ(input.read(), AvRead::frame);
    EXPECT_EQ(input.pts_ns(), 0) << name;
  }
}

/// In these a seek leads behind the wanted picture, or behind the only key picture. What is decoded there in vain is no
/// damage of the film.
TEST_F(AvInputOptionsTest, StartIsThePictureOfThatTimeWhereverASeekLeads) {
  for (const auto& [name, encode] :
       {std::pair{"one_key.ts", "-c:v libx264 -g 1000 -bf 3"}, std::pair{"one_key.avi", "-c:v mpeg4 -g 1000"},
        std::pair{"one_key.m2ts", "-c:v libx264 -g 1000"}, std::pair{"one_key.mkv", "-c:v libx264 -g 1000"},
        std::pair{"open_gop.ts", "-c:v libx264 -g 8 -x264-params open-gop=1"},
        std::pair{"mpeg2.ts", "-c:v mpeg2video -g 1000"}, std::pair{"b_frames.ts", "-c:v mpeg2video -g 12 -bf 2"}}) {
    const std::string file = make(name, encode);
    const Pictures all = pictures_of({.name = file});
    ASSERT_EQ(all.size(), 30U) << name;
    for (const std::size_t first : {1U, 3U, 14U, 29U}) {
      SCOPED_TRACE(std::string(name) + " from picture " + std::to_string(first));
      AvInput input({.name = file, .start_ns = static_cast<std::int64_t>(first) * 40 * ns_per_ms}, log_);
      for (int round = 0; round < 2; ++round) {
        const Pictures rest = pictures_of(input);
        EXPECT_TRUE(rest == Pictures(all.begin() + static_cast<std::ptrdiff_t>(first), all.end())) << rest.size();
        if (std::string_view(name) != "open_gop.ts") {  // pictures that refer to what precedes the key picture
          EXPECT_EQ(input.error_count(), 0U);
        }
        ASSERT_TRUE(input.rewind()) << input.fault();
      }
    }
    expect_in("ends before 2 s, where --start is", refusal({.name = file, .start_ns = 2 * ns_per_s}));
  }
}

TEST_F(AvInputOptionsTest, StartBehindTheEndIsSaid) {
  expect_in("ends before 60 s, where --start is",
            refusal({.name = make("short.mkv", "-c:v ffv1"), .start_ns = 60 * ns_per_s}));
}

class PipeTest : public AvInputOptionsTest {
 protected:
  PipeTest() { ::mkfifo(pipe_.c_str(), 0600); }
  std::string pipe_ = folder_.file("pipe");
};

TEST_F(PipeTest, IsReadOnceSomebodyWritesIt) {
  const std::string file = make("film.mkv", "-c:v ffv1");
  const Pictures all = pictures_of({.name = file});
  std::thread writer([&] {
    const std::vector<std::byte> bytes = read_file(file);
    write_file(pipe_, bytes);  // waits for the reader
  });
  const Pictures got = pictures_of({.name = pipe_});
  writer.join();
  EXPECT_TRUE(got == all);
}

TEST_F(PipeTest, WithoutAWriterCanBeCancelled) {
  std::atomic<int> questions = 0;
  const std::string message = refusal({.name = pipe_, .is_cancelled = [&] { return ++questions > 3; }});
  expect_in("stopped", message);
}

TEST_F(PipeTest, WhoseWriterPausesCanBeCancelled) {
  const std::string file = make("film.mkv", "-c:v ffv1");
  std::atomic<bool> has_written = false;
  std::atomic<bool> is_over = false;
  std::thread writer([&] {
    const std::vector<std::byte> bytes = read_file(file);
    std::ofstream pipe(pipe_, std::ios::binary);
    pipe.write(reinterpret_cast<const char*>(bytes.data()), 100);
    pipe.flush();
    has_written = true;
    is_over.wait(false);
  });
  int questions_since = 0;
  const std::string message =
      refusal({.name = pipe_, .is_cancelled = [&] { return has_written && ++questions_since > 3; }});
  is_over = true;
  is_over.notify_all();
  writer.join();
  expect_in("stopped", message);
}

}  // namespace
}  // namespace framewire
