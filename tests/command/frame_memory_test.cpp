// Which of several GPUs a program takes, with the stand-in for NVIDIA's driver and made-up files of sysfs.
#include "command/frame_memory.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "base/error.hpp"
#include "memory/cuda/device.hpp"
#include "tests/base/fake_tree.hpp"
#include "tests/cuda/stand_in.hpp"

namespace framewire {
namespace {

const MemoryChoice any_gpu{.is_cuda = true};

/// Two GPUs, at 0000:3b:00.0 and 0000:3c:00.0; the second one shares a switch with mlx5_0.
class FrameMemoryOf : public testing::Test {
 protected:
  void SetUp() override {
    test::cuda_stand_in::reset();
    test::cuda_stand_in::set_device_count(2);
    test::write_pci_device(tree_, "0000:3a/0000:3a:00.0", "0000:3b:00.0", "0");
    test::write_pci_device(tree_, "0000:80/0000:80:00.0/0000:81:00.0/0000:82:00.0", "0000:3c:00.0", "1");
    test::write_pci_device(tree_, "0000:80/0000:80:00.0/0000:81:00.0/0000:82:01.0", "0000:83:00.0", "1");
    test::write_rdma_device(tree_, "mlx5_0", "0000:83:00.0");
  }
  void TearDown() override { test::cuda_stand_in::reset(); }

  [[nodiscard]] GpuPreferences near_rdma() const { return {.sessions = {&session_}, .files = tree_.files()}; }
  /// `second`: what OpenGL draws with is the second GPU, or none of CUDA's.
  [[nodiscard]] GpuPreferences in_a_window(bool second) {
    GpuPreferences preferences = near_rdma();
    preferences.drawn_with = [this, second] {
      ++times_asked_;
      return std::vector{DeviceUuid{1, 2, 3}, second ? cuda_devices().at(1).uuid_bytes : DeviceUuid{}};
    };
    return preferences;
  }

  /// Its number, as the last byte of its UUID counts them.
  static int gpu_of(const FrameMemory& memory) { return memory.kind().device_uuid().value_or(DeviceUuid{}).back(); }

  test::FakeTree tree_;
  EndpointOptions session_;
  int times_asked_ = 0;
};

TEST_F(FrameMemoryOf, TheNearestGpuToTheRdmaDevice) {
  const FrameMemory memory(any_gpu, near_rdma());
  EXPECT_EQ(gpu_of(memory), 1);
  EXPECT_EQ(memory.note(),
            "frames lie in the memory of the GPU Stand-in 1 at 0000:3c:00.0, the nearest to mlx5_0 (by one PCIe "
            "switch)");
}

TEST_F(FrameMemoryOf, CudasFirstGpuWhereNoSessionMayUseRdma) {
  session_.allowed_links = {LinkKind::tcp};
  for (const GpuPreferences& preferences : {near_rdma(), GpuPreferences()}) {
    const FrameMemory memory(any_gpu, preferences);
    EXPECT_EQ(gpu_of(memory), 0);
    EXPECT_EQ(memory.note(), "frames lie in the memory of the GPU Stand-in 0 at 0000:3b:00.0, CUDA's first one");
  }
}

TEST_F(FrameMemoryOf, TheGpuThatDrawsThoughAnotherIsTheNearest) {
  test::write_pci_device(tree_, "0000:3a/0000:3a:00.0", "0000:3b:00.1", "0");
  test::write_rdma_device(tree_, "mlx5_1", "0000:3b:00.1");
  EXPECT_EQ(gpu_of(FrameMemory(any_gpu, near_rdma())), 0) << "the first of two that are as near";
  const FrameMemory memory(any_gpu, in_a_window(true));
  EXPECT_EQ(gpu_of(memory), 1);
  EXPECT_EQ(memory.note(), "frames lie in the memory of the GPU Stand-in 1 at 0000:3c:00.0, which OpenGL draws with");
}

TEST_F(FrameMemoryOf, TheNearestGpuWhereCudaHasNoneThatDraws) {
  const FrameMemory memory(any_gpu, in_a_window(false));
  EXPECT_EQ(times_asked_, 1);
  EXPECT_EQ(gpu_of(memory), 1);
}

TEST_F(FrameMemoryOf, TheGpuThatIsNamed) {
  const FrameMemory memory({.is_cuda = true, .gpu = "0000:3B:00.0"}, in_a_window(true));
  EXPECT_EQ(gpu_of(memory), 0);
  EXPECT_EQ(memory.note(), "");
  EXPECT_EQ(times_asked_, 0);
}

TEST_F(FrameMemoryOf, TheOnlyGpu) {
  test::cuda_stand_in::set_device_count(1);
  const FrameMemory memory(any_gpu, in_a_window(true));
  EXPECT_EQ(gpu_of(memory), 0);
  EXPECT_EQ(memory.note(), "");
  EXPECT_EQ(times_asked_, 0);
}

TEST_F(FrameMemoryOf, TheHostUnlessCudaIsWanted) {
  const FrameMemory memory({}, in_a_window(true));
  EXPECT_TRUE(memory.is_host());
  EXPECT_EQ(memory.note(), "");
  EXPECT_EQ(times_asked_, 0);
}

TEST_F(FrameMemoryOf, NoGpuEndsWithTheNameOfTheOption) {
  test::cuda_stand_in::set_device_count(0);
  try {
    const FrameMemory memory(any_gpu, near_rdma());
    FAIL() << "there is no GPU";
  } catch (const Error& error) {
    EXPECT_EQ(std::string(error.what()), "--memory cuda: CUDA has no GPU here; CUDA_VISIBLE_DEVICES may hide it");
  }
}

}  // namespace
}  // namespace framewire
