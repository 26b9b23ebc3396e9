#include "memory/available_memory.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/base/temporary_folder.hpp"

namespace framewire {
namespace {

constexpr std::uint64_t gib = std::uint64_t{1} << 30;

/// The /proc and /sys files of a machine with 8 GiB free, as far as the code reads them.
class Machine : public testing::Test {
 protected:
  Machine() {
    write("proc/meminfo", "MemTotal: 16777216 kB\nMemFree: 1 kB\nMemAvailable: 8388608 kB\nHugePages_Total: 0\n");
  }

  void write(const std::string& path, const std::string& text) const {
    const std::filesystem::path file = root() / path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }

  void write_group(const std::string& folder, const std::string& limit, std::uint64_t used,
                   const std::string& stat = "") const {
    write(folder + "/memory.max", limit + "\n");
    write(folder + "/memory.current", std::to_string(used) + "\n");
    write(folder + "/memory.stat", stat);
  }

  void is_in(const std::string& group) const {
    write("proc/self/cgroup", "0::" + group + "\n");
    write(
        "proc/self/mountinfo",
        "22 28 0:20 / /proc rw - proc proc rw\n30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw\n");
  }

  [[nodiscard]] AvailableMemory found() const { return available_memory(SystemFiles(root().string())); }
  [[nodiscard]] std::filesystem::path root() const { return folder_.path(); }

 private:
  test::TemporaryFolder folder_;
};

TEST_F(Machine, WithoutControlGroupsHasWhatTheKernelSays) {
  EXPECT_EQ(found().bytes, 8 * gib);
  EXPECT_EQ(found().limited_by, "");
}

TEST_F(Machine, WhoseFilesCannotBeReadSaysNothing) {
  write("proc/meminfo", "");
  EXPECT_EQ(found().bytes, 0U);
}

TEST_F(Machine, GivesWhatTheGroupHasLeft) {
  is_in("/system.slice/box.service");
  write_group("sys/fs/cgroup/system.slice/box.service", std::to_string(3 * gib), gib);
  EXPECT_EQ(found().bytes, 2 * gib);
  EXPECT_EQ(found().limited_by, "/sys/fs/cgroup/system.slice/box.service/memory.max");
}

TEST_F(Machine, CountsAlsoTheGroupsAround) {
  is_in("/system.slice/box.service");
  write_group("sys/fs/cgroup/system.slice/box.service", "max", gib);
  write_group("sys/fs/cgroup/system.slice", std::to_string(4 * gib), 3 * gib);
  EXPECT_EQ(found().bytes, gib);
  EXPECT_EQ(found().limited_by, "/sys/fs/cgroup/system.slice/memory.max");
}

TEST_F(Machine, GroupsThatHaveMoreChangeNothing) {
  is_in("/user.slice");
  write_group("sys/fs/cgroup/user.slice", std::to_string(100 * gib), gib);
  EXPECT_EQ(found().bytes, 8 * gib);
  EXPECT_EQ(found().limited_by, "");
  EXPECT_EQ(found().group_limit_bytes, 100 * gib);
  EXPECT_EQ(found().group_free_bytes, 99 * gib);
}

TEST_F(Machine, FilesInTheCacheAreNoUse) {
  is_in("/a");
  write_group("sys/fs/cgroup/a", std::to_string(2 * gib), 2 * gib,
              "anon 1073741824\nfile 1073741824\nshmem 536870912\ninactive_file 268435456\nactive_file 268435456\n");
  EXPECT_EQ(found().bytes, gib / 2);
}

TEST_F(Machine, AGroupThatIsFullHasNextToNothing) {
  is_in("/a");
  write_group("sys/fs/cgroup/a", std::to_string(gib), 2 * gib);
  EXPECT_EQ(found().bytes, 1U);  // 0 would mean "unknown"
}

TEST_F(Machine, WhatAGroupIsThrottledAtIsALimitToo) {
  is_in("/a");
  write_group("sys/fs/cgroup/a", "max", gib);
  write("sys/fs/cgroup/a/memory.high", std::to_string(2 * gib));
  EXPECT_EQ(found().bytes, gib);
  EXPECT_EQ(found().limited_by, "/sys/fs/cgroup/a/memory.high");
}

/// In a container the group's folder is the mount point itself, and the group's name may be the one on the host.
TEST_F(Machine, InAContainerTheMountPointIsTheGroup) {
  for (const std::string name : {"/", "/docker/0123", "/../0123"}) {
    write("proc/self/cgroup", "0::" + name + "\n");
    write("proc/self/mountinfo", "30 23 0:26 /docker/0123 /sys/fs/cgroup ro - cgroup2 cgroup rw,nsdelegate\n");
    write_group("sys/fs/cgroup", std::to_string(2 * gib), gib);
    EXPECT_EQ(found().bytes, gib) << name;
    EXPECT_EQ(found().limited_by, "/sys/fs/cgroup/memory.max") << name;
  }
}

TEST_F(Machine, KnowsTheFirstVersion) {
  write("proc/self/cgroup", "9:name=systemd:/\n4:cpu,memory:/docker/0123/job\n0::/\n");
  write("proc/self/mountinfo",
        "32 31 0:29 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n"
        "35 31 0:32 /docker/0123 /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory,cpu\n");
  write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  write("sys/fs/cgroup/memory/memory.usage_in_bytes", "4096\n");
  write("sys/fs/cgroup/memory/job/memory.limit_in_bytes", std::to_string(4 * gib) + "\n");
  write("sys/fs/cgroup/memory/job/memory.usage_in_bytes", std::to_string(2 * gib) + "\n");
  write("sys/fs/cgroup/memory/job/memory.stat",
        "inactive_file 1\ntotal_inactive_file 536870912\ntotal_active_file 536870912\n");
  EXPECT_EQ(found().bytes, 3 * gib);
  EXPECT_EQ(found().limited_by, "/sys/fs/cgroup/memory/job/memory.limit_in_bytes");
}

TEST_F(Machine, WordsWhereNumbersBelongAreNoLimits) {
  is_in("/a");
  write_group("sys/fs/cgroup/a", "lots", gib);
  write("sys/fs/cgroup/a/memory.stat", "inactive_file much\n");
  EXPECT_EQ(found().bytes, 8 * gib);
}

TEST(AvailableMemory, OfThisMachineIsSomething) {
  EXPECT_GT(available_memory_bytes(), std::uint64_t{1} << 20);
}

}  // namespace
}  // namespace framewire
