// Frames whose slots a device still fills, or still copies to host memory for links that need that.
#include <algorithm>
#include <exception>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "transport/slice_count.hpp"
#include "transport/stream.hpp"

namespace framewire {

namespace {

/// A frame whose copy cannot begin is dropped as one whose copy fails later.
template <typename Begin>
std::shared_ptr<Fence> begin_copy(const Begin& begin) {
  try {
    return begin();
  } catch (const std::exception&) {
    auto failed = std::make_shared<Fence>();
    failed->finish(FenceState::failed);
    return failed;
  }
}

}  // namespace

Stream::Readers Stream::readers() const noexcept {
  Readers found{.of_block = !pullers_.empty()};
  for (const SubscriberQueue* queue : queues_) {
    (queue->reads_host_copy ? found.of_host_copy : found.of_block) = true;
    found.of_slices |= queue->reads_host_copy && queue->takes_slices;
  }
  return found;
}

/// Starts the copy that some links need, once for all of them. The slot is the caller's alone until offer().
Stream::DeviceWork Stream::begin_device_work(const ClaimedSlot& slot, const FrameInfo& info) const {
  DeviceWork work{.filled = info.ready};
  if (slot.pool_->is_on_host()) {
    return work;
  }
  Readers reading;
  {
    const std::scoped_lock lock(mutex_);
    reading = readers();
  }
  const std::uint64_t size_bytes = info.layout ? info.layout->size_bytes : slot.pool_->slot_bytes();
  work.is_in_block = info.is_on_device;
  work.is_in_host_memory = !info.is_on_device;
  if (info.is_on_device && reading.of_host_copy) {
    copy_to_host(slot, size_bytes, reading.of_slices ? slices_of_frame(options_.slices, size_bytes) : std::uint16_t{1},
                 info.ready, work);
  }
  if (!info.is_on_device && reading.of_block) {
    copy_to_block(slot, size_bytes, work);
  }
  return work;
}

/// Null: there is no memory for it, and the frame is copied whole. Nothing may be thrown while a device writes to its
/// slot.
std::shared_ptr<Stream::SliceCopies> Stream::room_for_copies(std::uint16_t slices) noexcept {
  try {
    auto copies = std::make_shared<SliceCopies>();
    copies->begun.reserve(slices);
    copies->count = slices;
    return copies;
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

void Stream::copy_to_host(const SourceSlot& slot, std::uint64_t size_bytes, std::uint16_t slices,
                          const std::shared_ptr<Fence>& after, DeviceWork& work) {
  const Pool& pool = *slot.pool_;
  const auto begin = [&](ByteRange range) {
    return pool.block()->copy_to_host(
        pool.host_block(), CopyRange::at(slot.offset_in_block_bytes() + range.offset_bytes, range.size_bytes), after);
  };
  work.is_in_host_memory = true;
  const std::shared_ptr<SliceCopies> copies = slices > 1 ? room_for_copies(slices) : nullptr;
  if (copies == nullptr) {
    work.copied = begin_copy([&] { return begin({.size_bytes = size_bytes}); });
    return;
  }
  try {
    while (copies->begun.size() < slices) {
      copies->begun.push_back(begin(slice_range(size_bytes, slices, static_cast<std::uint16_t>(copies->begun.size()))));
    }
  } catch (const std::exception&) {
    copies->has_failed = true;
  }
  work.slices = copies;
}

void Stream::copy_to_block(const SourceSlot& slot, std::uint64_t size_bytes, DeviceWork& work) {
  const Pool& pool = *slot.pool_;
  work.filled = begin_copy([&] {
    return pool.block()->copy_from_host(pool.host_block(), CopyRange::at(slot.offset_in_block_bytes(), size_bytes));
  });
  work.is_in_block = true;
}

/// One frame whose device fails is dropped. A device that is lost fails all to come, and the source has to end.
void Stream::require_device(const Pool& pool) const {
  if (!pool.is_on_host()) {
    options_.memory->require_device();
  }
}

void Stream::keep_until_finished(const PoolSlot& slot, const FrameHeader& header, const DeviceWork& work) noexcept {
  unfinished_.push_back({.header = header,
                         .slot = slot,
                         .work = work,
                         .is_hidden = work.filled && work.filled->state() != FenceState::done});
  add_reference(slot);
}

/// A frame that fails is given up at once, although the device may still copy other slices: its slot waits for them.
void Stream::note_copied(SliceProgress& progress, const SliceCopies& copies, std::int64_t published_ns) noexcept {
  if (progress.is_aborted || progress.completed_ns != 0) {
    return;
  }
  bool has_failed = copies.has_failed;
  for (std::size_t i = 0; i < copies.begun.size(); ++i) {
    const FenceState state = copies.begun[i]->state();
    progress.filled.set(i, state == FenceState::done);
    has_failed |= state == FenceState::failed;
  }
  if (progress.filled.count() == copies.count) {
    progress.completed_ns = published_ns;
  } else {
    progress.is_aborted = has_failed || monotonic_ns() - published_ns > ready_timeout_ns;
  }
}

void Stream::release_finished() noexcept {
  std::erase_if(unfinished_, [this](Unfinished& one) {
    // Fences finish without the mutex. If all have, what is read of them below is final; nobody would look again.
    const bool is_finished = one.work.is_finished();
    if (one.work.slices) {
      note_copied(epoch_numbered(one.slot.epoch).progress[one.slot.index], *one.work.slices,
                  one.header.times.completed_ns);
    }
    if (one.is_hidden && one.work.filled->state() == FenceState::done) {
      one.is_hidden = false;
      show_to_pullers(one.slot, one.header);
    }
    if (is_finished) {
      release(one.slot);
    }
    return is_finished;
  });
}

/// On a device's thread. Sending is left to the sessions, and so is freeing the pools of earlier epochs. Under the
/// Observer's mutex, without which the stream might go meanwhile: its source is told under it, its sessions after it.
void Stream::on_device_work_finished(EventList& sessions) noexcept {
  const Notice notice(*this);
  const std::scoped_lock lock(mutex_);
  release_finished();
  wake_sessions(sessions);
}

/// Not a frame that is older than one that they see, nor of an earlier epoch: the frame directory names the newest.
void Stream::show_to_pullers(const PoolSlot& slot, const FrameHeader& header) noexcept {
  Pool& pool = *epochs_.back().pool;
  if (pool.directory() != nullptr && slot.epoch == pool.epoch() && header.sequence >= newest_shown_) {
    newest_shown_ = header.sequence + 1;
    pool.publish_cell(slot.index, header);
  }
}

}  // namespace framewire
