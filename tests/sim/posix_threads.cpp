// Threads, mutexes, condition variables and the clock of a simulated world, in place of the C library's.
#include <linux/futex.h>
#include <sys/syscall.h>

#include <array>
#include <cerrno>
#include <cstdarg>
#include <cstdint>

#include "tests/sim/c_library.hpp"
#include "tests/sim/world.hpp"

namespace framewire::sim {

const CLibrary& c_library() noexcept {
  // Set at the first call, which comes before main() and its threads.
  static CLibrary found = [] {
    CLibrary all{};
    find_next(all.pthread_create, "pthread_create");
    find_next(all.pthread_join, "pthread_join");
    find_next(all.pthread_setname_np, "pthread_setname_np");
    find_next(all.pthread_mutex_lock, "pthread_mutex_lock");
    find_next(all.pthread_mutex_trylock, "pthread_mutex_trylock");
    find_next(all.pthread_mutex_unlock, "pthread_mutex_unlock");
    find_next(all.pthread_cond_wait, "pthread_cond_wait");
    find_next(all.pthread_cond_timedwait, "pthread_cond_timedwait");
    find_next(all.pthread_cond_clockwait, "pthread_cond_clockwait");
    find_next(all.pthread_cond_signal, "pthread_cond_signal");
    find_next(all.pthread_cond_broadcast, "pthread_cond_broadcast");
    find_next(all.clock_gettime, "clock_gettime");
    find_next(all.nanosleep, "nanosleep");
    find_next(all.clock_nanosleep, "clock_nanosleep");
    find_next(all.sched_yield, "sched_yield");
    find_next(all.syscall, "syscall");
    return all;
  }();
  return found;
}

namespace {

constexpr std::int64_t ns_per_s = 1'000'000'000;
/// What CLOCK_REALTIME is ahead of CLOCK_MONOTONIC.
constexpr std::int64_t realtime_offset_ns = 1'700'000'000 * ns_per_s;

std::int64_t to_ns(const timespec& time) noexcept {
  return std::int64_t{time.tv_sec} * ns_per_s + time.tv_nsec;
}

timespec to_timespec(std::int64_t time_ns) noexcept {
  return {.tv_sec = time_ns / ns_per_s, .tv_nsec = time_ns % ns_per_s};
}

std::int64_t monotonic_deadline_ns(clockid_t clock, const timespec& time) noexcept {
  return to_ns(time) - (clock == CLOCK_REALTIME ? realtime_offset_ns : 0);
}

void sleep_until(World& world, std::int64_t deadline_ns) {
  world.point();
  world.block(
      "time", [&world, deadline_ns] { return world.now_ns() >= deadline_ns; }, deadline_ns);
}

int timed_wait(World& world, pthread_cond_t* condition, pthread_mutex_t* mutex, std::int64_t deadline_ns) {
  return world.wait(condition, mutex, world.stretched_ns(deadline_ns)) ? 0 : ETIMEDOUT;
}

/// std::future and static variables wait by it. A change of the word is news; that somebody says so is not needed.
long wait_by_futex(World& world, const std::array<long, 6>& arguments) {
  const auto* const word = reinterpret_cast<const std::uint32_t*>(arguments[0]);
  const long operation = arguments[1] & FUTEX_CMD_MASK;
  if (operation != FUTEX_WAIT && operation != FUTEX_WAIT_BITSET) {
    world.point();
    return 0;
  }
  const auto* const time = reinterpret_cast<const timespec*>(arguments[3]);
  const bool is_realtime = (arguments[1] & FUTEX_CLOCK_REALTIME) != 0;
  const std::int64_t deadline_ns = time == nullptr ? INT64_MAX
                                   : operation == FUTEX_WAIT
                                       ? world.now_ns() + to_ns(*time)
                                       : monotonic_deadline_ns(is_realtime ? CLOCK_REALTIME : CLOCK_MONOTONIC, *time);
  errno = world.wait_for_change(word, static_cast<std::uint32_t>(arguments[2]), deadline_ns);
  return errno == 0 ? 0 : -1;
}

}  // namespace
}  // namespace framewire::sim

using framewire::sim::c_library;
using framewire::sim::World;

