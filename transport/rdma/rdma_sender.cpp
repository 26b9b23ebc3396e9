#include "transport/rdma/rdma_sender.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <cassert>
#include <utility>

#include "base/bytes.hpp"
#include "base/error.hpp"

namespace framewire {

namespace {

constexpr unsigned send_inline = IBV_SEND_INLINE;
constexpr std::size_t max_waiting = 256;
/// Rings of earlier formats that still hold frames of the viewer.
constexpr std::size_t max_rings = 64;
/// With `latest`: the frame on the wire and the next one, so that the device never waits for this program.
constexpr std::uint64_t max_being_read = 2;
/// Work requests of a slice's announcement: one, on iWARP two.
constexpr std::size_t announcement_requests = 2;

}  // namespace

/// Whether the payload travels behind its header, into the cell.
bool RdmaSender::is_in_cell(const Slice& slice) noexcept {
  return slice.header.slice_bytes <= max_payload_in_cell_bytes && slice.ring.access.cells_take_payload;
}

/// Whether the device may still read the pool's slot after the frame's last slice has been posted.
bool RdmaSender::reads_slot(const Slice& slice) noexcept {
  return slice.header.slice_count > 1 || !is_in_cell(slice) || !slice.payload.is_on_host();
}

/// Work requests that are posted in one call, and the memory that they refer to. Not initialised: that would take as
/// long as posting one request.
struct RdmaSender::Batch {
  std::array<ibv_send_wr, max_in_post> requests;
  std::array<ibv_sge, max_in_post> parts;
  std::array<ibv_sge, 2> announcement_parts;  // a header, and a payload that the processor may not touch
  std::size_t count = 0;
  std::array<std::byte, cell_stride_bytes> cell;
  std::uint32_t announcement = 0;

