// The C library's own functions, behind those that posix_threads.cpp and posix_files.cpp put before them.
#pragma once

#include <dlfcn.h>
#include <poll.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <time.h>

namespace framewire::sim {

/// Any thread. A function that is called before main() is looked up at its first use.
struct CLibrary {
  int (*pthread_create)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  int (*pthread_join)(pthread_t, void**);
  int (*pthread_setname_np)(pthread_t, const char*);
  int (*pthread_mutex_lock)(pthread_mutex_t*);
  int (*pthread_mutex_trylock)(pthread_mutex_t*);
  int (*pthread_mutex_unlock)(pthread_mutex_t*);
  int (*pthread_cond_wait)(pthread_cond_t*, pthread_mutex_t*);
  int (*pthread_cond_timedwait)(pthread_cond_t*, pthread_mutex_t*, const timespec*);
  int (*pthread_cond_clockwait)(pthread_cond_t*, pthread_mutex_t*, clockid_t, const timespec*);
  int (*pthread_cond_signal)(pthread_cond_t*);
  int (*pthread_cond_broadcast)(pthread_cond_t*);
  int (*clock_gettime)(clockid_t, timespec*);
  int (*nanosleep)(const timespec*, timespec*);
  int (*clock_nanosleep)(clockid_t, int, const timespec*, timespec*);
  int (*sched_yield)();
  long (*syscall)(long, ...);
};

const CLibrary& c_library() noexcept;

/// The function of that name that comes after this program's own.
template <typename Function>
void find_next(Function*& function, const char* name) noexcept {
  function = reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

}  // namespace framewire::sim
