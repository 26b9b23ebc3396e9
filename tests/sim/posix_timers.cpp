// Timer descriptors of a simulated world, in place of the C library's.
#include <sys/timerfd.h>

#include "tests/sim/c_library.hpp"
#include "tests/sim/descriptors.hpp"

namespace framewire::sim {

namespace {

class Timer final : public File {
 public:
  [[nodiscard]] short events(const World& world) const override {
    return static_cast<short>(at_ns <= world.now_ns() ? POLLIN : 0);
  }
  std::int64_t at_ns = INT64_MAX;
};

}  // namespace
}  // namespace framewire::sim

using namespace framewire::sim;  // the functions below are the C library's, and all speak of these types

extern "C" {

int timerfd_create(clockid_t clock, int flags) noexcept {
  World* const world = World::current();
  if (world == nullptr) {
    decltype(&timerfd_create) original = nullptr;
    find_next(original, "timerfd_create");
    return original(clock, flags);
  }
  world->point();
  return world->fails("timerfd_create") ? failed(EMFILE) : descriptors().add(std::make_shared<Timer>());
}

int timerfd_settime(int fd, int flags, const itimerspec* wanted, itimerspec* before) noexcept {
  World* const world = world_of(fd);
  if (world == nullptr) {
    decltype(&timerfd_settime) original = nullptr;
    find_next(original, "timerfd_settime");
    return original(fd, flags, wanted, before);
  }
  world->point();
  if ((flags & TFD_TIMER_ABSTIME) == 0) {
    world->fail("a timer by a duration, which is not simulated");
  }
  const std::int64_t at_ns = wanted->it_value.tv_sec * 1'000'000'000 + wanted->it_value.tv_nsec;
  const auto timer = file_of<Timer>(*world, fd);
  timer->at_ns = at_ns == 0 ? INT64_MAX : at_ns;
  if (at_ns != 0) {
    world->will_happen(at_ns);
  }
  return 0;
}

}  // extern "C"