  ibv_send_wr& add(ibv_wr_opcode opcode, std::uint64_t from, std::size_t bytes, std::uint32_t local_key) noexcept {
    ibv_sge& part = parts[count];
    part = {.addr = from, .length = static_cast<std::uint32_t>(bytes), .lkey = local_key};
    ibv_send_wr& request = requests[count++];
    request = {};
    request.opcode = opcode;
    request.sg_list = &part;
    request.num_sge = 1;
    return request;
  }
};

RdmaSender::RdmaSender(std::unique_ptr<RdmaConnection> connection, SenderProtectionDomains& protection_domains)
    : protection_domains_(protection_domains),
      core_(std::move(connection), "the other end"),
      waiting_(max_waiting),
      // The viewer may return a frame before this end hears that it has left; take_sent() may be late by as many.
      in_flight_(std::size_t{capabilities().send_depth} + capabilities().receive_depth) {
  if (capabilities().send_depth <= announcement_requests) {
    throw Error::failed("the RDMA device has no room for requests");
  }
  done_.reserve(max_waiting + in_flight_.room());
}

RdmaSender::~RdmaSender() {
  core_.connection().disconnect();
}

void RdmaSender::begin_epoch(std::shared_ptr<Pool> pool) {
  const bool is_by_copies = !takes(pool->block()->kind());
  auto memory_region = protection_domains_.memory_region_of(core_.connection().protection_domain(),
                                                            is_by_copies ? pool->host_block() : pool->block());
  if (!is_by_copies) {
    core_.set_access(*memory_region);
  }
  const std::scoped_lock lock(core_.mutex());
  // Of an epoch that the viewer was never ready for: deregistered after the mutex is released.
  announced_pool_.swap(pool);
  announced_memory_region_.swap(memory_region);
}

void RdmaSender::epoch_ready(std::uint32_t epoch, std::uint32_t ring_slots, const LinkDescription& ring) noexcept {
  const std::optional<RingAccess> access = ring_access_from(ring);
  const std::scoped_lock lock(core_.mutex());
  if (!access || access->cells_per_slot == 0 || access->cells_per_slot > max_slices || access->receive_depth == 0) {
    return core_.fail(LinkState::broken, "the other end did not say where its ring is");
  }
  if (!announced_pool_ || announced_pool_->epoch() != epoch) {
    return core_.fail(LinkState::broken, "the other end is ready for a format that cannot be sent to it");
  }
  ring_slots = std::min(ring_slots, max_pool_slots);
  if (!rings_.empty() && rings_.back()->pool) {
    core_.retire(std::move(rings_.back()->pool));  // no new frame is sent from it
  }
  std::erase_if(rings_, [](const auto& one) { return one->free_slots.size() == one->slices_out.size(); });
  if (rings_.size() >= max_rings) {
    return core_.fail(LinkState::broken, "the other end keeps frames of " + std::to_string(max_rings) + " formats");
  }
  auto remote = std::make_shared<RemoteRing>();
  remote->epoch = epoch;
  remote->stride_bytes = announced_pool_->stride_bytes();
  remote->access = *access;
  remote->pool = std::exchange(announced_memory_region_, nullptr);
  announced_pool_.reset();
  remote->slices_out.assign(ring_slots, 0);
  remote->free_slots = all_free(ring_slots);
  rings_.push_back(std::move(remote));
}

std::uint16_t RdmaSender::slice_limit() const noexcept {
  const std::scoped_lock lock(core_.mutex());
  const auto& access = rings_.empty() ? RingAccess{} : rings_.back()->access;
  return static_cast<std::uint16_t>(std::min({access.cells_per_slot, access.receive_depth, std::uint32_t{max_slices}}));
}

// ---- Sending frames ----

void RdmaSender::bound_send_queue() noexcept {
  const std::scoped_lock lock(core_.mutex());
  has_bounded_queue_ = true;
}

SendResult RdmaSender::try_send(const OutgoingFrame& frame) noexcept {
  const std::scoped_lock lock(core_.mutex());
  if (!core_.is_open() || rings_.empty()) {
    return SendResult::closed;
  }
  assert(frame.pool_slot.epoch == rings_.back()->epoch);
  if (waiting_.full() || !spend_credit(frame)) {
    return core_.is_open() ? SendResult::no_credit : SendResult::closed;
  }
  has_more_to_come_ = !frame.is_last;
  FrameHeader header = frame.header;
  header.slot = current_slot_;
  std::uint64_t posted_bytes = 0;
  const Slice slice{header, frame.payload, *rings_.back(), *rings_.back()->pool, posted_bytes};
  if (waiting_.empty() && post_slice(slice)) {
    release(slice, frame, rings_.back()->pool);
  } else {
    waiting_.push({.frame = {.header = header,
                             .payload = frame.payload,
                             .pool_slot = frame.pool_slot,
                             .is_first = frame.is_first,
                             .is_last = frame.is_last},
                   .ring = rings_.back(),
                   .pool = rings_.back()->pool,
                   .posted_bytes = posted_bytes});
    post_waiting();
  }
  return SendResult::accepted;
}

/// A frame's first slice takes a ring slot, and one of the viewer's receives for each slice of the frame. The viewer
/// posts these receives again before it returns the slot, so an announcement always finds a posted receive.
bool RdmaSender::spend_credit(const OutgoingFrame& frame) noexcept {
  const FrameHeader& header = frame.header;
  RemoteRing& ring = *rings_.back();
  if (header.slice_count > std::min(ring.access.cells_per_slot, ring.access.receive_depth)) {
    core_.fail(LinkState::broken, "a frame of " + std::to_string(header.slice_count) +
                                      " slices is more than the other end has header cells for");
    return false;
  }
  if (!frame.is_first) {
    return true;
  }
  const bool may_queue = !has_bounded_queue_ || frames_being_read_ < max_being_read;
  const bool has_credit = may_queue && !ring.free_slots.empty() &&
                          slices_out_ + header.slice_count <= ring.access.receive_depth &&
                          accepted_ - acknowledged_ < capabilities().receive_depth;
  if (has_credit) {
    ++accepted_;
    ++frames_being_read_;
    slices_out_ += header.slice_count;
    current_slot_ = ring.free_slots.back();
    ring.free_slots.pop_back();
    ring.slices_out[current_slot_] = header.slice_count;
  }
  return has_credit;
}

/// Posts as much as there is room for. The session is notified when there is room for the rest.
void RdmaSender::post_waiting() noexcept {
  while (!waiting_.empty() && core_.is_open()) {
    if (post_slice(waiting_.front().slice())) {
      Waiting posted = waiting_.pop();
      release(posted.slice(), posted.frame, posted.pool);
    } else if (!core_.connection().request_notification() || !take_sent()) {
      return;
    }
  }
}

/// Posts as much of a slice as there is room for; true when the slice is posted completely.
bool RdmaSender::post_slice(const Slice& slice) noexcept {
  const FrameHeader& header = slice.header;
  for (;;) {
    Batch batch;
    if (!is_in_cell(slice)) {
      add_payload(batch, slice);
    }
    const bool is_whole = is_in_cell(slice) || slice.posted_bytes == header.slice_bytes;
    const std::size_t room = std::min<std::size_t>(core_.room(), max_in_post) - batch.count;
    const bool announces = is_whole && room >= announcement_requests;
    if (announces) {
      add_announcement(batch, slice);
    }
    if (batch.count == 0) {
      return false;
    }
    if (!core_.post(std::span(batch.requests).first(batch.count))) {
      return false;
    }
    if (announces) {
      return true;
    }
  }
}

/// Adds RDMA_WRITEs, as many as there is room for. The viewer gets no CQE for them.
void RdmaSender::add_payload(Batch& batch, const Slice& slice) noexcept {
  const FrameHeader& header = slice.header;
  const RemoteRing& ring = slice.ring;
  const std::size_t room = std::min<std::size_t>(core_.room(), max_in_post);
  while (slice.posted_bytes < header.slice_bytes && batch.count < room) {
    const std::uint64_t offset_bytes = header.slice_offset_bytes + slice.posted_bytes;
    const std::uint64_t bytes = std::min(header.slice_bytes - slice.posted_bytes, capabilities().chunk_bytes);
    ibv_send_wr& request = batch.add(IBV_WR_RDMA_WRITE, slice.pool.address + slice.payload.offset_bytes + offset_bytes,
                                     bytes, slice.pool.mr->lkey);
    request.wr.rdma.remote_addr = ring.access.payload_address + header.slot * ring.stride_bytes + offset_bytes;
    request.wr.rdma.rkey = ring.access.payload_key;
    slice.posted_bytes += bytes;
  }
}

/// Adds the write of the header, and of a small payload, into the slice's cell, with the immediate that announces it.
void RdmaSender::add_announcement(Batch& batch, const Slice& slice) noexcept {
  const FrameHeader& header = slice.header;
  const RingAccess& access = slice.ring.access;
  std::size_t bytes = encode(header, batch.cell);
  const bool is_copied = is_in_cell(slice) && slice.payload.is_on_host();
  const bool is_gathered = is_in_cell(slice) && !is_copied && header.slice_bytes > 0;  // the device adds the payload
  if (is_copied) {
    const auto payload = slice_bytes(slice.payload.bytes(), header);
    copy_bytes(payload, std::span(batch.cell).subspan(bytes));
    bytes += payload.size();
  }
  const bool is_inline = bytes <= capabilities().inline_bytes && !is_gathered;
  const std::byte* from = batch.cell.data();
  if (!is_inline) {
    // One place for every request that can be in flight: the last request that used this place is complete.
    const std::uint64_t place = (core_.sends().posted() + batch.count) % capabilities().send_depth;
    const auto staged = core_.connection().staging()->bytes().subspan(place * cell_stride_bytes, bytes);
    copy_bytes(std::span(batch.cell).first(bytes), staged);
    from = staged.data();
  }
  const bool has_immediate = capabilities().has_immediate;
  const std::uint32_t bits = htonl(encode({.epoch = header.epoch, .slot = header.slot, .slice = header.slice}));
  ibv_send_wr& request =
      batch.add(has_immediate ? IBV_WR_RDMA_WRITE_WITH_IMM : IBV_WR_RDMA_WRITE, reinterpret_cast<std::uint64_t>(from),
                bytes, is_inline ? 0 : core_.connection().staging()->mr->lkey);
  if (is_gathered) {
    batch.announcement_parts = {*request.sg_list,
                                {.addr = slice.pool.address + slice.payload.offset_bytes + header.slice_offset_bytes,
                                 .length = static_cast<std::uint32_t>(header.slice_bytes),
                                 .lkey = slice.pool.mr->lkey}};
    request.sg_list = batch.announcement_parts.data();
    request.num_sge = 2;
  }
  request.imm_data = bits;
  request.wr.rdma.remote_addr =
      access.cells_address + (std::uint64_t{header.slot} * access.cells_per_slot + header.slice) * cell_stride_bytes;
  request.wr.rdma.rkey = access.cells_key;
  request.send_flags = is_inline ? send_inline : 0U;
  if (!has_immediate) {
    batch.announcement = bits;
    batch.add(IBV_WR_SEND, reinterpret_cast<std::uint64_t>(&batch.announcement), sizeof batch.announcement, 0)
        .send_flags = IBV_SEND_INLINE;
  }
  if (reads_slot(slice)) {
    batch.requests[batch.count - 1].send_flags |= IBV_SEND_SIGNALED;  // its completion releases the slot
  }
}

/// Called when a slice is posted completely. Releases the slot at once if its bytes were copied, otherwise when the
/// last request has completed.
void RdmaSender::release(const Slice& slice, const OutgoingFrame& frame,
                         const std::shared_ptr<const MemoryRegion>& pool) noexcept {
  if (!frame.is_last) {
    return;
  }
  if (reads_slot(slice)) {
    in_flight_.push({.last_request = core_.sends().posted(), .slot = frame.pool_slot, .pool = pool});
  } else {
    finish_read(frame.pool_slot);
  }
}

void RdmaSender::finish_read(const PoolSlot& slot) noexcept {
  done_.push_back(slot);
  --frames_being_read_;
}

// ---- Credits and completed slots ----

std::size_t RdmaSender::poll_released(std::span<PoolSlot> released) noexcept {
  const std::scoped_lock lock(core_.mutex());
  take_completed();
  const std::size_t count = std::min(released.size(), done_.size());
  std::copy_n(done_.begin(), count, released.begin());
  done_.erase(done_.begin(), done_.begin() + static_cast<std::ptrdiff_t>(count));
  return count;
}

bool RdmaSender::arm() noexcept {
  const std::scoped_lock lock(core_.mutex());
  core_.request_notification();
  // Completions before the request are not reported.
  const bool has_progress = take_completed();
  return !has_progress && done_.empty();
}

void RdmaSender::on_readable() noexcept {
  core_.clear_end();
  const std::scoped_lock lock(core_.mutex());
  core_.connection().take_notifications();
}

bool RdmaSender::take_completed() noexcept {
  const bool has_credits = take_credits();
  const bool has_sent = take_sent();
  post_waiting();
  return has_credits || has_sent;
}

bool RdmaSender::take_credits() noexcept {
  bool has_any = false;
  std::array<ibv_wc, 16> completions;
  int count = 0;
  do {
    count = ibv_poll_cq(core_.connection().receive_completions(), completions.size(), completions.data());
    // Also after the link's end: credits that the viewer returned before are still valid.
    for (int i = 0; i < count && state() != LinkState::broken; ++i) {
      const ibv_wc& completion = completions[static_cast<std::size_t>(i)];
      if (completion.status != IBV_WC_SUCCESS) {
        if (completion.status == IBV_WC_WR_FLUSH_ERR) {
          take_sent();  // flushed only; the send queue has the cause
        }
        core_.fail_by(completion.status);
      } else if (const auto bits = core_.connection().immediate_of(completion)) {
        add_credit(decode_immediate(*bits));
        core_.connection().hold_receive(completion);
        has_any = true;
      } else {
        core_.fail(LinkState::broken, "the other end sent a message that gives nothing back");
      }
    }
  } while (count == static_cast<int>(completions.size()));
  // Before the next frame is sent, because its credit will need one of these receives.
  if (has_any && !core_.connection().post_held_receives()) {
    core_.fail_by(IBV_WC_WR_FLUSH_ERR);
  }
  return has_any;
}

void RdmaSender::add_credit(const Immediate& credit) noexcept {
  const auto found =
      std::ranges::find(rings_, credit.epoch, [](const auto& ring) { return low_epoch_bits(ring->epoch); });
  if (found == rings_.end() || credit.slot >= (*found)->slices_out.size() || (*found)->slices_out[credit.slot] == 0) {
    return core_.fail(LinkState::broken, "the other end gave back a slot that it does not hold");
  }
  RemoteRing& ring = **found;
  if (has_more_to_come_ && *found == rings_.back() && credit.slot == current_slot_) {
    return core_.fail(LinkState::broken, "the other end gave back a slot before the last slice had come");
  }
  ++acknowledged_;
  slices_out_ -= std::exchange(ring.slices_out[credit.slot], std::uint16_t{0});
  ring.free_slots.push_back(credit.slot);
  if (*found != rings_.back() && ring.free_slots.size() == ring.slices_out.size()) {
    rings_.erase(found);  // in_flight_ and waiting_ hold their pool themselves
  }
}

bool RdmaSender::take_sent() noexcept {
  const bool has_any = core_.poll_sends();
  while (!in_flight_.empty() && in_flight_.front().last_request <= core_.sends().completed()) {
    InFlight done = in_flight_.pop();
    finish_read(done.slot);
    if (done.pool && (rings_.empty() || done.pool != rings_.back()->pool)) {
      core_.retire(std::move(done.pool));  // this may be the last reference to that format's pool
    }
  }
  return has_any;
}

}  // namespace framewire
