#include "memory/host_block.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <memory>
#include <span>
#include <sstream>
#include <string>
#include <vector>

#include "base/error.hpp"

namespace framewire {
namespace {

FileDescriptor copy_of(const HostBlock& block) {
  return FileDescriptor(::fcntl(block.memfd(), F_DUPFD_CLOEXEC, 0));
}

TEST(HostBlock, IsOneMemorySeenFromBothEnds) {
  const auto mine = HostBlock::create("test", 10'000);
  EXPECT_GE(mine->bytes().size(), 10'000U);
  EXPECT_EQ(mine->bytes().size() % static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)), 0U);
  const auto theirs = HostBlock::map_read_only(copy_of(*mine), 10'000);
  EXPECT_TRUE(theirs->is_read_only());
  mine->bytes()[9999] = std::byte{42};
  EXPECT_EQ(theirs->bytes()[9999], std::byte{42});
}

TEST(HostBlock, NobodyElseCanWriteOrResizeIt) {
  const auto block = HostBlock::create("test", 4096);
  EXPECT_NE(::ftruncate(block->memfd(), 0), 0);
  EXPECT_NE(::ftruncate(block->memfd(), 1 << 20), 0);
  EXPECT_EQ(::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, block->memfd(), 0), MAP_FAILED);
  EXPECT_LT(::pwrite(block->memfd(), "x", 1, 0), 0);
  EXPECT_NE(::fallocate(block->memfd(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 4096), 0);
  block->bytes()[0] = std::byte{1};  // its creator still can
}

TEST(HostBlock, AcknowledgementPagesMayBeWritten) {
  const auto mine = HostBlock::create_shared_writable("test", 4096);
  const auto theirs = HostBlock::map_writable(copy_of(*mine), 4096);
  theirs->bytes()[5] = std::byte{9};
  EXPECT_EQ(mine->bytes()[5], std::byte{9});
}

/// The line of /proc/self/smaps that begins with `line`, for the mapping that contains `place`.
std::string in_smaps(const void* place, const std::string& line) {
  std::ifstream maps("/proc/self/smaps");
  const auto wanted = reinterpret_cast<std::uintptr_t>(place);
  bool is_it = false;
  for (std::string one; std::getline(maps, one);) {
    std::uintptr_t first = 0;
    std::uintptr_t last = 0;
    char dash = 0;
    if (std::istringstream(one) >> std::hex >> first >> dash >> last && dash == '-') {
      is_it = first <= wanted && wanted < last;
    } else if (is_it && one.starts_with(line)) {
      return one;
    }
  }
  return {};
}

/// For rings and for pools. The kernel may still refuse the huge pages.
TEST(HostBlock, AsksForHugePages) {
  if (!std::ifstream("/sys/kernel/mm/transparent_hugepage/enabled")) {
    GTEST_SKIP() << "this kernel has no transparent huge pages";
  }
  for (const auto& block : {HostBlock::create_private("test", 8 << 20), HostBlock::create("test", 8 << 20)}) {
    const std::string flags = in_smaps(block->bytes().data(), "VmFlags:");
    EXPECT_NE((flags + " ").find(" hg "), std::string::npos) << flags;
  }
}

TEST(HostBlock, MemoryThatCouldShrinkIsRefused) {
  FileDescriptor memfd(::memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  ASSERT_EQ(::ftruncate(memfd.get(), 4096), 0);
  EXPECT_THROW(HostBlock::map_read_only(std::move(memfd), 4096), Error);
}

TEST(HostBlock, MemoryThatIsTooSmallIsRefused) {
  const auto block = HostBlock::create("test", 4096);
  EXPECT_THROW(HostBlock::map_read_only(copy_of(*block), 4097), Error);
  EXPECT_THROW(HostBlock::map_read_only(copy_of(*block), 0), Error);
  EXPECT_THROW(HostBlock::map_read_only(FileDescriptor(::open("/dev/null", O_RDONLY | O_CLOEXEC)), 4096), Error);
}

TEST(HostBlock, MemoryThatIsNotAllThereIsRefused) {
  FileDescriptor memfd(::memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  ASSERT_EQ(::ftruncate(memfd.get(), 1 << 20), 0);
  ASSERT_EQ(::pwrite(memfd.get(), "x", 1, 0), 1);
  ASSERT_EQ(::fcntl(memfd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW), 0);
  EXPECT_NO_THROW(HostBlock::map_read_only(FileDescriptor(::dup(memfd.get())), 4096));
  EXPECT_THROW(HostBlock::map_read_only(std::move(memfd), 1 << 20), Error);
}

/// A mapping of a page would cover 2 MiB, and raise a signal where no huge page is left.
TEST(HostBlock, HugePagesOfAPeerAreRefused) {
  FileDescriptor memfd(::memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_HUGETLB));
  if (!memfd.valid() || ::ftruncate(memfd.get(), 2 << 20) != 0 ||
      ::fcntl(memfd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) != 0) {
    GTEST_SKIP() << "this kernel has no memfd of huge pages";
  }
  EXPECT_THROW(HostBlock::map_read_only(std::move(memfd), 4096), Error);
}

TEST(HostBlock, PrivateMemoryIsWholePagesOfZeroes) {
  const auto block = HostBlock::create_private("test", 10'000);
  EXPECT_GE(block->bytes().size(), 10'000U);
  EXPECT_EQ(block->bytes().size() % static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)), 0U);
  EXPECT_TRUE(std::ranges::all_of(block->bytes(), [](std::byte b) { return b == std::byte{0}; }));
  block->bytes().back() = std::byte{1};
  EXPECT_EQ(block->memfd(), -1);
  EXPECT_THROW(HostBlock::create_private("test", 0), Error);
  EXPECT_THROW(HostBlock::create_private("test", available_memory_bytes() + (std::uint64_t{1} << 40)), Error);
}

/// This process's resident memory in bytes, including memory files.
std::int64_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  std::int64_t all_pages = 0;
  std::int64_t resident_pages = 0;
  file >> all_pages >> resident_pages;
  return resident_pages * ::sysconf(_SC_PAGESIZE);
}

/// Allocating gigabytes takes seconds. A program that is stopped meanwhile must not wait for the rest.
TEST(HostBlock, StopsBetweenTwoChunks) {
  constexpr std::int64_t tolerance_bytes = 12 << 20;
  constexpr std::uint64_t size_bytes = 8 * allocation_chunk_bytes;
  for (const bool is_private : {true, false}) {
    const std::int64_t before_bytes = resident_bytes();
    int asked = 0;
    const StopCheck stop = [&] {
      const auto wanted_bytes = static_cast<std::int64_t>(allocation_chunk_bytes) * asked;
      EXPECT_NEAR(static_cast<double>(resident_bytes() - before_bytes), static_cast<double>(wanted_bytes),
                  tolerance_bytes);
      return ++asked == 3;
    };
    try {
      is_private ? HostBlock::create_private("slots", size_bytes, stop) : HostBlock::create("slots", size_bytes, stop);
      ADD_FAILURE() << "it was not given up";
    } catch (const AllocationStopped& error) {
      EXPECT_NE(std::string(error.what()).find("slots"), std::string::npos);
    }
    EXPECT_EQ(asked, 3);
    EXPECT_LT(resident_bytes() - before_bytes, tolerance_bytes);
  }
}

TEST(HostBlock, ThatNobodyStopsIsAllThere) {
  int asked = 0;
  const StopCheck stop = [&] { return ++asked > 1000; };
  const auto block = HostBlock::create("test", 2 * allocation_chunk_bytes + 1, stop);
  EXPECT_EQ(asked, 3);
  block->bytes().back() = std::byte{1};
  struct stat status {};
  ASSERT_EQ(::fstat(block->memfd(), &status), 0);
  EXPECT_GE(static_cast<std::uint64_t>(status.st_blocks) * 512, block->bytes().size());
}

/// Whether the kernel can read this byte of the process.
bool is_accessible(const std::byte* place) {
  const FileDescriptor memfd(::memfd_create("test", MFD_CLOEXEC));
  return ::write(memfd.get(), place, 1) == 1;
}

/// Without guard pages, blocks of one size that are created in sequence are adjacent.
TEST(HostBlock, IsGuardedOnBothSides) {
  for (const std::uint64_t size_bytes : {std::uint64_t{4096}, std::uint64_t{10'000}, std::uint64_t{4} << 20}) {
    std::vector<std::shared_ptr<HostBlock>> blocks;
    for (int i = 0; i < 4; ++i) {
      blocks.push_back(HostBlock::create_private("private", size_bytes));
    }
    for (int i = 0; i < 4; ++i) {
      blocks.push_back(HostBlock::create("shared", size_bytes));
      blocks.push_back(HostBlock::map_read_only(copy_of(*blocks.back()), size_bytes));
    }
    for (const auto& block : blocks) {
      const std::span<std::byte> bytes = block->bytes();
      EXPECT_TRUE(is_accessible(&bytes.front()));
      EXPECT_TRUE(is_accessible(&bytes.back()));
      EXPECT_FALSE(is_accessible(bytes.data() - 1)) << size_bytes;
      EXPECT_FALSE(is_accessible(bytes.data() + bytes.size())) << size_bytes;
    }
  }
}

TEST(HostBlock, BeginsWhereHugePagesDo) {
  for (const auto& block : {HostBlock::create_private("test", 5 << 20), HostBlock::create("test", 5 << 20)}) {
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block->bytes().data()) % (std::uintptr_t{2} << 20), 0U);
  }
}

TEST(HostBlock, MoreThanThereIsIsRefusedBeforeItIsTaken) {
  try {
    HostBlock::create("48 frame slots", available_memory_bytes() + (std::uint64_t{1} << 40));
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("48 frame slots"), std::string::npos);
    EXPECT_NE(std::string(error.what()).find("fewer slots"), std::string::npos);
  }
}

}  // namespace
}  // namespace framewire
