#include "command/line_port.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/pipe.hpp"
#include "tests/base/eventually.hpp"

namespace framewire {
namespace {

using test::eventually;

/// Both ends of a connection like that of a program that starts ours.
struct SocketEnds {
  SocketEnds() {
    std::array<int, 2> ends{};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
    ours.reset(ends[0]);
    theirs.reset(ends[1]);
  }
  FileDescriptor ours;
  FileDescriptor theirs;
};

/// What the port asks for and gets.
class Lines {
 public:
  LinePort::Handlers handlers() {
    return {.next_line =
                [this] {
                  const std::scoped_lock lock(mutex_);
                  std::optional<std::string> line;
                  if (!to_write_.empty()) {
                    line = to_write_.front();
                    to_write_.pop_front();
                    ++asked_;
                  }
                  return line;
                },
            .on_line =
                [this](std::optional<std::string_view> line) {
                  const std::scoped_lock lock(mutex_);
                  read_.emplace_back(line ? std::string(*line) : "(too long)");
                },
            .on_closed = [this] { ++closed_; }};
  }
  void add(const std::string& line) {
    const std::scoped_lock lock(mutex_);
    to_write_.push_back(line);
  }
  std::vector<std::string> read() {
    const std::scoped_lock lock(mutex_);
    return read_;
  }
  std::size_t asked() {
    const std::scoped_lock lock(mutex_);
    return asked_;
  }
  std::atomic<int> closed_ = 0;

