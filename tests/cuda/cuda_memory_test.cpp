#include "memory/cuda/cuda_memory.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "tests/base/eventually.hpp"
#include "tests/cuda/stand_in.hpp"

namespace framewire {
namespace {

namespace stand_in = test::cuda_stand_in;
using test::eventually;

constexpr std::uint64_t unit_bytes = std::uint64_t{2} << 20;
constexpr std::byte poison{0xa5};
const std::string lost =
    "the GPU Stand-in 0 is lost: uncorrectable ECC error encountered (CUDA_ERROR_ECC_UNCORRECTABLE); see dmesg for an "
    "Xid, then start this program again";

class CudaMemoryTest : public testing::Test {
 protected:
  void SetUp() override {
    stand_in::reset();
    before_ = stand_in::objects();
    memory_.emplace(choose_cuda_device(cuda_devices(), ""));
  }
  void TearDown() override {
    stand_in::reset();
    memory_.reset();
    EXPECT_EQ(stand_in::objects(), before_);
    EXPECT_EQ(stand_in::contexts_on_this_thread(), 0U);
  }

  static std::span<std::byte> on_device(const Block& block) {
    return {stand_in::memory_at(dynamic_cast<const CudaBlock&>(block).address()), block.size_bytes()};
  }
  static FileDescriptor descriptor_of(const Block& block) {
    return FileDescriptor(::fcntl(block.descriptor(), F_DUPFD_CLOEXEC, 0));
  }
  static void fill(std::span<std::byte> bytes) {
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      bytes[i] = static_cast<std::byte>(i * 7 % 251);
    }
  }
  [[nodiscard]] std::string fault_of_allocating(std::uint64_t size_bytes) const {
    try {
      static_cast<void>(memory_->allocate("3 frame slots", size_bytes, {}));
      return {};
    } catch (const Error& error) {
      return error.what();
    }
  }
  [[nodiscard]] std::string fault_of_importing(FileDescriptor descriptor, std::uint64_t size_bytes) const {
    try {
      static_cast<void>(memory_->import(std::move(descriptor), size_bytes));
      return {};
    } catch (const Error& error) {
      return error.what();
    }
  }

