#include "transport/socket_state.hpp"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include "base/clock.hpp"

namespace framewire {
namespace {

int value(const FileDescriptor& socket, int option) {
  int value = -1;
  socklen_t size = sizeof value;
  EXPECT_EQ(::getsockopt(socket.get(), IPPROTO_TCP, option, &value, &size), 0);
  return value;
}

TEST(WatchPeer, AsksUntilShortlyBeforeTheTimeoutHoweverLongThatIs) {
  const FileDescriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  for (const int timeout_s : {2, 5, 30, 100, 101, 199, 200, 201, 300, 3600, 86'400}) {
    watch_peer(socket.get(), timeout_s * ns_per_s);
    const int lost_after_s = value(socket, TCP_KEEPIDLE) + value(socket, TCP_KEEPINTVL) * value(socket, TCP_KEEPCNT);
    EXPECT_LE(lost_after_s, timeout_s);
    EXPECT_GE(lost_after_s + 3 * value(socket, TCP_KEEPINTVL), timeout_s);
  }
}

}  // namespace
}  // namespace framewire
