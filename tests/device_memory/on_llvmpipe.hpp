// Tests where llvmpipe is a GPU with the tests' libcuda.so.1, whose memory it imports (tests/cuda/machine.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <optional>
#include <span>
#include <vector>

#include "base/clock.hpp"
#include "gl/frame_texture.hpp"
#include "gl/offscreen_target.hpp"
#include "memory/cuda/cuda_memory.hpp"
#include "tests/cuda/stand_in.hpp"
#include "tests/pixels/gl_test.hpp"

namespace framewire {

namespace stand_in = test::cuda_stand_in;

inline constexpr Size size{67, 35};  // fit no alignment
inline constexpr std::uint64_t offset_bytes = 8192;
inline constexpr std::byte untouched{0xa5};

inline std::int64_t soon_ns() {
  return monotonic_ns() + 20 * ns_per_s;
}

inline DeviceUuid uuid_of_context() {
  DeviceUuid uuid{};
  glGetUnsignedBytei_vEXT(GL_DEVICE_UUID_EXT, 0, uuid.data());
  return uuid;
}

class DeviceMemory : public GlTest {
 protected:
  void SetUp() override {
    if (!is_software_renderer() || GLAD_GL_EXT_memory_object_fd == 0) {
      GTEST_SKIP() << "only llvmpipe imports the memory of the tests' libcuda.so.1, and this is " << gl_renderer();
    }
    stand_in::reset();
    stand_in::set_uuid(uuid_of_context());
    memory_.emplace(choose_cuda_device(cuda_devices(), ""));
    ASSERT_EQ(WrappedBlocks::why_not(*memory_), std::nullopt);
  }

  [[nodiscard]] static std::span<std::byte> on_device(const Block& block) {
    return {stand_in::memory_at(dynamic_cast<const CudaBlock&>(block).address()), block.size_bytes()};
  }

  static std::ptrdiff_t open_descriptors() {
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
  }

  std::optional<CudaMemory> memory_;
};

/// What the texture shows, as RGBA.
inline std::vector<std::byte> picture_of(const FrameTexture& texture) {
  const Size size = texture.frame_size();
  const OffscreenTarget target(size);
  target.bind();
  FramePainter().draw(texture.painted(), {0, 0, static_cast<int>(size.width), static_cast<int>(size.height)}, false);
  std::vector<std::byte> pixels(target.size_bytes());
  target.read_rgba(pixels);
  return pixels;
}

inline std::vector<std::byte> drawn(FrameTexture& texture, const FrameView& view) {
  EXPECT_TRUE(texture.upload(view));
  std::vector<std::byte> pixels = picture_of(texture);
  EXPECT_EQ(texture.wait_upload_done(soon_ns()), GpuWait::done);
  return pixels;
}

}  // namespace framewire
