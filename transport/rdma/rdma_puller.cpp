#include "transport/rdma/rdma_puller.hpp"

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <utility>

#include "base/bytes.hpp"
#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/timer.hpp"
#include "transport/ring_limits.hpp"
#include "transport/socket_state.hpp"

namespace framewire {

namespace {

/// Offsets in cells_ of the cells that are read from the frame directory.
constexpr std::size_t newest_at = 0;
constexpr std::size_t cell_before_at = 64;
constexpr std::size_t cell_after_at = cell_before_at + directory_cell_bytes;
constexpr std::size_t landing_bytes = cell_after_at + directory_cell_bytes;

/// Payload may arrive in any order on the bus: only its completion counts.
constexpr unsigned relaxed = IBV_ACCESS_RELAXED_ORDERING;

/// A frame that was overwritten during the READs is retried at once, but only so often: the source may be faster than
/// the wire.
constexpr int max_tries = 3;
constexpr std::int64_t final_reads_timeout_ns = 5 * ns_per_s;

/// iWARP implements a READ by remote writes into the reader's memory, which must allow them.
unsigned landing_access(const RdmaCapabilities& capabilities) noexcept {
  const auto local = static_cast<unsigned>(IBV_ACCESS_LOCAL_WRITE);
  return capabilities.has_immediate ? local : local | static_cast<unsigned>(IBV_ACCESS_REMOTE_WRITE);
}

}  // namespace

/// Work requests that are posted in one call.
struct RdmaPuller::Reads {
  std::array<ibv_send_wr, max_in_post> requests;
  std::array<ibv_sge, max_in_post> parts;
  std::size_t count = 0;

