// The thread that reads decoded pictures. What a driver would import is a texture here; the lab imports DMA-BUFs
// (tests/rdma_lab/vaapi_dma_buf_test.py).
#include "gl/dma_buf_reader.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "memory/fence_wait.hpp"
#include "tests/base/substitute.hpp"
#include "tests/pixels/plane_textures.hpp"

namespace framewire {
namespace {

using namespace test;

constexpr std::uint64_t stride_bytes = 16384;
constexpr Size usual_size{96, 54};

std::int64_t deadline_ns() {
  return monotonic_ns() + 30 * ns_per_s;
}

/// Its planes' descriptor is its number. The processor would write its bytes with every bit turned, to tell both ways.
class Picture final : public DevicePicture {
 public:
  Picture(unsigned number, std::atomic<int>& alive, std::string export_fault = "", std::string copy_fault = "",
          Size of = usual_size)
      : shape_(shape(of, 1)),
        number_(number),
        alive_(alive),
        export_fault_(std::move(export_fault)),
        copy_fault_(std::move(copy_fault)) {
    ++alive_;
    shape_.planes[0].descriptor = shape_.planes[1].descriptor = static_cast<int>(number);
  }
  ~Picture() override { --alive_; }

  DmaBufPicture export_planes() override {
    if (!export_fault_.empty()) {
      throw Error::failed(export_fault_);
    }
    return shape_;
  }
  std::string copy_to(std::span<std::byte> slot) noexcept override {
    const std::vector<std::byte> bytes = by_processor();
    if (copy_fault_.empty()) {
      std::ranges::copy(bytes, slot.begin());
    }
    return copy_fault_;
  }
  [[nodiscard]] std::vector<std::byte> by_gpu() const { return packed_bytes(shape_, number_); }
  [[nodiscard]] std::vector<std::byte> by_processor() const {
    std::vector<std::byte> bytes = by_gpu();
    std::ranges::transform(bytes, bytes.begin(), [](std::byte one) { return ~one; });
    return bytes;
  }

 private:
  DmaBufPicture shape_;
  unsigned number_;
  std::atomic<int>& alive_;
  std::string export_fault_;
  std::string copy_fault_;
};

class DmaBufReaderTest : public ::testing::Test {
 protected:
  /// A test that replaces a function of OpenGL needs the others.
  static void SetUpTestSuite() {
    EglContext context = EglContext::create();
    context.make_current();
  }

  static GlTextureView import(const DmaBufPlane& plane, std::uint32_t component_bytes) {
    DmaBufPicture one = shape(usual_size, component_bytes);
    one.planes.at(plane.components - 1) = plane;
    return plane_texture(one, plane.components - 1, static_cast<unsigned>(plane.descriptor));
  }

  std::unique_ptr<GlDmaBufReader> reader(ImportPlane by = import) {
    return std::make_unique<GlDmaBufReader>(EglContext::create(), std::move(by));
  }

  std::shared_ptr<Picture> start(GlDmaBufReader& reader, std::string export_fault = "", std::string copy_fault = "",
                                 Size of = usual_size) {
    const auto number = static_cast<unsigned>(fences_.size());
    auto picture = std::make_shared<Picture>(number, alive_, std::move(export_fault), std::move(copy_fault), of);
    expected_by_gpu_.push_back(picture->by_gpu());
    expected_by_processor_.push_back(picture->by_processor());
    fences_.push_back(reader.start(picture, block_, number * stride_bytes));
    return picture;
  }

  FenceState wait(std::size_t i) { return wait_until_finished(*fences_.at(i), deadline_ns()); }
  [[nodiscard]] bool is(std::size_t i, const std::vector<std::byte>& expected) const {
    return std::ranges::equal(block_->bytes().subspan(i * stride_bytes, expected.size()), expected);
  }
  void expect_by_gpu(std::size_t i) {
    EXPECT_EQ(wait(i), FenceState::done) << i;
    EXPECT_TRUE(is(i, expected_by_gpu_.at(i))) << i;
  }
  void expect_by_processor(std::size_t i) {
    EXPECT_EQ(wait(i), FenceState::done) << i;
    EXPECT_TRUE(is(i, expected_by_processor_.at(i))) << i;
  }

