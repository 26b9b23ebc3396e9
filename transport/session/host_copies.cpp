#include "transport/session/host_copies.hpp"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <utility>

#include "base/clock.hpp"
#include "base/error.hpp"

namespace framewire {

namespace {

constexpr std::int64_t longest_copy_ns = 10 * ns_per_s;  // a GPU that takes longer hangs
constexpr std::chrono::milliseconds between_looks{20};

/// The end of a fence, for a thread that sleeps until then.
class Waiter {
 public:
  explicit Waiter(Fence& fence) {
    fence.when_finished([shared = shared_](FenceState state) {
      const std::scoped_lock lock(shared->mutex);
      shared->state = state;
      shared->changed.notify_all();
    });
  }

  /// `pending`: it was cancelled, or took too long.
  [[nodiscard]] FenceState wait(const std::function<bool()>& is_cancelled) const {
    const std::int64_t deadline_ns = monotonic_ns() + longest_copy_ns;
    std::unique_lock lock(shared_->mutex);
    while (shared_->state == FenceState::pending && !is_cancelled() && monotonic_ns() < deadline_ns) {
      shared_->changed.wait_for(lock, between_looks);
    }
    return shared_->state;
  }

 private:
  struct Shared {
    std::mutex mutex;
    std::condition_variable changed;
    FenceState state = FenceState::pending;
  };
  const std::shared_ptr<Shared> shared_ = std::make_shared<Shared>();
};

}  // namespace

bool HostCopies::copy(ReceivedFrame& frame, const std::function<bool()>& is_cancelled) {
  const std::shared_ptr<const Block> block = frame.block();
  if (block->host() != nullptr) {
    return true;
  }
  if (of_.lock() != block) {
    copy_ = HostBlock::create_private("copies of the frames in " + std::string(block->kind().name()) + " memory",
                                      block->size_bytes());
    of_ = block;
  }
  const std::shared_ptr<Fence> fence =
      block->copy_to_host(copy_, frame.offset_in_block_bytes(), frame.header().layout.size_bytes, nullptr);
  const FenceState state = Waiter(*fence).wait(is_cancelled);
  if (state == FenceState::done) {
    frame.use_copy(copy_);
    return true;
  }
  frame.release_after(fence);
  if (state == FenceState::pending && is_cancelled()) {
    return false;
  }
  throw Error::failed("the GPU did not copy a frame to host memory" +
                      std::string(state == FenceState::pending ? " within 10 s" : "") +
                      "; see the kernel's log (dmesg), or take --memory host");
}

}  // namespace framewire
