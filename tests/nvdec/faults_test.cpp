// Whatever fails on the way to a picture of NVDEC is said in words; with --hwaccel auto the processor decodes, and no
// picture is missing.
#include <array>
#include <ostream>

#include "tests/nvdec/decoded_film.hpp"

namespace framewire {
namespace {

using namespace test;

constexpr int no_device = 100;

/// A call that fails before the first picture, and what is said of it.
struct Fault {
  const char* name;
  const char* function;
  int result;
  const char* words;
};

std::ostream& operator<<(std::ostream& out, const Fault& fault) {
  return out << fault.name;
}

class NvdecFault : public DecodedFilm, public ::testing::WithParamInterface<Fault> {};

TEST_P(NvdecFault, IsTold) {
  const Fault& fault = GetParam();
  const std::string file = h264();
  cuda_stand_in::fail(fault.function, fault.result);
  const std::string said = refusal(on("cuda", file));
  EXPECT_NE(said.find("cannot decode '" + file + "'"), std::string::npos) << said;
  EXPECT_NE(said.find(fault.words), std::string::npos) << said;
  EXPECT_TRUE(said.ends_with("; --hwaccel auto would take the processor then")) << said;
  EXPECT_EQ(nvcuvid_stand_in::decoders(), 0U);
}

TEST_P(NvdecFault, WithAutoTheProcessorDecodesEveryPicture) {
  const Fault& fault = GetParam();
  const std::string file = h264();
  cuda_stand_in::fail(fault.function, fault.result);
  AvSource source(on("auto", file), log_);
  EXPECT_EQ(source.decoder(), "h264");
  EXPECT_NE(log_.text().find("'" + file + "' is decoded by the processor (cuda: "), std::string::npos) << log_.text();
  EXPECT_NE(log_.text().find(fault.words), std::string::npos) << log_.text();
  EXPECT_NE(log_.text().find("; vaapi: "), std::string::npos) << log_.text();
  const Shown shown = show(source);
  EXPECT_EQ(shown.error, "");
  EXPECT_TRUE(are_equal(joined(shown.frames), decoded_by_ffmpeg(folder_, file, "yuv420p")));
  EXPECT_EQ(log_.text().find("damaged"), std::string::npos) << log_.text();
}

INSTANTIATE_TEST_SUITE_P(
    Calls, NvdecFault,
    ::testing::Values(Fault{"NoDevice", "cuDeviceGetCount", no_device, "no CUDA-capable device is detected"},
                      Fault{"NoContext", "cuDevicePrimaryCtxRetain", 2, "out of memory (CUDA_ERROR_OUT_OF_MEMORY)"},
                      Fault{"NoStream", "cuStreamCreate", 2, "cuStreamCreate: out of memory"},
                      Fault{"NoCapabilities", "cuvidGetDecoderCaps", no_device,
                            "cuvidGetDecoderCaps: CUDA_ERROR_NO_DEVICE: no CUDA-capable device is detected"},
                      Fault{"NoDecoder", "cuvidCreateDecoder", 2, "cuvidCreateDecoder: CUDA_ERROR_OUT_OF_MEMORY"},
                      Fault{"NoPicture", "cuvidDecodePicture", unknown_error, "cuvidDecodePicture"},
                      Fault{"NoMap", "cuvidMapVideoFrame", 2, "cuvidMapVideoFrame: CUDA_ERROR_OUT_OF_MEMORY"}),
    [](const auto& test) { return std::string(test.param.name); });

class NvdecFaults : public DecodedFilm {};

TEST_F(NvdecFaults, AGpuThatCannotDecodeSuchFilmsIsTold) {
  const std::string file = h264();
  nvcuvid_stand_in::set_supported(false);
  EXPECT_NE(refusal(on("cuda", file)).find("Hardware is lacking required capabilities"), std::string::npos);
  nvcuvid_stand_in::reset();
  nvcuvid_stand_in::set_max_width(300);
  EXPECT_NE(refusal(on("cuda", file)).find("320"), std::string::npos) << refusal(on("cuda", file));
}

TEST_F(NvdecFaults, ACodecThatNoGpuDecodesIsTold) {
  const std::string file = film("film.mkv", "-c:v ffv1 -pix_fmt yuv420p");
  EXPECT_EQ(refusal(on("cuda", file)), "cannot decode '" + file +
                                           "' by cuda: libav does not decode ffv1 by it; --hwaccel auto would take "
                                           "the processor then");
}

TEST_F(NvdecFaults, AGpuThatWouldLoseChromaIsTold) {
  const std::string file = film("film.mkv", "-c:v libx264 -pix_fmt yuv422p");
  const std::string said = refusal(on("cuda", file));
  EXPECT_NE(said.find("cuda failed: it gives nv12 for yuv422p"), std::string::npos) << said;
  AvSource source(on("auto", file), log_);
  EXPECT_NE(log_.text().find("cuda: it gives nv12 for yuv422p"), std::string::npos) << log_.text();
  EXPECT_TRUE(are_equal(joined(show(source).frames), decoded_by_ffmpeg(folder_, file, "yuv422p")));
}

TEST_F(NvdecFaults, APixelFormatThatLibavDoesNotOfferIsTold) {
  const std::string said = refusal(on("cuda", film("film.mkv", "-c:v libx264 -pix_fmt yuv420p10le")));
  EXPECT_NE(said.find("cuda failed: libav does not decode h264 in yuv420p10le by it"), std::string::npos) << said;
}

/// Pictures that are converted come by libav's own copy to host memory.
TEST_F(NvdecFaults, APictureThatCannotBeFetchedIsTold) {
  const std::string file = h264();
  SourceOptions options = on("cuda", file);
  options.pixel_format = PixelFormat::yuv420p;
  cuda_stand_in::fail("cuMemcpy2DAsync", unknown_error);
  const std::string said = refusal(options);
  EXPECT_TRUE(said.starts_with("cannot decode '" + file + "': cuda failed: cuMemcpy2DAsync")) << said;
}

/// What came before was sent.
TEST_F(NvdecFaults, AFailureInTheFilmEndsIt) {
  constexpr int good = 12;
  for (const char* const function : {"cuvidMapVideoFrame", "cuvidDecodePicture"}) {
    for (const char* const hw_accel : {"cuda", "auto"}) {
      const std::string file = h264();
      cuda_stand_in::fail(function, unknown_error, good);
      AvSource source(on(hw_accel, file), log_);
      const Shown shown = show(source);
      EXPECT_TRUE(shown.error.starts_with("'" + file + "' breaks off after ")) << shown.error;
      EXPECT_NE(shown.error.find(std::string("cuda failed: ") + function), std::string::npos) << shown.error;
      EXPECT_TRUE(shown.error.ends_with("; what came before was sent")) << shown.error;
      EXPECT_GT(shown.frames.size(), 0U);
      EXPECT_LE(shown.frames.size(), static_cast<std::size_t>(good));
      for (std::size_t i = 0; i < shown.frames.size(); ++i) {
        EXPECT_TRUE(packed(shown.frames[i]) == nv12(static_cast<unsigned>(i), 320, 180)) << i;
      }
      cuda_stand_in::reset();
    }
  }
  EXPECT_EQ(nvcuvid_stand_in::decoders(), 0U);
}

TEST_F(NvdecFaults, ACopyThatCannotBeginEndsTheFilm) {
  for (const char* const function : {"cuMemcpy2DAsync", "cuMemHostRegister", "cuEventRecord"}) {
    const std::string file = h264();
    cuda_stand_in::fail(function, unknown_error);
    AvSource source(on("cuda", file), log_);
    const Shown shown = show(source);
    EXPECT_EQ(shown.error, std::string(function) + ": CUDA_ERROR_UNKNOWN");
    EXPECT_EQ(shown.frames.size(), 0U);
    cuda_stand_in::reset();
  }
}

TEST_F(NvdecFaults, AGpuThatIsLostEndsTheFilm) {
  constexpr int ecc_error = 214;
  const std::string file = h264();
  AvSource source(on("cuda", file), log_);
  cuda_stand_in::lose_device(ecc_error);
  EXPECT_NE(show(source).error, "");
}

TEST_F(NvdecFaults, TheGpuOfTheMemoryIsTheOneThatDecodes) {
  cuda_stand_in::set_device_count(2);
  const std::string file = h264();
  const auto gpus = cuda_devices();
  const CudaMemory memory(gpus.at(0));
  SourceOptions options = on("cuda:" + gpus.at(1).uuid, file);
  options.memory = &memory;
  EXPECT_EQ(refusal(options), "--hwaccel cuda:" + gpus.at(1).uuid + " is another GPU than that of --memory cuda, " +
                                  gpus.at(0).uuid + "; name the same one");
  options.hw_accel = "cuda:" + gpus.at(0).uuid;
  EXPECT_EQ(refusal(options), "");
  EXPECT_NE(refusal(on("cuda:GPU-0123", file)).find("no GPU is 'GPU-0123'"), std::string::npos);
}

/// No render node is on the machines that run this, or the one that is there has its own say.
TEST_F(NvdecFaults, WithoutARenderNodeVaapiSaysSo) {
  const std::string file = h264();
  const std::string said = refusal(on("vaapi:/dev/dri/renderD999", file));
  EXPECT_TRUE(said.starts_with("cannot decode '" + file + "' by vaapi: ")) << said;
  EXPECT_NE(said.find("/dev/dri/renderD999"), std::string::npos) << said;
}

TEST_F(NvdecFaults, WordsThatNameNoDecoderAreRefused) {
  for (const char* const word : {"", "CUDA", "cuda:", "vaapi:", "auto:0", "none:x", "nvdec"}) {
    EXPECT_THROW(static_cast<void>(parse_hw_accel(word)), Error) << word;
  }
  EXPECT_EQ(parse_hw_accel("none"), HwAccel{});
  EXPECT_EQ(parse_hw_accel("cuda"), (HwAccel{.kind = HwAccelKind::cuda}));
  EXPECT_EQ(parse_hw_accel("vaapi:/dev/dri/renderD128"),
            (HwAccel{.kind = HwAccelKind::vaapi, .device = "/dev/dri/renderD128"}));
}

}  // namespace
}  // namespace framewire
