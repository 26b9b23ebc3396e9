#include "command/named_files.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
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

}  // namespace
}  // namespace framewire
