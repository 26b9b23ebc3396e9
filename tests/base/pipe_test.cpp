#include "base/pipe.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>

namespace framewire {
namespace {

class APipe : public testing::Test {
 protected:
  APipe() {
    std::array<int, 2> ends{};
    EXPECT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
    reads_ = FileDescriptor(ends[0]);
    writes_ = FileDescriptor(ends[1]);
  }
  [[nodiscard]] int size_bytes() const { return ::fcntl(reads_.get(), F_GETPIPE_SZ); }

  FileDescriptor reads_, writes_;
};

TEST_F(APipe, BecomesLarger) {
  ASSERT_GE(::fcntl(reads_.get(), F_SETPIPE_SZ, 4096), 0);
  enlarge_pipe(writes_.get());
  EXPECT_GT(size_bytes(), 4096);
  EXPECT_LE(size_bytes(), 1 << 20);
}

TEST_F(APipe, ThatIsLargerAlreadyStaysSo) {
  constexpr int large = 1 << 22;
  if (::fcntl(reads_.get(), F_SETPIPE_SZ, large) < 0) {
    GTEST_SKIP() << "this user may have no pipe of 4 MiB";
  }
  enlarge_pipe(reads_.get());
  EXPECT_EQ(size_bytes(), large);
}

TEST(AFile, IsNoPipe) {
  const FileDescriptor file(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  enlarge_pipe(file.get());
  EXPECT_LT(::fcntl(file.get(), F_GETPIPE_SZ), 0);
}

}  // namespace
}  // namespace framewire
