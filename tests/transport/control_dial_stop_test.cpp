// Dialling is stopped while a name is still being resolved, and while the peer does not answer.
#include <dlfcn.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <semaphore>
#include <string_view>
#include <thread>
#include <vector>

#include "tests/transport/control_sockets.hpp"
#include "transport/control/dial.hpp"

namespace {

/// Controls getaddrinfo() for silent_name: the call blocks until reader_closed is released, then fails.
struct Silence {
  std::binary_semaphore is_asked{0};
  std::binary_semaphore reader_closed{0};
};
Silence silence;
constexpr std::string_view silent_name = "silent.example";

}  // namespace

/// Replaces the system's function, and calls it for all other names.
extern "C" int getaddrinfo(const char* name, const char* service, const addrinfo* req, addrinfo** pai) {
  static const auto the_systems = reinterpret_cast<decltype(&getaddrinfo)>(::dlsym(RTLD_NEXT, "getaddrinfo"));
  if (name != nullptr && name == silent_name && (req->ai_flags & AI_NUMERICHOST) == 0) {
    silence.is_asked.release();
    silence.reader_closed.acquire();
    return EAI_AGAIN;
  }
  return the_systems(name, service, req, pai);
}

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

TEST(DialStop, EndsTheLookUpOfAName) {
  const FileDescriptor event = make_eventfd();
  std::thread person([&] {
    silence.is_asked.acquire();
    signal_eventfd(event.get());
  });
  const auto error = error_of(
      [&] { dial({.host = std::string(silent_name), .port = 1}, INT64_MAX, DialMode::any, {.fd = event.get()}); });
  person.join();
  silence.reader_closed.release();  // the blocked look-up can end now
  expect_error(error, ExitStatus::lost_peer, "'silent.example' was still being looked up: this end stops");
}

TEST(DialStop, ChangesNothingWhereItDoesNotCome) {
  const FileDescriptor event = make_eventfd();
  EXPECT_FALSE(resolve({.host = "localhost", .port = 1}, {.fd = event.get()}).empty());
  EXPECT_EQ(resolve({.host = "192.0.2.1", .port = 1}, {.fd = event.get()}).size(), 1U);
  expect_error(error_of([&] { resolve({.host = "no host", .port = 1}, {.fd = event.get()}); }), ExitStatus::failed,
               "the host 'no host' is not known");
}

TEST(DialStop, EndsAConnectionThatIsNotTaken) {
  const FileDescriptor full(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size_bytes = sizeof at;
  ASSERT_EQ(::bind(full.get(), reinterpret_cast<const sockaddr*>(&at), size_bytes), 0);
  ASSERT_EQ(::listen(full.get(), 0), 0);
  ASSERT_EQ(::getsockname(full.get(), reinterpret_cast<sockaddr*>(&at), &size_bytes), 0);
  std::array<FileDescriptor, 4> before;
  for (FileDescriptor& one : before) {
    one.reset(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    static_cast<void>(::connect(one.get(), reinterpret_cast<const sockaddr*>(&at), size_bytes));
  }
  const Stopped stopped;
  const auto error = error_of(
      [&] { dial({.host = "127.0.0.1", .port = ntohs(at.sin_port)}, INT64_MAX, DialMode::tcp, stopped.stop); });
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
