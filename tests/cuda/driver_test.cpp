#include "memory/cuda/driver.hpp"

#include <gtest/gtest.h>

#include <string>

#include "base/error.hpp"
#include "tests/cuda/stand_in.hpp"

namespace framewire {
namespace {

class CudaDriver : public testing::Test {
 protected:
  void SetUp() override { test::cuda_stand_in::reset(); }
  void TearDown() override { test::cuda_stand_in::reset(); }

  /// What load_functions() throws; empty if it does not.
  static std::string fault() {
    try {
      cuda::load_functions();
      return {};
    } catch (const Error& error) {
      return error.what();
    }
  }

  static cuda::Uuid uuid_of(const cuda::Functions& functions, cuda::DeviceNumber device) {
    cuda::Uuid uuid{};
    EXPECT_EQ(functions.cuDeviceGetUuid(&uuid, device), cuda::Result::success);
    return uuid;
  }
};

TEST_F(CudaDriver, HasEveryFunction) {
  EXPECT_EQ(fault(), "");
  EXPECT_NE(cuda::functions().cuMemCreate, nullptr);
}

TEST_F(CudaDriver, WithoutOneFunctionIsToldByItsName) {
  for (const char* const function :
       {"cuInit", "cuDeviceGetUuid", "cuMemCreate", "cuMemImportFromShareableHandle", "cuEventQuery"}) {
    test::cuda_stand_in::hide(function);
    EXPECT_EQ(fault(), "libcuda.so.1 has no " + std::string(function) +
                           ": it is too old; framewire needs NVIDIA's driver 465 or newer for CUDA");
  }
}

TEST_F(CudaDriver, MayBeOlderThanDmaBuf) {
  EXPECT_NE(cuda::load_functions().cuMemGetHandleForAddressRange, nullptr);
  test::cuda_stand_in::hide("cuMemGetHandleForAddressRange");
  EXPECT_EQ(cuda::load_functions().cuMemGetHandleForAddressRange, nullptr);
}

TEST_F(CudaDriver, TellsTheSlicesOfAGpuApart) {
  test::cuda_stand_in::set_device_count(2);
  test::cuda_stand_in::set_slices(true);
  EXPECT_NE(uuid_of(cuda::load_functions(), 0), uuid_of(cuda::load_functions(), 1));
}

TEST_F(CudaDriver, MayBeOlderThanTheUuidsOfSlices) {
  test::cuda_stand_in::set_device_count(2);
  test::cuda_stand_in::set_driver_version(11030);
  EXPECT_NE(uuid_of(cuda::load_functions(), 0), uuid_of(cuda::load_functions(), 1));
  test::cuda_stand_in::set_slices(true);
  EXPECT_EQ(uuid_of(cuda::load_functions(), 0), uuid_of(cuda::load_functions(), 1));
}

TEST_F(CudaDriver, OfAnOldVersionIsRefused) {
  test::cuda_stand_in::set_driver_version(11020);
  EXPECT_EQ(fault(), "the driver's CUDA 11.2 is too old; framewire needs NVIDIA's driver 465 or newer for CUDA");
}

TEST_F(CudaDriver, WithoutAGpuSaysSo) {
  test::cuda_stand_in::set_device_count(0);
  EXPECT_EQ(fault(), "NVIDIA's driver cannot be used: no CUDA-capable device is detected (CUDA_ERROR_NO_DEVICE)");
}

TEST_F(CudaDriver, NamesWhatACallGave) {
  EXPECT_EQ(cuda::words_of(cuda::Result::out_of_memory), "out of memory (CUDA_ERROR_OUT_OF_MEMORY)");
  EXPECT_EQ(cuda::words_of(cuda::Result{999}), "CUDA_ERROR_UNKNOWN");  // without a text
  EXPECT_EQ(cuda::words_of(cuda::Result{12345}), "error 12345");
  EXPECT_THROW(cuda::require(cuda::Result::out_of_memory, "cuMemCreate"), Error);
  EXPECT_NO_THROW(cuda::require(cuda::Result::success, "cuMemCreate"));
}

}  // namespace
}  // namespace framewire
