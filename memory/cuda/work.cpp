#include "memory/cuda/work.hpp"

#include <sys/prctl.h>

#include <chrono>
#include <cstdint>
#include <exception>
#include <utility>

#include "base/clock.hpp"
#include "base/wait.hpp"

namespace framewire {

namespace {

constexpr std::int64_t longest_end_ns = 2 * ns_per_s;

/// Where work does not start: many times what copies of a frame take.
constexpr std::int64_t longest_idle_wait_ns = 200 * ns_per_ms;

/// The thread asks without a pause for so long after new work came: a copy of a 4K frame takes 0.6 ms. Then it sleeps
/// between two looks.
constexpr std::int64_t busy_ns = 200'000;
constexpr std::chrono::microseconds pause{20};

}  // namespace

CudaWork::CudaWork(std::shared_ptr<const CudaDevice> device) : device_(std::move(device)) {
  const CurrentContext current(*device_);
  cuda::require(device_->functions().cuStreamCreate(&stream_, cuda::stream_non_blocking), "cuStreamCreate");
  thread_ = std::thread([this] { run(); });
}

CudaWork::~CudaWork() {
  {
    const std::scoped_lock lock(mutex_);
    is_stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
  if (const CurrentContext current(*device_, std::nothrow); current) {  // else the GPU is lost, and all that it had
    if (!unknown_.empty()) {  // what was started without an event, or whose event could not be asked
      await_idle(longest_end_ns);
    }
    free_.splice(free_.end(), unknown_);
    for (const Item& item : free_) {
      device_->functions().cuEventDestroy(item.event);
    }
    device_->functions().cuStreamDestroy(stream_);
  }
}

void CudaWork::start(const std::function<void(cuda::Stream)>& enqueue, std::shared_ptr<Fence> fence,
                     std::shared_ptr<const void> keeps) {
  try {
    begin(enqueue, std::move(fence), std::move(keeps));
  } catch (const std::exception&) {
    await_idle(longest_idle_wait_ns);  // who is told uses the memory again, and some of the work may have started
    throw;
  }
}

void CudaWork::begin(const std::function<void(cuda::Stream)>& enqueue, std::shared_ptr<Fence> fence,
                     std::shared_ptr<const void> keeps) {
  const CurrentContext current(*device_);
  Items one = take_free();
  one.front().keeps = std::move(keeps);
  one.front().has_failed = false;
  try {
    enqueue(stream_);
    cuda::require(device_->functions().cuEventRecord(one.front().event, stream_), "cuEventRecord");
  } catch (...) {
    const std::scoped_lock lock(mutex_);
    unknown_.splice(unknown_.end(), one);
    throw;
  }
  one.front().fence = std::move(fence);
  {
    const std::scoped_lock lock(mutex_);
    started_.splice(started_.end(), one);
  }
  changed_.notify_all();
}

/// A lost GPU fails this call, too, which begins nothing and, where nothing is wrong, does not fail.
cuda::Result CudaWork::ask_stream() const noexcept {
  const CurrentContext current(*device_, std::nothrow);
  const cuda::Result said = device_->functions().cuStreamQuery(stream_);
  if (cuda::ends_all_work(said)) {
    cuda::Result none = cuda::Result::success;
    loss_.compare_exchange_strong(none, said);
  }
  return said;
}

void CudaWork::await_idle(std::int64_t longest_ns) const noexcept {
  const std::int64_t deadline_ns = monotonic_ns() + longest_ns;
  while (ask_stream() == cuda::Result::not_ready && monotonic_ns() < deadline_ns) {
    std::this_thread::sleep_for(pause);
  }
}

CudaWork::Items CudaWork::take_free() {
  Items one;
  {
    const std::scoped_lock lock(mutex_);
    if (!free_.empty()) {
      one.splice(one.end(), free_, free_.begin());
      return one;
    }
  }
  one.emplace_back();
  cuda::require(device_->functions().cuEventCreate(&one.front().event, cuda::event_disable_timing), "cuEventCreate");
  return one;
}

void CudaWork::run() noexcept {
  set_thread_name("fw-cuda");
  ::prctl(PR_SET_TIMERSLACK, 1000);  // ns; else a pause of 20 us takes 70
  Items pending;
  std::int64_t busy_until_ns = 0;
  std::int64_t end_ns = INT64_MAX;
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      if (pending.empty()) {
        changed_.wait(lock, [&] { return is_stopping_ || !started_.empty(); });
        if (started_.empty()) {  // nor has the end of what was pending started more
          return;
        }
      }
      if (!started_.empty()) {
        pending.splice(pending.end(), started_);
        busy_until_ns = monotonic_ns() + busy_ns;
      }
      if (is_stopping_ && end_ns == INT64_MAX) {
        end_ns = monotonic_ns() + longest_end_ns;
      }
    }
    finish_ended(pending);
    const std::int64_t now_ns = monotonic_ns();
    while (now_ns >= end_ns && !pending.empty()) {
      finish(pending, pending.begin(), FenceState::failed);
    }
    if (!pending.empty() && now_ns >= busy_until_ns) {
      std::this_thread::sleep_for(pause);
    }
  }
}

/// The context need not be current for cuEventQuery: the event knows its own.
void CudaWork::finish_ended(Items& pending) noexcept {
  for (auto next = pending.begin(); next != pending.end();) {
    const auto item = next++;
    const cuda::Result result = device_->functions().cuEventQuery(item->event);
    if (result == cuda::Result::success) {
      finish(pending, item, item->has_failed ? FenceState::failed : FenceState::done);
    } else if (result != cuda::Result::not_ready) {
      item->has_failed = true;
      // Before anybody learns of the failure, and asks for a loss, or uses the memory again.
      if (ask_stream() != cuda::Result::not_ready) {
        give_up(pending, item);
      }
    }
  }
}

/// The driver fails, but the GPU may go on: what the item kept stays.
void CudaWork::give_up(Items& pending, Items::iterator item) noexcept {
  const std::shared_ptr<Fence> fence = std::move(item->fence);
  {
    const std::scoped_lock lock(mutex_);
    unknown_.splice(unknown_.end(), pending, item);
  }
  fence->finish(FenceState::failed);
}

/// What the item kept is freed on this thread, without the lock: that may call the driver.
void CudaWork::finish(Items& pending, Items::iterator item, FenceState state) noexcept {
  const std::shared_ptr<Fence> fence = std::move(item->fence);
  const std::shared_ptr<const void> keeps = std::move(item->keeps);
  {
    const std::scoped_lock lock(mutex_);
    free_.splice(free_.end(), pending, item);
  }
  fence->finish(state);
}

}  // namespace framewire
