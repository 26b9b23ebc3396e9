#include "command/result_file.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>

#include "base/error.hpp"
#include "base/file_descriptor.hpp"
#include "tests/base/temporary_folder.hpp"

namespace framewire {
namespace {

constexpr ResultFile::Purpose purpose{.what = "the words", .option = "--words"};

std::string failure_of(const std::string& path) {
  try {
    ResultFile(path, purpose).write("words");
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

class ResultFileTest : public testing::Test {
 protected:
  test::TemporaryFolder folder_;
  std::string path_ = folder_.file("out");
};

TEST_F(ResultFileTest, HasWhatWasWrittenAndNothingElse) {
  std::ofstream(path_) << "a longer text that was there before";
  ResultFile file(path_, purpose);
  file.write("some ");
  file.write("words");
  std::ifstream in(path_);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(in), {}), "some words");
}

TEST_F(ResultFileTest, WaitsForNobodyToReadAPipe) {
  ASSERT_EQ(::mkfifo(path_.c_str(), 0600), 0);
  EXPECT_EQ(failure_of(path_), "nobody reads the words from the named pipe '" + path_ +
                                   "'; start its reader first, or name a file with --words");
}

TEST_F(ResultFileTest, GivesAPipeMoreThanItHolds) {
  ASSERT_EQ(::mkfifo(path_.c_str(), 0600), 0);
  const FileDescriptor reads(::open(path_.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  ASSERT_TRUE(reads.valid());
  ASSERT_EQ(::fcntl(reads.get(), F_SETFL, 0), 0);  // the reader below waits
  const std::string text(1 << 20, 'x');
  std::string got;
  std::thread reader;
  {
    ResultFile file(path_, purpose);
    reader = std::thread([&] {
      std::array<char, 65536> part{};
      for (ssize_t count = 0; (count = ::read(reads.get(), part.data(), part.size())) > 0;) {
        got.append(part.data(), static_cast<std::size_t>(count));
      }
    });
    file.write(text);
  }
  reader.join();
  EXPECT_EQ(got, text);
}

/// Files have no room, as on a full disk, while it lives.
class NoRoom {
 public:
  NoRoom() {
    EXPECT_EQ(::getrlimit(RLIMIT_FSIZE, &before_), 0);
    const rlimit none{.rlim_cur = 0, .rlim_max = before_.rlim_max};
    EXPECT_EQ(::setrlimit(RLIMIT_FSIZE, &none), 0);
  }
  NoRoom(const NoRoom&) = delete;
  NoRoom& operator=(const NoRoom&) = delete;
  ~NoRoom() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }

 private:
  rlimit before_{};
  decltype(std::signal(SIGXFSZ, SIG_IGN)) handler_ = std::signal(SIGXFSZ, SIG_IGN);
};

TEST_F(ResultFileTest, LeavesNoFileThatItCouldNotWrite) {
  const NoRoom no_room;
  EXPECT_EQ(failure_of(path_), "cannot write the words to '" + path_ + "': File too large");
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(ResultFileTest, RemovesNothingThatWasThereBefore) {
  const std::string link = folder_.file("link");
  const std::string loose = folder_.file("loose");
  std::ofstream(path_) << "before";
  std::filesystem::create_symlink(path_, link);
  std::filesystem::create_symlink(folder_.file("behind"), loose);
  const NoRoom no_room;
  for (const std::string& path : {path_, link, loose}) {
    EXPECT_EQ(failure_of(path), "cannot write the words to '" + path + "': File too large");
    EXPECT_TRUE(std::filesystem::exists(path)) << path;
  }
}

TEST_F(ResultFileTest, RemovesNothingThatHasTakenItsName) {
  ResultFile file(path_, purpose);
  std::filesystem::rename(path_, folder_.file("moved"));
  std::ofstream(path_) << "another";
  const NoRoom no_room;
  EXPECT_THROW(file.write("words"), Error);
  EXPECT_EQ(std::filesystem::file_size(path_), 7U);
}

TEST_F(ResultFileTest, SaysWhatIsWrongWithAFile) {
  EXPECT_EQ(failure_of("/dev/full"), "cannot write the words to '/dev/full': No space left on device");
  EXPECT_EQ(failure_of("/nowhere/out"), "cannot write the words to '/nowhere/out': No such file or directory");
}

}  // namespace
}  // namespace framewire
