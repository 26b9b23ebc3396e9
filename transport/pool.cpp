#include "transport/pool.hpp"

#include <cassert>
#include <utility>

#include "base/error.hpp"
#include "frame/frame_layout.hpp"

namespace framewire {

namespace {

std::uint64_t checked_total_bytes(std::uint64_t slot_bytes, std::uint64_t stride_bytes, std::uint32_t slot_count) {
  if (slot_bytes == 0 || slot_bytes > max_slot_bytes || slot_count == 0 || slot_count > max_pool_slots) {
    throw Error::failed("a pool of " + std::to_string(slot_count) + " slots of " + std::to_string(slot_bytes) +
                        " bytes is not possible; there can be " + std::to_string(max_pool_slots) +
                        " slots of up to 4 GiB");
  }
  return stride_bytes * slot_count;
}

}  // namespace

Pool::Pool(std::uint32_t epoch, std::uint64_t slot_bytes, std::uint32_t slot_count, bool has_directory,
           const StopCheck& stop, const MemoryKind& memory)
    : epoch_(epoch),
      slot_bytes_(slot_bytes),
      stride_bytes_(slot_stride_bytes(slot_bytes)),
      references_(slot_count, 0),
      kept_(slot_count) {
  const std::uint64_t total_bytes = checked_total_bytes(slot_bytes, stride_bytes_, slot_count);
  const std::string name = std::to_string(slot_count) + " frame slots";
  host_block_ = HostBlock::create(memory.is_host() ? name : "copies of " + name, total_bytes, stop);
  block_ = memory.is_host() ? host_block_ : memory.allocate(name, total_bytes, stop);
  free_ = all_free(slot_count);
  if (has_directory) {
    directory_.emplace(slot_count);
  }
}

std::shared_ptr<Pool> Pool::make(std::uint32_t epoch, std::uint64_t slot_bytes, std::uint32_t slot_count,
                                 bool has_directory, const StopCheck& stop, const MemoryKind& memory) {
  try {
    return std::make_shared<Pool>(epoch, slot_bytes, slot_count, has_directory, stop, memory);
  } catch (const AllocationStopped&) {
    return nullptr;
  }
}

std::optional<std::uint16_t> Pool::claim() noexcept {
  if (free_.empty()) {
    return std::nullopt;
  }
  std::uint16_t index = free_.back();
  if (directory_) {
    index = free_.front();  // pulling viewers had the most time to read it
    free_.erase(free_.begin());
    directory_->invalidate(index);
  } else {
    free_.pop_back();
  }
  references_[index] = 1;
  return index;
}

void Pool::publish_cell(std::uint16_t index, const FrameHeader& header) noexcept {
  directory_->publish_cell(index, header);
  add_reference(index);
  retire_newest();
  newest_ = index;
}

void Pool::retire_newest() noexcept {
  if (newest_) {
    release(*std::exchange(newest_, std::nullopt));
  }
}

bool Pool::end_kept_by_others(std::uint16_t index) noexcept {
  Kept kept = kept_[index].load(std::memory_order_acquire);
  if (kept == Kept::shared && kept_[index].compare_exchange_strong(kept, Kept::alone, std::memory_order_acq_rel)) {
    return false;
  }
  kept_[index].store(Kept::no, std::memory_order_relaxed);
  return true;
}

void Pool::free_kept(std::uint16_t index) noexcept {
  assert(kept_[index].load() == Kept::alone);
  kept_[index].store(Kept::no, std::memory_order_relaxed);
  free_.push_back(index);
}

}  // namespace framewire
