// Frames in the memory of the GPU that draws: OpenGL imports it (WrappedBlocks). The GPU is llvmpipe, with the tests'
// libcuda.so.1, whose memory it imports (tests/cuda/machine.hpp).
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <filesystem>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "gl/egl_context.hpp"
#include "gl/frame_texture.hpp"
#include "gl/offscreen_target.hpp"
#include "gl/readback.hpp"
#include "memory/cuda/cuda_memory.hpp"
#include "memory/fence_wait.hpp"
#include "tests/base/substitute.hpp"
#include "tests/device_memory/on_llvmpipe.hpp"
#include "tests/pixels/reference.hpp"

namespace framewire {
namespace {

TEST_F(DeviceMemory, EveryFormatIsDrawnAsFromHostMemory) {
  const std::shared_ptr<const Block> block = memory_->allocate("frame slots", 1 << 20, {});
  for (const PixelFormatInfo& one : pixel_formats()) {
    const PixelFormat format = one.format;
    if (format == PixelFormat::bytes) {
      continue;
    }
    SCOPED_TRACE(one.name);
    const FrameLayout layout = packed_layout(format, size.width, size.height);
    const std::span<std::byte> content = on_device(*block).subspan(offset_bytes, layout.size_bytes);
    fill_with_content(format, content, 7);
    FrameTexture from_host;
    FrameTexture from_device;
    const std::vector<std::byte> expected = drawn(from_host, {.layout = layout, .colour = {}, .payload = content});
    ASSERT_TRUE(can_be_read_in_place(layout));
    EXPECT_EQ(
        drawn(from_device,
              {.layout = layout, .colour = {}, .payload = {}, .block = &block, .offset_in_block_bytes = offset_bytes}),
        expected);
    EXPECT_EQ(from_device.method(), UploadMethod::device_memory);
  }
}

TEST_F(DeviceMemory, HostMemoryAndTheDevicesMayTakeTurns) {
  const std::shared_ptr<const Block> block = memory_->allocate("frame slots", 1 << 20, {});
  const FrameLayout layout = packed_layout(PixelFormat::rgba, size.width, size.height);
  fill_with_content(layout.format, on_device(*block), 7);
  const std::vector<std::byte> other(layout.size_bytes, std::byte{0x40});
  FrameTexture texture;
  const FrameView on_gpu{.layout = layout, .colour = {}, .payload = {}, .block = &block};
  const auto first = drawn(texture, on_gpu);
  EXPECT_NE(drawn(texture, {.layout = layout, .colour = {}, .payload = other}), first);
  EXPECT_NE(texture.method(), UploadMethod::device_memory);
  EXPECT_EQ(drawn(texture, on_gpu), first);
}

TEST_F(DeviceMemory, AFrameOutsideItsBlockIsRefused) {
  const std::shared_ptr<const Block> block = memory_->allocate("frame slots", 1, {});
  const FrameLayout layout = packed_layout(PixelFormat::rgba, size.width, size.height);
  FrameTexture texture;
  for (const std::uint64_t offset :
       {block->size_bytes() - layout.size_bytes + 1, block->size_bytes() + 1, UINT64_MAX}) {
    EXPECT_FALSE(texture.upload(
        {.layout = layout, .colour = {}, .payload = {}, .block = &block, .offset_in_block_bytes = offset}));
  }
}

/// Rows that no GL parameter describes: the processor would have to copy them.
TEST_F(DeviceMemory, RowsThatGlCannotStepOverAreRefused) {
  const std::shared_ptr<const Block> block = memory_->allocate("frame slots", 1, {});
  FrameLayout layout = packed_layout(PixelFormat::rgba, 16, 16);
  layout.planes[0].pitch_bytes = 16 * 4 + 1;
  layout.size_bytes = std::uint64_t{layout.planes[0].pitch_bytes} * 16;
  EXPECT_FALSE(can_be_read_in_place(layout));
  FrameTexture texture;
  EXPECT_FALSE(texture.upload({.layout = layout, .colour = {}, .payload = {}, .block = &block}));
  EXPECT_FALSE(texture.has_refused_memory());
}

TEST_F(DeviceMemory, APictureIsReadBackIntoItsSlotAndNothingBeside) {
  const OffscreenTarget target(size);
  target.bind();
  glClearColor(0.75F, 0.25F, 0.5F, 1.0F);
  glClear(GL_COLOR_BUFFER_BIT);
  Readback readback(size.width, size.height, {}, 4);
  const std::shared_ptr<Block> block = memory_->allocate("frame slots", 1 << 20, {});
  std::ranges::fill(on_device(*block), std::byte{0xa5});
  for (std::uint64_t slot = 1; slot <= Readback::max_in_flight; ++slot) {
    ASSERT_TRUE(readback.begin_on_device(block, slot * 65536));
  }
  EXPECT_EQ(readback.method(), ReadbackMethod::device_memory);
  std::vector<std::byte> expected(target.size_bytes());
  target.read_rgba(expected, OffscreenTarget::RowOrder::top_down);
  for (std::uint64_t slot = 1; slot <= Readback::max_in_flight; ++slot) {
    ASSERT_TRUE(readback.wait_slice(soon_ns())) << "a frame there has one slice";
    const std::span<std::byte> bytes = on_device(*block).subspan(slot * 65536);
    EXPECT_TRUE(std::ranges::equal(bytes.first(expected.size()), expected));
    EXPECT_EQ(bytes[expected.size()], std::byte{0xa5});
    EXPECT_EQ(on_device(*block)[slot * 65536 - 1], std::byte{0xa5});
  }
  EXPECT_EQ(readback.in_flight(), 0U);
}

TEST_F(DeviceMemory, OfASenderIsDrawnByItsViewer) {
  const std::shared_ptr<Block> mine = memory_->allocate("frame slots", 1 << 20, {});
  const std::shared_ptr<const Block> theirs =
      memory_->import(FileDescriptor(::fcntl(mine->descriptor(), F_DUPFD_CLOEXEC, 0)), 1 << 20);
  const FrameLayout layout = packed_layout(PixelFormat::nv12, 64, 32);
  fill_with_content(layout.format, on_device(*mine), 3);
  FrameTexture from_host;
  FrameTexture from_device;
  EXPECT_EQ(drawn(from_device, {.layout = layout, .colour = {}, .payload = {}, .block = &theirs}),
            drawn(from_host, {.layout = layout, .colour = {}, .payload = on_device(*mine).first(layout.size_bytes)}));
}

TEST_F(DeviceMemory, ThatTheDriverRefusesIsNotDrawn) {
  const std::shared_ptr<Block> block = memory_->allocate("frame slots", 1 << 20, {});
  constexpr std::array<std::byte, 32> no_header{};
  ASSERT_EQ(::pwrite(block->descriptor(), no_header.data(), no_header.size(), 0),
            static_cast<ssize_t>(no_header.size()));
  const std::shared_ptr<const Block> shared = block;
  const FrameLayout layout = packed_layout(PixelFormat::rgba, 16, 16);
  FrameTexture texture;
  EXPECT_FALSE(texture.upload({.layout = layout, .colour = {}, .payload = {}, .block = &shared}));
  EXPECT_TRUE(texture.has_refused_memory());
  EXPECT_FALSE(Readback(16, 16).begin_on_device(shared, 0));
}

void GLAD_API_PTR refuses_import(GLuint /*memory*/, GLuint64 /*size*/, GLenum /*type*/, GLint /*descriptor*/) {
  glEnable(GL_NONE);  // GL_INVALID_ENUM
}

/// The descriptor then stays the program's.
TEST_F(DeviceMemory, ThatTheDriverRefusesToImportIsNamedAndLeavesNoDescriptor) {
  const std::shared_ptr<const Block> block = memory_->allocate("frame slots", 1 << 20, {});
  const FrameLayout layout = packed_layout(PixelFormat::rgba, 16, 16);
  fill_with_content(layout.format, on_device(*block), 7);
  FrameTexture texture;
  const FrameView view{.layout = layout, .colour = {}, .payload = {}, .block = &block};
  {
    const test::Substitute<decltype(glad_glImportMemoryFdEXT)> refusing(glad_glImportMemoryFdEXT, refuses_import);
    const auto open_before = open_descriptors();
    EXPECT_FALSE(texture.upload(view));
    EXPECT_EQ(open_descriptors(), open_before);
  }
  EXPECT_TRUE(texture.has_refused_memory());
  EXPECT_EQ(texture.memory_refusal(), "glImportMemoryFdEXT: GL_INVALID_ENUM");
  EXPECT_TRUE(texture.upload(view)) << "it is tried again";
  EXPECT_FALSE(texture.has_refused_memory());
  EXPECT_EQ(texture.wait_upload_done(soon_ns()), GpuWait::done);
}

TEST_F(DeviceMemory, OfAnotherDeviceIsNotImported) {
  DeviceUuid other = uuid_of_context();
  other.front() ^= 1U;
  stand_in::set_uuid(other);
  const CudaMemory elsewhere(choose_cuda_device(cuda_devices(), ""));
  EXPECT_EQ(WrappedBlocks::why_not(elsewhere), "OpenGL draws with another device (" + gl_renderer() + ")");
  EXPECT_EQ(WrappedBlocks::why_not(host_memory()), "OpenGL imports no memory of the kind 'host'");
}

/// Only CUDA reads it there: OpenGL draws from a copy.
TEST_F(DeviceMemory, OnAnotherDeviceIsDrawnFromACopy) {
  stand_in::set_device_count(2);
  stand_in::set_peer_access(true);
  const auto devices = cuda_devices();
  const CudaMemory mine(devices.at(0));
  const CudaMemory other(devices.at(1));
  const std::shared_ptr<Block> theirs = other.allocate("frame slots", 1 << 20, {});
  const std::shared_ptr<const Block> mapped =
      mine.import(FileDescriptor(::fcntl(theirs->descriptor(), F_DUPFD_CLOEXEC, 0)), 1 << 20);
  const FrameLayout layout = packed_layout(PixelFormat::nv12, 64, 32);
  fill_with_content(layout.format, on_device(*theirs), 3);
  FrameTexture from_device;
  EXPECT_FALSE(from_device.upload({.layout = layout, .colour = {}, .payload = {}, .block = &mapped}));
  EXPECT_TRUE(from_device.has_refused_memory());
  EXPECT_EQ(from_device.memory_refusal(), "OpenGL cannot import the memory of another GPU, Stand-in 1 (0000:3c:00.0)");
  const std::shared_ptr<Block> copy = mine.allocate_private("copies", mapped->size_bytes(), {});
  const auto fence = mapped->copy_to_device(copy, CopyRange::at(0, layout.size_bytes));
  ASSERT_EQ(wait_until_finished(*fence, soon_ns()), FenceState::done);
  const std::shared_ptr<const Block> copied = copy;
  FrameTexture from_host;
  EXPECT_EQ(drawn(from_device, {.layout = layout, .colour = {}, .payload = {}, .block = &copied}),
            drawn(from_host, {.layout = layout, .colour = {}, .payload = on_device(*theirs).first(layout.size_bytes)}));
}

TEST(EglContextOfADevice, IsTakenWhereItIsThereAndElseTheUsualOne) {
  EglContext usual = EglContext::create();
  usual.make_current();
  const std::string renderer = gl_renderer();
  const DeviceUuid uuid = uuid_of_context();
  usual.release_current();
  for (const DeviceUuid& wanted : {uuid, DeviceUuid{1, 2, 3}}) {
    EglContext made = EglContext::create(wanted);
    made.make_current();
    EXPECT_EQ(gl_renderer(), renderer);
  }
}

}  // namespace
}  // namespace framewire
