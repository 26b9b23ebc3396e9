// --hwaccel auto until the first picture of the GPU is delivered, and for inputs that are opened again.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <span>
#include <string>
#include <vector>

#include "media/av_input.hpp"
#include "tests/nvdec/decoded_film.hpp"

namespace framewire {
namespace {

using namespace test;

std::size_t count_of(const std::string& words, const std::string& text) {
  std::size_t count = 0;
  for (std::size_t at = text.find(words); at != std::string::npos; at = text.find(words, at + words.size())) {
    ++count;
  }
  return count;
}

class NvdecFallback : public DecodedFilm {
 protected:
  /// The source gives what the processor decodes, and has said once why.
  Shown expect_by_processor(AvSource& source, const std::string& file, const std::string& pixel_format,
                            const std::string& reason, const StreamOptions& stream = {}) {
    Shown shown = show(source, stream);
    EXPECT_EQ(shown.error, "") << reason;
    EXPECT_TRUE(are_equal(joined(shown.frames), decoded_by_ffmpeg(folder_, file, pixel_format))) << reason;
    EXPECT_EQ(source.decoder().find(" (cuda)"), std::string::npos) << reason;
    const std::string line = "'" + file + "' is decoded by the processor (cuda: " + reason;
    EXPECT_EQ(count_of(line, log_.text()), 1U) << reason << "\n" << log_.text();
    EXPECT_EQ(log_.text().find("damaged"), std::string::npos) << log_.text();
    return shown;
  }

  /// Its first picture is cut off.
  std::string film_without_its_beginning(const std::string& pictures, const std::string& encode) {
    std::string file = folder_.file("late.h264");
    ffmpeg(pictures + "-c:v libx264 -preset ultrafast -pix_fmt yuv420p -tune zerolatency " + encode + " -f h264 " +
           file);
    std::vector<std::byte> bytes = read_file(file);
    bytes.erase(find_unit(bytes, 5), find_unit(bytes, 1));  // nal_unit_type: slices of a key picture, and of others
    write_file(file, bytes);
    return file;
  }

