// A simulated machine for whole sessions: its threads run one at a time, in an order that a seed decides, by a clock
// that only the simulation moves.
//
// The seam is the C library. The product calls POSIX; a program of tests links posix_threads.cpp and posix_files.cpp,
// whose pthread_mutex_lock(), recv(), ppoll() and so on come before the C library's. They act on this world when a
// thread of it calls them, and else call the C library's. So the product has no seam of its own, and blocking code
// (handshakes, connecting) is simulated as it is.
#pragma once

#include <pthread.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace framewire::sim {

class Thread;

/// All functions are called by the one thread that runs.
class World {
 public:
  /// Runs `program` as the first thread of a new world, and returns when it and all its threads have ended. Prints the
  /// seed and what every thread waits for, and aborts, when all threads wait for ever or simulated time runs out.
  /// Returns a digest of which thread ran when: a seed always gives the same.
  static std::uint64_t run(std::uint64_t seed, const std::function<void()>& program);
  /// The same in two steps, for a program that is not one function: the calling thread becomes the first one of a new
  /// world, until leave().
  static std::unique_ptr<World> enter(std::uint64_t seed);
  /// Waits until all other threads have ended. Returns the digest. The thread that entered; once.
  std::uint64_t leave();
  ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  /// The world of the calling thread; null if it belongs to none.
  static World* current() noexcept;

  [[nodiscard]] std::int64_t now_ns() const noexcept { return now_ns_; }
  /// A little time passes, and another thread may run. Every simulated call begins with it.
  void point();
  /// As point(), but another thread runs if one can.
  void yield();
  /// Until `is_ready` is true or the clock is at `deadline_ns`; other threads run meanwhile. `what` is for the list of
  /// waiting threads. Returns is_ready().
  bool block(const char* what, const std::function<bool()>& is_ready, std::int64_t deadline_ns = INT64_MAX);
  /// Something becomes true at this time: the clock does not jump beyond it.
  void will_happen(std::int64_t at_ns) { events_ns_[at_ns] = true; }
  /// Calls `what` at this time, between two steps of whichever thread runs then: the work of a device, which needs no
  /// thread. It must not call point() or block().
  void call_at(std::int64_t at_ns, std::function<void()> what) { calls_.emplace(at_ns, std::move(what)); }

  /// A random number below `limit`.
  std::uint64_t below(std::uint64_t limit);
  bool chance(unsigned percent) { return below(100) < percent; }
  /// Whether a thing that may fail fails now. Only between begin_faults() and end_faults().
  bool fails(const char* what);
  void set_faults(unsigned per_thousand) noexcept { faults_per_thousand_ = per_thousand; }

  /// The calling thread, and those that it starts, belong to a new process from now on. Returns its number; the first
  /// process has number 0.
  int begin_process();
  [[nodiscard]] int process() const noexcept;
  /// Its threads do not run until then: a stopped process. INT64_MAX: until continue_process(). If it is the calling
  /// thread's own, it returns when it has been continued.
  void stop_process(int process, std::int64_t until_ns);
  void continue_process(int process);

  /// Until then the process gets no memory for new blocks.
  void take_memory(int process, std::int64_t until_ns) { no_memory_until_ns_[process] = until_ns; }
  /// Whether the calling thread's process gets memory.
  [[nodiscard]] bool has_memory() const;

  /// A thread of this world may work as long as it likes without sleeping: it spins by intention. Otherwise the run
  /// fails when one does, for as many steps as no work needs.
  void allow_spinning() noexcept { may_spin_ = true; }

  /// From now on, waits for descriptors and condition variables that have a deadline of at least 20 ms take an hour
  /// longer. What wakes by itself is as before, and what only a timer would have woken never ends. Sleep is as before.
  void stretch_timeouts(bool stretches) noexcept { stretches_timeouts_ = stretches; }
  [[nodiscard]] std::int64_t stretched_ns(std::int64_t deadline_ns) const noexcept;

  int start_thread(pthread_t* handle, const pthread_attr_t* attributes, void* (*start)(void*), void* argument);
  int join_thread(pthread_t handle, void** result);
  void name_thread(pthread_t handle, const char* name);
  [[nodiscard]] std::uint32_t thread_number() const noexcept;

  void lock(pthread_mutex_t* mutex);
  bool try_lock(pthread_mutex_t* mutex);
  void unlock(pthread_mutex_t* mutex);
  /// False at the deadline.
  bool wait(pthread_cond_t* condition, pthread_mutex_t* mutex, std::int64_t deadline_ns);
  void notify(pthread_cond_t* condition, bool all);
  /// Until the word differs from `expected`, as the kernel's futexes. ETIMEDOUT at the deadline, else 0.
  int wait_for_change(const std::uint32_t* word, std::uint32_t expected, std::int64_t deadline_ns);

  /// With FRAMEWIRE_TRACE set: prints the time, the thread and what it does.
  void trace(const char* format, ...) const __attribute__((format(printf, 2, 3)));

  /// Prints the seed, `why`, and what the threads do; aborts.
  [[noreturn]] void fail(const std::string& why) const;

 private:
  explicit World(std::uint64_t seed);
  struct Waiter;

  void switch_thread(bool stays_possible);
  Thread& choose(bool stays_possible);
  void pass_time();
  [[nodiscard]] bool can_run(const Thread& thread) const;
  void make_due_calls();
  static void* be_thread(void* thread);
  void end_thread(Thread& ending);

  const std::uint64_t seed_;
  const bool traces_;
  std::mt19937_64 random_;
  std::int64_t now_ns_;
  std::int64_t limit_ns_;
  unsigned switches_percent_ = 0;
  unsigned faults_per_thousand_ = 0;
  bool stretches_timeouts_ = false;
  bool may_spin_ = false;
  int processes_ = 1;
  std::uint64_t digest_ = 0;
  std::vector<std::unique_ptr<Thread>> threads_;
  std::map<std::int64_t, bool> events_ns_;
  std::map<int, std::int64_t> stopped_until_ns_;    // by process
  std::map<int, std::int64_t> no_memory_until_ns_;  // by process
  std::multimap<std::int64_t, std::function<void()>> calls_;
  std::map<const pthread_mutex_t*, Thread*> owners_;
  std::map<const pthread_cond_t*, std::vector<Waiter*>> waiters_;
};

}  // namespace framewire::sim
