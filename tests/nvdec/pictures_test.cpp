// Pictures of NVDEC come whole and in order, in the memory of either kind. libav decodes as on a GPU; the decoder and
// the driver are stand-ins.
#include <chrono>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "media/av_input.hpp"
#include "tests/nvdec/decoded_film.hpp"

namespace framewire {
namespace {

using namespace test;

class Nvdec : public DecodedFilm {};

TEST_F(Nvdec, PicturesComeInHostMemory) {
  const std::size_t before = cuda_stand_in::objects();
  {
    AvSource source(on("cuda", h264()), log_);
    EXPECT_EQ(source.decoder(), "h264 (cuda)");
    EXPECT_TRUE(source.describe().ends_with(", h264 (cuda), 320x180 nv12 25 fps")) << source.describe();
    expect_pictures(show(source, {}, true, 3), film_frames, [](unsigned i) { return nv12(i, 320, 180); });
    EXPECT_EQ(source.frames_placed(), 0U);
  }
  EXPECT_EQ(nvcuvid_stand_in::decoded_pictures(), static_cast<std::size_t>(film_frames));
  EXPECT_EQ(nvcuvid_stand_in::decoders(), 0U);
  EXPECT_EQ(cuda_stand_in::objects(), before);
  EXPECT_EQ(cuda_stand_in::contexts_on_this_thread(), 0U);
}

/// From GPU to GPU; the viewer of the test then gets the stream's copies.
TEST_F(Nvdec, PicturesComeInTheMemoryOfTheGpu) {
  const std::size_t before = cuda_stand_in::objects();
  {
    const CudaMemory memory(choose_cuda_device(cuda_devices(), ""));
    SourceOptions options = on("cuda", h264());
    options.memory = &memory;
    StreamOptions stream;
    stream.memory = &memory;
    AvSource source(options, log_);
    expect_pictures(show(source, stream, true, 3), film_frames, [](unsigned i) { return nv12(i, 320, 180); });
  }
  EXPECT_EQ(nvcuvid_stand_in::decoders(), 0U);
  EXPECT_EQ(cuda_stand_in::objects(), before);
}

TEST_F(Nvdec, TenBitsAreP010) {
  AvSource source(on("cuda", h265("yuv420p10le")), log_);
  EXPECT_TRUE(source.describe().ends_with(", hevc (cuda), 320x180 p010le 25 fps")) << source.describe();
  expect_pictures(show(source), film_frames, [](unsigned i) {
    std::vector<std::byte> picture;
    append_10_bit(picture, i, 0, 320, 180);
    append_10_bit(picture, i, 1, 320, 90);
    return picture;
  });
}

TEST_F(Nvdec, FullChromaHasThreePlanes) {
  AvSource source(on("cuda", h265("yuv444p")), log_);
  EXPECT_TRUE(source.describe().ends_with(", hevc (cuda), 320x180 yuv444p 25 fps")) << source.describe();
  expect_pictures(show(source), film_frames, [](unsigned i) {
    std::vector<std::byte> picture;
    for (unsigned plane = 0; plane < 3; ++plane) {
      append_8_bit(picture, i, plane, 320, 180);
    }
    return picture;
  });
}

/// libav cuts off by itself only what is right and below.
TEST_F(Nvdec, WhatIsCroppedAtTheLeftAndTheTopIsNotShown) {
  const std::string file =
      film("crop.mkv", "-c:v libx264 -pix_fmt yuv420p -x264-params scenecut=0:crop-rect=16,6,20,10");
  AvSource source(on("cuda", file), log_);
  EXPECT_TRUE(source.describe().ends_with(" 284x164 nv12 25 fps")) << source.describe();
  expect_pictures(show(source), film_frames, [](unsigned i) {
    std::vector<std::byte> picture;
    append_8_bit(picture, i, 0, 284, 164, 16, 6);
    append_8_bit(picture, i, 1, 284, 82, 16, 3);
    return picture;
  });
}

/// The processor converts them; libav copies them to host memory for that.
TEST_F(Nvdec, OtherPixelFormatsAreConverted) {
  SourceOptions options = on("cuda", h264());
  options.pixel_format = PixelFormat::yuv420p;
  AvSource source(options, log_);
  expect_pictures(show(source), film_frames, [](unsigned i) {
    std::vector<std::byte> picture;
    append_8_bit(picture, i, 0, 320, 180);
    for (std::size_t component = 0; component < 2; ++component) {
      for (std::size_t y = 0; y < 90; ++y) {
        for (std::size_t x = 0; x < 160; ++x) {
          picture.push_back(static_cast<std::byte>(decoded_8_bit(i, 1, 2 * x + component, y)));
        }
      }
    }
    return picture;
  });
}

TEST_F(Nvdec, AFilmIsRepeated) {
  SourceOptions options = on("cuda", h264());
  options.loop = true;
  StreamOptions limited;
  limited.max_frames = 3 * film_frames;
  AvSource source(options, log_);
  expect_pictures(show(source, limited, true, 2), 3 * film_frames,
                  [](unsigned i) { return nv12(i % film_frames, 320, 180); });
}

TEST_F(Nvdec, AFilmMayChangeItsSize) {
  std::vector<std::byte> both;
  for (const char* width : {"320", "640"}) {
    const auto part =
        read_file(film("part.h264", "-c:v libx264 -pix_fmt yuv420p -bf 2 -x264-params scenecut=0", width));
    both.insert(both.end(), part.begin(), part.end());
  }
  const std::string file = folder_.file("both.h264");
  write_file(file, both);
  AvSource source(on("cuda", file), log_);
  expect_pictures(show(source), 2 * film_frames,
                  [](unsigned i) { return i < film_frames ? nv12(i, 320, 180) : nv12(i - film_frames, 640, 180); });
}

TEST_F(Nvdec, ItStartsWhereItIsTold) {
  SourceOptions options = on("cuda", h264());
  options.start_ns = 400'000'000;
  AvSource source(options, log_);
  expect_pictures(show(source), film_frames - 10, [](unsigned i) { return nv12(i + 10, 320, 180); });
}

class NvdecCopies : public DecodedFilm {
 protected:
  void SetUp() override {
    DecodedFilm::SetUp();
    input_.emplace(AvInputOptions{.name = h264(), .hw_accel = {.kind = HwAccelKind::cuda}}, log_);
  }
  void TearDown() override {
    cuda_stand_in::hold_work(false);  // the decoder waits for its end
    input_.reset();
    DecodedFilm::TearDown();
  }

