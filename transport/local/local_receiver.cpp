#include "transport/local/local_receiver.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <new>
#include <utility>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/wait.hpp"
#include "transport/local/descriptor_passing.hpp"
#include "transport/local/wake_socket.hpp"
#include "transport/ring_limits.hpp"
#include "transport/socket_state.hpp"

namespace framewire {

namespace {

constexpr std::int64_t hand_over_ns = 5 * ns_per_s;
/// How soon a viewer that closes stops waiting for a pool.
constexpr std::int64_t stop_check_interval_ns = 50 * ns_per_ms;

}  // namespace

LocalReceiver::LocalReceiver(FileDescriptor socket, std::int64_t deadline_ns) : socket_(std::move(socket)) {
  LocalHello hello;
  auto descriptors = receive_with_descriptors(socket_.get(), writable_record_bytes(hello), 3, deadline_ns);
  if (hello.magic != LocalHello::magic_value || hello.version != LocalHello{}.version) {
    throw Error::failed("the sender speaks another version of the local link (" + std::to_string(hello.version) +
                        ", here " + std::to_string(LocalHello{}.version) + ")");
  }
  cells_block_ = HostBlock::map_read_only(std::move(descriptors[0]), sizeof(LocalCells));
  acknowledgements_block_ = HostBlock::map_writable(std::move(descriptors[1]), sizeof(LocalAcknowledgements));
  wake_socket_ = std::move(descriptors[2]);
  require_wake_socket(wake_socket_.get());
}

LocalReceiver::~LocalReceiver() {
  ::shutdown(socket_.get(), SHUT_RDWR);
}

const LocalCells& LocalReceiver::cells() const noexcept {
  return *std::launder(reinterpret_cast<const LocalCells*>(cells_block_->bytes().data()));
}

LocalAcknowledgements& LocalReceiver::acknowledgements() const noexcept {
  return *std::launder(reinterpret_cast<LocalAcknowledgements*>(acknowledgements_block_->bytes().data()));
}

LinkDescription LocalReceiver::begin_epoch(std::uint32_t epoch, std::uint64_t slot_bytes, std::uint32_t /*ring_slots*/,
                                           const LinkDescription& /*pool*/) {
  LocalPool record;
  const std::int64_t deadline_ns = monotonic_ns() + hand_over_ns;
  await_pool(deadline_ns);
  auto descriptors = receive_with_descriptors(socket_.get(), writable_record_bytes(record), 1, deadline_ns);
  if (record.magic != LocalPool::magic_value || record.epoch != epoch || record.slot_bytes != slot_bytes ||
      record.slot_count == 0 || record.slot_count > max_pool_slots || slot_bytes == 0 || slot_bytes > max_slot_bytes ||
      record.stride_bytes != slot_stride_bytes(slot_bytes)) {
    throw Error::failed("the sender handed over a pool that is not the one it announced");
  }
  MappedPool pool{epoch,
                  slot_bytes,
                  record.stride_bytes,
                  record.slot_count,
                  import(std::move(descriptors[0]), record.stride_bytes * record.slot_count),
                  std::vector<SliceAssembly>(record.slot_count)};
  const std::scoped_lock lock(mutex_);
  require_room_for_ring(pools_.size());
  pools_.push_back(std::move(pool));
  return {};
}

std::shared_ptr<const Block> LocalReceiver::import(FileDescriptor descriptor, std::uint64_t size_bytes) const try {
  return memory().import(std::move(descriptor), size_bytes);
} catch (const Error& error) {
  if (memory().is_host() || error.status() != ExitStatus::failed) {
    throw;
  }
  throw MemoryUnusable(memory(), error.what());
}

/// An honest sender has handed the pool over before it announces the format.
void LocalReceiver::await_pool(std::int64_t deadline_ns) const {
  while (!wait_for(socket_.get(), POLLIN, std::min(deadline_ns, monotonic_ns() + stop_check_interval_ns)) &&
         monotonic_ns() < deadline_ns) {
    if (stop_check() && stop_check()()) {
      throw AllocationStopped("frames");
    }
  }
}

/// Takes as many slices as there are cells, at most: a sender may announce them as fast as they are taken here. Looks
/// for a withdrawal behind each cell, so that the frame was whole when it is handed out.
std::optional<IncomingFrame> LocalReceiver::poll() noexcept {
  for (std::uint32_t slices = 0; slices < local_cell_count; ++slices) {
    auto frame = take_slice();
    if (frame && is_withdrawn()) {
      const bool is_lost = frame->is_last && !frame->header.is_aborted;
      frames_withdrawn_.fetch_add(is_lost ? 1 : 0, std::memory_order_relaxed);
    } else if (!frame || frame->is_last || takes_slices()) {
      return frame;
    }
  }
  return std::nullopt;
}

/// The fence keeps what the program has read of its frames in front of this.
bool LocalReceiver::is_withdrawn() const noexcept {
  std::atomic_thread_fence(std::memory_order_acquire);
  return cells().withdrawn.load(std::memory_order_acquire) != 0;
}

/// The next cell's frame or slice.
std::optional<IncomingFrame> LocalReceiver::take_slice() noexcept {
  const std::uint32_t published = cells().published.load(std::memory_order_seq_cst);
  const std::uint32_t taken = taken_.load(std::memory_order_relaxed);
  if (published == taken || is_broken_.load(std::memory_order_relaxed)) {
    return std::nullopt;
  }
  if (published - taken > local_cell_count) {
    return fail("the sender announced more frames than its ring holds");
  }
  // Copy once, then check the copy: the sender can still change the cell.
  std::array<std::byte, local_cell_bytes> cell;
  std::memcpy(cell.data(), cells().cells[taken % local_cell_count].data(), cell.size());
  taken_.store(taken + 1, std::memory_order_relaxed);
  std::optional<IncomingFrame> frame(std::in_place);  // made where the caller has it
  FrameHeader& header = frame->header;
  const HeaderFault fault = decode(cell, header);
  if (fault != HeaderFault::none) {
    return fail(std::string("the sender announced ") + describe(fault));
  }
  MappedPool* const pool = find_pool(header.epoch);
  if (pool == nullptr || header.slot >= pool->slot_count || header.layout.size_bytes > pool->slot_bytes) {
    return fail("the sender announced a frame that is in none of its pools");
  }
  SliceAssembly& assembly = pool->assemblies[header.slot];
  if (const char* const why_not = assembly.why_not(header); why_not != nullptr) {
    return fail(std::string("the sender announced ") + why_not);
  }
  frame->is_last = assembly.add(header) != SliceAssembly::Progress::part;
  set_arrived(*frame, pool->block, header.slot * pool->stride_bytes);
  return frame;
}

LocalReceiver::MappedPool* LocalReceiver::find_pool(std::uint32_t epoch) noexcept {
  if (current_.epoch == epoch && current_.block) {
    return &current_;
  }
  std::list<MappedPool> left;  // unmapped after the mutex is released
  const std::scoped_lock lock(mutex_);
  MappedPool* const pool = leave_earlier(pools_, left, [&](const MappedPool& one) { return one.epoch == epoch; });
  if (pool == nullptr) {
    return nullptr;
  }
  std::swap(current_, *pool);
  left.splice(left.end(), pools_, pools_.begin());
  return &current_;
}

bool LocalReceiver::arm() noexcept {
  if (take_wakes(wake_socket_.get()) == PeerState::closed) {
    sender_hung_up_.store(true, std::memory_order_relaxed);
  }
  acknowledgements().is_waiting.store(1, std::memory_order_seq_cst);
  if (cells().published.load(std::memory_order_seq_cst) == taken_.load(std::memory_order_relaxed) ||
      is_broken_.load(std::memory_order_relaxed)) {  // then poll() takes no more
    return true;
  }
  acknowledgements().is_waiting.store(0, std::memory_order_relaxed);
  return false;
}

void LocalReceiver::return_credit(const FrameHeader& header) noexcept {
  LocalAcknowledgements& shared = acknowledgements();
  {
    const std::scoped_lock lock(credit_mutex_);
    shared.slots[given_back_ % local_cell_count].store(pack_slot(header.epoch, header.slot), std::memory_order_relaxed);
    ++given_back_;
    shared.given_back.store(given_back_, std::memory_order_seq_cst);
  }
  if (cells().credit_wanted.load(std::memory_order_seq_cst) != 0) {
    send_wake(wake_socket_.get());
  }
}

LinkState LocalReceiver::state() const noexcept {
  if (is_broken_.load(std::memory_order_relaxed)) {
    return LinkState::broken;
  }
  return is_withdrawn() || has_hung_up() ? LinkState::closed : socket_state(socket_.get());
}

std::string LocalReceiver::fault() const {
  const std::scoped_lock lock(mutex_);
  if (!fault_.empty()) {
    return fault_;
  }
  return is_withdrawn() ? "the sender has ended this session and uses the memory of its frames again; its log says why"
                        : "the sender's process closed the link";
}

std::nullopt_t LocalReceiver::fail(std::string why) noexcept {
  const std::scoped_lock lock(mutex_);
  fault_ = std::move(why);
  is_broken_.store(true, std::memory_order_relaxed);
  return std::nullopt;
}

}  // namespace framewire
