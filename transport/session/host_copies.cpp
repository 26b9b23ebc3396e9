#include "transport/session/host_copies.hpp"

#include <string>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "memory/fence_wait.hpp"

namespace framewire {

namespace {

constexpr std::int64_t longest_copy_ns = 10 * ns_per_s;  // a GPU that takes longer hangs

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
  const std::shared_ptr<Fence> fence = begin_copy(frame);
  const FenceState state = wait_until_finished(*fence, monotonic_ns() + longest_copy_ns, is_cancelled);
  if (state == FenceState::done) {
    frame.use_copy(copy_);
    return true;
  }
  frame.release_after(fence);
  if (state == FenceState::pending && is_cancelled()) {
    return false;
  }
  block->kind().require_device();
  throw Error::failed("the GPU did not copy a frame to host memory" +
                      std::string(state == FenceState::pending ? " within 10 s" : "") +
                      "; see the kernel's log (dmesg), or take --memory host");
}

std::shared_ptr<Fence> HostCopies::begin_copy(const ReceivedFrame& frame) const try {
  return frame.block()->copy_to_host(
      copy_, CopyRange::at(frame.offset_in_block_bytes(), frame.header().layout.size_bytes), nullptr);
} catch (const Error&) {
  frame.block()->kind().require_device();  // says more than the call that failed
  throw;
}

}  // namespace framewire
