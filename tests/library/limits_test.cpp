// Processes without enough memory or threads.
#include <sys/resource.h>

#include <cstdint>
#include <fstream>
#include <system_error>

#include "library/failure.hpp"
#include "tests/library/programs.hpp"

namespace framewire::test {

namespace {

/// From now on this process may map so many bytes more.
void limit_growth(std::uint64_t bytes) {
  std::ifstream file("/proc/self/statm");
  std::uint64_t mapped_pages = 0;
  file >> mapped_pages;
  const rlim_t most = mapped_pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)) + bytes;
  const rlimit limit{.rlim_cur = most, .rlim_max = most};
  EXPECT_EQ(::setrlimit(RLIMIT_AS, &limit), 0);
}

}  // namespace

TEST(LibraryLimits, AReceiverWithoutMemoryForTheFramesSaysSo) {
  if (is_sanitized()) {
    GTEST_SKIP() << "not with a sanitizer";
  }
  for (const char* const transport : {"local", "tcp"}) {
    SendingProgram sending({{"slots", "1"}, {"viewers", "1"}});
    int limited[2];
    ASSERT_EQ(::pipe(limited), 0);
    const pid_t child = ::fork();
    if (child == 0) {
      ReceivingProgram receiving(sending, {{"transport", transport}});
      fw_frame_unref(receiving.acquire());
      limit_growth(std::uint64_t{4} << 20U);
      [[maybe_unused]] const auto written = ::write(limited[1], "x", 1);
      fw_frame* frame = nullptr;
      const fw_result result = fw_receiver_acquire(receiving.receiver, timeout_ns, &frame);
      ::_exit(result == FW_ERROR_MEMORY && says("memory") ? 0 : 1);
    }
    ::close(limited[1]);
    EXPECT_EQ(sending.send(1), FW_OK);
    char byte = 0;
    EXPECT_EQ(::read(limited[0], &byte, 1), 1);
    ::close(limited[0]);
    sending.begin(0, FW_PIXEL_RGBA, 2048, 2048);
    EXPECT_EQ(sending.send(2, FW_CLAIM_UNWATCHED), FW_OK);
    int status = -1;
    ::waitpid(child, &status, 0);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << transport;
  }
}

/// As std::thread throws it.
TEST(LibraryLimits, WithoutThreadsTheMessageSaysSo) {
  EXPECT_EQ(failed(std::system_error(std::make_error_code(std::errc::resource_unavailable_try_again))),
            FW_ERROR_FAILED);
  EXPECT_TRUE(says("cannot start a thread"));
}

}  // namespace framewire::test
