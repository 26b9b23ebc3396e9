// The life of a sender on another host: what ssh is told, what it says, and what its end means. A shell script takes
// the place of ssh.
#include "viewer/ssh_sender.hpp"

#include <gtest/gtest.h>

#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "ssh/sender_plan.hpp"
#include "tests/viewer/followed_sender.hpp"
#include "transport/control/hex.hpp"
#include "viewer/sender_process.hpp"
#include "viewer/ssh_source.hpp"

namespace framewire {
namespace {

constexpr const char* say_hello =
    R"(echo '{"type":"hello","protocol":2,"version":"1","machine":"","reached_at":"192.0.2.1"}')";

class SshSenderTest : public FollowedSender {
 protected:
  SshSenderTest() : path_before_(std::getenv("PATH")) {
    std::signal(SIGPIPE, SIG_IGN);  // as the viewer has it: a script may end before it is told its plan
    ::setenv("PATH", (folder_.path() + ":" + path_before_).c_str(), 1);
  }
  ~SshSenderTest() override { ::setenv("PATH", path_before_.c_str(), 1); }

  SenderProcess& run(const std::string& script, bool must_work = false, const std::string& url = "ssh://box/film.mkv") {
    write_program("ssh", script);
    sender_.emplace("no program of this machine", parse_ssh_source(url, "HOST"), clock_, log_, ssh_);
    rendezvous_ = std::make_shared<Rendezvous>(*sender_->source().host, EndpointOptions{});
    sender_->start({.rendezvous = rendezvous_, .must_work = must_work});
    return *sender_;
  }
  [[nodiscard]] std::string content_of(const std::string& name) const {
    std::ifstream file(folder_.file(name));
    return {std::istreambuf_iterator<char>(file), {}};
  }

