#include "command/named_files.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "base/error.hpp"
#include "base/file_descriptor.hpp"
#include "tests/base/temporary_folder.hpp"

namespace framewire {
namespace {

class NamedFilesTest : public testing::Test {
 protected:
  NamedFilesTest() { std::ofstream(film_) << "pictures"; }

  /// Whether --stats may not be `result`, while `used` is read.
  static bool are_same(const std::string& used, const std::string& result) {
    NamedFiles files;
    files.uses("SOURCE", used, used);
    files.writes("--stats", result);
    return is_refused(files);
  }
  static bool is_refused(const NamedFiles& files) {
    try {
      files.require_distinct();
      return false;
    } catch (const Error& error) {
      EXPECT_EQ(error.status(), ExitStatus::usage);
      return true;
    }
  }
  static std::string fault_of(const std::string& file) {
    try {
      require_writable(file, "--stats");
      return {};
    } catch (const Error& error) {
      EXPECT_EQ(error.status(), ExitStatus::failed);
      return error.what();
    }
  }

  test::TemporaryFolder folder_;
  std::string film_ = folder_.file("film");
  std::string other_ = folder_.file("other");
};

TEST_F(NamedFilesTest, AreOneByEveryName) {
  EXPECT_TRUE(are_same(film_, film_));
  EXPECT_TRUE(are_same(film_, folder_.file("./film")));
  EXPECT_FALSE(are_same(film_, other_));
  std::filesystem::create_symlink("film", other_);
  EXPECT_TRUE(are_same(film_, other_));
  EXPECT_TRUE(are_same(other_, film_));
  const std::string hard = folder_.file("hard");
  std::filesystem::create_hard_link(film_, hard);
  EXPECT_TRUE(are_same(film_, hard));
  std::ofstream(folder_.file("copy")) << "pictures";
  EXPECT_FALSE(are_same(film_, folder_.file("copy")));
}

TEST_F(NamedFilesTest, AreOneBeforeTheyAreThere) {
  const std::string inner = folder_.file("inner");
  std::filesystem::create_directory(inner);
  std::filesystem::create_directory_symlink(folder_.path(), inner + "/up");
  EXPECT_TRUE(are_same(other_, inner + "/../other"));
  EXPECT_TRUE(are_same(other_, inner + "/up/other"));
  EXPECT_FALSE(are_same(other_, inner + "/other"));
  EXPECT_FALSE(are_same(other_, folder_.file("Other")));
  const std::string link = folder_.file("link");
  std::filesystem::create_symlink("other", link);
  std::filesystem::create_symlink(link, inner + "/link");
  EXPECT_TRUE(are_same(other_, link));
  EXPECT_TRUE(are_same(inner + "/link", other_));
  EXPECT_FALSE(are_same("/nowhere/at/all", "/nowhere/else"));
}

TEST_F(NamedFilesTest, MayBeADescriptor) {
  const FileDescriptor film(::open(film_.c_str(), O_RDONLY | O_CLOEXEC));
  NamedFiles files;
  files.uses("--messages", PortDescriptors{.reads = film.get(), .writes = -1});
  files.writes("--stats", other_);
  EXPECT_FALSE(is_refused(files));
  files.writes("--frame-times", film_);
  EXPECT_TRUE(is_refused(files));
}

TEST_F(NamedFilesTest, OnlyResultsDestroyOthers) {
  NamedFiles files;
  files.uses("SOURCE", "film", film_);
  files.uses("SOURCE", "film", film_);
  files.writes("--stats", other_);
  EXPECT_FALSE(is_refused(files));
  files.writes("--output", folder_.file("./other"));
  EXPECT_TRUE(is_refused(files));
}

TEST_F(NamedFilesTest, DevicesAndFoldersAreNoFilesToProtect) {
  EXPECT_FALSE(are_same("/dev/null", "/dev/null"));
  EXPECT_FALSE(are_same(folder_.path(), folder_.path()));
}

TEST_F(NamedFilesTest, TheMessageNamesBothOptionsAndTheFile) {
  NamedFiles files;
  files.uses("SOURCE", "gl:film", film_);
  files.writes("--stats", film_);
  try {
    files.require_distinct();
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(std::string(error.what()), "--stats '" + film_ +
                                             "' and SOURCE 'gl:film' are the same file; name another file for "
                                             "--stats");
  }
}

TEST_F(NamedFilesTest, AResultMustBeWritable) {
  EXPECT_EQ(fault_of(other_), "");
  EXPECT_FALSE(std::filesystem::exists(other_));
  EXPECT_EQ(fault_of(film_), "");
  std::ifstream in(film_);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(in), {}), "pictures");
  EXPECT_NE(fault_of(folder_.path()), "");
  EXPECT_NE(fault_of("/nowhere/out"), "");
  EXPECT_NE(fault_of(film_ + "/out"), "") << "a file is no folder";
}

TEST_F(NamedFilesTest, AnImpossibleNameIsFoundAtTheStart) {
  EXPECT_NE(fault_of(folder_.file(std::string(300, 'q'))).find("File name too long"), std::string::npos);
  std::filesystem::create_symlink("other", other_);
  EXPECT_NE(fault_of(other_).find("symbolic links"), std::string::npos);
  const std::string link = folder_.file("link");
  std::filesystem::create_symlink("/nowhere/out", link);
  EXPECT_NE(fault_of(link).find("No such file"), std::string::npos);
}

TEST_F(NamedFilesTest, WhatOnlyOpeningTellsIsFoundAtTheStart) {
  const FileDescriptor listener(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  ASSERT_LT(other_.size(), sizeof(address.sun_path));
  std::ranges::copy(other_, std::begin(address.sun_path));
  ASSERT_EQ(::bind(listener.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  EXPECT_EQ(::access(other_.c_str(), W_OK), 0);
  EXPECT_NE(fault_of(other_).find("No such device or address); name another file"), std::string::npos);
  EXPECT_EQ(fault_of("/dev/null"), "");
}

TEST_F(NamedFilesTest, ANamedPipeNeedsNoReaderYet) {
  ASSERT_EQ(::mkfifo(other_.c_str(), 0600), 0);
  EXPECT_EQ(fault_of(other_), "");
  const FileDescriptor reads(::open(other_.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  char byte = 0;
  EXPECT_EQ(::read(reads.get(), &byte, 1), 0) << "nobody has written";
}

}  // namespace
}  // namespace framewire
