#include "media/av_input.hpp"
#include "tests/base/logs.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "tests/media/media_files.hpp"

namespace framewire {
namespace {

using namespace test;

/// All frames of an input, and its log.
struct Played {
  StreamFormat format;
  std::vector<std::byte> bytes;
  std::vector<std::int64_t> times_ns;
  std::string fault;
  std::uint64_t error_count = 0;
};

class AvInputTest : public ::testing::Test {
 protected:
  Played play(AvInputOptions options) {
    AvInput input(std::move(options), log_);
    return play(input);
  }

  static Played play(AvInput& input) {
    Played played;
    while (input.read() == AvRead::frame) {
      played.format = input.format();
      const std::size_t size = played.bytes.size();
      played.bytes.resize(size + input.format().layout.size_bytes);
      input.copy_to(std::span(played.bytes).subspan(size));
      played.times_ns.push_back(input.pts_ns());
    }
    played.fault = input.fault();
    played.error_count = input.error_count();
    return played;
  }

  /// Plays it several times. `count`: of its pictures, if the test knows.
  void expect_same_rounds(AvInputOptions options, std::optional<std::size_t> count) {
    AvInput input(std::move(options), log_);
    const Played first = play(input);
    EXPECT_EQ(first.times_ns.size(), count.value_or(first.times_ns.size()));
    EXPECT_EQ(first.fault, "");
    EXPECT_EQ(first.error_count, 0U);
    for (int round = 2; round <= 4; ++round) {
      ASSERT_TRUE(input.rewind()) << input.fault();
      const Played again = play(input);
      EXPECT_EQ(again.times_ns, first.times_ns) << "round " << round;
      EXPECT_TRUE(again.bytes == first.bytes) << "round " << round;
      EXPECT_EQ(again.fault, "");
      EXPECT_EQ(again.error_count, 0U);
    }
  }

  /// Returns the error message of opening `name`.
  std::string refusal(AvInputOptions options) {
    try {
      const AvInput input(std::move(options), log_);
    } catch (const Error& error) {
      return error.what();
    }
    return "(it was opened)";
  }

