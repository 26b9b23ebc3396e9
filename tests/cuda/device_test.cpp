#include "memory/cuda/device.hpp"

#include <gtest/gtest.h>

#include <string>

#include "base/error.hpp"
#include "tests/cuda/stand_in.hpp"

namespace framewire {
namespace {

class CudaDevices : public testing::Test {
 protected:
  void SetUp() override {
    test::cuda_stand_in::reset();
    test::cuda_stand_in::set_device_count(2);
  }
  void TearDown() override { test::cuda_stand_in::reset(); }

  static std::string fault_of_choosing(const std::string& wanted) {
    try {
      return "chose " + choose_cuda_device(cuda_devices(), wanted).name;
    } catch (const Error& error) {
      return error.what();
    }
  }
};

TEST_F(CudaDevices, AreDescribed) {
  const auto devices = cuda_devices();
  ASSERT_EQ(devices.size(), 2U);
  EXPECT_EQ(devices[1].name, "Stand-in 1");
  EXPECT_EQ(devices[1].uuid, "GPU-abababab-abab-abab-abab-ababababab01");
  EXPECT_EQ(devices[1].pci_address, "0000:3c:00.0");
  EXPECT_EQ(devices[1].memory_bytes, 1U << 30U);
  EXPECT_TRUE(devices[1].shares_memory);
  EXPECT_TRUE(devices[1].exports_dma_buf);
  EXPECT_TRUE(devices[1].makes_gpu_direct_memory);
  EXPECT_TRUE(devices[1].takes_gpu_direct_rdma);
  EXPECT_TRUE(devices[1].orders_rdma_writes);
  EXPECT_TRUE(devices[1].flushes_rdma_writes);
}

TEST_F(CudaDevices, WithoutAnAttributeLackWhatItStandsFor) {
  test::cuda_stand_in::set_attribute(103, 0);               // descriptors
  test::cuda_stand_in::set_attribute(110, 0);               // GPUDirect RDMA with virtual memory
  test::cuda_stand_in::fail("cuDeviceGetAttribute", 1, 2);  // the attribute of DMA-BUF, unknown to an old driver
  const auto devices = cuda_devices();
  EXPECT_FALSE(devices[0].shares_memory);
  EXPECT_FALSE(devices[0].exports_dma_buf);
  EXPECT_FALSE(devices[0].makes_gpu_direct_memory);
  EXPECT_FALSE(devices[0].takes_gpu_direct_rdma);
}

/// A driver without the API of nvidia-peermem may have DMA-BUF all the same.
TEST_F(CudaDevices, MayMakeMemoryForRdmaThatOnlyDmaBufReaches) {
  test::cuda_stand_in::set_attribute(116, 0);  // GPUDirect RDMA by nvidia_p2p_get_pages
  const auto devices = cuda_devices();
  EXPECT_TRUE(devices[0].makes_gpu_direct_memory);
  EXPECT_FALSE(devices[0].takes_gpu_direct_rdma);
  EXPECT_TRUE(devices[0].exports_dma_buf);
}

TEST_F(CudaDevices, MapDmaBufsByPcieFromCuda12_8On) {
  test::cuda_stand_in::set_driver_version(12070);
  EXPECT_FALSE(cuda_devices()[0].knows_pcie_mapping);
  test::cuda_stand_in::set_driver_version(12080);
  EXPECT_TRUE(cuda_devices()[0].knows_pcie_mapping);
  test::cuda_stand_in::set_attribute(124, 0);
  EXPECT_FALSE(cuda_devices()[0].knows_pcie_mapping) << "it exports none at all";
}

TEST_F(CudaDevices, SayWhetherTheyShareThePageTablesOfTheProcessor) {
  EXPECT_FALSE(cuda_devices()[0].shares_page_tables);
  test::cuda_stand_in::set_attribute(100, 1);
  EXPECT_TRUE(cuda_devices()[0].shares_page_tables);
}

TEST_F(CudaDevices, SayWhetherTheySeeWhatRdmaWrites) {
  test::cuda_stand_in::set_attribute(118, 99);  // less than for the memory's owner
  test::cuda_stand_in::set_attribute(117, 2);   // by operations in a stream, not by the program
  EXPECT_FALSE(cuda_devices()[0].orders_rdma_writes);
  EXPECT_FALSE(cuda_devices()[0].flushes_rdma_writes);
  test::cuda_stand_in::set_attribute(118, 200);
  test::cuda_stand_in::set_attribute(117, 3);
  EXPECT_TRUE(cuda_devices()[0].orders_rdma_writes);
  EXPECT_TRUE(cuda_devices()[0].flushes_rdma_writes);
}

TEST_F(CudaDevices, SayWhoseMemoryTheyRead) {
  EXPECT_TRUE(cuda_devices()[0].peers.empty());
  test::cuda_stand_in::set_peer_access(true);
  test::cuda_stand_in::set_device_count(3);
  const auto devices = cuda_devices();
  ASSERT_EQ(devices[1].peers.size(), 2U);
  EXPECT_EQ(devices[1].peers[1].number, 2);
  EXPECT_EQ(devices[1].peers[1].uuid_bytes, devices[2].uuid_bytes);
  EXPECT_EQ(devices[1].peers[1].name, "Stand-in 2");
  EXPECT_EQ(devices[1].peers[1].pci_address, "0000:3d:00.0");
  test::cuda_stand_in::fail("cuDeviceCanAccessPeer", 999, 1);
  EXPECT_EQ(cuda_devices()[0].peers.size(), 1U) << "where the driver cannot say it, there is none";
}

TEST_F(CudaDevices, AreChosenByUuidOrPciAddress) {
  const auto devices = cuda_devices();
  EXPECT_EQ(choose_cuda_device(devices, "").number, 0);
  EXPECT_EQ(choose_cuda_device(devices, "gpu-ABABABAB-abab-abab-abab-ababababab01").number, 1);
  EXPECT_EQ(choose_cuda_device(devices, "0000:3C:00.0").number, 1);
}

TEST_F(CudaDevices, ThatDoNotFitAreListed) {
  const std::string list =
      "; CUDA has Stand-in 0 (GPU-abababab-abab-abab-abab-ababababab00, 0000:3b:00.0), "
      "Stand-in 1 (GPU-abababab-abab-abab-abab-ababababab01, 0000:3c:00.0)";
  EXPECT_EQ(fault_of_choosing("0000:ff:00.0"), "no GPU is '0000:ff:00.0'" + list);
  EXPECT_EQ(fault_of_choosing("GPU-abab"), "several GPUs are 'GPU-abab'" + list);
  EXPECT_EQ(fault_of_choosing("GPU-ab\x1b[31m"), "no GPU is 'GPU-ab\\x1b[31m'" + list);
  EXPECT_THROW(choose_cuda_device({}, ""), Error);
}

TEST_F(CudaDevices, ShareOneContextThatIsGivenBack) {
  const std::size_t before = test::cuda_stand_in::objects();
  {
    const CudaDevice device(choose_cuda_device(cuda_devices(), ""));
    const CurrentContext outer(device);
    {
      const CurrentContext inner(device);
      EXPECT_EQ(test::cuda_stand_in::contexts_on_this_thread(), 2U);
    }
    EXPECT_EQ(test::cuda_stand_in::contexts_on_this_thread(), 1U);
  }
  EXPECT_EQ(test::cuda_stand_in::contexts_on_this_thread(), 0U);
  EXPECT_EQ(test::cuda_stand_in::objects(), before);
}

TEST_F(CudaDevices, LeaveNoContextWhereTheEndOfOneFails) {
  const CudaDevice device(choose_cuda_device(cuda_devices(), ""));
  for (int i = 0; i < 20; ++i) {
    test::cuda_stand_in::fail("cuCtxPopCurrent", 999);
    const CurrentContext current(device);
  }
  EXPECT_EQ(test::cuda_stand_in::contexts_on_this_thread(), 0U);
}

}  // namespace
}  // namespace framewire
