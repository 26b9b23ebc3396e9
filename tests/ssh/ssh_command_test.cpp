// What ssh reports about a host and how long rdpipe waits for it; what sshd reports about the connection.
#include "ssh/ssh_command.hpp"

#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "command/child_process.hpp"
#include "tests/base/temporary_folder.hpp"

namespace framewire {
namespace {

class SshHostName : public testing::Test {
 protected:
  SshHostName() {
    ::sigprocmask(SIG_BLOCK, nullptr, &mask_before_);
    signals_ = take_signals();
    interruption_ = watch_for_an_end();
    options_.config_file = folder_.file("config");
  }
  ~SshHostName() override {
    while (next_signal(signals_.get()) != 0) {
    }
    ::sigprocmask(SIG_SETMASK, &mask_before_, nullptr);
  }

  void configure(const std::string& text) const { std::ofstream(*options_.config_file) << text; }
  std::string name_of(const std::string& host) const { return ssh_host_name(options_, host, interruption_.get()); }

  test::TemporaryFolder folder_;
  sigset_t mask_before_{};
  FileDescriptor signals_;
  FileDescriptor interruption_;
  SshOptions options_;
};

/// Every ssh that ends leaves a pending SIGCHLD. The next wait must not end early because of it.
TEST_F(SshHostName, IsTheOneOfTheConfigurationEachTime) {
  configure("Host one\n  HostName 192.0.2.1\nHost two\n  HostName 192.0.2.2\nMatch exec \"sleep 0.1\"\n  Port 22\n");
  for (int round = 0; round < 3; ++round) {
    EXPECT_EQ(name_of("one"), "192.0.2.1");
    EXPECT_EQ(name_of("somebody@two"), "192.0.2.2");
    EXPECT_EQ(name_of("three"), "three");
  }
}

TEST_F(SshHostName, IsItsOwnWhereSomebodyInterrupts) {
  configure("Match exec \"sleep 1000\"\n  HostName 192.0.2.1\n");
  ASSERT_EQ(::raise(SIGTERM), 0);
  EXPECT_EQ(name_of("user@one"), "one");
  EXPECT_EQ(next_signal(signals_.get()), SIGTERM) << "whose signal it is still gets it";
}

TEST(SshArguments, TheUsersComeFirstAndTheRemoteCommandLast) {
  const std::vector<std::string> words = ssh_arguments({.config_file = "my config",
                                                        .options = {"User=me"},
                                                        .port = std::uint16_t{2222},
                                                        .remote_program = "~/bin/rdpipe"},
                                                       "fe80::1%eth0", "--stage");
  EXPECT_EQ((std::vector(words.begin(), words.begin() + 7)),
            (std::vector<std::string>{"ssh", "-p", "2222", "-F", "my config", "-o", "User=me"}));
  EXPECT_EQ((std::vector(words.end() - 3, words.end())),
            (std::vector<std::string>{"--", "fe80::1%eth0", "~/bin/rdpipe --stage"}));
}

/// What ssh would do with these arguments and such a configuration. "ssh -G" prints only what differs from a default.
TEST(SshArguments, OverruleAConfigurationThatWouldPreventTheProgram) {
  const test::TemporaryFolder folder;
  std::ofstream(folder.file("config")) << "ControlMaster auto\nControlPath /tmp/%C\nSessionType none\nStdinNull yes\n"
                                          "RemoteCommand true\nForkAfterAuthentication yes\n";
  std::vector<std::string> words =
      ssh_arguments({.config_file = folder.file("config"), .remote_program = "send"}, "box", "--flag");
  words.insert(words.begin() + 1, "-G");
  std::string command;
  for (const std::string& word : words) {
    command += "'" + word + "' ";
  }
  const std::string output = folder.file("output");
  ASSERT_EQ(std::system((command + ">" + output).c_str()), 0);
  std::ifstream file(output);
  const std::string said{std::istreambuf_iterator<char>(file), {}};
  for (const char* good : {"controlmaster false\n", "sessiontype default\n", "stdinnull no\n",
                           "forkafterauthentication no\n", "connecttimeout 10\n"}) {
    EXPECT_NE(said.find(good), std::string::npos) << good << said;
  }
  for (const char* bad : {"controlpath", "remotecommand"}) {
    EXPECT_EQ(said.find(bad), std::string::npos) << bad;
  }
}

TEST(AnSshHost, IsNoOptionAndHasNothingForAShell) {
  for (const char* good : {"box", "me@box", "a@b@box", "::1", "fe80::1%eth0", "b-ox", "DOMAIN\\me@box", "me-@box"}) {
    EXPECT_TRUE(is_ssh_host(good)) << good;
  }
  for (const char* bad :
       {"", "-box", "-oProxyCommand=x", "@box", "me@", "a b", "a\nb", "a\x7f", "me@-box", "me\\@box", "b\\ox"}) {
    EXPECT_FALSE(is_ssh_host(bad)) << bad;
  }
  for (const char letter : std::string_view("`$;|&<>(){}'\" \t\x1b")) {
    EXPECT_FALSE(is_ssh_host(std::string("bo") + letter + "x")) << letter;
    EXPECT_FALSE(is_ssh_host(std::string("m") + letter + "e@box")) << letter;
  }
}

TEST(AnSshConnection, IsFourWords) {
  const auto ends = parse_ssh_connection("2001:db8::1 50022 2001:db8::2 22");
  ASSERT_TRUE(ends);
  EXPECT_EQ(ends->client, "2001:db8::1");
  EXPECT_EQ(ends->client_port, 50022);
  EXPECT_EQ(ends->server, "2001:db8::2");
  EXPECT_EQ(ends->server_port, 22);
  for (const char* none : {"", "one", "192.0.2.1 x 192.0.2.2 22", "192.0.2.1 50022 192.0.2.2", "a 70000 b 22"}) {
    EXPECT_FALSE(parse_ssh_connection(none)) << none;
  }
}

}  // namespace
}  // namespace framewire
