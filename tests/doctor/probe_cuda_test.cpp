// What CUDA says, by the stand-in for NVIDIA's driver.
#include <gtest/gtest.h>

#include "doctor/probe.hpp"
#include "tests/cuda/stand_in.hpp"
#include "tests/doctor/machines.hpp"

namespace framewire {
namespace {

using test::FakeTree;

TEST(ProbeCuda, ReadsWhatCudaListsAndWhereItIs) {
  test::cuda_stand_in::reset();
  test::cuda_stand_in::set_device_count(2);
  const FakeTree tree;
  test::write_pci_device(tree, "0000:3a/0000:3a:00.0", "0000:3b:00.0", "1");
  GpuFacts gpu;
  probe_cuda(tree.files(), gpu);
  EXPECT_EQ(gpu.cuda_trouble, "");
  EXPECT_EQ(gpu.cuda_version, "12.0");
  ASSERT_EQ(gpu.devices.size(), 2U);
  EXPECT_EQ(gpu.devices.front().info.name, "Stand-in 0");
  EXPECT_TRUE(gpu.devices.front().info.shares_memory);
  EXPECT_EQ(gpu.devices.front().route.numa_node, 1);
  EXPECT_EQ(gpu.devices.back().route.path, "");
}

TEST(ProbeCuda, SaysWhoseMemoryAGpuReads) {
  test::cuda_stand_in::reset();
  test::cuda_stand_in::set_device_count(2);
  test::cuda_stand_in::set_peer_access(true);
  GpuFacts gpu;
  probe_cuda(SystemFiles(), gpu);
  ASSERT_EQ(gpu.devices.size(), 2U);
  ASSERT_EQ(gpu.devices.front().info.peers.size(), 1U);
  EXPECT_EQ(gpu.devices.front().info.peers.front().pci_address, "0000:3c:00.0");
  test::cuda_stand_in::reset();
}

TEST(ProbeCuda, SaysWhatFails) {
  test::cuda_stand_in::reset();
  test::cuda_stand_in::lose_device(214);
  GpuFacts gpu;
  probe_cuda(SystemFiles(), gpu);
  EXPECT_NE(gpu.cuda_trouble.find("uncorrectable ECC error"), std::string::npos) << gpu.cuda_trouble;
  EXPECT_TRUE(gpu.devices.empty());
  test::cuda_stand_in::reset();
}

}  // namespace
}  // namespace framewire