  std::string path_before_;
  SshOptions ssh_;
  std::shared_ptr<Rendezvous> rendezvous_;
};

TEST_F(SshSenderTest, IsToldItsSourceAndItsKeyOnStandardInput) {
  ssh_ = {.config_file = "my config", .remote_program = "~/bin/framewire-send"};
  run("cd '" + folder_.path() + "'; echo \"$@\" >said; " + say_hello + "; head -n 1 >read", false,
      "ssh://me@[::1]:2222/-a%20b.mkv?loop");
  follow_to_its_end();
  const std::string said = content_of("said");
  EXPECT_TRUE(said.starts_with("-p 2222 -F my config ")) << said;
  EXPECT_TRUE(said.ends_with(" -- me@::1 ~/bin/framewire-send --started-by-viewer\n")) << said;
  const std::string plan = content_of("read");
  EXPECT_NE(plan.find(to_hex(rendezvous_->key().bytes())), std::string::npos);
  const std::string source = "-a b.mkv";
  EXPECT_NE(plan.find(to_hex(std::as_bytes(std::span(source)))), std::string::npos) << plan;
  EXPECT_EQ(said.find(to_hex(rendezvous_->key().bytes())), std::string::npos);
}

/// What a shell reads that has not started framewire-send: nothing. The script looks without waiting.
TEST_F(SshSenderTest, IsToldNothingBeforeItSaysHello) {
  run("cd '" + folder_.path() +
      "'; until [ -e go ]; do sleep 0.01; done; "
      "dd if=/dev/stdin iflag=nonblock bs=4096 count=1 of=before 2>/dev/null; echo noise; " +
      say_hello + "; head -n 1 >after");
  for (int i = 0; i < 10; ++i) {
    clock_.advance_to_ns(clock_.now_ns() + 10 * ns_per_s);
    sender_->follow();
  }
  std::ofstream(folder_.file("go")) << "go";
  follow_to_its_end();
  EXPECT_EQ(content_of("before"), "");
  EXPECT_TRUE(content_of("after").starts_with("{\"key\":")) << content_of("after");
}

/// Every three seconds of a clock that moves only here.
TEST_F(SshSenderTest, IsToldThatTheViewerIsAlive) {
  run("cd '" + folder_.path() + "'; " + say_hello + "; head -n 1 >plan; echo ready >&2; cat >heard");
  follow_until([&] { return has_said("ready"); });
  for (const std::int64_t ms : {2999, 3000, 5999, 6000, 6001, 60000, 60001}) {
    clock_.advance_to_ns(ms * ns_per_ms);
    sender_->follow();
    sender_->follow();
  }
  sender_->stop();
  follow_to_its_end();
  const std::string alive = "{\"type\":\"alive\"}\n";
  EXPECT_EQ(content_of("heard"), alive + alive + alive);
}

/// A host that says very much does not keep the viewer from anything else.
TEST_F(SshSenderTest, IsHeardAFewMessagesAtATime) {
  write_program("ssh", std::string(say_hello) +
                           "; for i in $(seq 200); do echo '{\"type\":\"alive\"}'; done; "
                           "echo '{\"type\":\"listening\",\"port\":1}'");
  const LocalSource source = parse_ssh_source("ssh://box/film.mkv", "HOST");
  SshSender sender(source, ssh_, std::make_shared<Rendezvous>(*source.host, EndpointOptions{}));
  sender.start(STDERR_FILENO).wait();
  for (int i = 0; i < 3; ++i) {
    sender.follow(0);
    EXPECT_TRUE(sender.has_answered() && !sender.is_listening()) << i;
  }
  sender.follow(0);
  EXPECT_TRUE(sender.is_listening()) << "nothing is lost";
}

TEST_F(SshSenderTest, IsEndedIfWhatItReportsIsWrong) {
  const std::string hello = say_hello;
  for (const auto& [said, reason] : std::vector<std::pair<std::string, std::string>>{
           {hello + R"(; echo '{"type":"listening","port":0}')",
            "the other host says that it listens on port 0, which is not 1 to 65535; install the same framewire on "
            "both "
            "hosts"},
           {hello + R"(; echo '{"type":"listening","port":70000}')",
            "the other host says that it listens on port 70000, which is not 1 to 65535; install the same framewire on "
            "both hosts"},
           {R"(echo '{"type":"hello","protocol":2,"version":"1","machine":"","reached_at":"box"}')",
            "the other host reports the address 'box', which is no IP address; install the same framewire on both "
            "hosts"},
           {hello + "; echo noise",
            "it says 'noise', which is no message of framewire; check --send-path and the startup files of the shell "
            "there"}}) {
    run(said + R"(; echo '{"type":"listening","port":1}'; exec sleep 1000)");
    follow_to_its_end();
    EXPECT_EQ(sender_->reason(), reason);
    EXPECT_EQ(sender_->state(), SenderProcess::State::refused);
  }
}

/// It is killed if the request to end is of no use.
TEST_F(SshSenderTest, ThatIsWrongAndStaysIsKilled) {
  run(std::string("trap '' TERM; ") + say_hello + "; echo noise; echo ready >&2; exec sleep 1000");
  follow_until([&] { return has_said("ready"); });
  sender_->follow();
  EXPECT_EQ(sender_->state(), SenderProcess::State::running);
  clock_.advance_to_ns(2 * ns_per_s);
  follow_to_its_end();
  EXPECT_EQ(sender_->state(), SenderProcess::State::refused);
}

TEST_F(SshSenderTest, IsFoundWhereItListens) {
  run(std::string("echo 'Welcome!'; printf 'no line'; echo; ") + say_hello +
      R"(; echo '{"type":"listening","port":1}'; echo '{"type":"alive"}'; echo ready >&2; cat >/dev/null)");
  follow_until([&] { return has_said("ready"); });
  sender_->follow();
  const auto refusal = [&] {
    try {
      rendezvous_->find({});
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  follow_until([&] { return refusal() != "waiting for the sender that ssh starts on box"; });
  EXPECT_TRUE(refusal().starts_with("cannot reach port 1 at ")) << refusal();
  sender_->stop();  // the end of its standard input
  follow_to_its_end();
  EXPECT_EQ(sender_->state(), SenderProcess::State::ended);
  EXPECT_EQ(refusal(), "waiting for the sender that ssh starts on box");
}

struct SshEnd {
  const char* script;
  const char* reason;
  bool is_final;
};

TEST_F(SshSenderTest, SaysWhyThereIsNone) {
  for (const SshEnd& end : {
           SshEnd{"printf 'me@box: Permission denied (publickey).\\r\\n' >&2; exit 255",
                  "ssh does not reach box: me@box: Permission denied (publickey).", true},
           SshEnd{"echo 'Host key verification failed.' >&2; exit 255",
                  "ssh does not reach box: Host key verification failed.", true},
           SshEnd{"echo 'connect to host box port 22: Connection refused' >&2; exit 255",
                  "ssh does not reach box: connect to host box port 22: Connection refused", false},
           SshEnd{"exit 255", "ssh does not reach box: it does not say why", true},
           SshEnd{"echo 'sh: framewire-send: not found' >&2; exit 127",
                  "framewire-send was not found on box; install framewire there, or give its path by --send-path "
                  "(sh: framewire-send: not found)",
                  true},
           SshEnd{"exit 0",
                  "ssh box ended with status 0 before framewire-send of this version ran there: it does not say why",
                  true},
           SshEnd{"kill -9 $$", "ssh was ended by signal 9 (Killed)", false},
       }) {
    run(end.script);
    follow_to_its_end();
    EXPECT_EQ(sender_->reason(), end.reason);
    EXPECT_EQ(sender_->state(), end.is_final ? SenderProcess::State::refused : SenderProcess::State::failed)
        << end.script;
    EXPECT_TRUE(!end.is_final || sender_->exit_status() == ExitStatus::failed);
  }
}

TEST_F(SshSenderTest, SaysWhyItEnded) {
  const std::string hello = say_hello;
  run(hello + "; sleep 0.1; echo 'framewire-send: cannot open it' >&2; exit 1");
  follow_to_its_end();
  EXPECT_EQ(sender_->reason(), "cannot open it");
  EXPECT_EQ(sender_->state(), SenderProcess::State::failed);
  run(hello + "; sleep 0.1; echo 'framewire-send: --fps is 0' >&2; exit 2");
  follow_to_its_end();
  EXPECT_EQ(sender_->state(), SenderProcess::State::refused);
  EXPECT_EQ(sender_->exit_status(), ExitStatus::usage);
  run(hello + "; exit 255");
  follow_to_its_end();
  EXPECT_EQ(sender_->reason(), "the connection to box, or framewire-send there, is gone");
  EXPECT_EQ(sender_->state(), SenderProcess::State::failed);
  run(hello + "; exit 0");
  follow_to_its_end();
  EXPECT_EQ(sender_->state(), SenderProcess::State::ended);
}

TEST_F(SshSenderTest, ThatMustWorkIsNotTriedAgainBeforeItHasListened) {
  const std::string hello = say_hello;
  run("echo 'Connection refused' >&2; exit 255", true);
  follow_to_its_end();
  EXPECT_EQ(sender_->state(), SenderProcess::State::refused);
  run(hello + "; exit 1", true);
  follow_to_its_end();
  EXPECT_EQ(sender_->state(), SenderProcess::State::refused);
  run(hello + R"(; echo '{"type":"listening","port":1}'; exit 1)", true);
  follow_to_its_end();
  EXPECT_EQ(sender_->state(), SenderProcess::State::failed);
}

TEST_F(SshSenderTest, MustBeOfThisVersion) {
  run(R"(echo '{"type":"hello","protocol":1,"version":"0.0.9","machine":"","reached_at":""}'; exec sleep 1000)");
  follow_to_its_end();
  EXPECT_EQ(sender_->reason(), std::string("framewire there is 0.0.9 with protocol 1, and here ") + FRAMEWIRE_VERSION +
                                   " with 2; install the same one on both");
  EXPECT_EQ(sender_->state(), SenderProcess::State::refused);
  run(std::string(say_hello) + "; echo noise; exec sleep 1000");
  follow_to_its_end();
  EXPECT_NE(sender_->reason().find("'noise', which is no message of framewire"), std::string::npos);
}

TEST_F(SshSenderTest, IsEndedBeforeItAnswers) {
  run("echo ready >&2; exec sleep 1000");
  follow_until([&] { return has_said("ready"); });
  sender_->stop();
  follow_to_its_end();
  EXPECT_EQ(sender_->state(), SenderProcess::State::ended);
}

/// Ctrl-C in a terminal reaches ssh, too. Only an end that was noticed asks: the signal came before it.
TEST_F(SshSenderTest, EndsWithTheViewer) {
  run(std::string(say_hello) + "; kill -INT $$");
  int asked = 0;
  while (sender_->state() == SenderProcess::State::running) {
    sender_->follow([&] { return ++asked > 0; });
  }
  EXPECT_EQ(asked, 1);
  EXPECT_EQ(sender_->state(), SenderProcess::State::ended);
  EXPECT_EQ(sender_->reason(), "");
  EXPECT_FALSE(has_said("is gone"));
}

TEST_F(SshSenderTest, ThatDoesNotAnswerIsSpokenOfOnce) {
  run("exec sleep 1000");
  sender_->follow();
  EXPECT_FALSE(has_said("nothing is heard"));
  clock_.advance_to_ns(11 * ns_per_s);
  sender_->follow();
  EXPECT_TRUE(has_said("ssh://box/film.mkv: nothing is heard of framewire-send there so far"));
  const std::string before = log_.text();
  sender_->follow();
  EXPECT_EQ(log_.text(), before);
}

}  // namespace
}  // namespace framewire
