#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "base/error.hpp"
#include "bytes/input.hpp"
#include "bytes/output.hpp"
#include "bytes/progress.hpp"
#include "bytes/rate_limiter.hpp"

namespace framewire {
namespace {

/// A file that is removed with the object.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& text) {
    fd_.reset(::mkstemp(path_.data()));
    EXPECT_EQ(::write(fd_.get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }
  ~TemporaryFile() { ::unlink(path_.c_str()); }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] int fd() const { return fd_.get(); }

 private:
  std::string path_ = testing::TempDir() + "framewire-pipe-XXXXXX";
  FileDescriptor fd_;
};

/// A named pipe that is removed with the object.
class NamedPipe {
 public:
  NamedPipe() : path_(testing::TempDir() + "framewire-fifo-" + std::to_string(::getpid())) {
    ::unlink(path_.c_str());
    EXPECT_EQ(::mkfifo(path_.c_str(), 0600), 0);
    both_.reset(::open(path_.c_str(), O_RDWR | O_CLOEXEC));
  }
  ~NamedPipe() { ::unlink(path_.c_str()); }
  NamedPipe(const NamedPipe&) = delete;
  NamedPipe& operator=(const NamedPipe&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] int fd() const { return both_.get(); }
  void close() { both_.reset(); }

 private:
  std::string path_;
  FileDescriptor both_;
};

bool never() {
  return false;
}

TEST(Input, AFileFillsTheBufferAndKnowsItsSize) {
  const TemporaryFile file("0123456789");
  Input input(file.path(), never);
  EXPECT_EQ(input.size_bytes(), 10U);
  std::array<std::byte, 7> buffer{};
  const auto first = input.read(buffer);
  EXPECT_EQ(first.bytes, 7U);
  EXPECT_EQ(first.state, ReadState::more);
  const auto second = input.read(buffer);
  EXPECT_EQ(second.bytes, 3U);
  EXPECT_EQ(second.state, ReadState::ended);
}

TEST(Input, AFileThatBecameShorterHasFailed) {
  const TemporaryFile file("0123456789");
  Input input(file.path(), never);
  std::array<std::byte, 4> buffer{};
  EXPECT_EQ(input.read(buffer).bytes, 4U);
  ASSERT_EQ(::ftruncate(file.fd(), 6), 0);
  const auto rest = input.read(buffer);
  EXPECT_EQ(rest.bytes, 2U);
  EXPECT_EQ(rest.state, ReadState::failed);
  EXPECT_NE(input.error().find("6 bytes came of 10"), std::string::npos) << input.error();
}

TEST(Input, SkipsWhatAFileHadAndReadsOnBehindIt) {
  const TemporaryFile file("0123456789");
  Input input(file.path(), never);
  std::uint64_t bytes = 4;
  EXPECT_EQ(input.skip(bytes).offset_bytes, 0U);
  bytes = 100;
  const FileRange rest = input.skip(bytes);
  EXPECT_EQ(rest.offset_bytes, 4U);
  EXPECT_EQ(bytes, 6U);
  EXPECT_FALSE(input.has_failed_behind(100));
  bytes = 100;
  EXPECT_FALSE(input.skip(bytes).is_there());
  ASSERT_EQ(::pwrite(file.fd(), "ab", 2, 10), 2);  // the file has grown since
  std::array<std::byte, 10> buffer{};
  const Input::Read got = input.read(buffer);
  EXPECT_EQ(got.bytes, 2U);
  EXPECT_EQ(got.state, ReadState::ended);
  ASSERT_EQ(::ftruncate(file.fd(), 3), 0);
  EXPECT_TRUE(input.has_failed_behind(100));
  EXPECT_NE(input.error().find("became shorter while it was read: 3 bytes came of 10"), std::string::npos)
      << input.error();
}

TEST(Input, ReadsWhatWasSkipped) {
  TemporaryFile file("0123456789");
  Input input(file.path(), never);
  std::uint64_t bytes = 8;
  ASSERT_TRUE(input.skip(bytes).is_there());
  std::array<std::byte, 4> buffer{};
  EXPECT_TRUE(input.read_skipped(4, buffer));
  EXPECT_EQ(buffer[3], std::byte{'7'});
  EXPECT_TRUE(input.is_unchanged());
  ASSERT_EQ(::ftruncate(file.fd(), 5), 0);
  EXPECT_FALSE(input.read_skipped(4, buffer));
  EXPECT_NE(input.error().find("became shorter while it was read: 5 bytes came of 10"), std::string::npos)
      << input.error();
}

TEST(Input, IsChangedByWritingInPlace) {
  TemporaryFile file("0123456789");
  const timespec long_ago[2]{{.tv_sec = 1, .tv_nsec = 0}, {.tv_sec = 1, .tv_nsec = 0}};
  ASSERT_EQ(::futimens(file.fd(), long_ago), 0);  // the clock of files is coarse
  Input input(file.path(), never);
  EXPECT_TRUE(input.is_unchanged());
  ASSERT_EQ(::pwrite(file.fd(), "a", 1, 3), 1);
  EXPECT_FALSE(input.is_unchanged());
}

TEST(Input, ReportsUnreadableBytesToTheCallerThatSkippedThem) {
  const std::string without_speed = "/sys/class/net/lo/speed";  // has a size but cannot be read
  if (::access(without_speed.c_str(), R_OK) != 0) {
    GTEST_SKIP() << "no " << without_speed;
  }
  Input input(without_speed, never);
  std::uint64_t bytes = 1000;
  ASSERT_TRUE(input.skip(bytes).is_there());
  EXPECT_TRUE(input.has_failed_behind(100));
  EXPECT_NE(input.error().find("cannot read '" + without_speed + "': Invalid argument"), std::string::npos)
      << input.error();
}

TEST(Input, OfWhatTheKernelMakesUpIsReadToItsEndAndNotToItsSize) {
  const std::string mtu = "/sys/class/net/lo/mtu";
  if (::access(mtu.c_str(), R_OK) != 0) {
    GTEST_SKIP() << "no " << mtu;
  }
  std::array<std::byte, 100> buffer{};
  Input read(mtu, never);
  const Input::Read got = read.read(buffer);
  EXPECT_GT(got.bytes, 0U);
  EXPECT_EQ(got.state, ReadState::ended) << read.error();
  EXPECT_FALSE(read.is_unchanged()) << "it is made anew each time";
  Input skipped(mtu, never);
  std::uint64_t bytes = 1000;
  ASSERT_TRUE(skipped.skip(bytes).is_there());
  EXPECT_TRUE(skipped.has_failed_behind(1000));
  EXPECT_NE(skipped.error().find("holds fewer bytes than it says"), std::string::npos) << skipped.error();
}

TEST(Input, OfAPipeTakesWhatIsThere) {
  NamedPipe pipe;
  Input input(pipe.path(), never);
  EXPECT_FALSE(input.size_bytes());
  std::array<std::byte, 100> buffer{};
  ASSERT_EQ(::write(pipe.fd(), "one", 3), 3);
  ASSERT_EQ(::write(pipe.fd(), "two", 3), 3);
  const auto got = input.read(buffer);
  EXPECT_EQ(got.bytes, 6U) << "and waits for no more";
  EXPECT_EQ(got.state, ReadState::more);
  pipe.close();
  EXPECT_EQ(input.read(buffer).state, ReadState::ended);
}

TEST(Input, StopsWhereNothingComes) {
  const NamedPipe pipe;
  bool stops = false;
  Input input(pipe.path(), [&] { return std::exchange(stops, true); });
  std::array<std::byte, 10> buffer{};
  EXPECT_EQ(input.read(buffer).state, ReadState::stopped);
}

TEST(Input, ThatCannotBeReadIsNamed) {
  EXPECT_THROW(Input("/no/such/file", never), Error);
  EXPECT_THROW(Input("/", never), Error);
}

TEST(Output, WritesAFileAndFinishesIt) {
  const TemporaryFile file("an old and longer text");
  Output output(file.path(), never);
  const std::string text = "new";
  EXPECT_TRUE(output.write(std::as_bytes(std::span(text))));
  EXPECT_TRUE(output.finish(true));
  EXPECT_EQ(output.written_bytes(), 3U);
  std::array<char, 100> back{};
  EXPECT_EQ(::pread(file.fd(), back.data(), back.size(), 0), 3);
  EXPECT_STREQ(back.data(), "new");
}

TEST(Output, OnAFullDiskSaysSo) {
  Output output("/dev/full", never);
  const std::string text = "x";
  EXPECT_FALSE(output.write(std::as_bytes(std::span(text))));
  EXPECT_NE(output.error().find("No space left on device"), std::string::npos) << output.error();
}

TEST(Output, WhatIsNoFileNeedNotBeDurable) {
  Output output("/dev/null", never);
  EXPECT_TRUE(output.finish(true)) << output.error();
}

TEST(Output, ThatCannotBeWrittenIsNamed) {
  EXPECT_THROW(Output("/no/such/folder/file", never), Error);
}

TEST(RateLimiter, WithoutALimitNeverWaits) {
  RateLimiter rate_limiter(0);
  EXPECT_EQ(rate_limiter.after(UINT64_MAX, 5), 5);
}

TEST(RateLimiter, KeepsTheRate) {
  RateLimiter rate_limiter(1000);
  constexpr std::int64_t start_ns = 1'000'000'000'000;
  std::int64_t now_ns = start_ns;
  for (int i = 0; i < 20; ++i) {
    now_ns = std::max(now_ns, rate_limiter.after(500, now_ns));
  }
  // 10,000 bytes at 1,000 a second.
  EXPECT_EQ(now_ns - start_ns, 10'000'000'000);
}

/// The limit holds from the first byte on: the bytes sent never exceed what the rate allows, plus one chunk.
TEST(RateLimiter, NoRateIsTooSmall) {
  for (const std::uint64_t rate : {1U, 3U, 9U, 10U, 1000U, 4'000'000U}) {
    RateLimiter rate_limiter(rate);
    constexpr std::uint64_t slot_bytes = 1 << 20;
    const std::uint64_t chunk = std::min(slot_bytes, rate_limiter.max_at_once());
    EXPECT_LE(chunk, std::max<std::uint64_t>(rate / 10, 1));
    std::int64_t now_ns = 77;
    double sent = 0;
    for (int i = 0; i < 100; ++i) {
      const double seconds = static_cast<double>(now_ns - 77) / 1e9;
      sent += static_cast<double>(chunk);
      EXPECT_LE(sent, seconds * static_cast<double>(rate) * 1.000001 + static_cast<double>(chunk)) << rate;
      now_ns = std::max(now_ns, rate_limiter.after(chunk, now_ns));
    }
    EXPECT_NEAR(sent / (static_cast<double>(now_ns - 77) / 1e9) / static_cast<double>(rate), 1, 1e-6) << rate;
  }
  EXPECT_EQ(RateLimiter(0).max_at_once(), UINT64_MAX);
}

TEST(RateLimiter, MakesUpForLittleOfAPause) {
  RateLimiter rate_limiter(1000);
  rate_limiter.after(1000, 1'000'000'000'000);
  EXPECT_EQ(rate_limiter.after(1000, 2'000'000'000'000), 2'000'900'000'000);
}

TEST(Progress, TextsSayWhatIsKnown) {
  EXPECT_EQ(progress_text(1'200'000'000, 1.05e9, 1.0, {}), "1.2 GB  1.05 GB/s");
  EXPECT_EQ(progress_text(500'000'000, 1e8, 1.0, 1'000'000'000U), "500.0 MB  100 MB/s  50 %  5 s left");
  EXPECT_EQ(progress_text(500'000'000, 0, 1.0, 1'000'000'000U), "500.0 MB  0 B/s  50 %");
  EXPECT_EQ(progress_text(2'000, 1000, 1.0, 1'000U), "2.0 kB  1.00 kB/s  100 %  0 s left") << "a file that grew";
  EXPECT_EQ(progress_text(0, 1e9, 1.0, 360'000'000'000U), "0 B  1.00 GB/s  0 %  6:00 min left");
}

TEST(Progress, NamesWhoMadeTheOthersWait) {
  EXPECT_EQ(bottleneck_of({.source_s = 5, .wire_s = 1}), Bottleneck::source);
  EXPECT_EQ(bottleneck_of({.source_s = 1, .wire_s = 5, .sink_s = 4}), Bottleneck::sink);
  EXPECT_EQ(bottleneck_of({.source_s = 1, .wire_s = 5, .sink_s = 1}), Bottleneck::wire);
  EXPECT_EQ(bottleneck_of({.source_s = 2, .wire_s = 1, .limit_s = 5, .sink_s = 4}), Bottleneck::limit);
  EXPECT_EQ(bandwidth_text(12'000'000'000, 10, "tcp", Bottleneck::wire),
            "Bandwidth 1.20 GB/s: 12.0 GB in 10 s over tcp; the wire was the bottleneck");
}

}  // namespace
}  // namespace framewire
