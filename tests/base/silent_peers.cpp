#include "tests/base/silent_peers.hpp"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <string_view>

namespace framewire::test {

SilentLookUp& silent_look_up() noexcept {
  static SilentLookUp look_up;
  return look_up;
}

FullPort::FullPort() : listening_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size_bytes = sizeof at;
  EXPECT_EQ(::bind(listening_.get(), reinterpret_cast<const sockaddr*>(&at), size_bytes), 0);
  EXPECT_EQ(::listen(listening_.get(), 0), 0);
  EXPECT_EQ(::getsockname(listening_.get(), reinterpret_cast<sockaddr*>(&at), &size_bytes), 0);
  for (FileDescriptor& one : waiting_) {
    one.reset(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    static_cast<void>(::connect(one.get(), reinterpret_cast<const sockaddr*>(&at), size_bytes));
  }
  port_ = ntohs(at.sin_port);
}

}  // namespace framewire::test

/// Calls the system's function for all other names.
extern "C" int getaddrinfo(const char* name, const char* service, const addrinfo* req, addrinfo** pai) {
  using namespace framewire::test;
  static const auto the_systems = reinterpret_cast<decltype(&getaddrinfo)>(::dlsym(RTLD_NEXT, "getaddrinfo"));
  if (name != nullptr && std::string_view(name) == silent_name && (req->ai_flags & AI_NUMERICHOST) == 0) {
    silent_look_up().is_asked.release();
    silent_look_up().may_end.acquire();
    silent_look_up().has_ended.release();
    return EAI_AGAIN;
  }
  return the_systems(name, service, req, pai);
}