 private:
  static std::vector<std::byte>::iterator find_unit(std::vector<std::byte>& bytes, unsigned type) {
    for (auto at = bytes.begin(); bytes.end() - at > 4; ++at) {
      const bool is_start_code = at[0] == std::byte{0} && at[1] == std::byte{0} && at[2] == std::byte{1};
      if (is_start_code && (std::to_integer<unsigned>(at[3]) & 0x1FU) == type) {
        return at;
      }
    }
    return bytes.end();
  }
};

/// Pictures that are converted come by libav's own copy to host memory.
TEST_F(NvdecFallback, AFirstPictureThatCannotBeFetchedIsDecodedByTheProcessor) {
  const std::string file = h264();
  SourceOptions options = on("auto", file);
  options.pixel_format = PixelFormat::yuv420p;
  cuda_stand_in::fail("cuMemcpy2DAsync", unknown_error);
  AvSource source(options, log_);
  expect_by_processor(source, file, "yuv420p", "cuMemcpy2DAsync failed");
}

/// The processor then sees all packets from the first, though the GPU has decoded pictures before --start.
TEST_F(NvdecFallback, PicturesBeforeTheStartAreNoDelivery) {
  for (const char* const name : {"film.mkv", "film.h264"}) {
    const std::string file =
        film(name, "-c:v libx264 -preset fast -bf 3 -refs 4 -pix_fmt yuv420p -x264-params scenecut=0");
    for (const char* const function : {"cuMemcpy2DAsync", "cuMemHostRegister"}) {
      SourceOptions options = on("auto", file);
      options.start_ns = 400'000'000;
      cuda_stand_in::fail(function, unknown_error);
      AvSource source(options, log_);
      const Shown shown = show(source);
      EXPECT_EQ(shown.error, "") << name;
      const std::vector<std::byte> all = decoded_by_ffmpeg(folder_, file, "yuv420p");
      const std::size_t before = 10 * all.size() / film_frames;
      EXPECT_TRUE(are_equal(joined(shown.frames), std::span(all).subspan(before))) << name << function;
      cuda_stand_in::reset();
    }
  }
}

TEST_F(NvdecFallback, AFirstCopyThatCannotBeginIsDecodedByTheProcessor) {
  for (const char* const function : {"cuMemcpy2DAsync", "cuMemHostRegister", "cuEventRecord"}) {
    const std::string file = film(std::string(function) + ".mkv", "-c:v libx264 -bf 3 -pix_fmt yuv420p");
    AvSource source(on("auto", file), log_);
    EXPECT_EQ(source.decoder(), "h264 (cuda)");
    cuda_stand_in::fail(function, unknown_error);
    expect_by_processor(source, file, "yuv420p", std::string(function) + ": CUDA_ERROR_UNKNOWN");
    cuda_stand_in::reset();
  }
  EXPECT_EQ(nvcuvid_stand_in::decoders(), 0U);
}

/// It has begun, and the driver does not say how it ends.
TEST_F(NvdecFallback, AFirstCopyThatFailsIsDecodedByTheProcessor) {
  const std::string file = h264();
  AvSource source(on("auto", file), log_);
  cuda_stand_in::fail("cuEventQuery", unknown_error);
  expect_by_processor(source, file, "yuv420p", "it failed to copy its first picture");
}

TEST_F(NvdecFallback, AFirstCopyThatFailsInTheMemoryOfTheGpuIsDecodedByTheProcessor) {
  const std::string file = h264();
  {
    const CudaMemory memory(choose_cuda_device(cuda_devices(), ""));
    SourceOptions options = on("auto", file);
    options.memory = &memory;
    StreamOptions stream;
    stream.memory = &memory;
    AvSource source(options, log_);
    cuda_stand_in::fail("cuMemcpy2DAsync", unknown_error);
    expect_by_processor(source, file, "yuv420p", "cuMemcpy2DAsync: CUDA_ERROR_UNKNOWN", stream);
  }
  EXPECT_EQ(nvcuvid_stand_in::decoders(), 0U);
}

/// Into its slot the GPU may still write: so another epoch begins, though the processor gives the same format.
TEST_F(NvdecFallback, AFirstCopyThatDoesNotEndDisturbsNoPicture) {
  const std::string file = h265("yuv444p");
  const CudaMemory memory(choose_cuda_device(cuda_devices(), ""));
  SourceOptions options = on("auto", file);
  options.memory = &memory;
  AvSource source(options, log_);
  cuda_stand_in::hold_work(true);
  const Shown shown = expect_by_processor(source, file, "yuv444p", "it did not copy its first picture within 2 s");
  EXPECT_EQ(shown.frames.front().header.epoch, 2U);
  cuda_stand_in::hold_work(false);
}

TEST_F(NvdecFallback, ALaterCopyThatFailsEndsTheFilm) {
  AvSource source(on("auto", h264()), log_);
  cuda_stand_in::fail("cuEventRecord", unknown_error, 1);
  const Shown shown = show(source);
  EXPECT_EQ(shown.error, "cuEventRecord: CUDA_ERROR_UNKNOWN");
  EXPECT_EQ(shown.frames.size(), 1U);
  EXPECT_EQ(log_.text(), "");
}

/// What comes before the first key picture is nobody's fault.
TEST_F(NvdecFallback, AKeyPictureMayComeLate) {
  for (const int distance : {150, 700}) {
    const std::string key_pictures = std::to_string(distance);
    const std::string file =
        film_without_its_beginning(test_pictures("64", "64", 25, distance + 20),
                                   "-g " + key_pictures + " -keyint_min " + key_pictures + " -x264-params scenecut=0");
    AvSource by_gpu(on("auto", file), log_);
    EXPECT_EQ(by_gpu.decoder(), "h264 (cuda)") << log_.text();
    EXPECT_EQ(log_.text(), "");
    const std::size_t shown_by_gpu = show(by_gpu).frames.size();
    EXPECT_EQ(shown_by_gpu, 20U);

    cuda_stand_in::fail("cuvidMapVideoFrame", unknown_error);
    KeptLog said;
    AvSource source(on("auto", file), said);
    EXPECT_NE(said.text().find("(cuda: cuvidMapVideoFrame"), std::string::npos) << said.text();
    const Shown shown = show(source);
    EXPECT_EQ(shown.error, "");
    EXPECT_TRUE(are_equal(joined(shown.frames), decoded_by_ffmpeg(folder_, file, "yuv420p")));
    cuda_stand_in::reset();
  }
}

/// The GPU has shown that it decodes: a start behind more packets than are kept does not take the film from it.
TEST_F(NvdecFallback, AStartMayComeLate) {
  const std::string file = folder_.file("long.h264");
  ffmpeg(test_pictures("64", "64", 25, 540) + "-c:v libx264 -preset ultrafast -g 600 -pix_fmt yuv420p " +
         "-x264-params scenecut=0 " + file);
  SourceOptions options = on("auto", file);
  options.start_ns = 21 * ns_per_s;
  AvSource source(options, log_);
  const Shown shown = show(source);
  EXPECT_EQ(shown.error, "");
  EXPECT_EQ(shown.frames.size(), 540U - 525U);
  EXPECT_EQ(source.decoder(), "h264 (cuda)");
  EXPECT_EQ(log_.text(), "");
}

/// Its pictures are refreshed by columns, one in each picture, which takes more packets than are kept. They reach the
/// processor, and none is missing.
TEST_F(NvdecFallback, AFirstPictureThatComesTooLateIsDecodedByTheProcessor) {
  constexpr int columns = 520;  // of 16 pixels
  nvcuvid_stand_in::set_max_width(16 * columns);
  const std::string width = std::to_string(16 * columns);
  const std::string file = film_without_its_beginning(
      "-f lavfi -i testsrc2=size=160x48:rate=25,pad=" + width + " -frames:v " + std::to_string(2 * columns + 20) + " ",
      "-g " + std::to_string(columns) + " -x264-params intra-refresh=1:scenecut=0");
  AvSource source(on("auto", file), log_);
  expect_by_processor(source, file, "yuv420p", "it gave no picture from 501 packets");
}

/// An input that is opened again, and then has another film.
class NvdecReopening : public NvdecFallback {
 protected:
  std::string film_of(const std::string& encode, const char* width = "320") {
    return film("next.mkv", encode, width, "180");
  }
  /// As a source that comes back with this film.
  void put(const std::string& next) { ASSERT_EQ(std::rename(next.c_str(), path_.c_str()), 0); }

