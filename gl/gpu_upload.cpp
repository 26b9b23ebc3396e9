#include "gl/gpu_upload.hpp"

#include <exception>
#include <utility>

#include "memory/fence_wait.hpp"
#include "memory/host_block.hpp"

namespace framewire {

bool GpuUpload::begin(const std::shared_ptr<const Block>& host, std::uint64_t offset_bytes, std::uint64_t size_bytes,
                      std::int64_t deadline_ns) noexcept {
  try {
    if (is_broken_ || !prepare(host, size_bytes)) {
      return false;
    }
  } catch (const std::exception&) {
    is_broken_ = true;
    forget();
    return false;
  }
  const std::size_t next = (part_ + 1) % DeviceParts::count;
  if (fences_.at(next).wait(deadline_ns) != GpuWait::done) {
    return false;
  }
  part_ = next;
  host_offset_bytes_ = offset_bytes;
  started_bytes_ = copied_bytes_ = 0;
  copying_.clear();  // of a frame that was given up: the GPU copies in order, so they are over before this one's
  return true;
}

/// Throws where the GPU has no room for the frames.
bool GpuUpload::prepare(const std::shared_ptr<const Block>& host, std::uint64_t size_bytes) {
  if (host_ == nullptr || host_->block != host) {
    forget();
    host_ = copies_.prepare(host);
  }
  if (host_ == nullptr || !host_->is_ready.load(std::memory_order_acquire)) {
    return false;
  }
  const MemoryKind* const memory = copies_.memory();
  if (memory == nullptr) {
    forget();
    return false;
  }
  if (!parts_ || parts_->part_bytes() < size_bytes) {
    parts_.reset();
    parts_.emplace(*memory, "the upload of frames", size_bytes);
    fences_ = {};
  }
  return true;
}

std::uint64_t GpuUpload::copy(std::uint64_t end_bytes) noexcept {
  if (end_bytes > started_bytes_ && !is_broken_) {
    try {
      const CopyRange range{.from_offset_bytes = host_offset_bytes_ + started_bytes_,
                            .to_offset_bytes = offset_bytes() + started_bytes_,
                            .size_bytes = end_bytes - started_bytes_};
      auto& copy = copying_.emplace_back(Copy{.fence = {}, .end_bytes = end_bytes});
      copy.fence = parts_->block()->copy_from_host({host_->block, host_->block->host()}, range);
      started_bytes_ = end_bytes;
    } catch (const std::exception&) {
      is_broken_ = true;
    }
  }
  while (!copying_.empty() && copying_.front().fence != nullptr &&
         copying_.front().fence->state() == FenceState::done) {
    copied_bytes_ = copying_.front().end_bytes;
    copying_.pop_front();
  }
  return copied_bytes_;
}

bool GpuUpload::wait(std::int64_t deadline_ns) noexcept {
  try {
    while (!copying_.empty() && !is_broken_) {
      const FenceState state = wait_until_finished(*copying_.front().fence, deadline_ns);
      if (state != FenceState::done) {
        is_broken_ = true;
        copies_.refuse(state == FenceState::failed ? "the GPU failed to copy a frame"
                                                   : "the GPU did not copy a frame in time");
        break;
      }
      copied_bytes_ = copying_.front().end_bytes;
      copying_.pop_front();
    }
  } catch (const std::exception&) {
    is_broken_ = true;
  }
  return !is_broken_;
}

void GpuUpload::forget() noexcept {
  copying_.clear();
  parts_.reset();  // which knows the host memory, too
  fences_ = {};
  try {
    copies_.release(std::exchange(host_, nullptr));
  } catch (const std::exception&) {  // no memory: it ends here
  }
}

}  // namespace framewire