  TemporaryFolder folder_;
  test::KeptLog log_{true};
};

struct Coded {
  const char* name;    // of the file
  const char* encode;  // ffmpeg's output options
  const char* width;
  const char* height;
  const char* pixel_format;  // the coded format; frames are compared in it
  PixelFormat carried_as;
  bool is_lossy = false;
};

class DecodesTest : public AvInputTest, public ::testing::WithParamInterface<Coded> {};

TEST_P(DecodesTest, GivesTheVeryPicturesThatFfmpegGives) {
  const Coded& coded = GetParam();
  const std::string file = folder_.file(coded.name);
  const std::string format = std::string("-pix_fmt ") + coded.pixel_format + " ";
  const std::string raw = folder_.file("written.raw");
  const std::string count = "-frames:v 8 ";
  ffmpeg(test_pictures(coded.width, coded.height, 25, 8) + coded.encode + " " + format + file + " " + count +
         "-f rawvideo " + format + raw);
  const std::vector<std::byte> wanted =
      coded.is_lossy ? decoded_by_ffmpeg(folder_, file, coded.pixel_format) : read_file(raw);
  const Played played = play({.name = file});
  EXPECT_EQ(played.fault, "");
  EXPECT_EQ(played.error_count, 0U);
  EXPECT_EQ(played.times_ns.size(), 8U);
  EXPECT_EQ(played.format.layout.width, static_cast<std::uint32_t>(std::stoi(coded.width)));
  EXPECT_EQ(played.format.layout.height, static_cast<std::uint32_t>(std::stoi(coded.height)));
  EXPECT_EQ(info(played.format.layout.format).name, info(coded.carried_as).name);
  EXPECT_TRUE(played.bytes == wanted);
  EXPECT_EQ(log_.text(), "");  // nothing was converted
}

INSTANTIATE_TEST_SUITE_P(
    Formats, DecodesTest,
    ::testing::Values(
        Coded{"h264.mp4", "-c:v libx264 -preset ultrafast", "320", "180", "yuv420p", PixelFormat::yuv420p, true},
        Coded{"b_frames.mp4", "-c:v libx264 -preset fast -bf 3", "322", "182", "yuv420p", PixelFormat::yuv420p, true},
        Coded{"h264_444.mkv", "-c:v libx264 -preset ultrafast", "101", "77", "yuv444p", PixelFormat::yuv444p, true},
        Coded{"h264_10.mkv", "-c:v libx264 -preset ultrafast", "320", "180", "yuv420p10le", PixelFormat::yuv420p10le,
              true},
        Coded{"mjpeg.avi", "-c:v mjpeg", "127", "95", "yuvj422p", PixelFormat::yuv422p, true},
        Coded{"ffv1_420.mkv", "-c:v ffv1", "101", "77", "yuv420p", PixelFormat::yuv420p},
        Coded{"ffv1_422.mkv", "-c:v ffv1", "101", "77", "yuv422p", PixelFormat::yuv422p},
        Coded{"ffv1_422p10.mkv", "-c:v ffv1", "101", "77", "yuv422p10le", PixelFormat::yuv422p10le},
        Coded{"ffv1_bgr0.mkv", "-c:v ffv1", "101", "77", "bgr0", PixelFormat::bgr0, true},
        Coded{"ffv1_bgra.mkv", "-c:v ffv1", "101", "77", "bgra", PixelFormat::bgra},
        Coded{"ffv1_gray.mkv", "-c:v ffv1", "101", "77", "gray", PixelFormat::gray8},
        Coded{"raw_uyvy.nut", "-c:v rawvideo", "102", "77", "uyvy422", PixelFormat::uyvy422},
        Coded{"raw_yuyv.nut", "-c:v rawvideo", "102", "77", "yuyv422", PixelFormat::yuyv422},
        Coded{"raw_nv12.nut", "-c:v rawvideo", "101", "77", "nv12", PixelFormat::nv12},
        Coded{"raw_rgb24.nut", "-c:v rawvideo", "101", "77", "rgb24", PixelFormat::rgb24},
        Coded{"raw_bgr24.nut", "-c:v rawvideo", "101", "77", "bgr24", PixelFormat::bgr24},
        Coded{"raw_rgba.nut", "-c:v rawvideo", "101", "77", "rgba", PixelFormat::rgba},
        Coded{"raw_rgb0.nut", "-c:v rawvideo", "101", "77", "rgb0", PixelFormat::rgb0},
        Coded{"y4m.y4m", "", "101", "77", "yuv420p", PixelFormat::yuv420p}),
    [](const auto& test) {
      std::string name = test.param.name;
      std::ranges::replace(name, '.', '_');
      return name;
    });

TEST_F(AvInputTest, PassesTheMeaningOfTheNumbersOn) {
  const std::string file = folder_.file("hdr.mkv");
  ffmpeg(
      "-f lavfi -i testsrc2=size=320x180:rate=30000/1001 -frames:v 3 -vf setsar=4/3 -c:v libx264 -preset ultrafast "
      "-pix_fmt yuv420p10le "
      "-colorspace bt2020nc -color_trc smpte2084 -color_primaries bt2020 -color_range tv " +
      file);
  const StreamFormat format = play({.name = file}).format;
  EXPECT_EQ(format.colour,
            (Colour{ColourMatrix::bt2020nc, ColourRange::limited, ColourTransfer::pq, ColourPrimaries::bt2020}));
  EXPECT_EQ(format.sample_aspect_ratio, (Rational{4, 3}));
  EXPECT_EQ(format.frame_rate, (Rational{30000, 1001}));
}

TEST_F(AvInputTest, SaysWhereTheChromaLies) {
  // yuv4mpegpipe supports three chroma locations. Converted frames get libswscale's own.
  for (const std::string name : {"left", "center", "topleft"}) {
    const std::string file = folder_.file(name + ".y4m");
    ffmpeg("-f lavfi -i testsrc2=size=64x48 -frames:v 1 -pix_fmt yuv420p -chroma_sample_location " + name + " " + file);
    const auto location = chroma_location_from_name(name);
    EXPECT_EQ(play({.name = file}).format.chroma_location, location) << name;
    EXPECT_EQ(play({.name = file, .pixel_format = PixelFormat::nv12}).format.chroma_location, location) << name;
    EXPECT_EQ(play({.name = file, .pixel_format = PixelFormat::yuv444p}).format.chroma_location,
              ChromaLocation::unspecified);
  }
  const std::string file = folder_.file("rgb.nut");
  ffmpeg("-f lavfi -i testsrc2=size=64x48 -frames:v 1 -c:v rawvideo -pix_fmt rgba " + file);
  EXPECT_EQ(play({.name = file}).format.chroma_location, ChromaLocation::unspecified);
  EXPECT_EQ(play({.name = file, .pixel_format = PixelFormat::yuv420p}).format.chroma_location, ChromaLocation::center);
}

TEST_F(AvInputTest, SaysTheOrderOfFields) {
  struct Fields {
    std::string name, options;
    FieldOrder order;
  };
  for (const Fields& coded : {Fields{"top.mpg", "-c:v mpeg2video -flags +ildct+ilme -top 1", FieldOrder::tt},
                              Fields{"bottom.mpg", "-c:v mpeg2video -flags +ildct+ilme -top 0", FieldOrder::bb},
                              Fields{"whole.mpg", "-c:v mpeg2video", FieldOrder::progressive}}) {
    const std::string file = folder_.file(coded.name);
    ffmpeg("-f lavfi -i testsrc2=size=352x288:rate=25 -frames:v 4 " + coded.options + " " + file);
    EXPECT_EQ(play({.name = file}).format.field_order, coded.order) << coded.name;
  }
}

TEST_F(AvInputTest, SaysOfAlphaWhatTheFormatDefines) {
  const std::string file = folder_.file("alpha.png");
  ffmpeg("-f lavfi -i testsrc2=size=64x48 -frames:v 1 -pix_fmt rgba " + file);
  EXPECT_EQ(play({.name = file}).format.alpha_mode, AlphaMode::straight);
  EXPECT_EQ(play({.name = file, .pixel_format = PixelFormat::rgb24}).format.alpha_mode, AlphaMode::unspecified);
}

TEST_F(AvInputTest, FullRangeTwinsAreFullRange) {
  const std::string file = folder_.file("full.avi");
  ffmpeg("-f lavfi -i testsrc2=size=128x96 -frames:v 2 -c:v mjpeg -pix_fmt yuvj420p " + file);
  const StreamFormat format = play({.name = file}).format;
  EXPECT_EQ(format.layout.format, PixelFormat::yuv420p);
  EXPECT_EQ(format.colour.range, ColourRange::full);
}

TEST_F(AvInputTest, RgbIsRgbWhateverTheFileSays) {
  const std::string file = folder_.file("rgb.nut");
  ffmpeg("-f lavfi -i testsrc2=size=64x48 -frames:v 2 -c:v rawvideo -pix_fmt rgba " + file);
  const Colour colour = play({.name = file}).format.colour;
  EXPECT_EQ(colour.matrix, ColourMatrix::rgb);
  EXPECT_EQ(colour.range, ColourRange::full);
}

TEST_F(AvInputTest, TimesAreThoseOfTheFile) {
  const std::string file = folder_.file("rate.mkv");
  ffmpeg("-f lavfi -i testsrc2=size=64x48:rate=50 -frames:v 10 -c:v ffv1 " + file);
  const Played played = play({.name = file});
  ASSERT_EQ(played.times_ns.size(), 10U);
  for (std::size_t i = 0; i < played.times_ns.size(); ++i) {
    EXPECT_EQ(played.times_ns.at(i), static_cast<std::int64_t>(i) * 20 * ns_per_ms);
  }
}

TEST_F(AvInputTest, AnotherRateCanBeAskedFor) {
  const std::string file = folder_.file("rate.mkv");
  ffmpeg("-f lavfi -i testsrc2=size=64x48:rate=50 -frames:v 4 -c:v ffv1 " + file);
  const Played played = play({.name = file, .frames_per_s = 10});
  EXPECT_EQ(played.times_ns, (std::vector<std::int64_t>{0, 100 * ns_per_ms, 200 * ns_per_ms, 300 * ns_per_ms}));
  EXPECT_EQ(played.format.frame_rate, (Rational{10, 1}));
}

TEST_F(AvInputTest, ConvertsWhatIsNotCarriedAndSaysSoOnce) {
  const std::string file = folder_.file("planes.mkv");
  const std::string raw = folder_.file("written.raw");
  ffmpeg(test_pictures("101", "77", 25, 3) + "-c:v utvideo -pix_fmt gbrp " + file +
         " -frames:v 3 -vf format=gbrp -f rawvideo -pix_fmt rgb24 " + raw);
  const Played played = play({.name = file});
  EXPECT_EQ(played.format.layout.format, PixelFormat::rgb24);
  EXPECT_EQ(played.format.colour.matrix, ColourMatrix::rgb);
  EXPECT_TRUE(played.bytes == read_file(raw));
  EXPECT_EQ(log_.text(), "source pixel format gbrp is not carried; converted to rgb24\n");
}

TEST_F(AvInputTest, EveryFormatOfFfmpegFindsItsNearest) {
  struct Nearest {
    const char* coded;
    const char* carried;
  };
  for (const Nearest& nearest :
       {Nearest{"pal8", "rgba"}, Nearest{"yuv444p10le", "yuv420p10le"}, Nearest{"yuv422p12le", "yuv422p10le"},
        Nearest{"yuv420p10be", "yuv420p10le"}, Nearest{"p010le", "p010le"}, Nearest{"nv21", "yuv420p"},
        Nearest{"yuv440p", "yuv444p"}, Nearest{"yuv411p", "yuv422p"}, Nearest{"rgb48le", "rgb24"},
        Nearest{"monow", "gray8"}, Nearest{"gray10le", "gray8"}, Nearest{"argb", "rgba"}, Nearest{"0bgr", "rgb24"}}) {
    AvInput input({.name = std::string("lavfi:testsrc2=size=64x48,format=") + nearest.coded}, log_);
    ASSERT_EQ(input.read(), AvRead::frame);
    EXPECT_EQ(info(input.format().layout.format).name, nearest.carried) << nearest.coded;
  }
}

TEST_F(AvInputTest, ConvertsAndScalesWhenAsked) {
  const std::string file = folder_.file("h264.mp4");
  ffmpeg("-f lavfi -i testsrc2=size=320x180 -frames:v 3 -c:v libx264 -preset ultrafast -pix_fmt yuv420p " + file);
  const Played played = play({.name = file, .size = {101, 55}, .pixel_format = PixelFormat::rgba});
  EXPECT_EQ(played.format.layout, packed_layout(PixelFormat::rgba, 101, 55));
  EXPECT_EQ(played.format.colour.matrix, ColourMatrix::rgb);
  EXPECT_EQ(played.bytes.size(), 3 * played.format.layout.size_bytes);
}

/// Conversion uses the source's matrix and range: red in BT.709 limited, and red in BT.601 full.
TEST_F(AvInputTest, ConversionUsesTheSourcesMatrixAndRange) {
  for (const char* flags :
       {"in_range=pc:out_color_matrix=bt709:out_range=tv", "in_range=pc:out_color_matrix=bt601:out_range=pc"}) {
    const bool is_709 = std::string(flags).find("bt709") != std::string::npos;
    const std::string file = folder_.file("red.mkv");
    ffmpeg("-f lavfi -i color=c=0xff0000:size=64x48,format=rgb24,scale=" + std::string(flags) +
           ",format=yuv444p -frames:v 1 -c:v ffv1 " +
           (is_709 ? "-colorspace bt709 -color_range tv " : "-colorspace smpte170m -color_range pc ") + file);
    const Played played = play({.name = file, .pixel_format = PixelFormat::rgba});
    ASSERT_GE(played.bytes.size(), 4U);
    EXPECT_GE(std::to_integer<int>(played.bytes.at(0)), 252) << flags;
    EXPECT_LE(std::to_integer<int>(played.bytes.at(1)), 3) << flags;
    EXPECT_LE(std::to_integer<int>(played.bytes.at(2)), 3) << flags;
  }
}

TEST_F(AvInputTest, PlaysAgainFromTheVeryFirstPicture) {
  for (const char* name : {"seekable.mp4", "by_opening_again.h264", "list.y4m"}) {
    const std::string file = folder_.file(name);
    ffmpeg("-f lavfi -i testsrc2=size=128x96:rate=25 -frames:v 30 -g 10 -pix_fmt yuv420p " +
           std::string(file.ends_with("y4m") ? "" : "-c:v libx264 -bf 2 ") + file);
    AvInput input({.name = file}, log_);
    const Played first = play(input);
    ASSERT_EQ(first.times_ns.size(), 30U) << name;
    for (int round = 0; round < 2; ++round) {
      ASSERT_TRUE(input.rewind()) << input.fault();
      const Played again = play(input);
      EXPECT_EQ(again.bytes, first.bytes) << name;
      EXPECT_EQ(again.times_ns, first.times_ns) << name;
    }
  }
}

/// A seek to the first picture leads elsewhere in some of these: its errors and its pictures are none of the film's.
TEST_F(AvInputTest, EveryRoundGivesThePicturesOfTheFirst) {
  struct Looped {
    const char* file;
    const char* encode;
  };
  for (const Looped& looped :
       {Looped{"h264.ts", "-c:v libx264"}, Looped{"open_gop.ts", "-c:v libx264 -g 8 -x264-params open-gop=1"},
        Looped{"h264.m2ts", "-c:v libx264"}, Looped{"h264.mp4", "-c:v libx264"}, Looped{"h264.mkv", "-c:v libx264"},
        Looped{"h264.avi", "-c:v libx264"}, Looped{"h264.mpg", "-c:v libx264"}, Looped{"mpeg2.ts", "-c:v mpeg2video"},
        Looped{"b_frames.ts", "-c:v mpeg2video -bf 2"}, Looped{"mpeg2.mpg", "-c:v mpeg2video"},
        Looped{"mpeg4.avi", "-c:v mpeg4 -bf 2"}, Looped{"raw.y4m", "-pix_fmt yuv420p"}}) {
    for (const int count : {2, 10, 26}) {
      SCOPED_TRACE(std::string(looped.file) + ", frames: " + std::to_string(count));
      const std::string file = folder_.file(looped.file);
      ffmpeg(test_pictures("64", "36", 25, count) + looped.encode + " " + file);
      expect_same_rounds({.name = file}, static_cast<std::size_t>(count));
    }
  }
}

/// Their times come twice, and the later ones are nearer to where a round ends.
TEST_F(AvInputTest, EveryRoundBeginsInTheFirstOfJoinedFiles) {
  for (const int count : {2, 10}) {
    std::vector<std::byte> joined;
    for (const char* width : {"64", "128", "32"}) {
      const std::string part = folder_.file("part.ts");
      ffmpeg(test_pictures(width, "36", 25, count) + "-c:v libx264 " + part);
      const std::vector<std::byte> bytes = read_file(part);
      joined.insert(joined.end(), bytes.begin(), bytes.end());
    }
    const std::string file = folder_.file("joined.ts");
    write_file(file, joined);
    expect_same_rounds({.name = file}, 3 * static_cast<std::size_t>(count));
  }
}

TEST_F(AvInputTest, EveryRoundBeginsWhereTheFirstWasToStart) {
  for (const std::string name : {"start.avi", "start.mpg", "start.mp4", "start.mkv", "start.y4m"}) {
    SCOPED_TRACE(name);
    const std::string file = folder_.file(name);
    ffmpeg(test_pictures("64", "36", 25, 26) +
           (name.ends_with("avi")   ? "-c:v mpeg4 -bf 2 "
            : name.ends_with("mpg") ? "-c:v mpeg2video -bf 2 "
            : name.ends_with("y4m") ? "-pix_fmt yuv420p "
                                    : "-c:v libx264 ") +
           file);
    for (const std::int64_t start_ms : {40, 500}) {
      expect_same_rounds({.name = file, .start_ns = start_ms * ns_per_ms}, std::nullopt);
    }
  }
}

TEST_F(AvInputTest, TakesLavfiAndCanReplayIt) {
  AvInput input({.name = "lavfi:testsrc2=size=160x90:rate=10:duration=0.5"}, log_);
  EXPECT_FALSE(input.is_live());
  const Played first = play(input);
  EXPECT_EQ(first.times_ns.size(), 5U);
  EXPECT_EQ(first.format.layout.width, 160U);
  ASSERT_TRUE(input.rewind()) << input.fault();
  EXPECT_EQ(play(input).bytes, first.bytes);
}

TEST_F(AvInputTest, RawFilesAreDescribedByTheOptions) {
  const std::string file = folder_.file("frames.yuv");
  ffmpeg("-f lavfi -i testsrc2=size=66x50 -frames:v 3 -f rawvideo -pix_fmt yuv422p " + file);
  const Played played = play({.name = file, .size = {66, 50}, .frames_per_s = 5, .pixel_format = PixelFormat::yuv422p});
  EXPECT_EQ(played.bytes, read_file(file));
  EXPECT_EQ(played.times_ns.back(), 400 * ns_per_ms);
  EXPECT_NE(refusal({.name = file}).find("say --size WxH"), std::string::npos) << refusal({.name = file});
}

TEST_F(AvInputTest, AFileWithAColonInItsNameIsAFile) {
  const std::string file = folder_.file("lavfi:testsrc2.mkv");
  ffmpeg("-f lavfi -i testsrc2=size=64x48 -frames:v 2 -c:v ffv1 file:" + file);
  EXPECT_EQ(play({.name = file}).times_ns.size(), 2U);
}

TEST_F(AvInputTest, AChangeOfSizeInTheMiddleShows) {
  const std::string small = folder_.file("small.h264");
  const std::string large = folder_.file("large.h264");
  ffmpeg("-f lavfi -i testsrc2=size=64x48 -frames:v 4 -c:v libx264 -pix_fmt yuv420p " + small);
  ffmpeg("-f lavfi -i testsrc2=size=128x96 -frames:v 4 -c:v libx264 -pix_fmt yuv420p " + large);
  std::vector<std::byte> both = read_file(small);
  const std::vector<std::byte> rest = read_file(large);
  both.insert(both.end(), rest.begin(), rest.end());
  const std::string file = folder_.file("both.h264");
  write_file(file, both);
  AvInput input({.name = file}, log_);
  std::vector<std::uint32_t> widths;
  while (input.read() == AvRead::frame) {
    widths.push_back(input.format().layout.width);
  }
  EXPECT_EQ(widths, (std::vector<std::uint32_t>{64, 64, 64, 64, 128, 128, 128, 128}));
}

// ---- Errors ----

TEST_F(AvInputTest, ATruncatedFileGivesWhatIsGoodAndSaysSo) {
  struct Cut {
    const char* name;
    const char* encode;
  };
  for (const Cut& cut : {Cut{"cut.mkv", "-c:v ffv1"}, Cut{"cut.mp4", "-c:v libx264 -movflags +faststart -g 5"},
                         Cut{"cut.y4m", "-pix_fmt yuv420p"}, Cut{"cut.avi", "-c:v mjpeg"}}) {
    const std::string whole = folder_.file("whole_" + std::string(cut.name));
    ffmpeg("-f lavfi -i testsrc2=size=128x96 -frames:v 20 " + std::string(cut.encode) + " " + whole);
    const Played good = play({.name = whole});
    ASSERT_EQ(good.times_ns.size(), 20U) << cut.name;
    std::vector<std::byte> bytes = read_file(whole);
    bytes.resize(bytes.size() * 7 / 10 + 3);
    const std::string file = folder_.file(cut.name);
    write_file(file, bytes);
    const Played played = play({.name = file});
    EXPECT_NE(played.fault.find("breaks off after "), std::string::npos) << cut.name << ": " << played.fault;
    EXPECT_GE(played.times_ns.size(), 10U) << cut.name;
    EXPECT_LT(played.times_ns.size(), 20U) << cut.name;
    // All frames but the last are unchanged. The decoder may have concealed errors in the last.
    const std::size_t same = (played.times_ns.size() - 1) * good.format.layout.size_bytes;
    EXPECT_TRUE(
        std::equal(played.bytes.begin(), played.bytes.begin() + static_cast<std::ptrdiff_t>(same), good.bytes.begin()))
        << cut.name;
  }
}

TEST_F(AvInputTest, DamageInTheMiddleIsCountedAndTheRestIsShown) {
  const std::string file = folder_.file("damaged.avi");
  ffmpeg("-f lavfi -i testsrc2=size=128x96 -frames:v 20 -c:v ffv1 -level 3 -slicecrc 1 " + file);
  std::vector<std::byte> bytes = read_file(file);
  for (std::size_t i = bytes.size() / 2; i < bytes.size() / 2 + 300; ++i) {
    bytes.at(i) ^= std::byte{0x5a};
  }
  write_file(file, bytes);
  const Played played = play({.name = file});
  EXPECT_GE(played.error_count, 1U);
  EXPECT_GE(played.times_ns.size(), 17U);
}

TEST_F(AvInputTest, RefusesWithAnErrorThatNamesIt) {
  write_file(folder_.file("noise.mp4"), std::string(100000, '\x17'));
  write_file(folder_.file("empty.mkv"), "");
  ffmpeg("-f lavfi -i sine -t 1 " + folder_.file("sound.wav"));
  struct Refused {
    std::string name;
    std::string message;  // part of the message
  };
  for (const Refused& refused :
       {Refused{folder_.file("none.mp4"), "there is no such file"}, Refused{"patern", "there is no such file"},
        Refused{folder_.file("noise.mp4"), "not a video that libav knows"},
        Refused{folder_.file("empty.mkv"), "cannot open"},
        Refused{folder_.file("sound.wav"), "there is no video in it, only sound"},
        Refused{folder_.file(""), "it is a directory"},
        Refused{"v4l3:/dev/video0", "'v4l3' is no input format or device"},
        Refused{"gopher2://host/x", "knows no protocol 'gopher2'"},
        Refused{"lavfi:nosuchfilter", "No such filter: 'nosuchfilter'"},
        Refused{"http://127.0.0.1:9/x.mp4", "Connection refused"}}) {
    const std::string message = refusal({.name = refused.name});
    EXPECT_NE(message.find(refused.message), std::string::npos) << message;
    EXPECT_NE(message.find(refused.name), std::string::npos) << message;
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
  }
}

TEST_F(AvInputTest, OpeningCanBeCancelled) {
  // A listening tcp input waits for a connection that never comes.
  const std::string message = refusal({.name = "tcp://127.0.0.1:0?listen=1", .is_cancelled = [] { return true; }});
  EXPECT_NE(message.find("stopped"), std::string::npos) << message;
}

}  // namespace
}  // namespace framewire