  std::size_t before_ = 0;
  std::optional<CudaMemory> memory_;
};

TEST_F(CudaMemoryTest, IsClearedAndNotTheProcessors) {
  const auto block = memory_->allocate("3 frame slots", unit_bytes + 1, {});
  EXPECT_EQ(block->size_bytes(), 2 * unit_bytes);
  EXPECT_EQ(block->host(), nullptr);
  EXPECT_EQ(&block->kind(), &*memory_);
  EXPECT_GE(block->descriptor(), 0);
  EXPECT_TRUE(std::ranges::all_of(on_device(*block), [](std::byte byte) { return byte == std::byte{0}; }));
  const std::uint64_t address = block->registered_as().address;
  EXPECT_LT(::write(STDERR_FILENO, reinterpret_cast<const void*>(address), 1), 0);  // EFAULT
}

TEST_F(CudaMemoryTest, OfThisProcessAloneHasNoDescriptor) {
  EXPECT_LT(memory_->allocate_private("a ring", 1, {})->descriptor(), 0);
}

TEST_F(CudaMemoryTest, IsOneMemorySeenFromBothEnds) {
  const auto mine = memory_->allocate("3 frame slots", unit_bytes, {});
  const auto theirs = memory_->import(descriptor_of(*mine), unit_bytes - 5);
  fill(on_device(*mine));
  EXPECT_TRUE(std::ranges::equal(on_device(*theirs), on_device(*mine)));
}

TEST_F(CudaMemoryTest, OfAnotherProcessCannotBeWritten) {
  const auto mine = memory_->allocate("3 frame slots", unit_bytes, {});
  const auto theirs = memory_->import(descriptor_of(*mine), unit_bytes);
  const auto& block = dynamic_cast<const CudaBlock&>(*theirs);
  const auto clear = [&](cuda::Stream stream) {
    cuda::require(cuda::functions().cuMemsetD8Async(block.address(), 1, 1, stream), "cuMemsetD8Async");
  };
  EXPECT_THROW(memory_->work().start(clear, std::make_shared<Fence>(), theirs), Error);
}

TEST_F(CudaMemoryTest, OfAnotherProcessIsMappedForWritingWhereTheDriverDoesNotElse) {
  const auto mine = memory_->allocate("3 frame slots", unit_bytes, {});
  static_cast<void>(memory_->import(descriptor_of(*mine), unit_bytes));
  EXPECT_EQ(memory_->take_note(), "");
  stand_in::fail("cuMemSetAccess", 801);
  const auto theirs = memory_->import(descriptor_of(*mine), unit_bytes);
  fill(on_device(*mine));
  EXPECT_TRUE(std::ranges::equal(on_device(*theirs), on_device(*mine)));
  EXPECT_EQ(memory_->take_note(),
            "maps the sender's memory for writing, too, because the driver of the GPU Stand-in 0 refuses to map it for "
            "reading only: CUDA_ERROR_NOT_SUPPORTED");
  stand_in::fail("cuMemSetAccess", 801);
  static_cast<void>(memory_->import(descriptor_of(*mine), unit_bytes));
  EXPECT_EQ(memory_->take_note(), "") << "once";
}

/// The driver lacks something else then.
TEST_F(CudaMemoryTest, OfAnotherProcessIsNotMappedForWritingForOtherReasons) {
  const auto mine = memory_->allocate("3 frame slots", unit_bytes, {});
  for (const int result : {2, 214}) {
    stand_in::fail("cuMemSetAccess", result);
    EXPECT_NE(fault_of_importing(descriptor_of(*mine), unit_bytes), "") << result;
  }
  stand_in::fail("cuMemSetAccess", 801);
  stand_in::fail("cuMemSetAccess", 801);
  EXPECT_NE(fault_of_importing(descriptor_of(*mine), unit_bytes), "");
  EXPECT_EQ(memory_->take_note(), "");
}

TEST_F(CudaMemoryTest, CopiesToHostMemory) {
  const auto block = memory_->allocate("3 frame slots", 2 * unit_bytes, {});
  fill(on_device(*block));
  const auto into = HostBlock::create("copies", 2 * unit_bytes);
  stand_in::hold_work(true);
  const auto fence = block->copy_to_host(into, CopyRange::at(4096, 100'000), nullptr);
  EXPECT_EQ(fence->state(), FenceState::pending);
  EXPECT_EQ(into->bytes()[4096], poison);
  stand_in::hold_work(false);
  ASSERT_TRUE(eventually([&] { return fence->state() == FenceState::done; }));
  EXPECT_TRUE(std::ranges::equal(into->bytes().subspan(4096, 100'000), on_device(*block).subspan(4096, 100'000)));
  EXPECT_EQ(into->bytes()[4095], std::byte{0});
  EXPECT_EQ(into->bytes()[104'096], std::byte{0});
}

TEST_F(CudaMemoryTest, CopiesOnceTheBytesAreThere) {
  const auto block = memory_->allocate("3 frame slots", unit_bytes, {});
  const auto into = HostBlock::create("copies", unit_bytes);
  const auto filled = std::make_shared<Fence>();
  const auto fence = block->copy_to_host(into, CopyRange::at(0, 1000), filled);
  fill(on_device(*block));
  EXPECT_EQ(fence->state(), FenceState::pending);
  filled->finish(FenceState::done);
  ASSERT_TRUE(eventually([&] { return fence->state() == FenceState::done; }));
  EXPECT_TRUE(std::ranges::equal(into->bytes().first(1000), on_device(*block).first(1000)));
}

TEST_F(CudaMemoryTest, DoesNotCopyWhatWasNotFilled) {
  const auto block = memory_->allocate("3 frame slots", unit_bytes, {});
  const auto into = HostBlock::create("copies", unit_bytes);
  const auto filled = std::make_shared<Fence>();
  const auto fence = block->copy_to_host(into, CopyRange::at(0, 1000), filled);
  filled->finish(FenceState::failed);
  EXPECT_EQ(fence->state(), FenceState::failed);
  EXPECT_EQ(into->bytes()[0], std::byte{0});
}

TEST_F(CudaMemoryTest, KeepsItsBlocksWhileTheGpuCopies) {
  auto block = memory_->allocate("3 frame slots", unit_bytes, {});
  auto into = HostBlock::create("copies", unit_bytes);
  stand_in::hold_work(true);
  const auto fence = block->copy_to_host(into, CopyRange::at(0, 1000), nullptr);
  const std::weak_ptr<Block> watched = block;
  block.reset();
  into.reset();
  EXPECT_FALSE(watched.expired());
  stand_in::hold_work(false);
  EXPECT_TRUE(eventually([&] { return watched.expired(); }));
  EXPECT_EQ(fence->state(), FenceState::done);
}

TEST_F(CudaMemoryTest, OfALostGpuFailsItsFences) {
  const auto block = memory_->allocate("3 frame slots", unit_bytes, {});
  const auto into = HostBlock::create("copies", unit_bytes);
  stand_in::hold_work(true);
  const auto fence = block->copy_to_host(into, CopyRange::at(0, 1000), nullptr);
  stand_in::lose_device(214);
  EXPECT_TRUE(eventually([&] { return fence->state() == FenceState::failed; }));
  EXPECT_EQ(memory_->failure(), lost);
  EXPECT_THROW(static_cast<void>(block->copy_to_host(into, CopyRange::at(0, 1000), nullptr)), Error);
  EXPECT_THROW(memory_->require_device(), Error);
  stand_in::lose_device(0);  // so that what is made here ends
}

TEST_F(CudaMemoryTest, OfALostGpuIsToldByWhateverFailsFirst) {
  stand_in::set_attribute(118, 0);  // rdma has to flush
  const auto into = HostBlock::create("copies", unit_bytes);
  const std::array<std::function<void(Block&)>, 5> uses{
      [](Block& block) { static_cast<void>(block.kind().allocate("a ring", unit_bytes, {})); },
      [&](Block& block) { static_cast<void>(block.copy_to_host(into, CopyRange::at(0, 1000), nullptr)); },
      [&](Block& block) { static_cast<void>(block.copy_from_host(into, CopyRange::at(0, 1000))); },
      [](Block& block) { block.make_writes_visible(); },
      [](Block& block) { static_cast<void>(block.kind().import(descriptor_of(block), unit_bytes)); }};
  for (const auto& use : uses) {
    const CudaMemory memory(choose_cuda_device(cuda_devices(), ""));
    const auto block = memory.allocate("3 frame slots", unit_bytes, {});
    EXPECT_EQ(memory.failure(), std::nullopt);
    stand_in::lose_device(214);
    EXPECT_THROW(use(*block), Error);
    EXPECT_EQ(memory.failure(), lost);
    stand_in::lose_device(0);
  }
}

TEST_F(CudaMemoryTest, OneCopyThatFailsIsNoLoss) {
  const auto block = memory_->allocate("3 frame slots", unit_bytes, {});
  const auto into = HostBlock::create("copies", unit_bytes);
  for (const char* const function : {"cuMemHostRegister", "cuMemcpyDtoHAsync", "cuEventRecord"}) {
    stand_in::fail(function, 719);
    EXPECT_THROW(static_cast<void>(block->copy_to_host(into, CopyRange::at(0, 1000), nullptr)), Error) << function;
  }
  EXPECT_EQ(memory_->failure(), std::nullopt);
  const auto fence = block->copy_to_host(into, CopyRange::at(0, 1000), nullptr);
  EXPECT_TRUE(eventually([&] { return fence->state() == FenceState::done; }));
}

TEST_F(CudaMemoryTest, IsFlushedWhereTheGpuWouldNotSeeWhatRdmaWrote) {
  const auto ordered = memory_->allocate_private("a ring", unit_bytes, {});
  ordered->make_writes_visible();
  EXPECT_EQ(stand_in::flushes(), 0U);
  stand_in::set_attribute(118, 0);
  const CudaMemory unordered_memory(choose_cuda_device(cuda_devices(), ""));
  const auto unordered = unordered_memory.allocate_private("a ring", unit_bytes, {});
  unordered->make_writes_visible();
  EXPECT_EQ(stand_in::flushes(), 1U);
  EXPECT_EQ(stand_in::contexts_on_this_thread(), 0U);
  for (const char* const function : {"cuCtxPushCurrent", "cuFlushGPUDirectRDMAWrites"}) {
    stand_in::fail(function, 999);
    EXPECT_THROW(unordered->make_writes_visible(), Error) << function;
    EXPECT_EQ(stand_in::contexts_on_this_thread(), 0U);
  }
  EXPECT_EQ(stand_in::flushes(), 1U);
}

/// RDMA devices read back what they wrote there.
TEST_F(CudaMemoryTest, ThatCannotBeFlushedIsNot) {
  stand_in::set_attribute(118, 0);
  stand_in::set_attribute(117, 0);
  const CudaMemory blind_memory(choose_cuda_device(cuda_devices(), ""));
  const auto block = blind_memory.allocate_private("a ring", unit_bytes, {});
  block->make_writes_visible();
  EXPECT_EQ(stand_in::flushes(), 0U);
  EXPECT_TRUE(block->registered_as().needs_read_back);
}

TEST_F(CudaMemoryTest, ThatIsFullSaysWhatIsFree) {
  stand_in::set_free_bytes(5 * unit_bytes);
  EXPECT_EQ(fault_of_allocating(6 * unit_bytes),
            "memory for 3 frame slots: not enough memory on the GPU Stand-in 0: 12.6 MB are needed, and 10.5 MB of 1.1 "
            "GB are free");
  EXPECT_NE(fault_of_allocating(0), "");
  EXPECT_NE(fault_of_allocating(UINT64_MAX), "");
}

TEST_F(CudaMemoryTest, ThatIsNoMemoryOfAGpuIsRefused) {
  const auto host = HostBlock::create("host", unit_bytes);
  const auto not_memory = [&] { return FileDescriptor(::fcntl(host->memfd(), F_DUPFD_CLOEXEC, 0)); };
  const std::string begin = "the sender's memory cannot be mapped on the GPU Stand-in 0: ";
  EXPECT_EQ(fault_of_importing(not_memory(), unit_bytes),
            begin + "cuMemImportFromShareableHandle: CUDA_ERROR_INVALID_VALUE");
  EXPECT_EQ(fault_of_importing(FileDescriptor(), unit_bytes),
            begin + "cuMemImportFromShareableHandle: CUDA_ERROR_INVALID_VALUE");
  const auto small = memory_->allocate("3 frame slots", unit_bytes, {});
  EXPECT_EQ(fault_of_importing(descriptor_of(*small), unit_bytes + 1), begin + "cuMemMap: CUDA_ERROR_INVALID_VALUE");
}

TEST_F(CudaMemoryTest, OfAnotherGpuIsRefused) {
  stand_in::set_device_count(2);
  const CudaMemory other(cuda_devices().at(1));
  const auto block = other.allocate("3 frame slots", unit_bytes, {});
  EXPECT_EQ(fault_of_importing(descriptor_of(*block), unit_bytes),
            "the sender's memory cannot be mapped on the GPU Stand-in 0: cuMemSetAccess: error 101");
  const auto clear = [&](cuda::Stream stream) {
    const cuda::Address address = dynamic_cast<const CudaBlock&>(*block).address();
    cuda::require(cuda::functions().cuMemsetD8Async(address, 1, 1, stream), "cuMemsetD8Async");
  };
  EXPECT_THROW(memory_->work().start(clear, std::make_shared<Fence>(), nullptr), Error);
  EXPECT_NO_THROW(other.work().start(clear, std::make_shared<Fence>(), block));
  const auto to_stream_of_other = [&](cuda::Stream /*its_own*/) { clear(other.work().stream()); };
  EXPECT_THROW(memory_->work().start(to_stream_of_other, std::make_shared<Fence>(), nullptr), Error);
}

TEST_F(CudaMemoryTest, ThatCannotBeSharedIsRefused) {
  stand_in::set_attribute(103, 0);
  EXPECT_THROW(CudaMemory(choose_cuda_device(cuda_devices(), "")), Error);
}

TEST_F(CudaMemoryTest, IsNotAllocatedForWhomIsInterrupted) {
  stand_in::hold_work(true);
  EXPECT_THROW(static_cast<void>(memory_->allocate("3 frame slots", unit_bytes, [] { return true; })),
               AllocationStopped);
  stand_in::hold_work(false);
}

/// Whatever call fails, it is told by name. What the GPU may still use stays until the kind of memory ends, as
/// TearDown() shows; else nothing stays.
TEST_F(CudaMemoryTest, EndsWhatItBeganWhereACallFails) {
  const auto mine = memory_->allocate("3 frame slots", unit_bytes, {});
  const std::size_t before = stand_in::objects();
  for (const std::string function : {"cuCtxPushCurrent", "cuMemCreate", "cuMemAddressReserve", "cuMemMap",
                                     "cuMemSetAccess", "cuMemExportToShareableHandle"}) {
    stand_in::fail(function.c_str(), 999);
    EXPECT_EQ(fault_of_allocating(unit_bytes), "memory for 3 frame slots: " + function + ": CUDA_ERROR_UNKNOWN");
    EXPECT_EQ(stand_in::objects(), before) << function;
  }
  for (const std::string function :
       {"cuMemImportFromShareableHandle", "cuMemAddressReserve", "cuMemMap", "cuMemSetAccess"}) {
    stand_in::fail(function.c_str(), 999);
    EXPECT_EQ(fault_of_importing(descriptor_of(*mine), unit_bytes),
              "the sender's memory cannot be mapped on the GPU Stand-in 0: " + function + ": CUDA_ERROR_UNKNOWN");
    EXPECT_EQ(stand_in::objects(), before) << function;
  }
  for (const std::string function : {"cuMemsetD8Async", "cuEventRecord"}) {
    stand_in::fail(function.c_str(), 999);
    EXPECT_EQ(fault_of_allocating(unit_bytes), "memory for 3 frame slots: " + function + ": CUDA_ERROR_UNKNOWN");
  }
  const auto into = HostBlock::create("copies", unit_bytes);
  for (const char* const function : {"cuMemHostRegister", "cuMemcpyDtoHAsync", "cuEventRecord"}) {
    stand_in::fail(function, 999);
    EXPECT_THROW(static_cast<void>(mine->copy_to_host(into, CopyRange::at(0, 1000), nullptr)), Error) << function;
  }
}

TEST_F(CudaMemoryTest, MayBeMadeWhereTheGpuRefuses) {
  const std::size_t before = stand_in::objects();
  for (const char* const function : {"cuDevicePrimaryCtxRetain", "cuMemGetAllocationGranularity", "cuStreamCreate"}) {
    stand_in::fail(function, 999);
    EXPECT_THROW(CudaMemory(choose_cuda_device(cuda_devices(), "")), Error) << function;
    EXPECT_EQ(stand_in::objects(), before) << function;
  }
}

}  // namespace
}  // namespace framewire