  std::shared_ptr<Fence> copy_next() {
    EXPECT_EQ(input_->read(), AvRead::frame);
    EXPECT_TRUE(input_->is_on_device());
    return input_->start_copy(HostBlock::create_private("a picture", input_->format().layout.size_bytes), 0);
  }

  std::optional<AvInput> input_;
};

/// libav's next call would fail if the GPU still read all of its pictures.
TEST_F(NvdecCopies, OfASlowGpuAreWaitedFor) {
  cuda_stand_in::hold_work(true);
  const std::vector<std::shared_ptr<Fence>> under_way{copy_next(), copy_next(), copy_next()};
  const std::jthread later([] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    cuda_stand_in::hold_work(false);
  });
  const std::shared_ptr<Fence> next = copy_next();
  EXPECT_EQ(under_way.front()->state(), FenceState::done);
  EXPECT_LE(nvcuvid_stand_in::most_mapped_pictures(), 5U);
}

TEST_F(NvdecCopies, ThatDoNotEndAreAnError) {
  cuda_stand_in::hold_work(true);
  const std::vector<std::shared_ptr<Fence>> under_way{copy_next(), copy_next(), copy_next()};
  try {
    static_cast<void>(copy_next());
    FAIL() << "it was not waited for";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "the GPU Stand-in 0 did not copy a decoded picture within 2 s");
  }
}

/// A program that is to end does not wait for a GPU that hangs.
TEST_F(NvdecCopies, ThatDoNotEndDelayNoEnd) {
  cuda_stand_in::hold_work(true);
  bool is_cancelled = false;
  input_->set_cancelled([&] { return is_cancelled; });
  const std::vector<std::shared_ptr<Fence>> under_way{copy_next(), copy_next(), copy_next()};
  EXPECT_EQ(input_->read(), AvRead::frame);
  is_cancelled = true;
  const std::shared_ptr<Block> slot = HostBlock::create_private("a picture", input_->format().layout.size_bytes);
  EXPECT_EQ(input_->start_copy(slot, 0)->state(), FenceState::pending);
}

TEST_F(NvdecCopies, GoOnlyWhereThereIsRoom) {
  EXPECT_EQ(input_->read(), AvRead::frame);
  const std::shared_ptr<Block> small = HostBlock::create_private("too little", 4096);
  EXPECT_THROW(static_cast<void>(input_->start_copy(small, 0)), Error);
  EXPECT_THROW(static_cast<void>(input_->start_copy(small, 8192)), Error);
}

TEST_F(Nvdec, AutoTakesTheGpu) {
  AvSource source(on("auto", h264()), log_);
  EXPECT_EQ(source.decoder(), "h264 (cuda)");
  EXPECT_EQ(log_.text(), "");
}

TEST_F(Nvdec, WithoutTheOptionTheProcessorDecodes) {
  const std::string file = h264();
  AvSource source(on("none", file), log_);
  EXPECT_EQ(source.decoder(), "h264");
  EXPECT_TRUE(are_equal(joined(show(source).frames), decoded_by_ffmpeg(folder_, file, "yuv420p")));
  EXPECT_EQ(nvcuvid_stand_in::decoded_pictures(), 0U);
}

}  // namespace
}  // namespace framewire
