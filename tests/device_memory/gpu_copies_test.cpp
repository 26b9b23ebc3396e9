// The GPU copies frames between host memory and where OpenGL has them (GpuUpload, GpuDownload), with the tests'
// libcuda.so.1. Its copies come late, and are poison until then.
#include <fcntl.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "gl/gpu_copies.hpp"
#include "gl/readback.hpp"
#include "tests/base/eventually.hpp"
#include "tests/device_memory/on_llvmpipe.hpp"
#include "tests/pixels/reference.hpp"
#include "tests/pixels/two_colours.hpp"

namespace framewire {
namespace {

using test::eventually;

/// A frame of random samples in a block of host memory.
struct HostFrame {
  explicit HostFrame(PixelFormat format, std::uint8_t seed = 7)
      : layout(packed_layout(format, size.width, size.height)), memory(HostBlock::create("frame slots", 1 << 20)) {
    fill_with_content(format, bytes(), seed);
  }

  [[nodiscard]] std::span<std::byte> bytes() const { return memory->bytes().subspan(offset_bytes, layout.size_bytes); }
  [[nodiscard]] FrameView view() const {
    return {.layout = layout, .colour = {}, .payload = bytes(), .block = &block, .offset_in_block_bytes = offset_bytes};
  }
  [[nodiscard]] std::vector<std::byte> picture() const {
    FrameTexture texture(UploadMethod::client_pointer);
    return drawn(texture, {.layout = layout, .colour = {}, .payload = bytes()});
  }

