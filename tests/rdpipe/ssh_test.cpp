// What ssh reports about a host and how long rdpipe waits for it; what sshd reports about the connection.
#include "rdpipe/ssh.hpp"

#include <gtest/gtest.h>

#include <csignal>
#include <fstream>

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
