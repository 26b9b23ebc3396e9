#include "memory/cuda/driver.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "tests/cuda/function_versions.hpp"
#include "tests/cuda/stand_in.hpp"

// NOLINTNEXTLINE(readability-identifier-naming): NVIDIA's name
extern "C" framewire::cuda::Result cuGetProcAddress(const char* name, void** address, int version, std::uint64_t flags);

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

  /// What the stand-in gives; null if there is none. `name` ends with a 0.
  static void* found(std::string_view name, int version) {
    void* address = nullptr;
    EXPECT_EQ(cuGetProcAddress(name.data(), &address, version, 0), cuda::Result::success) << name;
    return address;
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
    for (const int version : {11080, 12000}) {  // which say in other ways that there is none
      test::cuda_stand_in::set_driver_version(version);
      EXPECT_EQ(fault(), "libcuda.so.1 has no " + std::string(function) +
                             ": it is too old; framewire needs NVIDIA's driver 465 or newer for CUDA");
    }
  }
}

/// The arguments of an older variant are others, though its name is the same.
TEST_F(CudaDriver, OfTheTestsHasEachFunctionFromItsVersionOn) {
  for (const auto& variant : test::cuda_stand_in::variants) {
    void* const function = found(variant.name, variant.first_version);
    EXPECT_NE(function, nullptr) << variant.name;
    EXPECT_NE(found(variant.name, variant.first_version - 1), function) << variant.name;
    EXPECT_EQ(found(std::string(variant.name) + "_v2", 12000), nullptr) << variant.name;
  }
  EXPECT_EQ(found("cuMemHostRegister", 6040), nullptr);
  EXPECT_EQ(found("cuMemHostRegister", 12000), found("cuMemHostRegister", 6050));
  EXPECT_NE(found("cuDeviceGetUuid", 11030), nullptr);
  EXPECT_NE(found("cuDeviceGetUuid", 11030), found("cuDeviceGetUuid", 11040));
  void* address = nullptr;
  EXPECT_NE(cuGetProcAddress("cuInit", &address, 12010, 0), cuda::Result::success) << "the driver is older than that";
  EXPECT_EQ(address, nullptr);
}

TEST_F(CudaDriver, MayBeOlderThanDmaBuf) {
  EXPECT_NE(cuda::load_functions().cuMemGetHandleForAddressRange, nullptr);
  test::cuda_stand_in::set_driver_version(11060);
  EXPECT_EQ(cuda::load_functions().cuMemGetHandleForAddressRange, nullptr);
  test::cuda_stand_in::reset();
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
  EXPECT_EQ(fault(), "CUDA has no GPU here; CUDA_VISIBLE_DEVICES may hide it");
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
