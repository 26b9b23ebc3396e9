#include "viewer/screenshot.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/error.hpp"
#include "tests/base/temporary_folder.hpp"
#include "tests/media/media_files.hpp"

namespace framewire {
namespace {

Image grey(int value) {
  return {{4, 2}, std::vector<std::byte>(4 * 2 * 4, static_cast<std::byte>(value))};
}

TEST(Screenshots, OfOneSecondEachHaveAFile) {
  const test::TemporaryFolder folder;
  const std::string file = folder.file("framewire-20260131-235959.png");
  EXPECT_EQ(write_new_screenshot(file, grey(1)), file);
  const auto first = test::read_file(file);
  EXPECT_EQ(write_new_screenshot(file, grey(2)), folder.file("framewire-20260131-235959-2.png"));
  EXPECT_EQ(write_new_screenshot(file, grey(3)), folder.file("framewire-20260131-235959-3.png"));
  EXPECT_EQ(test::read_file(file), first) << "it was not replaced";
}

TEST(Screenshots, OfSeveralViewersEachHaveAFile) {
  const test::TemporaryFolder folder;
  const std::string file = folder.file("same.png");
  std::vector<std::string> names(8);
  std::vector<std::thread> viewers;
  for (std::string& name : names) {
    viewers.emplace_back([&name, &file] { name = write_new_screenshot(file, grey(1)); });
  }
  for (std::thread& viewer : viewers) {
    viewer.join();
  }
  EXPECT_EQ(std::set<std::string>(names.begin(), names.end()).size(), names.size());
  EXPECT_TRUE(std::ranges::all_of(names, [](const std::string& name) { return std::filesystem::file_size(name) > 0; }));
  const std::filesystem::directory_iterator entries(folder.path());
  EXPECT_EQ(std::distance(begin(entries), end(entries)), 8) << "nothing else is left";
}

TEST(Screenshots, LeaveNothingWhereTheyCannotBeWritten) {
  const test::TemporaryFolder folder;
  EXPECT_THROW(write_new_screenshot(folder.file("no/such.png"), grey(1)), Error);
  Image broken = grey(1);
  broken.pixels.clear();
  EXPECT_THROW(write_new_screenshot(folder.file("broken.png"), broken), Error);
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

}  // namespace
}  // namespace framewire