  std::atomic<int> alive_ = 0;
  std::shared_ptr<HostBlock> block_ = HostBlock::create("test", 12 * stride_bytes);
  std::vector<std::shared_ptr<Fence>> fences_;
  std::vector<std::vector<std::byte>> expected_by_gpu_;
  std::vector<std::vector<std::byte>> expected_by_processor_;
};

TEST_F(DmaBufReaderTest, EveryPictureComesByTheGpu) {
  const auto by = reader();
  std::atomic<int> alive_at_end = -1;
  for (int i = 0; i < 12; ++i) {
    start(*by);
  }
  fences_.back()->when_finished([&](FenceState) { alive_at_end = alive_.load(); });
  for (std::size_t i = 0; i < fences_.size(); ++i) {
    expect_by_gpu(i);
  }
  EXPECT_EQ(alive_at_end, 0) << "the decoder needs the picture's memory when the fence is finished";
  EXPECT_EQ(by->failure(), "");
}

TEST_F(DmaBufReaderTest, PicturesMayChangeTheirSize) {
  const auto by = reader();
  for (const Size of : {usual_size, Size{96, 56}, Size{66, 34}, usual_size}) {
    start(*by, "", "", of);
  }
  for (std::size_t i = 0; i < fences_.size(); ++i) {
    expect_by_gpu(i);
  }
}

TEST_F(DmaBufReaderTest, WhatIsNotExportedTheProcessorCopiesAndAllThatFollow) {
  const auto by = reader();
  start(*by);
  start(*by);
  start(*by, "the driver exports nothing");
  start(*by);
  expect_by_gpu(0);
  expect_by_gpu(1);
  expect_by_processor(2);
  expect_by_processor(3);
  EXPECT_EQ(by->failure(), "the driver exports nothing");
}

TEST_F(DmaBufReaderTest, SoForWhatIsNotImported) {
  const auto by = reader([](const DmaBufPlane& plane, std::uint32_t component_bytes) {
    if (plane.descriptor == 1 && plane.components == 2) {
      throw Error::failed("no such modifier");
    }
    return import(plane, component_bytes);
  });
  start(*by);
  start(*by);
  expect_by_gpu(0);
  expect_by_processor(1);
  EXPECT_EQ(by->failure(), "no such modifier");
}

void GLAD_API_PTR is_refused(GLint /*x*/, GLint /*y*/, GLsizei /*width*/, GLsizei /*height*/, GLenum /*format*/,
                             GLenum /*type*/, void* /*pixels*/) {
  glEnable(GL_NONE);  // which is an error
}

TEST_F(DmaBufReaderTest, SoWhereOpenGlReportsAnError) {
  const test::Substitute<decltype(glad_glReadPixels)> refused(glad_glReadPixels, is_refused);
  const auto by = reader();
  start(*by);
  expect_by_processor(0);
  EXPECT_NE(by->failure().find(") does not read a DMA-BUF (OpenGL error 1280)"), std::string::npos) << by->failure();
}

TEST_F(DmaBufReaderTest, AFenceFailsIfTheProcessorFailsToo) {
  const auto by = reader();
  start(*by, "the driver exports nothing", "nor does it map anything");
  start(*by);
  EXPECT_EQ(wait(0), FenceState::failed);
  expect_by_processor(1);
}

TEST_F(DmaBufReaderTest, APictureThatDoesNotFitItsSlotIsRefused) {
  const auto by = reader();
  const auto picture = std::make_shared<Picture>(0, alive_);
  EXPECT_THROW(static_cast<void>(by->start(picture, block_, block_->size_bytes())), Error);
  EXPECT_THROW(static_cast<void>(by->start(picture, block_, 2)), Error);
  const auto late = std::make_shared<Picture>(0, alive_, "", "it does not fit");
  const auto fence = by->start(late, block_, block_->size_bytes() - 4096);
  EXPECT_EQ(wait_until_finished(*fence, deadline_ns()), FenceState::failed);
  EXPECT_EQ(by->failure(), "a decoded picture does not fit its slot");
}

GLenum GLAD_API_PTR is_lost(GLsync /*sync*/, GLbitfield /*flags*/, GLuint64 /*timeout*/) {
  return GL_WAIT_FAILED;
}
GLenum GLAD_API_PTR never_ends(GLsync /*sync*/, GLbitfield /*flags*/, GLuint64 /*timeout*/) {
  return GL_TIMEOUT_EXPIRED;
}

/// A lost GPU accesses no memory any more.
TEST_F(DmaBufReaderTest, WhatALostGpuHadTheProcessorCopies) {
  const test::Substitute<decltype(glad_glClientWaitSync)> lost(glad_glClientWaitSync, is_lost);
  const auto by = reader();
  for (int i = 0; i < 5; ++i) {
    start(*by);
  }
  for (std::size_t i = 0; i < fences_.size(); ++i) {
    expect_by_processor(i);
  }
  EXPECT_EQ(by->failure(), "its OpenGL context is lost");
}

/// One that writes into the slots by itself may still do so: they are never given back.
TEST_F(DmaBufReaderTest, WhatAHangingGpuMayStillWriteToStaysPending) {
  if (!WrappedBlocks::takes_host_memory()) {
    GTEST_SKIP() << "this driver does not write into slots";
  }
  auto by = reader();
  {
    const test::Substitute<decltype(glad_glClientWaitSync)> hanging(glad_glClientWaitSync, never_ends);
    for (int i = 0; i < 5; ++i) {
      start(*by);
    }
    expect_by_processor(3);
    expect_by_processor(4);
  }
  EXPECT_EQ(by->failure(), "the GPU did not read a picture within 10 s");
  by.reset();
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(fences_[i]->state(), FenceState::pending) << i;
  }
}

TEST_F(DmaBufReaderTest, EndsThoughTheGpuHangs) {
  const test::Substitute<decltype(glad_glClientWaitSync)> hanging(glad_glClientWaitSync, never_ends);
  auto by = reader();
  for (int i = 0; i < 5; ++i) {
    start(*by);
  }
  by.reset();
  for (std::size_t i = 0; i < fences_.size(); ++i) {
    EXPECT_EQ(fences_[i]->state(), FenceState::failed) << i;
  }
  EXPECT_EQ(alive_, 0);
}

TEST_F(DmaBufReaderTest, EndsWithWhatWasStarted) {
  auto by = reader();
  start(*by);
  start(*by);
  by.reset();
  expect_by_gpu(0);
  expect_by_gpu(1);
}

TEST_F(DmaBufReaderTest, SaysWhatTheDriverLacks) {
  try {
    const GlDmaBufReader by(EglContext::create());
    GTEST_SKIP() << "this driver lacks nothing";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find(") has no EGL_EXT_image_dma_buf_import"), std::string::npos)
        << error.what();
  }
}

TEST_F(DmaBufReaderTest, SaysThatThereIsNoSuchGpu) {
  for (const char* const node : {"/dev/dri/renderD999", "/dev/null"}) {
    try {
      static_cast<void>(GlDmaBufReader::open(node));
      ADD_FAILURE() << node;
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(node), std::string::npos) << error.what();
    }
  }
}

}  // namespace
}  // namespace framewire

// What a GPU that hangs may still write to is never freed. LeakSanitizer asks for this; without it nobody does.
// NOLINTBEGIN(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp,readability-identifier-naming)
extern "C" const char* __lsan_default_suppressions() {
  return "leak:framewire::GlDmaBufReader::read_by_gpu";
}
// NOLINTEND(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp,readability-identifier-naming)
