// Dialling and listening are stopped while a name is still being resolved, dialling also while the peer does not
// answer.
#include <optional>
#include <thread>
#include <vector>

#include "tests/base/silent_peers.hpp"
#include "tests/transport/control_sockets.hpp"
#include "transport/control/dial.hpp"
#include "transport/control/listener.hpp"

namespace framewire {
namespace {

using test::error_of;
using test::expect_error;
using test::soon_ns;

/// A stop event that is already signalled, for waits that would never end.
struct Stopped {
  Stopped() { signal_eventfd(event.get()); }
  FileDescriptor event = make_eventfd();
  StopWait stop{.fd = event.get(), .why = "enough"};
};

/// Runs `action` with a stop event that comes while the action looks up silent_name.
template <typename Action>
std::optional<Error> stopped_in_look_up(Action&& action) {
  const FileDescriptor event = make_eventfd();
  std::thread person([&] {
    test::silent_look_up().is_asked.acquire();
    signal_eventfd(event.get());
  });
  auto error = error_of([&] { action(StopWait{.fd = event.get()}); });
  person.join();
  test::silent_look_up().end();
  return error;
}

TEST(DialStop, EndsTheLookUpOfAName) {
  const auto error = stopped_in_look_up(
      [](const StopWait& stop) { dial({.host = test::silent_name, .port = 1}, INT64_MAX, DialMode::any, stop); });
  expect_error(error, ExitStatus::lost_peer, "'silent.example' was still being looked up: this end stops");
}

TEST(ListenStop, EndsTheLookUpOfAName) {
  const auto error = stopped_in_look_up([](const StopWait& stop) {
    const Listener listener({.at = {.host = test::silent_name, .port = 0}, .insecure = true, .stop = stop});
  });
  expect_error(error, ExitStatus::failed, "'silent.example' was still being looked up: this end stops");
}

TEST(DialStop, ChangesNothingWhereItDoesNotCome) {
  const FileDescriptor event = make_eventfd();
  EXPECT_FALSE(resolve({.host = "localhost", .port = 1}, {.fd = event.get()}).empty());
  EXPECT_EQ(resolve({.host = "192.0.2.1", .port = 1}, {.fd = event.get()}).size(), 1U);
  expect_error(error_of([&] { resolve({.host = "no host", .port = 1}, {.fd = event.get()}); }), ExitStatus::failed,
               "the host 'no host' is not known");
}

TEST(DialStop, EndsAConnectionThatIsNotTaken) {
  const test::FullPort full;
  const Stopped stopped;
  const auto error =
      error_of([&] { dial({.host = "127.0.0.1", .port = full.port()}, INT64_MAX, DialMode::tcp, stopped.stop); });
  expect_error(error, ExitStatus::lost_peer, "had not answered yet: enough");
}

TEST(DialStop, EndsTheWaitForAFullUnixSocket) {
  const Listener port_of_ours({.at = {.host = "127.0.0.1", .port = 0}});
  std::vector<FileDescriptor> before;  // never accepted
  const SocketAddress address = unix_address(port_of_ours.port());
  for (int error_number = 0; error_number == 0;) {
    before.push_back(connect_to(address, soon_ns(), error_number));
    ASSERT_TRUE(error_number == 0 || error_number == EAGAIN) << error_number;
  }
  const Stopped stopped;
  const auto error = error_of(
      [&] { dial({.host = "127.0.0.1", .port = port_of_ours.port()}, INT64_MAX, DialMode::any, stopped.stop); });
  expect_error(error, ExitStatus::lost_peer, "had not answered yet: enough");
}

}  // namespace
}  // namespace framewire
