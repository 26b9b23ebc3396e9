#include "tests/sim/world.hpp"

#include <dlfcn.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <exception>

#include "tests/sim/c_library.hpp"

namespace framewire::sim {

/// A thread of a world. All but one sleep on `may_run`, which is outside the simulation.
class Thread {
 public:
  explicit Thread(World& its_world, std::uint32_t its_number) : world(its_world), number(its_number) {}

  void let_run() noexcept {
    may_run.store(1, std::memory_order_release);
    c_library().syscall(SYS_futex, &may_run, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
  }
  void await_turn() noexcept {
    while (may_run.load(std::memory_order_acquire) == 0) {
      c_library().syscall(SYS_futex, &may_run, FUTEX_WAIT_PRIVATE, 0, nullptr, nullptr, 0);
    }
    may_run.store(0, std::memory_order_relaxed);
  }
  [[nodiscard]] bool can_run(std::int64_t now_ns) const {
    return !has_ended && (is_ready == nullptr || deadline_ns <= now_ns || (*is_ready)());
  }

  World& world;
  const std::uint32_t number;
  int process = 0;
  std::atomic<std::uint32_t> may_run = 0;
  pthread_t handle{};
  void* (*start)(void*) = nullptr;
  void* argument = nullptr;
  void* result = nullptr;
  bool has_ended = false;
  std::string name = "main";
  const char* waits_for = nullptr;
  const std::function<bool()>* is_ready = nullptr;  // null: it can run
  std::int64_t deadline_ns = INT64_MAX;
  std::uint64_t steps = 0;  // since it slept
};

struct World::Waiter {
  bool is_notified = false;
};

namespace {

constexpr std::int64_t ns_per_s = 1'000'000'000;
/// Simulated time in which every run ends.
constexpr std::int64_t longest_run_ns = 600 * ns_per_s;
/// Of a thread that does not sleep: many times what the largest frames take.
constexpr std::uint64_t most_steps_at_once = 300'000;
/// A shorter deadline is no tick of a timer that hides a lost wake-up.
constexpr std::int64_t shortest_stretched_ns = 20'000'000;
constexpr std::int64_t stretch_ns = 3600 * ns_per_s;

/// Who only finds mutexes taken does not sleep.
constexpr const char* waits_for_mutex = "a mutex";

thread_local Thread* self = nullptr;

std::atomic<std::uint64_t> seed_of_this_run = 0;

/// A failed assertion, and a crash, say how to repeat them.
void say_seed(int signal_number) {
  std::fprintf(stderr, "FRAMEWIRE_SEED=%llu repeats it\n", static_cast<unsigned long long>(seed_of_this_run.load()));
  std::signal(signal_number, SIG_DFL);
  std::raise(signal_number);
}

}  // namespace

World::World(std::uint64_t seed)
    : seed_(seed),
      traces_(std::getenv("FRAMEWIRE_TRACE") != nullptr),
      random_(seed),
      now_ns_(1000 * ns_per_s),
      limit_ns_(now_ns_ + longest_run_ns) {
  constexpr unsigned percents[] = {3, 15, 50};
  switches_percent_ = percents[below(3)];
}

World* World::current() noexcept {
  return self == nullptr ? nullptr : &self->world;
}

World::~World() = default;

std::uint64_t World::run(std::uint64_t seed, const std::function<void()>& program) {
  const std::unique_ptr<World> world = enter(seed);
  try {
    program();
  } catch (const std::exception& error) {
    world->fail(std::string("the program ended with: ") + error.what());
  }
  return world->leave();
}

std::unique_ptr<World> World::enter(std::uint64_t seed) {
  seed_of_this_run = seed;
  std::signal(SIGABRT, say_seed);
  std::signal(SIGSEGV, say_seed);
  std::unique_ptr<World> world(new World(seed));
  world->threads_.push_back(std::make_unique<Thread>(*world, 0));
  self = world->threads_.front().get();
  return world;
}

std::uint64_t World::leave() {
  block("the other threads' end", [this] {
    return std::ranges::all_of(threads_, [](const auto& one) { return one.get() == self || one->has_ended; });
  });
  self = nullptr;
  return digest_;
}

std::uint64_t World::below(std::uint64_t limit) {
  return random_() % limit;
}

bool World::fails(const char*) {
  return faults_per_thousand_ > 0 && below(1000) < faults_per_thousand_;
}

std::uint32_t World::thread_number() const noexcept {
  return self->number;
}

int World::process() const noexcept {
  return self->process;
}

int World::begin_process() {
  self->process = processes_++;
  return self->process;
}

void World::stop_process(int process, std::int64_t until_ns) {
  trace("process %d stops", process);
  stopped_until_ns_[process] = until_ns;
  if (until_ns != INT64_MAX) {
    will_happen(until_ns);
  }
  if (self->process == process) {
    switch_thread(true);
  }
}

void World::continue_process(int process) {
  trace("process %d continues", process);
  stopped_until_ns_.erase(process);
}

bool World::has_memory() const {
  const auto found = no_memory_until_ns_.find(process());
  return found == no_memory_until_ns_.end() || found->second <= now_ns_;
}

bool World::can_run(const Thread& thread) const {
  const auto stopped = stopped_until_ns_.find(thread.process);
  return (stopped == stopped_until_ns_.end() || stopped->second <= now_ns_) && thread.can_run(now_ns_);
}

std::int64_t World::stretched_ns(std::int64_t deadline_ns) const noexcept {
  const bool stretches = stretches_timeouts_ && deadline_ns < INT64_MAX - stretch_ns;
  return stretches && deadline_ns - now_ns_ >= shortest_stretched_ns ? deadline_ns + stretch_ns : deadline_ns;
}

void World::pass_time() {
  constexpr std::int64_t longest_step_ns = 400;
  now_ns_ += 1 + static_cast<std::int64_t>(below(longest_step_ns));
  make_due_calls();
  if (++self->steps > most_steps_at_once && !may_spin_) {
    fail("a thread works on and on without sleeping");
  }
}

void World::make_due_calls() {
  const int kept_errno = errno;
  while (!calls_.empty() && calls_.begin()->first <= now_ns_) {
    const auto what = calls_.extract(calls_.begin());
    what.mapped()();
  }
  errno = kept_errno;
}

void World::point() {
  pass_time();
  if (chance(switches_percent_)) {
    switch_thread(true);
  }
}

void World::yield() {
  pass_time();
  switch_thread(false);
}

bool World::block(const char* what, const std::function<bool()>& is_ready, std::int64_t deadline_ns) {
  if (is_ready()) {
    return true;
  }
  if (what != waits_for_mutex) {
    self->steps = 0;
  }
  self->waits_for = what;
  self->is_ready = &is_ready;
  self->deadline_ns = deadline_ns;
  switch_thread(true);
  self->is_ready = nullptr;
  self->waits_for = nullptr;
  self->deadline_ns = INT64_MAX;
  return is_ready();
}

void World::switch_thread(bool stays_possible) {
  const int kept_errno = errno;  // to lock a mutex changes no errno
  Thread& next = choose(stays_possible);
  if (&next != self) {
    constexpr std::uint64_t fnv_prime = 0x100000001b3;  // FNV-1a
    digest_ = (digest_ ^ static_cast<std::uint64_t>(now_ns_) ^ (std::uint64_t{next.number} << 56U)) * fnv_prime;
    next.let_run();
    self->await_turn();
  }
  errno = kept_errno;
}

/// A thread that can run; if none can, the clock moves on to when one can.
Thread& World::choose(bool stays_possible) {
  for (;;) {
    std::vector<Thread*> able;
    for (const auto& one : threads_) {
      if ((stays_possible || one.get() != self) && can_run(*one)) {
        able.push_back(one.get());
      }
    }
    if (!able.empty()) {
      return *able[below(able.size())];
    }
    if (!stays_possible && can_run(*self)) {
      return *self;
    }
    events_ns_.erase(events_ns_.begin(), events_ns_.upper_bound(now_ns_));
    std::erase_if(stopped_until_ns_, [this](const auto& one) { return one.second <= now_ns_; });
    std::int64_t next_ns = events_ns_.empty() ? INT64_MAX : events_ns_.begin()->first;
    next_ns = calls_.empty() ? next_ns : std::min(next_ns, calls_.begin()->first);
    for (const auto& one : threads_) {
      const bool is_stopped = stopped_until_ns_.contains(one->process);  // its end is an event
      next_ns = one->has_ended || is_stopped ? next_ns : std::min(next_ns, one->deadline_ns);
    }
    if (next_ns == INT64_MAX) {
      fail("every thread waits for ever");
    }
    now_ns_ = next_ns;
    make_due_calls();
    if (now_ns_ > limit_ns_) {
      fail("it has not ended after " + std::to_string(longest_run_ns / ns_per_s) + " s of simulated time");
    }
  }
}

void World::trace(const char* format, ...) const {
  if (!traces_) {
    return;
  }
  std::fprintf(stderr, "%.6f %u %s: ", static_cast<double>(now_ns_) / ns_per_s, self->number, self->name.c_str());
  va_list arguments;
  va_start(arguments, format);
  std::vfprintf(stderr, format, arguments);
  va_end(arguments);
  std::fputc('\n', stderr);
}

void World::fail(const std::string& why) const {
  std::fprintf(stderr, "FRAMEWIRE_SEED=%llu: at %.6f s: %s\n", static_cast<unsigned long long>(seed_),
               static_cast<double>(now_ns_) / ns_per_s, why.c_str());
  for (const auto& one : threads_) {
    if (!one->has_ended) {
      std::fprintf(stderr, "  thread %u %s: %s%s", one->number, one->name.c_str(),
                   one->waits_for == nullptr ? "can run" : "waits for ",
                   one->waits_for == nullptr ? "" : one->waits_for);
      if (one->deadline_ns != INT64_MAX) {
        std::fprintf(stderr, ", until %.6f s", static_cast<double>(one->deadline_ns) / ns_per_s);
      }
      std::fputs(one.get() == self ? " (runs)\n" : "\n", stderr);
    }
  }
  std::abort();
}

// ---- Threads ----

void* World::be_thread(void* thread) {
  self = static_cast<Thread*>(thread);
  self->await_turn();
  self->result = self->start(self->argument);
  World& world = self->world;
  void* const result = self->result;
  world.end_thread(*self);
  return result;
}

void World::end_thread(Thread& ending) {
  ending.has_ended = true;
  Thread& next = choose(false);
  self = nullptr;  // destructors of thread-local variables come after this, outside the simulation
  next.let_run();
}

int World::start_thread(pthread_t* handle, const pthread_attr_t* attributes, void* (*start)(void*), void* argument) {
  point();
  if (fails("pthread_create")) {
    return EAGAIN;
  }
  threads_.push_back(std::make_unique<Thread>(*this, static_cast<std::uint32_t>(threads_.size())));
  Thread& thread = *threads_.back();
  thread.name = "thread";
  thread.process = self->process;
  thread.start = start;
  thread.argument = argument;
  const int status = c_library().pthread_create(handle, attributes, &World::be_thread, &thread);
  if (status != 0) {
    fail("the machine has no more threads");
  }
  thread.handle = *handle;
  return 0;
}

int World::join_thread(pthread_t handle, void** result) {
  point();
  const auto found = std::ranges::find_if(threads_, [handle](const auto& one) {
    return one->number != 0 && ::pthread_equal(one->handle, handle) != 0 && one->start != nullptr;
  });
  if (found == threads_.end()) {
    fail("a thread is joined that is not of this world");
  }
  Thread& thread = **found;
  block("a thread's end", [&thread] { return thread.has_ended; });
  thread.start = nullptr;  // the next thread may get the same handle
  return c_library().pthread_join(handle, result);
}

void World::name_thread(pthread_t handle, const char* name) {
  for (const auto& one : threads_) {
    if (!one->has_ended && (one.get() == self ? ::pthread_self() == handle : one->handle == handle)) {
      one->name = name;
    }
  }
}

// ---- Mutexes and condition variables ----

void World::lock(pthread_mutex_t* mutex) {
  point();
  if (const auto owner = owners_.find(mutex); owner != owners_.end() && owner->second == self) {
    fail("a thread locks a mutex that it holds");
  }
  block(waits_for_mutex, [this, mutex] { return !owners_.contains(mutex); });
  owners_[mutex] = self;
}

bool World::try_lock(pthread_mutex_t* mutex) {
  point();
  return owners_.try_emplace(mutex, self).second;
}

void World::unlock(pthread_mutex_t* mutex) {
  if (const auto owner = owners_.find(mutex); owner == owners_.end() || owner->second != self) {
    fail("a thread unlocks a mutex that it does not hold");
  }
  owners_.erase(mutex);
  point();
}

bool World::wait(pthread_cond_t* condition, pthread_mutex_t* mutex, std::int64_t deadline_ns) {
  Waiter waiter;
  waiters_[condition].push_back(&waiter);
  unlock(mutex);
  // POSIX allows that a thread wakes without a notification.
  waiter.is_notified = waiter.is_notified || chance(2);
  const bool in_time = block(
      "a condition variable", [&waiter] { return waiter.is_notified; }, deadline_ns);
  auto& all = waiters_[condition];
  std::erase(all, &waiter);
  if (all.empty()) {
    waiters_.erase(condition);
  }
  lock(mutex);
  return in_time;
}

int World::wait_for_change(const std::uint32_t* word, std::uint32_t expected, std::int64_t deadline_ns) {
  point();
  const bool in_time = block(
      "a word of memory", [&] { return __atomic_load_n(word, __ATOMIC_SEQ_CST) != expected; }, deadline_ns);
  return in_time ? 0 : ETIMEDOUT;
}

void World::notify(pthread_cond_t* condition, bool all) {
  const auto found = waiters_.find(condition);
  if (found != waiters_.end()) {
    std::vector<Waiter*> asleep;
    std::ranges::copy_if(found->second, std::back_inserter(asleep),
                         [](const Waiter* one) { return !one->is_notified; });
    const std::size_t chosen = asleep.empty() ? 0 : below(asleep.size());
    for (std::size_t i = 0; i < asleep.size(); ++i) {
      asleep[i]->is_notified = all || i == chosen;
    }
  }
  point();
}

}  // namespace framewire::sim
