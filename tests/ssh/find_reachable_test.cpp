#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/error.hpp"
#include "ssh/address_selection.hpp"
#include "tests/base/silent_peers.hpp"

namespace framewire {
namespace {

std::string why_unreachable(std::uint16_t port, const std::vector<std::string>& addresses, const StopWait& stop = {}) {
  try {
    const HostPort at = find_reachable(addresses, port, INT64_MAX, "do this", stop);
    ADD_FAILURE() << "something listens on port " << at.port << " of " << at.host;
    return {};
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), ExitStatus::lost_peer);
    return error.what();
  }
}

TEST(FindReachable, NamesWhatItTried) {
  const std::string why = why_unreachable(1, {"127.0.0.1", "no-such-host.invalid"});
  EXPECT_NE(why.find("127.0.0.1, no-such-host.invalid; do this"), std::string::npos) << why;
}

TEST(FindReachable, IsStoppedInTheLookUpOfAName) {
  const FileDescriptor event = make_eventfd();
  std::thread person([&] {
    test::silent_look_up().is_asked.acquire();
    signal_eventfd(event.get());
  });
  EXPECT_EQ(why_unreachable(1, {test::silent_name}, {.fd = event.get()}),
            "the host 'silent.example' was still being looked up: this end stops");
  person.join();
  test::silent_look_up().end();
}

TEST(FindReachable, IsStoppedWhileNobodyAnswers) {
  const test::FullPort full;
  const FileDescriptor event = make_eventfd();
  signal_eventfd(event.get());
  EXPECT_EQ(why_unreachable(full.port(), {"127.0.0.1"}, {.fd = event.get()}),
            "no address of the peer had answered yet: this end stops");
}

}  // namespace
}  // namespace framewire