// The C library's headers have reserved names for the arguments.
// NOLINTBEGIN(readability-inconsistent-declaration-parameter-name)
extern "C" {

int pthread_create(pthread_t* handle, const pthread_attr_t* attributes, void* (*start)(void*), void* argument) {
  World* const world = World::current();
  return world == nullptr ? c_library().pthread_create(handle, attributes, start, argument)
                          : world->start_thread(handle, attributes, start, argument);
}

int pthread_join(pthread_t handle, void** result) {
  World* const world = World::current();
  return world == nullptr ? c_library().pthread_join(handle, result) : world->join_thread(handle, result);
}

int pthread_setname_np(pthread_t handle, const char* name) noexcept {
  if (World* const world = World::current(); world != nullptr) {
    world->name_thread(handle, name);
  }
  return c_library().pthread_setname_np(handle, name);
}

int pthread_mutex_lock(pthread_mutex_t* mutex) noexcept {
  World* const world = World::current();
  if (world == nullptr) {
    return c_library().pthread_mutex_lock(mutex);
  }
  world->lock(mutex);
  return 0;
}

int pthread_mutex_trylock(pthread_mutex_t* mutex) noexcept {
  World* const world = World::current();
  if (world == nullptr) {
    return c_library().pthread_mutex_trylock(mutex);
  }
  return world->try_lock(mutex) ? 0 : EBUSY;
}

int pthread_mutex_unlock(pthread_mutex_t* mutex) noexcept {
  World* const world = World::current();
  if (world == nullptr) {
    return c_library().pthread_mutex_unlock(mutex);
  }
  world->unlock(mutex);
  return 0;
}

int pthread_cond_wait(pthread_cond_t* condition, pthread_mutex_t* mutex) {
  World* const world = World::current();
  if (world == nullptr) {
    return c_library().pthread_cond_wait(condition, mutex);
  }
  world->wait(condition, mutex, INT64_MAX);
  return 0;
}

int pthread_cond_timedwait(pthread_cond_t* condition, pthread_mutex_t* mutex, const timespec* deadline) {
  World* const world = World::current();
  return world == nullptr
             ? c_library().pthread_cond_timedwait(condition, mutex, deadline)
             : framewire::sim::timed_wait(*world, condition, mutex,
                                          framewire::sim::monotonic_deadline_ns(CLOCK_REALTIME, *deadline));
}

int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock,
                           const timespec* deadline) {
  World* const world = World::current();
  return world == nullptr ? c_library().pthread_cond_clockwait(condition, mutex, clock, deadline)
                          : framewire::sim::timed_wait(*world, condition, mutex,
                                                       framewire::sim::monotonic_deadline_ns(clock, *deadline));
}

int pthread_cond_signal(pthread_cond_t* condition) noexcept {
  World* const world = World::current();
  if (world == nullptr) {
    return c_library().pthread_cond_signal(condition);
  }
  world->notify(condition, false);
  return 0;
}

int pthread_cond_broadcast(pthread_cond_t* condition) noexcept {
  World* const world = World::current();
  if (world == nullptr) {
    return c_library().pthread_cond_broadcast(condition);
  }
  world->notify(condition, true);
  return 0;
}

int clock_gettime(clockid_t clock, timespec* time) noexcept {
  World* const world = World::current();
  if (world == nullptr || (clock != CLOCK_MONOTONIC && clock != CLOCK_REALTIME)) {
    return c_library().clock_gettime(clock, time);
  }
  world->point();
  *time =
      framewire::sim::to_timespec(world->now_ns() + (clock == CLOCK_REALTIME ? framewire::sim::realtime_offset_ns : 0));
  return 0;
}

int nanosleep(const timespec* duration, timespec* left) {
  World* const world = World::current();
  if (world == nullptr) {
    return c_library().nanosleep(duration, left);
  }
  framewire::sim::sleep_until(*world, world->now_ns() + framewire::sim::to_ns(*duration));
  return 0;
}

int clock_nanosleep(clockid_t clock, int flags, const timespec* duration, timespec* left) {
  World* const world = World::current();
  if (world == nullptr) {
    return c_library().clock_nanosleep(clock, flags, duration, left);
  }
  framewire::sim::sleep_until(*world, (flags & TIMER_ABSTIME) != 0
                                          ? framewire::sim::monotonic_deadline_ns(clock, *duration)
                                          : world->now_ns() + framewire::sim::to_ns(*duration));
  return 0;
}

long syscall(long number, ...) noexcept {
  std::array<long, 6> arguments{};
  va_list list;
  va_start(list, number);
  for (long& argument : arguments) {
    argument = va_arg(list, long);
  }
  va_end(list);
  World* const world = World::current();
  if (world != nullptr && number == SYS_futex) {
    return framewire::sim::wait_by_futex(*world, arguments);
  }
  const auto& [a, b, c, d, e, f] = arguments;
  return c_library().syscall(number, a, b, c, d, e, f);
}

int sched_yield() noexcept {
  World* const world = World::current();
  if (world == nullptr) {
    return c_library().sched_yield();
  }
  world->yield();
  return 0;
}

}  // extern "C"
// NOLINTEND(readability-inconsistent-declaration-parameter-name)
