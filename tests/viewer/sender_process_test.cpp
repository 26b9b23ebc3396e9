// The life of a layer's program: its descriptors, its messages, its end, and when it is started again. A shell script
// takes the place of framewire-send.
#include "viewer/sender_process.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <set>
#include <sstream>
#include <string>

#include "tests/viewer/followed_sender.hpp"

namespace framewire {
namespace {

class SenderProcessTest : public FollowedSender {
 protected:
  SenderProcess& run(const std::string& script, LocalSource source = {.source = "film.mkv"}) {
    write_program("send", script);
    sender_.emplace(folder_.file("send"), std::move(source), clock_, log_);
    sender_->start({.port = 4711});
    return *sender_;
  }
};

TEST(RestartDelay, DoublesUpToHalfAMinute) {
  RestartDelay delay;
  for (const std::int64_t expected_s : {1, 2, 4, 8, 16, 30, 30}) {
    EXPECT_EQ(delay.next_ns(0), expected_s * ns_per_s);
  }
  EXPECT_EQ(delay.next_ns(30 * ns_per_s), 30 * ns_per_s);
  EXPECT_EQ(delay.next_ns(31 * ns_per_s), ns_per_s) << "it has worked for a while";
  EXPECT_EQ(delay.next_ns(0), 2 * ns_per_s);
}

TEST_F(SenderProcessTest, IsToldItsSourceInItsFolder) {
  std::filesystem::create_directory(folder_.file("scenes"));
  run("echo \"$PWD: $@\" >&2", {.source = "film.mkv", .options = {"--loop"}, .folder = folder_.file("scenes/")});
  follow_to_its_end();
  EXPECT_EQ(sender_->state(), SenderProcess::State::ended);
  EXPECT_TRUE(has_said("film.mkv: " + std::filesystem::canonical(folder_.path()).string() +
                       "/scenes: --loop --to 127.0.0.1:4711 -- film.mkv"))
      << log_.text();
}

TEST_F(SenderProcessTest, InheritsNothingButStandardStreams) {
  const FileDescriptor open_to_all(::open("/dev/zero", O_RDONLY));  // without O_CLOEXEC
  ASSERT_TRUE(open_to_all.valid());
  run("readlink /proc/$$/fd/* >&2; true");
  follow_to_its_end();
  std::istringstream lines(log_.text());
  std::set<std::string> pipes;  // the shell has its output twice
  for (std::string line; std::getline(lines, line);) {
    const bool is_pipe = line.find("pipe:") != std::string::npos;
    if (is_pipe) {
      pipes.insert(line);
    }
    EXPECT_TRUE(is_pipe || line == "film.mkv: /dev/null" || line == "film.mkv: " + folder_.file("send")) << line;
  }
  EXPECT_EQ(pipes.size(), 1U) << log_.text();
}

TEST_F(SenderProcessTest, SaysWhyItFailed) {
  run("echo 'stream film' >&2; echo 'framewire-send: cannot open it' >&2; echo ' line 2' >&2; exit 1");
  follow_to_its_end();
  EXPECT_EQ(sender_->state(), SenderProcess::State::failed);
  EXPECT_EQ(sender_->reason(), "cannot open it");
  EXPECT_TRUE(has_said("film.mkv: cannot open it (the viewer starts it again)")) << log_.text();
  EXPECT_FALSE(sender_->is_due());
  clock_.advance_to_ns(ns_per_s);
  EXPECT_TRUE(sender_->is_due());
}

TEST_F(SenderProcessTest, SaysWhatItCanOfAProgramThatDoesNot) {
  run("printf 'only a part' >&2; exit 1");
  follow_to_its_end();
  EXPECT_EQ(sender_->reason(), "only a part");
  run("exit 4");
  follow_to_its_end();
  EXPECT_EQ(sender_->reason(), "framewire-send ended with status 4");
  run("kill -9 $$");
  follow_to_its_end();
  EXPECT_EQ(sender_->reason(), "framewire-send was ended by signal 9 (Killed)");
  EXPECT_EQ(sender_->state(), SenderProcess::State::failed);
}

TEST_F(SenderProcessTest, IsNotStartedAgainIfItsOptionsAreWrong) {
  run("echo 'framewire-send: --fps is 0' >&2; exit 2");
  follow_to_its_end();
  EXPECT_EQ(sender_->state(), SenderProcess::State::refused);
  clock_.advance_to_ns(1000 * ns_per_s);
  EXPECT_FALSE(sender_->is_due());
}

TEST_F(SenderProcessTest, ThatCannotBeStartedIsTriedAgain) {
  sender_.emplace(folder_.file("none"), LocalSource{.source = "film.mkv"}, clock_, log_);
  sender_->start({.port = 4711});
  EXPECT_EQ(sender_->state(), SenderProcess::State::failed);
  EXPECT_TRUE(has_said("none: No such file or directory")) << log_.text();
  clock_.advance_to_ns(ns_per_s);
  EXPECT_TRUE(sender_->is_due());
}

TEST_F(SenderProcessTest, EndsWhenItIsAskedTo) {
  run("trap 'exit 0' TERM; echo ready >&2; while :; do sleep 0.01; done");
  follow_until([&] { return has_said("ready"); });
  sender_->stop();
  follow_to_its_end();
  EXPECT_EQ(sender_->state(), SenderProcess::State::ended);
}

TEST_F(SenderProcessTest, IsKilledIfItDoesNotEnd) {
  run("trap '' TERM; echo ready >&2; while :; do sleep 0.01; done");
  follow_until([&] { return has_said("ready"); });
  sender_->stop();
  sender_->follow();
  EXPECT_EQ(sender_->state(), SenderProcess::State::running);
  clock_.advance_to_ns(2 * ns_per_s);
  follow_to_its_end();
  EXPECT_EQ(sender_->state(), SenderProcess::State::ended) << "nobody complains";
  EXPECT_FALSE(has_said("signal"));
}

/// One that says much neither fills the memory nor holds the viewer.
TEST_F(SenderProcessTest, IsReadInLines) {
  run("head -c 300000 /dev/zero | tr '\\0' x >&2; echo >&2; printf 'a\\033b\\n' >&2; exit 1");
  follow_to_its_end();
  EXPECT_EQ(sender_->reason(), "a\\x1bb");
}

}  // namespace
}  // namespace framewire