 private:
  std::mutex mutex_;
  std::deque<std::string> to_write_;
  std::vector<std::string> read_;
  std::size_t asked_ = 0;
};

std::string read_bytes(int fd, std::size_t count) {
  std::string text(count, '\0');
  std::size_t filled = 0;
  while (filled < count) {
    const ssize_t some = ::read(fd, text.data() + filled, count - filled);
    if (some <= 0) {
      break;
    }
    filled += static_cast<std::size_t>(some);
  }
  text.resize(filled);
  return text;
}

TEST(LinePort, WritesAndReadsLinesOverOneSocket) {
  SocketEnds ends;
  Lines lines;
  LinePort port({.reads = ends.ours.get(), .writes = ends.ours.get()}, "fw-test", lines.handlers());
  lines.add("one");
  lines.add("two");
  port.start();
  port.wake();
  EXPECT_EQ(read_bytes(ends.theirs.get(), 8), "one\ntwo\n");
  const std::string text = "a\n\nbc";
  EXPECT_EQ(::write(ends.theirs.get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
  EXPECT_TRUE(eventually([&] { return lines.read().size() == 2; }));
  ::shutdown(ends.theirs.get(), SHUT_WR);
  EXPECT_TRUE(eventually([&] { return lines.read() == std::vector<std::string>({"a", "", "bc"}); }));
  lines.add("three");
  port.wake();
  EXPECT_EQ(read_bytes(ends.theirs.get(), 6), "three\n") << "it writes on when nothing more is to be read";
}

TEST(LinePort, PassesOverLinesThatAreTooLong) {
  SocketEnds ends;
  Lines lines;
  LinePort port({.reads = ends.ours.get(), .writes = ends.ours.get()}, "fw-test", lines.handlers());
  port.start();
  const std::string longest(LinePort::max_line_bytes, 'a');
  const std::string text = longest + "\n" + longest + "b\n" + std::string(5 * LinePort::max_line_bytes, 'c') + "\nd\n";
  for (std::size_t at = 0; at < text.size();) {
    const ssize_t written = ::write(ends.theirs.get(), text.data() + at, text.size() - at);
    ASSERT_GT(written, 0);
    at += static_cast<std::size_t>(written);
  }
  EXPECT_TRUE(eventually([&] { return lines.read().size() == 4; }));
  EXPECT_EQ(lines.read(), std::vector<std::string>({longest, "(too long)", "(too long)", "d"}));
}

/// Who asks for the next line reads the one before, so that there is always room. All is on the port's thread.
TEST(LinePort, ReadsWhileLinesComeAsFastAsTheyAreRead) {
  constexpr int most = 20'000;
  SocketEnds ends;
  std::atomic<int> lines = 0;
  std::atomic<int> heard_at = 0;
  std::vector<char> read(std::size_t{128} * 1024);
  const auto next_line = [&]() -> std::optional<std::string> {
    while (::recv(ends.theirs.get(), read.data(), read.size(), MSG_DONTWAIT) > 0) {
    }
    if (lines == most || heard_at > 0) {
      return std::nullopt;
    }
    if (++lines == 10) {
      EXPECT_EQ(::write(ends.theirs.get(), "a\n", 2), 2);
    }
    return std::string(1000, 'x');
  };
  LinePort port({.reads = ends.ours.get(), .writes = ends.ours.get()}, "fw-test",
                {.next_line = next_line,
                 .on_line = [&](std::optional<std::string_view> /*line*/) { heard_at = lines.load(); },
                 .on_closed = {}});
  port.start();
  port.wake();
  EXPECT_TRUE(eventually([&] { return heard_at > 0; }));
  EXPECT_LT(heard_at, most);
}

/// A pipe whose reader does not read. The pipe's descriptor would block.
TEST(LinePort, AReaderThatStallsIsNotWaitedFor) {
  const PipeEnds pipe = make_pipe();
  Lines lines;
  const std::string line(1000, 'x');
  for (int i = 0; i < 2000; ++i) {
    lines.add(line);
  }
  {
    LinePort port({.writes = pipe.writes.get()}, "fw-test", lines.handlers());
    port.start();
    port.wake();
    EXPECT_TRUE(eventually([&] { return lines.asked() > 64; }));
  }
  EXPECT_LT(lines.asked(), 400U) << "what the pipe takes, and 64 KiB";
  EXPECT_EQ(read_bytes(pipe.reads.get(), 1001), line + "\n");
  EXPECT_EQ(lines.closed_, 0);
}

/// A terminal whose window does not read. A poll() says that there is room for a byte, and a write of more would wait.
TEST(LinePort, ATerminalThatStallsIsNotWaitedFor) {
  const FileDescriptor master(::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC));
  ASSERT_TRUE(master.valid());
  ASSERT_EQ(::grantpt(master.get()), 0);
  ASSERT_EQ(::unlockpt(master.get()), 0);
  const FileDescriptor terminal(::open(::ptsname(master.get()), O_RDWR | O_NOCTTY | O_CLOEXEC));
  ASSERT_TRUE(terminal.valid());
  Lines lines;
  for (int i = 0; i < 2000; ++i) {
    lines.add(std::string(997, 'x'));  // no multiple of what fits
  }
  {
    LinePort port({.writes = terminal.get()}, "fw-test", lines.handlers());
    port.start();
    port.wake();
    EXPECT_TRUE(eventually([&] { return lines.asked() > 64; }));
  }
  EXPECT_LT(lines.asked(), 400U);
  EXPECT_EQ(::fcntl(terminal.get(), F_GETFL) & O_NONBLOCK, 0) << "others write to this terminal, too";
  EXPECT_EQ(lines.closed_, 0);
}

TEST(LinePort, SaysOnceThatItsReaderHasGone) {
  for (const bool is_pipe : {true, false}) {
    PipeEnds pipe = make_pipe();
    SocketEnds ends;
    Lines lines;
    LinePort port({.writes = is_pipe ? pipe.writes.get() : ends.ours.get()}, "fw-test", lines.handlers());
    port.start();
    pipe.reads.reset();
    ends.theirs.reset();
    EXPECT_TRUE(eventually([&] { return lines.closed_ == 1; })) << "without writing";
    lines.add("a");
    port.wake();
    port.stop();
    EXPECT_EQ(lines.asked(), 0U);
    EXPECT_EQ(lines.closed_, 1);
  }
}

TEST(LinePort, WritesAtItsEndWhatIsTaken) {
  const PipeEnds pipe = make_pipe();
  Lines lines;
  LinePort port({.writes = pipe.writes.get()}, "fw-test", lines.handlers());
  port.start();
  lines.add("last");
  port.stop();
  EXPECT_EQ(read_bytes(pipe.reads.get(), 5), "last\n");
}

std::string port_refusal(const std::string& text, bool is_output) {
  try {
    is_output ? parse_output_port(text, "--events") : parse_port(text, "--messages");
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), ExitStatus::usage);
    return error.what();
  }
  return "";
}

TEST(LinePort, TakesDescriptorsThatAreOpenForIt) {
  const PipeEnds pipe = make_pipe();
  const SocketEnds ends;
  const std::string reads = std::to_string(pipe.reads.get());
  const std::string writes = std::to_string(pipe.writes.get());
  const std::string both = std::to_string(ends.ours.get());
  EXPECT_EQ(parse_output_port("-", "--events").writes, STDOUT_FILENO);
  EXPECT_EQ(parse_output_port(writes, "--events").writes, pipe.writes.get());
  EXPECT_EQ(parse_port(both, "--messages").reads, ends.ours.get());
  EXPECT_EQ(parse_port(both, "--messages").writes, ends.ours.get());
  EXPECT_EQ(parse_port(reads + "," + writes, "--messages").reads, pipe.reads.get());
  EXPECT_NE(port_refusal(reads, true).find("not open for writing"), std::string::npos);
  EXPECT_NE(port_refusal(writes, false).find("not open for reading"), std::string::npos);
  EXPECT_NE(port_refusal(writes + "," + reads, false).find("not open for reading"), std::string::npos);
  EXPECT_NE(port_refusal("987654", true).find("987654"), std::string::npos);
  for (const char* const wrong : {"", "x", "-1", "1x", "99999999999999"}) {
    EXPECT_NE(port_refusal(wrong, true).find("number of an open descriptor"), std::string::npos) << wrong;
    EXPECT_NE(port_refusal(both + "," + wrong, false), "") << wrong;
  }
}

}  // namespace
}  // namespace framewire
