#include "transport/local/local_sender.hpp"

#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <new>
#include <utility>

#include "base/error.hpp"
#include "transport/local/descriptor_passing.hpp"
#include "transport/socket_state.hpp"

namespace framewire {

LocalSender::LocalSender(FileDescriptor socket, std::vector<std::string> viewer_memory)
    : socket_(std::move(socket)),
      viewer_memory_(std::move(viewer_memory)),
      cells_block_(HostBlock::create("cells", sizeof(LocalCells))),
      acknowledgements_block_(HostBlock::create_shared_writable("acknowledgements", sizeof(LocalAcknowledgements))) {
  auto [own_end, viewers_end] = make_wake_sockets();
  wakes_ = std::make_shared<WakeSocket>(std::move(own_end));
  poller_ = make_poller({wakes_->fd(), socket_.get()});
  new (cells_block_->bytes().data()) LocalCells{};
  new (acknowledgements_block_->bytes().data()) LocalAcknowledgements{};
  in_flight_ = FixedQueue<InFlight>(local_cell_count);
  const std::array descriptors{cells_block_->memfd(), acknowledgements_block_->memfd(), viewers_end.get()};
  send_with_descriptors(socket_.get(), record_bytes(LocalHello{}), descriptors);
}

LocalSender::~LocalSender() {
  ::shutdown(socket_.get(), SHUT_RDWR);
}

LocalCells& LocalSender::cells() const noexcept {
  return *std::launder(reinterpret_cast<LocalCells*>(cells_block_->bytes().data()));
}

LocalAcknowledgements& LocalSender::acknowledgements() const noexcept {
  return *std::launder(reinterpret_cast<LocalAcknowledgements*>(acknowledgements_block_->bytes().data()));
}

bool LocalSender::takes(const MemoryKind& memory) const noexcept {
  return memory.is_host() || std::ranges::find(viewer_memory_, memory.name()) != viewer_memory_.end();
}

void LocalSender::begin_epoch(std::shared_ptr<Pool> pool) {
  const Block& shared = takes(pool->block()->kind()) ? *pool->block() : *pool->host_block();
  const LocalPool record{.epoch = pool->epoch(),
                         .slot_bytes = pool->slot_bytes(),
                         .stride_bytes = pool->stride_bytes(),
                         .slot_count = pool->slot_count()};
  const std::array descriptors{shared.descriptor()};
  send_with_descriptors(socket_.get(), record_bytes(record), descriptors);
}

void LocalSender::epoch_ready(std::uint32_t epoch, std::uint32_t ring_slots, const LinkDescription& /*ring*/) noexcept {
  ready_epoch_ = epoch;
  ring_slots_ = std::min(ring_slots, local_cell_count);
  in_flight_in_epoch_ = 0;  // a new epoch starts with all its credits, even if the viewer still holds old frames
}

SendResult LocalSender::try_send(const OutgoingFrame& frame) noexcept {
  if (is_broken_.load(std::memory_order_relaxed)) {
    return SendResult::closed;
  }
  assert(frame.pool_slot.epoch == ready_epoch_);
  if (!take_cells_for(frame)) {
    return SendResult::no_credit;
  }
  LocalCells& shared = cells();
  encode(frame.header, frame.pool_slot.index, shared.cells[published_ % local_cell_count]);
  ++published_;
  // Sequentially consistent, and so is the viewer when it announces its sleep and then checks again: one of both sees
  // the other's write.
  shared.published.store(published_, std::memory_order_seq_cst);
  if (acknowledgements().is_waiting.load(std::memory_order_seq_cst) != 0) {
    acknowledgements().is_waiting.store(0, std::memory_order_relaxed);
    wake_is_due_ = true;
  }
  return SendResult::accepted;
}

/// A frame's first slice takes one credit, and cells for all slices of the frame. When the viewer releases the frame,
/// it has copied all of these cells; so no cell is overwritten before. Later slices are those of the newest frame.
bool LocalSender::take_cells_for(const OutgoingFrame& frame) noexcept {
  const std::uint16_t slices = frame.header.slice_count;
  assert(slices > 0 && slices <= local_cell_count);
  if (frame.is_first) {
    if (in_flight_in_epoch_ >= ring_slots_ || cells_taken_ + slices > local_cell_count) {
      return false;
    }
    in_flight_.push({.slot = frame.pool_slot, .slices = slices});
    cells_taken_ += slices;
    ++in_flight_in_epoch_;
  }
  InFlight& newest = in_flight_.at(in_flight_.size() - 1);
  assert(newest.slot == frame.pool_slot);
  newest.has_more_to_come = !frame.is_last;
  return true;
}

std::shared_ptr<PeerWaker> LocalSender::take_waker() noexcept {
  return std::exchange(wake_is_due_, false) ? wakes_ : nullptr;
}

std::size_t LocalSender::poll_released(std::span<PoolSlot> released) noexcept {
  LocalAcknowledgements& shared = acknowledgements();
  cells().credit_wanted.store(0, std::memory_order_relaxed);
  std::size_t count = 0;
  const std::uint32_t given_back = shared.given_back.load(std::memory_order_seq_cst);
  while (seen_given_back_ != given_back && count < released.size() && !is_broken_.load(std::memory_order_relaxed)) {
    const std::uint64_t packed = shared.slots[seen_given_back_ % local_cell_count].load(std::memory_order_relaxed);
    const PoolSlot slot{static_cast<std::uint32_t>(packed >> 32), static_cast<std::uint16_t>(packed & 0xffff)};
    const std::size_t place = in_flight_.find_if([&](const InFlight& one) { return one.slot == slot; });
    if (place == in_flight_.size() || in_flight_.at(place).has_more_to_come) {
      fail();
      break;
    }
    cells_taken_ -= in_flight_.at(place).slices;
    in_flight_.at(place) = in_flight_.front();
    in_flight_.drop();
    in_flight_in_epoch_ -= slot.epoch == ready_epoch_ ? 1 : 0;
    ++seen_given_back_;
    ++acknowledged_;
    released[count++] = slot;
  }
  return count;
}

bool LocalSender::arm() noexcept {
  cells().credit_wanted.store(1, std::memory_order_seq_cst);
  return acknowledgements().given_back.load(std::memory_order_seq_cst) == seen_given_back_ ||
         is_broken_.load(std::memory_order_relaxed);
}

/// Makes its own wake socket readable, so that the session checks the state.
void LocalSender::fail() noexcept {
  is_broken_.store(true, std::memory_order_relaxed);
  ::shutdown(wakes_->fd(), SHUT_RDWR);
}

void LocalSender::on_readable() noexcept {
  if (take_wakes(wakes_->fd()) == PeerState::closed) {
    viewer_hung_up_.store(true, std::memory_order_relaxed);
  }
  // The protocol has no bytes from the viewer here. Unread bytes would keep the descriptor readable, and this thread
  // spinning.
  if (has_bytes(socket_.get())) {
    is_broken_.store(true, std::memory_order_relaxed);
  }
}

/// The stream's mutex, which is held here, orders it before all that is written into the slots afterwards.
void LocalSender::withdraw() noexcept {
  cells().withdrawn.store(1, std::memory_order_seq_cst);
}

LinkState LocalSender::state() const noexcept {
  if (is_broken_.load(std::memory_order_relaxed)) {
    return LinkState::broken;
  }
  return viewer_hung_up_.load(std::memory_order_relaxed) ? LinkState::closed : socket_state(socket_.get());
}

std::string LocalSender::fault() const {
  return is_broken_.load(std::memory_order_relaxed)
             ? "the other end gave back a slot that it does not hold, or wrote where it has nothing to say"
             : "the other end's process closed the link";
}

}  // namespace framewire
