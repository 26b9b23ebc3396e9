#include "transport/session/frame_copies.hpp"

#include <string>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "memory/fence_wait.hpp"
#include "memory/host_block.hpp"

namespace framewire {

namespace {

constexpr std::int64_t longest_copy_ns = 10 * ns_per_s;  // a GPU that takes longer hangs

}  // namespace

bool FrameCopies::copy(ReceivedFrame& frame, const MemoryKind& memory, const std::function<bool()>& is_cancelled) {
  const std::shared_ptr<const Block> block = frame.block();
  if (&block->kind() == &memory && !block->is_on_other_device()) {
    return true;
  }
  if (!make_room(block, memory, is_cancelled)) {
    return false;
  }
  const std::shared_ptr<Fence> fence = begin_copy(frame);
  const FenceState state = wait_until_finished(*fence, monotonic_ns() + longest_copy_ns, is_cancelled);
  if (state == FenceState::done) {
    frame.use_copy(copy_);
    return true;
  }
  frame.release_after(fence);
  if (state == FenceState::pending && is_cancelled && is_cancelled()) {
    return false;
  }
  block->kind().require_device();
  throw Error::failed("the GPU did not copy a frame" + std::string(state == FenceState::pending ? " within 10 s" : "") +
                      "; see the kernel's log (dmesg), or take --memory host");
}

bool FrameCopies::make_room(const std::shared_ptr<const Block>& block, const MemoryKind& memory,
                            const std::function<bool()>& is_cancelled) try {
  if (of_.lock() != block || copy_ == nullptr || &copy_->kind() != &memory) {
    of_.reset();
    copy_.reset();  // before there is the next one, which is as large; a frame that still lies there keeps it
    copy_ = memory.allocate_private("copies of the frames in " + std::string(block->kind().name()) + " memory",
                                    block->size_bytes(), is_cancelled);
    of_ = block;
  }
  return true;
} catch (const AllocationStopped&) {
  return false;
}

std::shared_ptr<Fence> FrameCopies::begin_copy(const ReceivedFrame& frame) const try {
  const CopyRange range = CopyRange::at(frame.offset_in_block_bytes(), frame.header().layout.size_bytes);
  if (const auto host = std::dynamic_pointer_cast<HostBlock>(copy_)) {
    return frame.block()->copy_to_host(host, range, nullptr);
  }
  return frame.block()->copy_to_device(copy_, range);
} catch (const Error&) {
  frame.block()->kind().require_device();  // says more than the call that failed
  throw;
}

}  // namespace framewire
