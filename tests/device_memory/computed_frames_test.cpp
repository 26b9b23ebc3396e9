// Frames that a compute shader writes into the buffer that they go to, in place of drawing and glReadPixels
// (ReadbackSource).
#include <algorithm>
#include <cstddef>
#include <memory>
#include <vector>

#include "gl/readback.hpp"
#include "gl/scene_renderer.hpp"
#include "tests/device_memory/on_llvmpipe.hpp"

namespace framewire {
namespace {

constexpr Size frame_size{104, 70};
constexpr std::uint64_t slot_bytes = 32768;

const ShaderScene gradient{"gradient",
                           "void mainImage(out vec4 c, in vec2 p) {\n"
                           "  c = vec4(p / iResolution.xy, fract(float(iFrame) / 7.0), 1.0);\n"
                           "}\n"};

/// Counts how a frame of `renderer` is brought into memory.
class Watched final : public ReadbackSource {
 public:
  explicit Watched(const ReadbackSource& source, bool can_write = true) : source_(source), can_write_(can_write) {}

  void draw_bytes() const noexcept override {
    ++frames_drawn;
    source_.draw_bytes();
  }
  [[nodiscard]] bool can_write(std::uint64_t offset_bytes) const noexcept override {
    return can_write_ && source_.can_write(offset_bytes);
  }
  void write_rows(GLuint buffer, std::uint64_t offset_bytes, std::uint32_t first,
                  std::uint32_t end) const noexcept override {
    rows_written += end - first;
    source_.write_rows(buffer, offset_bytes, first, end);
  }

  mutable std::uint32_t frames_drawn = 0;
  mutable std::uint32_t rows_written = 0;

 private:
  const ReadbackSource& source_;
  bool can_write_;
};

class ComputedFrames : public DeviceMemory {
 protected:
  void SetUp() override {
    DeviceMemory::SetUp();
    if (IsSkipped()) {
      return;
    }
    renderer_.emplace(gradient, frame_size, PixelFormat::p010le, ConvertBy::computing);
    const SceneRenderer drawing(gradient, frame_size, PixelFormat::p010le, ConvertBy::drawing);
    for (std::uint64_t frame = 0; frame < Readback::max_in_flight; ++frame) {
      Readback readback(drawing.readback_size().width, drawing.readback_size().height);
      const auto block = HostBlock::create("frame", slot_bytes);
      EXPECT_EQ(drawing.draw_for_readback({.frame = frame}), nullptr);
      readback.begin(block, 0, block->bytes());
      ASSERT_TRUE(readback.wait_finished(soon_ns()));
      const auto bytes = block->bytes().first(readback.size_bytes());
      wanted_.emplace_back(bytes.begin(), bytes.end());
    }
  }

  /// Of the slots from the second one on, each with one of the frames.
  void expect_frames(std::span<const std::byte> slots) const {
    for (std::size_t i = 0; i < wanted_.size(); ++i) {
      const auto bytes = slots.subspan((i + 1) * slot_bytes);
      EXPECT_TRUE(std::ranges::equal(bytes.first(wanted_[i].size()), wanted_[i])) << "frame " << i;
      EXPECT_EQ(bytes[wanted_[i].size()], untouched);
      EXPECT_EQ(slots[(i + 1) * slot_bytes - 1], untouched);
    }
  }

  /// Has the frames written into host memory.
  void expect_computed(Readback& readback) const {
    const auto block = HostBlock::create("slots", 4 * slot_bytes);
    std::ranges::fill(block->bytes(), untouched);
    for (std::uint64_t frame = 0; frame < Readback::max_in_flight; ++frame) {
      const Watched watched(*renderer_->draw_for_readback({.frame = frame}));
      const std::uint64_t at = (frame + 1) * slot_bytes;
      readback.begin(block, at, block->bytes().subspan(at), &watched);
      EXPECT_EQ(watched.rows_written, renderer_->readback_size().height);
      EXPECT_EQ(watched.frames_drawn, 0U);
    }
    while (readback.in_flight() > 0) {
      ASSERT_TRUE(readback.wait_slice(soon_ns()));
    }
    expect_frames(block->bytes());
  }

  std::optional<SceneRenderer> renderer_;
  std::vector<std::vector<std::byte>> wanted_;
};

TEST_F(ComputedFrames, AreWrittenIntoSlotsOfTheGpu) {
  for (const bool can_write : {true, false}) {
    const std::shared_ptr<Block> block = memory_->allocate("frame slots", 1 << 20, {});
    std::ranges::fill(on_device(*block), untouched);
    Readback readback(renderer_->readback_size().width, renderer_->readback_size().height);
    for (std::uint64_t frame = 0; frame < Readback::max_in_flight; ++frame) {
      const ReadbackSource* const source = renderer_->draw_for_readback({.frame = frame});
      ASSERT_NE(source, nullptr);
      const Watched watched(*source, can_write);
      ASSERT_TRUE(readback.begin_on_device(block, (frame + 1) * slot_bytes, &watched));
      EXPECT_EQ(watched.rows_written, can_write ? renderer_->readback_size().height : 0);
      EXPECT_EQ(watched.frames_drawn, can_write ? 0U : 1U);
    }
    while (readback.in_flight() > 0) {
      ASSERT_TRUE(readback.wait_slice(soon_ns()));
    }
    expect_frames(on_device(*block));
  }
}

TEST_F(ComputedFrames, AreCopiedByTheGpuSliceBySlice) {
  for (const std::uint16_t slices : {std::uint16_t{1}, std::uint16_t{3}}) {
    Readback readback(renderer_->readback_size().width, renderer_->readback_size().height, {}, slices, &*memory_);
    ASSERT_EQ(readback.method(), ReadbackMethod::gpu_copy);
    ASSERT_EQ(readback.slices(), slices);
    expect_computed(readback);
    EXPECT_EQ(readback.method(), ReadbackMethod::gpu_copy);
  }
}

TEST_F(ComputedFrames, AreWrittenIntoHostMemoryByEveryMethod) {
  for (const ReadbackMethod method : {ReadbackMethod::pinned_memory, ReadbackMethod::persistent_buffer}) {
    SCOPED_TRACE(name(method));
    Readback readback(renderer_->readback_size().width, renderer_->readback_size().height, method, 2);
    ASSERT_EQ(readback.slices(), 2);
    expect_computed(readback);
    EXPECT_EQ(readback.method(), method);
  }
}

}  // namespace
}  // namespace framewire