  FrameLayout layout;
  std::shared_ptr<HostBlock> memory;
  std::shared_ptr<const Block> block = memory;
};

class GpuCopiesTest : public DeviceMemory {
 protected:
  /// Its memory, which is prepared as long as the result lives.
  static std::shared_ptr<const PreparedMemory> prepared(GpuCopies& copies, const HostFrame& frame) {
    auto memory = copies.prepare(frame.block);
    EXPECT_TRUE(eventually([&] { return memory->is_ready.load(); }));
    return memory;
  }
};

using GpuDownloadTest = DeviceMemory;

// ---- From OpenGL to host memory ----

TEST_F(GpuDownloadTest, EverySliceGoesToItsSlotAndNothingBeside) {
  const OffscreenTarget target(size);
  for (const std::uint16_t slices : {std::uint16_t{1}, std::uint16_t{2}, std::uint16_t{64}}) {
    SCOPED_TRACE(slices);
    Readback readback(size.width, size.height, {}, slices, &*memory_);
    EXPECT_EQ(readback.method(), ReadbackMethod::gpu_copy);
    const auto block = HostBlock::create("slots", std::uint64_t{4} * 16384);
    std::ranges::fill(block->bytes(), untouched);
    std::vector<std::vector<std::byte>> wanted;
    for (std::uint64_t slot = 1; slot <= Readback::max_in_flight; ++slot) {
      draw_two_colours(target, 0.2F * static_cast<float>(slot));
      wanted.push_back(read_back(target));
      target.bind();
      readback.begin(block, slot * 16384, block->bytes().subspan(slot * 16384));
    }
    for (std::uint64_t slot = 1; slot <= Readback::max_in_flight; ++slot) {
      const auto bytes = block->bytes().subspan(slot * 16384);
      for (std::uint16_t slice = 0; slice < readback.slices(); ++slice) {
        ASSERT_TRUE(readback.wait_slice(soon_ns()));
        const ByteRange range = slice_range(readback.size_bytes(), readback.slices(), slice);
        EXPECT_TRUE(std::ranges::equal(bytes.subspan(range.offset_bytes, range.size_bytes),
                                       std::span(wanted.at(slot - 1)).subspan(range.offset_bytes, range.size_bytes)));
      }
      EXPECT_EQ(bytes[readback.size_bytes()], untouched);
      EXPECT_EQ(block->bytes()[slot * 16384 - 1], untouched);
    }
    EXPECT_EQ(readback.in_flight(), 0U);
    EXPECT_EQ(readback.method(), ReadbackMethod::gpu_copy);
  }
}

TEST_F(GpuDownloadTest, ASliceIsThereWhenTheGpuHasCopiedIt) {
  const OffscreenTarget target(size);
  Readback readback(size.width, size.height, {}, 1, &*memory_);
  const auto block = HostBlock::create("slots", 16384);
  draw_two_colours(target, 0.75F);
  const auto wanted = read_back(target);
  target.bind();
  stand_in::hold_work(true);
  readback.begin(block, 0, block->bytes());
  glFinish();
  EXPECT_FALSE(readback.wait_slice(monotonic_ns() + 20 * ns_per_ms));
  EXPECT_EQ(readback.in_flight(), 1U);
  EXPECT_FALSE(readback.has_failed());
  stand_in::hold_work(false);
  ASSERT_TRUE(readback.wait_slice(soon_ns()));
  EXPECT_TRUE(std::ranges::equal(block->bytes().first(wanted.size()), wanted));
}

TEST_F(GpuDownloadTest, WhatTheGpuDoesNotCopyOpenGlBrings) {
  const OffscreenTarget target(size);
  for (const char* const function : {"cuMemcpyDtoHAsync", "cuEventRecord", "cuMemHostRegister"}) {
    SCOPED_TRACE(function);
    Readback readback(size.width, size.height, {}, 2, &*memory_);
    ASSERT_EQ(readback.method(), ReadbackMethod::gpu_copy);
    const auto block = HostBlock::create("slots", 2 * offset_bytes);
    for (const float red : {0.25F, 0.75F, 1.0F}) {
      draw_two_colours(target, red);
      const auto wanted = read_back(target);
      target.bind();
      if (red == 0.75F || function == std::string_view("cuMemHostRegister")) {
        stand_in::fail(function, 999);
      }
      readback.begin(block, 0, block->bytes());
      ASSERT_TRUE(readback.wait_finished(soon_ns()));
      EXPECT_TRUE(std::ranges::equal(block->bytes().first(wanted.size()), wanted)) << red;
    }
    EXPECT_EQ(readback.method(), ReadbackMethod::persistent_buffer);
    stand_in::reset();
    stand_in::set_uuid(uuid_of_context());
  }
}

TEST_F(GpuDownloadTest, IsTriedBeforeItIsTaken) {
  for (const char* const function : {"cuMemCreate", "cuMemHostRegister", "cuMemcpyHtoDAsync", "cuMemcpyDtoHAsync"}) {
    SCOPED_TRACE(function);
    stand_in::fail(function, 999);
    EXPECT_NE(Readback(size.width, size.height, {}, 1, &*memory_).method(), ReadbackMethod::gpu_copy);
    stand_in::fail(function, 999);
    EXPECT_THROW(Readback(size.width, size.height, ReadbackMethod::gpu_copy, 1, &*memory_), Error);
  }
  EXPECT_THROW(Readback(size.width, size.height, ReadbackMethod::gpu_copy), Error) << "without the GPU's memory";
  stand_in::set_free_bytes(1 << 20);
  EXPECT_NE(Readback(2048, 2048, {}, 1, &*memory_).method(), ReadbackMethod::gpu_copy) << "the GPU is full";
}

/// Such as of a picture that is recorded: no block of host memory.
TEST_F(GpuDownloadTest, ASlotOfNoBlockTakesAnotherWay) {
  const OffscreenTarget target(size);
  Readback readback(size.width, size.height, {}, 1, &*memory_);
  draw_two_colours(target, 0.75F);
  const auto wanted = read_back(target);
  target.bind();
  std::vector<std::byte> slot(readback.size_bytes());
  readback.begin({}, 0, slot);
  ASSERT_TRUE(readback.wait_finished(soon_ns()));
  EXPECT_EQ(slot, wanted);
}

TEST_F(GpuDownloadTest, LeavesNothingBehind) {
  const std::size_t before = stand_in::objects();
  const OffscreenTarget target(size);
  const auto block = HostBlock::create("slots", 16384);
  {
    Readback readback(size.width, size.height, {}, 1, &*memory_);
    target.bind();
    readback.begin(block, 0, block->bytes());
    static_cast<void>(readback.wait_slice(0));  // the GPU may copy when it ends
  }
  EXPECT_TRUE(eventually([&] { return block.use_count() == 1; }));
  EXPECT_TRUE(eventually([&] { return stand_in::objects() <= before + 4; })) << "a stream's events are kept";
}

// ---- From host memory to OpenGL ----

TEST_F(GpuCopiesTest, EveryFormatIsDrawnAsByTheProcessor) {
  GpuCopies copies(*memory_);
  for (const PixelFormatInfo& one : pixel_formats()) {
    if (one.format == PixelFormat::bytes) {
      continue;
    }
    SCOPED_TRACE(one.name);
    const HostFrame frame(one.format);
    const auto kept = prepared(copies, frame);
    FrameTexture texture({}, &copies);
    const bool is_in_place = can_be_read_in_place(frame.layout);
    EXPECT_TRUE(eventually([&] {
      EXPECT_EQ(drawn(texture, frame.view()), frame.picture());
      return (texture.method() == UploadMethod::gpu_copy) == is_in_place;
    }));
  }
}

TEST_F(GpuCopiesTest, SlicesAreCopiedAsTheyCome) {
  GpuCopies copies(*memory_);
  const HostFrame before(PixelFormat::nv12, 3);
  const HostFrame frame(PixelFormat::nv12, 7);
  const auto kept = prepared(copies, before);
  FrameTexture texture({}, &copies);
  ASSERT_EQ(drawn(texture, before.view()), before.picture());
  const std::vector<std::byte> old = before.picture();
  const std::vector<std::byte> complete(frame.bytes().begin(), frame.bytes().end());
  std::ranges::fill(before.bytes(), std::byte{0});
  for (std::uint64_t arrived = 0; arrived < complete.size(); arrived += 1 + arrived / 3) {
    std::copy_n(complete.begin(), arrived, before.bytes().begin());
    ASSERT_TRUE(texture.upload_arrived(before.view(), arrived));
  }
  EXPECT_EQ(texture.method(), UploadMethod::gpu_copy);
  EXPECT_EQ(picture_of(texture), old) << "it is not complete";
  std::ranges::copy(complete, before.bytes().begin());
  EXPECT_EQ(drawn(texture, before.view()), frame.picture());
  EXPECT_EQ(texture.method(), UploadMethod::gpu_copy);
  ASSERT_TRUE(texture.upload_arrived(before.view(), 4096));
  texture.forget_arrived();
  EXPECT_EQ(picture_of(texture), frame.picture());
}

TEST_F(GpuCopiesTest, TheFrameMayBeOverwrittenOnceItIsUploaded) {
  GpuCopies copies(*memory_);
  const HostFrame frame(PixelFormat::rgba);
  const auto kept = prepared(copies, frame);
  FrameTexture texture({}, &copies);
  const std::vector<std::byte> picture = frame.picture();
  ASSERT_TRUE(texture.upload(frame.view()));
  EXPECT_EQ(texture.method(), UploadMethod::gpu_copy);
  EXPECT_TRUE(texture.upload_done());
  std::ranges::fill(frame.bytes(), std::byte{0});
  EXPECT_EQ(picture_of(texture), picture);
}

/// Nobody waits for a gigabyte to be registered, or for a driver to be loaded.
TEST_F(GpuCopiesTest, FramesTakeAnotherWayUntilTheirMemoryIsPrepared) {
  const DeviceUuid here = uuid_of_context();
  std::atomic<bool> may_open = false;
  GpuCopies copies([&](const DeviceUuid& device) {
    EXPECT_EQ(device, here);
    may_open.wait(false);
    return std::make_unique<const CudaMemory>(choose_cuda_device(cuda_devices(), ""));
  });
  const HostFrame frame(PixelFormat::rgba);
  FrameTexture texture({}, &copies);
  EXPECT_EQ(drawn(texture, frame.view()), frame.picture());
  EXPECT_NE(texture.method(), UploadMethod::gpu_copy);
  EXPECT_EQ(copies.why_not(), std::nullopt);
  may_open = true;
  may_open.notify_all();
  EXPECT_TRUE(eventually([&] {
    EXPECT_EQ(drawn(texture, frame.view()), frame.picture());
    return texture.method() == UploadMethod::gpu_copy;
  }));
}

TEST_F(GpuCopiesTest, WithoutSuchAGpuFramesTakeAnotherWay) {
  const HostFrame frame(PixelFormat::rgba);
  const auto refused = [&](const OpenDeviceMemory& open) {
    GpuCopies copies(open);
    FrameTexture texture({}, &copies);
    EXPECT_TRUE(eventually([&] { return copies.why_not().has_value(); }));
    EXPECT_EQ(drawn(texture, frame.view()), frame.picture());
    EXPECT_NE(texture.method(), UploadMethod::gpu_copy);
    return copies.why_not().value_or("");
  };
  EXPECT_EQ(refused([](const DeviceUuid&) { return nullptr; }), "no GPU that CUDA can use draws here");
  EXPECT_EQ(refused([](const DeviceUuid&) -> std::unique_ptr<const MemoryKind> { throw Error::failed("no driver"); }),
            "no driver");
}

TEST_F(GpuCopiesTest, AGpuThatFailsInTheTrialIsNotTaken) {
  const HostFrame frame(PixelFormat::rgba);
  GpuCopies copies(*memory_);
  const auto kept = prepared(copies, frame);
  stand_in::fail("cuMemcpyHtoDAsync", 999);
  EXPECT_EQ(copies.memory(), nullptr);
  EXPECT_NE(copies.why_not().value_or("").find("cuMemcpyHtoDAsync"), std::string::npos);
  EXPECT_EQ(copies.prepare(frame.block), nullptr);
}

TEST_F(GpuCopiesTest, AFrameThatTheGpuDoesNotCopyIsShownAllTheSame) {
  for (const char* const function : {"cuMemcpyHtoDAsync", "cuEventRecord", "cuMemCreate"}) {
    SCOPED_TRACE(function);
    GpuCopies copies(*memory_);
    const HostFrame frame(PixelFormat::nv12);
    const auto kept = prepared(copies, frame);
    ASSERT_NE(copies.memory(), nullptr);
    FrameTexture texture({}, &copies);
    if (function != std::string_view("cuMemCreate")) {
      ASSERT_TRUE(texture.upload_arrived(frame.view(), 100));
      EXPECT_EQ(texture.method(), UploadMethod::gpu_copy);
    }
    stand_in::fail(function, 999);
    EXPECT_EQ(drawn(texture, frame.view()), frame.picture());
    EXPECT_NE(texture.method(), UploadMethod::gpu_copy);
    EXPECT_EQ(drawn(texture, frame.view()), frame.picture());
    EXPECT_NE(texture.method(), UploadMethod::gpu_copy) << "it is not tried for each frame";
  }
}

TEST_F(GpuCopiesTest, AGpuThatHangsCostsOneWait) {
  GpuCopies copies(*memory_);
  const HostFrame frame(PixelFormat::rgba);
  const auto kept = prepared(copies, frame);
  ASSERT_NE(copies.memory(), nullptr);
  FrameTexture used({}, &copies);
  FrameTexture other({}, &copies);
  for (FrameTexture* texture : {&used, &other}) {
    EXPECT_EQ(drawn(*texture, frame.view()), frame.picture());
    EXPECT_EQ(texture->method(), UploadMethod::gpu_copy);
  }
  stand_in::hold_work(true);
  EXPECT_EQ(drawn(used, frame.view()), frame.picture());
  EXPECT_NE(used.method(), UploadMethod::gpu_copy);
  EXPECT_EQ(copies.why_not(), "the GPU did not copy a frame in time");
  const std::size_t objects = stand_in::objects();
  EXPECT_EQ(drawn(other, frame.view()), frame.picture()) << "it does not try";
  EXPECT_NE(other.method(), UploadMethod::gpu_copy);
  EXPECT_LT(stand_in::objects(), objects) << "nor does it keep memory of the GPU";
  stand_in::hold_work(false);
}

TEST_F(GpuCopiesTest, ADriverThatHangsDoesNotKeepTheProgram) {
  const auto may_open = std::make_shared<std::atomic<bool>>(false);
  {
    const GpuCopies copies([may_open](const DeviceUuid&) {
      may_open->wait(false);
      return nullptr;
    });
  }
  EXPECT_GT(may_open.use_count(), 1) << "the thread is still in the driver";
  may_open->store(true);
  may_open->notify_all();
  EXPECT_TRUE(eventually([&] { return may_open.use_count() == 1; }));
}

/// CUDA takes a range of host memory once, also for another of its GPUs.
TEST_F(GpuCopiesTest, TwoUsersOfCudaShareTheirHostMemory) {
  const CudaMemory again(choose_cuda_device(cuda_devices(), ""));
  const HostFrame frame(PixelFormat::rgba);
  for (const CudaMemory* const memory : std::array<const CudaMemory*, 2>{&*memory_, &again}) {
    const auto block = memory->allocate_private("copies", 1 << 20, {});
    const auto fence = block->copy_from_host({frame.block, frame.memory.get()}, CopyRange::at(0, 1 << 20));
    EXPECT_TRUE(eventually([&] { return fence->state() == FenceState::done; }));
    EXPECT_EQ(memory_->prepare_copies({frame.block, frame.memory.get()}),
              again.prepare_copies({frame.block, frame.memory.get()}));
  }
}

/// CUDA takes a range of host memory once.
TEST_F(GpuCopiesTest, TexturesShareTheirMemoryAndReleaseIt) {
  HostFrame frame(PixelFormat::rgba);
  {
    GpuCopies copies(*memory_);
    FrameTexture one({}, &copies);
    FrameTexture other({}, &copies);
    for (FrameTexture* texture : {&one, &other}) {
      EXPECT_TRUE(eventually([&] {
        EXPECT_EQ(drawn(*texture, frame.view()), frame.picture());
        return texture->method() == UploadMethod::gpu_copy;
      }));
    }
    one.forget_blocks();
    EXPECT_EQ(drawn(other, frame.view()), frame.picture());
    EXPECT_EQ(other.method(), UploadMethod::gpu_copy);
    other.forget_blocks();
    frame.block.reset();
    EXPECT_TRUE(eventually([&] { return frame.memory.use_count() == 1; }));
  }
}

/// As a viewer maps a sender's pool.
TEST_F(GpuCopiesTest, MemoryThatThisProcessMayOnlyReadIsCopiedToo) {
  HostFrame mine(PixelFormat::yuv420p);
  HostFrame theirs = mine;
  theirs.memory = HostBlock::map_read_only(FileDescriptor(::fcntl(mine.memory->memfd(), F_DUPFD_CLOEXEC, 0)), 1 << 20);
  theirs.block = theirs.memory;
  GpuCopies copies(*memory_);
  const auto kept = prepared(copies, theirs);
  FrameTexture texture({}, &copies);
  EXPECT_EQ(drawn(texture, theirs.view()), mine.picture());
  EXPECT_EQ(texture.method(), UploadMethod::gpu_copy);
}

}  // namespace
}  // namespace framewire