  ibv_send_wr& add(std::uint64_t from, std::uint32_t key, const MemoryRegion& into, std::uint64_t offset_bytes,
                   std::uint64_t bytes) noexcept {
    parts[count] = {
        .addr = into.address + offset_bytes, .length = static_cast<std::uint32_t>(bytes), .lkey = into.mr->lkey};
    ibv_send_wr& request = requests[count];
    request = {};
    request.opcode = IBV_WR_RDMA_READ;
    request.sg_list = &parts[count++];
    request.num_sge = 1;
    request.wr.rdma.remote_addr = from;
    request.wr.rdma.rkey = key;
    return request;
  }
};

RdmaPuller::RdmaPuller(std::unique_ptr<RdmaConnection> connection, std::int64_t interval_ns, bool relaxed_ordering)
    : poll_interval_ns_(interval_ns),
      relaxed_ordering_(relaxed_ordering),
      core_(std::move(connection), "the sender"),
      timer_(make_timer()),
      poller_(make_poller({core_.descriptor(), timer_.get()})),
      cells_(register_memory(core_.connection().protection_domain(),
                             HostBlock::create_private("frame directory cells", landing_bytes),
                             landing_access(core_.connection().capabilities()))) {
  if (core_.connection().capabilities().send_depth < 3) {
    throw Error::failed("the RDMA device has no room for requests");
  }
}

RdmaPuller::~RdmaPuller() {
  core_.connection().disconnect();
}

std::string RdmaPuller::note() const {
  return core_.connection().capabilities().has_immediate ? " mode=pull" : " mode=pull ring=registration";
}

LinkDescription RdmaPuller::begin_epoch(std::uint32_t epoch, std::uint64_t slot_bytes, std::uint32_t ring_slots,
                                        const LinkDescription& pool) {
  living_rings_.require_room(slot_bytes, ring_slots, ring_ ? ring_->slots->block.get() : nullptr);
  const std::optional<PoolAccess> access = pool_access_from(pool);
  if (!access || access->slots == 0 || access->slots > max_pool_slots) {
    throw Error::failed("the sender did not say where its pool is");
  }
  Ring ring{.epoch = epoch,
            .slot_bytes = slot_bytes,
            .stride_bytes = slot_stride_bytes(slot_bytes),
            .pool = *access,
            .slots = {},
            .free_slots = all_free(ring_slots),
            .is_held = std::vector<bool>(ring_slots, false)};
  const unsigned ordering = relaxed_ordering_ ? relaxed : 0U;
  ring.slots = register_memory(core_.connection().protection_domain(),
                               HostBlock::create_private("pulled frames", ring.stride_bytes * ring_slots, stop_check()),
                               landing_access(core_.connection().capabilities()) | ordering);
  living_rings_.add(ring.slots->block);
  {
    const std::scoped_lock lock(core_.mutex());
    is_ready_ = false;
  }
  if (!core_.await([this] { return has_read(); }, monotonic_ns() + final_reads_timeout_ns, stop_check())) {
    core_.connection().disconnect();  // so that no READ writes into freed memory; also when this side stops
    throw Error::lost_peer(core_.is_open() ? "the sender did not answer an RDMA read in time" : core_.fault());
  }
  std::optional<Ring> earlier(std::move(ring));  // deregistered after the mutex is released
  const std::scoped_lock lock(core_.mutex());
  step_ = Step::resting;
  last_generation_ = 0;
  std::swap(ring_, earlier);
  return {};
}

void RdmaPuller::epoch_is_ready() noexcept {
  const std::scoped_lock lock(core_.mutex());
  is_ready_ = ring_.has_value();
  next_poll_ns_ = 0;
  wake();
}

// ---- On the receiving thread ----

std::optional<IncomingFrame> RdmaPuller::poll() noexcept {
  const std::scoped_lock lock(core_.mutex());
  core_.poll_sends();
  while (is_ready_ && core_.is_open() && has_read()) {
    switch (step_) {
      case Step::resting:
        if (!may_poll()) {
          return std::nullopt;
        }
        begin_poll();
        break;
      case Step::newest:
        take_newest();
        break;
      case Step::cell:
        take_cell();
        break;
      case Step::payload:
        if (!poll_state_.is_whole) {
          read_payload();
        } else if (auto frame = take_payload()) {
          return frame;
        }
        break;
    }
  }
  return std::nullopt;
}

bool RdmaPuller::arm() noexcept {
  core_.clear_end();
  const std::scoped_lock lock(core_.mutex());
  core_.connection().take_notifications();
  core_.request_notification();
  // Completions before the request are not reported.
  core_.poll_sends();
  const bool is_resting = step_ == Step::resting;
  const bool has_room = is_ready_ && !ring_->free_slots.empty();
  const bool waits_for_time = core_.is_open() && is_resting && has_room;
  set_timer(timer_.get(), waits_for_time ? std::max<std::int64_t>(next_poll_ns_, 1) : 0);
  const bool goes_on = is_ready_ && core_.is_open() && (is_resting ? may_poll() : has_read());
  return !goes_on && core_.has_no_end_to_report();
}

void RdmaPuller::return_credit(const FrameHeader& header) noexcept {
  const std::scoped_lock lock(core_.mutex());
  if (ring_ && ring_->epoch == header.epoch && ring_->is_held[header.slot]) {
    ring_->is_held[header.slot] = false;
    ring_->free_slots.push_back(header.slot);
    wake();
  }
}

/// A thread that waits for descriptor() may have gone to sleep when no poll was possible.
void RdmaPuller::wake() noexcept {
  if (core_.is_open()) {
    set_timer(timer_.get(), 1);
  }
}

// ---- One poll ----

bool RdmaPuller::may_poll() const noexcept {
  return !ring_->free_slots.empty() && monotonic_ns() >= next_poll_ns_;
}

void RdmaPuller::begin_poll() noexcept {
  next_poll_ns_ = monotonic_ns() + poll_interval_ns_;
  poll_state_ = {};
  poll_state_.slot = ring_->free_slots.back();
  ring_->free_slots.pop_back();
  read_newest();
}

void RdmaPuller::read_newest() noexcept {
  step_ = Step::newest;
  Reads reads;
  reads.add(ring_->pool.directory_address, ring_->pool.directory_key, *cells_, newest_at, newest_cell_bytes);
  post(reads);
}

void RdmaPuller::take_newest() noexcept {
  const auto newest = decode_newest(landed(newest_at, newest_cell_bytes).first<newest_cell_bytes>());
  if (!newest || newest->generation == last_generation_) {
    return rest();
  }
  if (newest->slot >= ring_->pool.slots) {
    return core_.fail(LinkState::broken, "the sender's newest frame is in none of its slots");
  }
  poll_state_.newest = *newest;
  step_ = Step::cell;
  Reads reads;
  reads.add(ring_->pool.directory_address + directory_cell_offset_bytes(newest->slot), ring_->pool.directory_key,
            *cells_, cell_before_at, directory_cell_bytes);
  post(reads);
}

void RdmaPuller::take_cell() noexcept {
  if (directory_generation(landed(cell_before_at, directory_cell_bytes)) != poll_state_.newest.generation) {
    return discard();
  }
  // An invalid header may have been read while it was written: the second read of the cell tells.
  poll_state_.header_fault = read_header();
  poll_state_.posted_bytes = 0;
  poll_state_.is_whole = false;
  step_ = Step::payload;
}

/// Decodes the header that was read first. Returns the fault, or null.
const char* RdmaPuller::read_header() noexcept {
  // Copied to private memory: over iWARP the sender's device could write into cells_.
  std::array<std::byte, directory_cell_bytes> cell;
  copy_bytes(landed(cell_before_at, directory_cell_bytes), cell);
  const auto bytes = std::span<const std::byte>(cell).subspan(directory_generation_bytes);
  const auto header_bytes = header_bytes_from_prefix(bytes.first<8>());
  if (!header_bytes || *header_bytes > bytes.size()) {
    return "bytes that are no frame header";
  }
  const HeaderFault fault = decode(bytes.first(*header_bytes), poll_state_.header);
  if (fault != HeaderFault::none) {
    return describe(fault);
  }
  const FrameHeader& header = poll_state_.header;
  const bool is_whole_frame = header.slice_count == 1 && header.slice_bytes == header.layout.size_bytes;
  if (header.epoch != ring_->epoch || !is_whole_frame || header.layout.size_bytes > ring_->slot_bytes) {
    return "a frame header that does not belong to its slot";
  }
  return nullptr;
}

/// Posts READs of the payload, as far as there is room, and last a READ of the cell. A fence orders that one after
/// every payload byte.
void RdmaPuller::read_payload() noexcept {
  const std::uint64_t size_bytes = poll_state_.header_fault == nullptr ? poll_state_.header.layout.size_bytes : 0;
  const std::uint64_t from = ring_->pool.payload_address + poll_state_.newest.slot * ring_->stride_bytes;
  const std::size_t room = std::min<std::size_t>(core_.room(), max_in_post);
  Reads reads;
  while (poll_state_.posted_bytes < size_bytes && reads.count < room) {
    const std::uint64_t bytes =
        std::min(size_bytes - poll_state_.posted_bytes, core_.connection().capabilities().chunk_bytes);
    reads.add(from + poll_state_.posted_bytes, ring_->pool.payload_key, *ring_->slots,
              poll_state_.slot * ring_->stride_bytes + poll_state_.posted_bytes, bytes);
    poll_state_.posted_bytes += bytes;
  }
  if (poll_state_.posted_bytes == size_bytes && reads.count < room) {
    reads
        .add(ring_->pool.directory_address + directory_cell_offset_bytes(poll_state_.newest.slot),
             ring_->pool.directory_key, *cells_, cell_after_at, directory_cell_bytes)
        .send_flags = IBV_SEND_FENCE;
    poll_state_.is_whole = true;
  }
  post(reads);
}

std::optional<IncomingFrame> RdmaPuller::take_payload() noexcept {
  if (!std::ranges::equal(landed(cell_before_at, directory_cell_bytes), landed(cell_after_at, directory_cell_bytes))) {
    discard();
    return std::nullopt;
  }
  if (poll_state_.header_fault != nullptr) {
    core_.fail(LinkState::broken, std::string("the sender shows ") + poll_state_.header_fault);
    return std::nullopt;
  }
  step_ = Step::resting;
  last_generation_ = poll_state_.newest.generation;
  ring_->is_held[poll_state_.slot] = true;
  IncomingFrame frame;
  frame.header = poll_state_.header;
  frame.header.slot = poll_state_.slot;
  set_arrived(frame, ring_->slots->block, poll_state_.slot * ring_->stride_bytes);
  return frame;
}

void RdmaPuller::discard() noexcept {
  ++frames_discarded_;
  if (++poll_state_.tries < max_tries) {
    read_newest();
  } else {
    rest();
  }
}

void RdmaPuller::rest() noexcept {
  step_ = Step::resting;
  ring_->free_slots.push_back(poll_state_.slot);
}

void RdmaPuller::post(Reads& reads) noexcept {
  assert(reads.count > 0);
  reads.requests[reads.count - 1].send_flags |= static_cast<unsigned>(IBV_SEND_SIGNALED);
  core_.post(std::span(reads.requests).first(reads.count));
  awaited_ = core_.sends().posted();
}

std::span<const std::byte> RdmaPuller::landed(std::size_t offset_bytes, std::size_t bytes) const noexcept {
  return cells_->bytes().subspan(offset_bytes, bytes);
}

}  // namespace framewire
