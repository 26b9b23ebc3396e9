// Preloaded into framewire bench --plain in place of a stack that knows only a few calls: whatever else a program calls
// on sockets ends it.
#include <dlfcn.h>
#include <sys/types.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

namespace {

[[noreturn]] void refuse(const char* call) {
  std::fprintf(stderr, "%s() is no call of a plain stack\n", call);
  ::_exit(99);
}

template <typename Function>
Function next(const char* name) {
  return reinterpret_cast<Function>(::dlsym(RTLD_NEXT, name));
}

}  // namespace

extern "C" {

// NOLINTBEGIN(bugprone-reserved-identifier): the names of libc
ssize_t send(int fd, const void* bytes, size_t count, int flags) {
  if (flags != 0) {
    refuse("send with flags");
  }
  return next<ssize_t (*)(int, const void*, size_t, int)>("send")(fd, bytes, count, flags);
}

ssize_t recv(int fd, void* bytes, size_t count, int flags) {
  if (flags != 0) {
    refuse("recv with flags");
  }
  return next<ssize_t (*)(int, void*, size_t, int)>("recv")(fd, bytes, count, flags);
}

#define FRAMEWIRE_FORBID(call) \
  int call() {                 \
    refuse(#call);             \
  }
FRAMEWIRE_FORBID(sendto)
FRAMEWIRE_FORBID(sendmsg)
FRAMEWIRE_FORBID(sendmmsg)
FRAMEWIRE_FORBID(recvfrom)
FRAMEWIRE_FORBID(recvmsg)
FRAMEWIRE_FORBID(recvmmsg)
FRAMEWIRE_FORBID(setsockopt)
FRAMEWIRE_FORBID(getsockopt)
FRAMEWIRE_FORBID(getsockname)
FRAMEWIRE_FORBID(getpeername)
FRAMEWIRE_FORBID(shutdown)
FRAMEWIRE_FORBID(socketpair)
FRAMEWIRE_FORBID(accept4)
FRAMEWIRE_FORBID(ppoll)
FRAMEWIRE_FORBID(epoll_create1)
FRAMEWIRE_FORBID(epoll_ctl)
FRAMEWIRE_FORBID(epoll_wait)
FRAMEWIRE_FORBID(getaddrinfo)
// NOLINTEND(bugprone-reserved-identifier)

}  // extern "C"