  AvInputOptions options(HwAccelKind kind) const { return {.name = path_, .hw_accel = {.kind = kind}}; }
  bool reads(AvInput& input) { return input.read() == AvRead::frame; }

  const std::string path_ = folder_.file("input.mkv");
  const std::string by_gpu_ = "-c:v libx264 -pix_fmt yuv420p";
};

TEST_F(NvdecReopening, AutoChoosesAnewForAnotherCodec) {
  put(film_of(by_gpu_));
  AvInput input(options(HwAccelKind::automatic), log_);
  EXPECT_EQ(input.decoder(), "h264 (cuda)");
  put(film_of("-c:v ffv1 -pix_fmt yuv420p"));
  ASSERT_TRUE(input.reopen()) << input.fault();
  EXPECT_TRUE(reads(input));
  EXPECT_EQ(input.decoder(), "ffv1");
  EXPECT_EQ(count_of("is decoded by the processor (cuda: libav does not decode ffv1 by it", log_.text()), 1U);
  ASSERT_TRUE(input.reopen()) << input.fault();  // the same film: nothing is said again
  EXPECT_EQ(count_of("is decoded by the processor", log_.text()), 1U) << log_.text();
  put(film_of("-c:v libx265 -x265-params log-level=none -pix_fmt yuv420p"));
  ASSERT_TRUE(input.reopen()) << input.fault();
  EXPECT_TRUE(reads(input));
  EXPECT_EQ(input.decoder(), "hevc (cuda)");
  EXPECT_TRUE(input.is_on_device());
}

TEST_F(NvdecReopening, AutoChoosesAnewForAnotherSizeProfileOrPixelFormat) {
  nvcuvid_stand_in::set_max_width(300);
  put(film_of(by_gpu_));
  AvInput input(options(HwAccelKind::automatic), log_);
  EXPECT_EQ(input.decoder(), "h264");
  for (const auto& [encode, width, decoder] :
       {std::array{by_gpu_, std::string("256"), std::string("h264 (cuda)")},
        std::array{std::string("-c:v libx264 -pix_fmt yuv422p"), std::string("256"), std::string("h264")},
        std::array{std::string("-c:v libx264 -profile:v baseline -pix_fmt yuv420p"), std::string("256"),
                   std::string("h264 (cuda)")},
        std::array{by_gpu_, std::string("320"), std::string("h264")}}) {
    put(film_of(encode, width.c_str()));
    ASSERT_TRUE(input.reopen()) << input.fault();
    EXPECT_TRUE(reads(input));
    EXPECT_EQ(input.decoder(), decoder) << encode << width;
    if (input.is_on_device()) {  // as a program does; so the GPU is the one that has delivered
      const auto block = HostBlock::create_private("a picture", input.format().layout.size_bytes);
      EXPECT_NE(input.start_copy(block, 0), nullptr);
      EXPECT_TRUE(log_.text().ends_with("' is decoded by cuda now\n")) << log_.text();
    }
  }
}

TEST_F(NvdecReopening, WithCudaACodecThatNoGpuDecodesIsToldAgainAndAgain) {
  put(film_of(by_gpu_));
  AvInput input(options(HwAccelKind::cuda), log_);
  put(film_of("-c:v ffv1 -pix_fmt yuv420p"));
  for (int i = 0; i < 2; ++i) {
    EXPECT_FALSE(input.reopen());
    EXPECT_EQ(input.fault(), "cannot decode '" + path_ +
                                 "' by cuda: libav does not decode ffv1 by it; --hwaccel auto would take the processor "
                                 "then");
    EXPECT_TRUE(input.has_device_failed());
  }
  put(film_of(by_gpu_));
  ASSERT_TRUE(input.reopen()) << input.fault();
  EXPECT_TRUE(reads(input));
  EXPECT_EQ(input.decoder(), "h264 (cuda)");
  EXPECT_EQ(log_.text(), "");
}

/// The GPU that decoded the film before fails when it is opened again.
TEST_F(NvdecReopening, AutoFallsBackAlsoThen) {
  put(film_of(by_gpu_));
  AvInput input(options(HwAccelKind::automatic), log_);
  EXPECT_TRUE(reads(input));
  const auto block = HostBlock::create_private("a picture", input.format().layout.size_bytes);
  EXPECT_NE(input.start_copy(block, 0), nullptr);
  cuda_stand_in::fail("cuvidCreateDecoder", unknown_error);
  ASSERT_TRUE(input.reopen()) << input.fault();
  EXPECT_TRUE(reads(input));
  EXPECT_EQ(input.decoder(), "h264");
  EXPECT_EQ(count_of("is decoded by the processor (cuda: cuvidCreateDecoder", log_.text()), 1U) << log_.text();
}

/// A raw stream cannot be sought in, and is opened again for each round.
TEST_F(NvdecReopening, ALoopedFileMayBecomeAnotherFilm) {
  const auto become_another = [&](const char* hw_accel, std::uint64_t frames) {
    const std::string file = film("input.h264", by_gpu_ + " -bf 3 -x264-params scenecut=0");
    SourceOptions options = on(hw_accel, file);
    options.loop = true;
    StreamOptions stream;
    stream.max_frames = frames;
    AvSource source(options, log_);
    const std::string next = film_of("-c:v ffv1 -pix_fmt yuv422p");
    EXPECT_EQ(std::rename(next.c_str(), file.c_str()), 0);
    return show(source, stream);
  };
  const Shown automatic = become_another("auto", std::uint64_t{2} * film_frames);
  EXPECT_EQ(automatic.error, "");
  ASSERT_EQ(automatic.frames.size(), std::size_t{2} * film_frames);
  const std::string file = folder_.file("input.h264");
  const std::vector<SeenFrame> second(automatic.frames.begin() + film_frames, automatic.frames.end());
  EXPECT_TRUE(packed(automatic.frames.front()) == nv12(0, 320, 180));
  EXPECT_TRUE(are_equal(joined(second), decoded_by_ffmpeg(folder_, file, "yuv422p")));
  EXPECT_EQ(count_of("is decoded by the processor (cuda: libav does not decode ffv1 by it", log_.text()), 1U);

  const Shown by_cuda = become_another("cuda", std::uint64_t{2} * film_frames);
  EXPECT_EQ(by_cuda.error, "cannot decode '" + file +
                               "' by cuda: libav does not decode ffv1 by it; --hwaccel auto would take the processor "
                               "then");
  EXPECT_EQ(by_cuda.frames.size(), static_cast<std::size_t>(film_frames));
}

}  // namespace
}  // namespace framewire
