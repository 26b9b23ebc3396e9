// Ctrl-C while rdsend fills gigabytes of slots.
#include <gtest/gtest.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include <csignal>
#include <string>

#include "base/error.hpp"
#include "bytes/send_bytes.hpp"
#include "command/interruption.hpp"
#include "command/terminal_log.hpp"
#include "tests/base/eventually.hpp"
#include "tests/base/temporary_folder.hpp"
#include "tests/memory/chunk_hook.hpp"
#include "transport/address.hpp"

namespace framewire {
namespace {

using test::eventually;

TEST(InterruptedAllocation, OfSlotsToSendIsGivenUp) {
  const test::TemporaryFolder folder;
  ::setenv("XDG_CONFIG_HOME", folder.path().c_str(), 1);
  sigset_t before;
  pthread_sigmask(SIG_BLOCK, nullptr, &before);
  TerminalLog log(stderr, "test", false);
  SendBytesOptions options{.endpoint = {}, .input = "/dev/null", .slot_bytes = max_chunk_bytes, .slots = 16};
  options.endpoint.dial = HostPort{"127.0.0.1", 1};
  int chunks = 0;
  std::string said;
  {
    Interruption interruption;
    const test::ChunkHook hook([&] {
      if (++chunks == 2) {
        ::kill(::getpid(), SIGTERM);
        EXPECT_TRUE(eventually([&] { return interruption.is_requested(); }));
      }
    });
    try {
      send_bytes(options, interruption, log);
      ADD_FAILURE() << "it was not interrupted";
    } catch (const Error& error) {
      said = error.what();
    }
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  EXPECT_EQ(said, "interrupted before a receiver came");
  // The interruption is noticed just before the stream is told about it.
  EXPECT_GE(chunks, 2);
  EXPECT_LT(chunks, 16);
}

}  // namespace
}  // namespace framewire
