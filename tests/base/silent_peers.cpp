#include "tests/base/silent_peers.hpp"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <string_view>

#include "tests/base/free_port.hpp"

namespace framewire::test {

SilentLookUp& silent_look_up() noexcept {
  static SilentLookUp look_up;
  return look_up;
}

FullPort::FullPort() : listening_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  const sockaddr_in at = bind_to_free_port(listening_);
  EXPECT_EQ(::listen(listening_.get(), 0), 0);
  for (FileDescriptor& one : waiting_) {
    one.reset(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    static_cast<void>(::connect(one.get(), reinterpret_cast<const sockaddr*>(&at), sizeof at));
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
