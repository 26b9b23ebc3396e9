#include "viewer/scene_watch.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>

#include "tests/base/temporary_folder.hpp"
#include "viewer/scene_file.hpp"

namespace framewire {
namespace {

constexpr const char* one_layer = "[[layer]]\nsource = 'a'\n";
constexpr const char* two_layers = "[[layer]]\nsource = 'a'\n[[layer]]\nsource = 'b'\n";
constexpr const char* broken = "[[layer]]\nsource = \n";

class SceneWatchTest : public testing::Test {
 protected:
  SceneWatchTest() { write(one_layer); }

  void write(const std::string& text) const {
    std::ofstream file(file_, std::ios::trunc);
    file << text;
    ASSERT_TRUE(file.flush());
  }
  /// As editors do it: the new text is another file, which takes the name.
  void replace(const std::string& text) const {
    const std::string other = folder_.file("other");
    std::ofstream(other) << text;
    ASSERT_EQ(std::rename(other.c_str(), file_.c_str()), 0);
  }
  /// The number of layers that a poll reports, or -1 for no news, or -2 for an error.
  int layers() {
    const auto news = watch_.poll();
    if (!news) {
      return -1;
    }
    const auto* scene = std::get_if<Scene>(&*news);
    return scene != nullptr ? static_cast<int>(scene->layers.size()) : -2;
  }
  std::string error() {
    const auto news = watch_.poll();
    const auto* error = news ? std::get_if<std::string>(&*news) : nullptr;
    return error != nullptr ? *error : "none";
  }
  void expect_no_news(int polls = 20) {
    for (int i = 0; i < polls; ++i) {
      EXPECT_EQ(layers(), -1) << i;
    }
  }

  test::TemporaryFolder folder_;
  std::string file_ = folder_.file("a.toml");
  SceneWatch watch_{file_, parse_scene(one_layer, "")};
};

TEST_F(SceneWatchTest, SaysNothingOfTheFileThatIsShown) {
  expect_no_news();
}

TEST_F(SceneWatchTest, NoticesWhatChangedBeforeTheFirstPoll) {
  write(two_layers);
  EXPECT_EQ(layers(), 2);
  expect_no_news();
}

TEST_F(SceneWatchTest, NoticesAWrittenFileOnce) {
  expect_no_news(3);
  write(two_layers);
  EXPECT_EQ(layers(), 2);
  expect_no_news();
  write(one_layer);
  EXPECT_EQ(layers(), 1);
}

TEST_F(SceneWatchTest, NoticesAReplacedFile) {
  expect_no_news(3);
  replace(two_layers);
  EXPECT_EQ(layers(), 2);
  replace(one_layer);
  EXPECT_EQ(layers(), 1);
}

TEST_F(SceneWatchTest, NoticesAFileOfTheSameSizeAndTime) {
  expect_no_news(3);
  write("[[layer]]\nsource = 'b'\n");
  const auto first = watch_.poll();
  ASSERT_TRUE(first);
  struct stat before {};
  ASSERT_EQ(::stat(file_.c_str(), &before), 0);
  write("[[layer]]\nsource = 'c'\n");  // perhaps within one tick of the file system's clock
  const timespec times[] = {before.st_atim, before.st_mtim};
  ASSERT_EQ(::utimensat(AT_FDCWD, file_.c_str(), times, 0), 0);
  const auto second = watch_.poll();
  ASSERT_TRUE(second);
  EXPECT_EQ(std::get<Scene>(*second).layers.at(0).source, "c");
  expect_no_news();
}

TEST_F(SceneWatchTest, SaysNothingOfTheSameSceneInOtherWords) {
  expect_no_news(3);
  write("# a comment\n[[layer]]\nsource = \"a\"\nopacity = 1.0\n");
  expect_no_news();
  replace(one_layer);
  expect_no_news();
}

TEST_F(SceneWatchTest, TriesARefusedSceneAgainOnceItIsWrittenAgain) {
  expect_no_news(3);
  replace(two_layers);
  EXPECT_EQ(layers(), 2);
  watch_.refused();
  expect_no_news();
  replace(two_layers);
  EXPECT_EQ(layers(), 2);
  expect_no_news();
}

TEST_F(SceneWatchTest, HasNoNewsIfARefusedSceneIsTakenBack) {
  expect_no_news(3);
  replace(two_layers);
  EXPECT_EQ(layers(), 2);
  watch_.refused();
  replace(one_layer);
  expect_no_news();
}

TEST_F(SceneWatchTest, SurvivesAFileThatIsMissingForAMoment) {
  expect_no_news(3);
  ASSERT_EQ(::unlink(file_.c_str()), 0);
  expect_no_news(7);
  write(one_layer);
  expect_no_news(3);
  ASSERT_EQ(::unlink(file_.c_str()), 0);
  expect_no_news(7);
  write(two_layers);
  EXPECT_EQ(layers(), 2);
}

TEST_F(SceneWatchTest, SaysOnceThatTheFileStaysAway) {
  ASSERT_EQ(::unlink(file_.c_str()), 0);
  expect_no_news(7);
  EXPECT_EQ(error(), "cannot open the scene '" + file_ + "': No such file or directory");
  expect_no_news();
  write(one_layer);
  EXPECT_EQ(layers(), 1) << "the error is mended, although the scene is the old one";
  expect_no_news();
}

TEST_F(SceneWatchTest, SurvivesAHalfWrittenFile) {
  expect_no_news(3);
  write("");
  EXPECT_EQ(layers(), -1);
  write(broken);
  EXPECT_EQ(layers(), -1);
  write(two_layers);
  EXPECT_EQ(layers(), 2);
  expect_no_news();
}

TEST_F(SceneWatchTest, ReportsAnErrorOncePerText) {
  expect_no_news(3);
  write(broken);
  EXPECT_EQ(layers(), -1);
  EXPECT_TRUE(error().starts_with(file_ + ":2:10: not TOML: "));
  expect_no_news();
  replace(broken);
  expect_no_news();
  write("[[layer]]\nsource = 5\n");
  EXPECT_EQ(layers(), -1);
  EXPECT_TRUE(error().starts_with(file_ + ":2:10: source is 5"));
  expect_no_news();
  write(one_layer);
  EXPECT_EQ(layers(), 1);
  write(broken);
  EXPECT_EQ(layers(), -1);
  EXPECT_EQ(layers(), -2) << "it is news again";
}

TEST_F(SceneWatchTest, TriesAFileThatCannotBeReadAgain) {
  ASSERT_EQ(::unlink(file_.c_str()), 0);
  ASSERT_EQ(::mkfifo(file_.c_str(), 0600), 0);
  expect_no_news(7);
  EXPECT_EQ(error(), "cannot read the scene '" + file_ + "': it is no regular file");
  replace(two_layers);
  EXPECT_EQ(layers(), 2);
}

TEST_F(SceneWatchTest, ReadsAFileWhoseRightsChanged) {
  if (::geteuid() == 0) {
    GTEST_SKIP() << "root may read everything";
  }
  write(two_layers);
  ASSERT_EQ(::chmod(file_.c_str(), 0), 0);
  expect_no_news(7);
  EXPECT_EQ(error(), "cannot open the scene '" + file_ + "': Permission denied");
  ASSERT_EQ(::chmod(file_.c_str(), 0600), 0);
  EXPECT_EQ(layers(), 2);
}

}  // namespace
}  // namespace framewire
