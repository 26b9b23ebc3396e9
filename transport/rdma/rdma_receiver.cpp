#include "transport/rdma/rdma_receiver.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <exception>
#include <utility>

#include "base/bytes.hpp"
#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/text.hpp"
#include "transport/credit_batch.hpp"
#include "transport/rdma/memory_window.hpp"
#include "transport/rdma/write_trial.hpp"
#include "transport/ring_limits.hpp"

namespace framewire {

namespace {

constexpr std::int64_t bind_timeout_ns = 5 * ns_per_s;
constexpr std::int64_t drain_timeout_ns = 100 * ns_per_ms;

}  // namespace

RdmaReceiver::RdmaReceiver(std::unique_ptr<RdmaConnection> connection, bool relaxed_ordering)
    : relaxed_ordering_(relaxed_ordering),
      core_(std::move(connection), "the sender"),
      has_windows_(core_.connection().capabilities().has_windows && can_bind_windows(core_.connection())),
      ring_has_windows_(has_windows_),
      arrived_(core_.connection().capabilities().receive_depth) {
  unsent_credits_.reserve(max_pool_slots);
}

RdmaReceiver::~RdmaReceiver() {
  drain();
  core_.connection().disconnect();
  read_back_.reset();  // before the rings that it reads
}

std::string RdmaReceiver::note() const {
  return ring_has_windows_ && memory().is_host() ? " ring=window" : " ring=registration";
}

/// Waits until the last credits have arrived, because disconnecting flushes requests in flight.
void RdmaReceiver::drain() noexcept {
  const auto has_arrived = [&] {
    send_credits();
    const bool is_done = core_.sends().completed() == core_.sends().posted();
    if (!is_done) {
      core_.post_probe();  // credits are not signalled; the probe's completion covers them
    }
    return is_done;
  };
  core_.await(has_arrived, monotonic_ns() + drain_timeout_ns);
}

LinkDescription RdmaReceiver::begin_epoch(std::uint32_t epoch, std::uint64_t slot_bytes, std::uint32_t ring_slots,
                                          const LinkDescription& /*pool*/) {
  core_.maintain();  // frees the rings of earlier formats that nobody needs: they would count as living
  const Block* in_use = nullptr;
  {
    const std::scoped_lock lock(core_.mutex());
    require_room_for_ring(rings_.size());
    if (!rings_.empty() && rings_.front()->has_frames) {
      in_use = rings_.front()->payload_block().get();
    }
  }
  living_rings_.require_room(slot_bytes, ring_slots, in_use);
  WindowTrial can_bind;
  if (has_windows_) {
    can_bind = [this](const MemoryRegion& memory_region) { return can_bind_window(core_.connection(), memory_region); };
  }
  auto ring = std::make_shared<RdmaRing>(core_.connection().protection_domain(), epoch, slot_bytes, ring_slots,
                                         can_bind, relaxed_ordering_, stop_check(), memory(), closed_ways_);
  const bool is_on_host = ring->payload_block()->host() != nullptr;
  if (const bool has_windows = ring->has_windows();
      is_on_host && ring_has_windows_.exchange(has_windows) && !has_windows) {
    core_.connection().say(LogLevel::info, "the RDMA device " + core_.connection().device_name() +
                                               " opens no memory window over " + format_bytes(slot_bytes * ring_slots) +
                                               ": ring=registration from here on");
  }
  living_rings_.add(ring->payload_block());
  if (!is_on_host) {
    find_open_way(*ring);
    core_.set_access(ring->payload_region());
    prepare_read_back(ring->payload_region());
  }
  bind(*ring);
  RingAccess access = ring->access();
  access.receive_depth = core_.connection().capabilities().receive_depth;
  const std::scoped_lock lock(core_.mutex());
  rings_.push_back(std::move(ring));
  return describe(access);
}

/// Has the ring, which is in a device's memory, registered by the best way by which the RDMA device's writes arrive.
void RdmaReceiver::find_open_way(RdmaRing& ring) {
  for (;;) {
    const std::string why_not = try_writing(core_.connection(), ring.payload_region(), stop_check());
    if (why_not.empty()) {
      return;
    }
    core_.maintain();
    if (!core_.is_open()) {
      throw Error::lost_peer(core_.fault());
    }
    take_next_way(ring, why_not);
  }
}

/// The way that is left is not tried again in this session: a trial may take seconds.
void RdmaReceiver::take_next_way(RdmaRing& ring, const std::string& why_not) {
  const std::string device = "the RDMA device " + core_.connection().device_name();
  const std::string reached = ring.payload_region().reached;
  if (reached.empty()) {  // not registered by ways
    throw Error::failed(device + " does not reach memory of the kind " + std::string(memory().name()) + ": " + why_not +
                        "; take --memory host");
  }
  closed_ways_[ring.payload_region().access.way] = why_not;
  ring.register_again(closed_ways_);
  core_.connection().say(LogLevel::warning, device + " does not reach " + reached + ": " + why_not + "; trying " +
                                                ring.payload_region().access.way);
}

void RdmaReceiver::prepare_read_back(const MemoryRegion& memory_region) {
  if (!memory_region.needs_read_back || read_back_ != nullptr) {
    return;
  }
  auto read_back = std::make_unique<ReadBack>(core_.connection());
  core_.watch(read_back->descriptor());
  const std::scoped_lock lock(core_.mutex());
  read_back_ = std::move(read_back);
}

/// Waits until the windows are bound: their keys are not valid before.
void RdmaReceiver::bind(const RdmaRing& ring) {
  std::vector<ibv_send_wr> requests = ring.bind_requests();
  if (requests.empty()) {
    return;
  }
  std::uint64_t last = 0;
  const auto is_bound = [&] {
    if (last == 0 && core_.room() >= requests.size() && core_.post(requests)) {
      last = core_.sends().posted();
    }
    return last != 0 && core_.sends().completed() >= last;
  };
  if (core_.await(is_bound, monotonic_ns() + bind_timeout_ns, stop_check())) {
    return;
  }
  if (!core_.is_open()) {
    throw Error::lost_peer(core_.fault());
  }
  core_.connection().disconnect();  // so that no window is bound to freed memory; also when this side stops
  throw Error::lost_peer("the RDMA device did not open a memory window in time");
}

/// The send queue may have had no room for credits, and a program that holds all its frames does not poll. One that
/// waits for a frame does not either.
void RdmaReceiver::maintain() noexcept {
  {
    const std::scoped_lock lock(core_.mutex());
    send_credits();
    fail_if_not_read_back();
  }
  core_.maintain();
}

// ---- On the receiving thread ----

std::optional<IncomingFrame> RdmaReceiver::poll() noexcept {
  Rings left;
  const std::scoped_lock lock(core_.mutex());
  ++taken_in_a_row_;
  if (auto frame = pop_visible()) {
    return frame;
  }
  // One completion at a time, so that each frame is delivered at once.
  ibv_wc completion;
  while (!arrived_.full() && ibv_poll_cq(core_.connection().receive_completions(), 1, &completion) == 1) {
    auto arrived = take(completion);
    left.splice(left.end(), left_rings_);
    if (arrived && arrived->read_back == 0 && arrived_.empty()) {
      return std::move(arrived->frame);
    }
    if (arrived) {
      arrived_.push(std::move(*arrived));
    }
  }
  if (auto frame = pop_visible()) {
    return frame;
  }
  taken_in_a_row_ = 0;
  send_credits();
  return std::nullopt;
}

bool RdmaReceiver::arm() noexcept {
  core_.clear_end();
  Rings left;
  const std::scoped_lock lock(core_.mutex());
  core_.connection().take_notifications();
  core_.request_notification();
  if (read_back_ != nullptr) {
    read_back_->take_notifications();
    if (!read_back_->request_notification()) {
      core_.fail(LinkState::lost, "the RDMA device is gone");
    }
  }
  // Completions before the request are not reported.
  receive_completed();
  left.splice(left.end(), left_rings_);
  send_credits();
  return !is_first_visible() && core_.has_no_end_to_report();
}

void RdmaReceiver::receive_completed() noexcept {
  ibv_wc completion;
  while (!arrived_.full() && ibv_poll_cq(core_.connection().receive_completions(), 1, &completion) == 1) {
    if (auto arrived = take(completion)) {
      arrived_.push(std::move(*arrived));
    }
  }
}

/// The slice that a completion announces. Nothing when it announces none, which ends the link, and for a slice that the
/// program does not take.
std::optional<RdmaReceiver::Arrived> RdmaReceiver::take(const ibv_wc& completion) noexcept {
  if (state() == LinkState::broken) {
    return std::nullopt;
  }
  if (completion.status != IBV_WC_SUCCESS) {
    if (completion.status == IBV_WC_WR_FLUSH_ERR) {
      core_.poll_sends();  // flushed only; the send queue has the cause
    }
    core_.fail_by(completion.status);
    return std::nullopt;
  }
  const auto bits = core_.connection().immediate_of(completion);
  if (!bits) {
    core_.fail(LinkState::broken, "the sender sent a message that announces nothing");
    return std::nullopt;
  }
  core_.connection().hold_receive(completion);
  return take_slice(decode_immediate(*bits));
}

std::optional<RdmaReceiver::Arrived> RdmaReceiver::take_slice(const Immediate& immediate) noexcept {
  RdmaRing* const ring = find_ring(immediate.epoch);
  if (ring == nullptr || immediate.slot >= ring->slot_count() || immediate.slice >= ring->cells_per_slot() ||
      !ring->is_lent[immediate.slot]) {
    core_.fail(LinkState::broken, "the sender announced a frame in a slot that it had no credit for");
    return std::nullopt;
  }
  std::optional<Arrived> arrived(std::in_place);
  IncomingFrame& frame = arrived->frame;
  FrameHeader& header = frame.header;
  if (const char* const wrong = read_cell(*ring, immediate, header); wrong != nullptr) {
    core_.fail(LinkState::broken, std::string("the sender sent ") + wrong);
    return std::nullopt;
  }
  frame.is_last = ring->assemblies[header.slot].add(header) != SliceAssembly::Progress::part;
  if (!frame.is_last && !takes_slices()) {
    return std::nullopt;
  }
  ring->is_lent[header.slot] = !frame.is_last;
  const std::uint64_t offset_bytes = header.slot * ring->stride_bytes();
  if (ring->payload_region().needs_read_back) {
    arrived->read_back = read_back_->ask(ring->payload_region(), offset_bytes);
  } else if (!show_writes(*ring)) {
    return std::nullopt;
  }
  set_arrived(frame, ring->payload_block(), offset_bytes);
  return arrived;
}

/// The completion says that the bytes have left the RDMA device. Not every device sees them in its memory by then.
bool RdmaReceiver::show_writes(const RdmaRing& ring) noexcept {
  try {
    ring.payload_block()->make_writes_visible();
    return true;
  } catch (const std::exception& error) {
    core_.fail(LinkState::lost,
               "what the sender wrote to " + ring.payload_region().reached + " cannot be seen there: " + error.what());
    return false;
  }
}

/// The frame that is next in order, if it can be seen.
std::optional<IncomingFrame> RdmaReceiver::pop_visible() noexcept {
  if (!is_first_visible()) {
    return std::nullopt;
  }
  Arrived arrived = arrived_.pop();
  if (arrived.read_back != 0) {
    arrived.frame.received_ns = monotonic_ns();
  }
  return std::move(arrived.frame);
}

/// Once the link has ended nobody comes again for a frame that is not there now, so this waits for it.
bool RdmaReceiver::is_first_visible() noexcept {
  if (arrived_.empty() || arrived_.front().read_back == 0) {
    return !arrived_.empty();
  }
  if (!core_.is_open()) {
    read_back_->settle();
  }
  if (read_back_->has_done(arrived_.front().read_back)) {
    return true;
  }
  fail_if_not_read_back();
  return false;
}

void RdmaReceiver::fail_if_not_read_back() noexcept {
  const char* const fault = read_back_ != nullptr ? read_back_->fault() : nullptr;
  if (fault == nullptr || !core_.is_open()) {
    return;
  }
  // The newest ring may be reached in another way.
  const auto found = std::find_if(rings_.rbegin(), rings_.rend(),
                                  [](const auto& ring) { return ring->payload_region().needs_read_back; });
  const RdmaRing& ring = found != rings_.rend() ? **found : *rings_.back();
  core_.fail(LinkState::lost, "what the sender wrote to " + ring.payload_region().reached +
                                  " cannot be seen there: the RDMA device could not read it back: " + fault);
}

/// Decodes and checks the header. Copies a payload from the cell to its slot. Returns the fault, or null.
const char* RdmaReceiver::read_cell(const RdmaRing& ring, const Immediate& immediate,
                                    FrameHeader& header) const noexcept {
  const auto cell = ring.cell(immediate.slot, immediate.slice);
  // Copied to private memory: the sender may write the cell at any time, even while it is being read.
  std::array<std::byte, max_frame_header_bytes> bytes;
  copy_bytes(cell.first<8>(), bytes);
  const auto header_bytes = header_bytes_from_prefix(std::span(bytes).first<8>());
  if (!header_bytes) {
    return "bytes that are no frame header";
  }
  copy_bytes(cell.subspan(8, *header_bytes - 8), std::span(bytes).subspan(8));
  const HeaderFault header_fault = decode(std::span(bytes).first(*header_bytes), header);
  if (header_fault != HeaderFault::none) {
    return describe(header_fault);
  }
  if (header.epoch != ring.epoch() || header.slot != immediate.slot || header.slice != immediate.slice ||
      header.layout.size_bytes > ring.slot_bytes()) {
    return "a frame header that does not belong to the slot it announced";
  }
  if (const char* const why_not = ring.assemblies[header.slot].why_not(header); why_not != nullptr) {
    return why_not;
  }
  if (header.slice_bytes <= max_payload_in_cell_bytes && ring.payload_block()->host() != nullptr) {
    copy_bytes(cell.subspan(*header_bytes, header.slice_bytes),
               ring.slot(header.slot).subspan(header.slice_offset_bytes));
  }
  return nullptr;
}

RdmaRing* RdmaReceiver::find_ring(std::uint32_t epoch_bits) noexcept {
  if (read_back_ != nullptr && !rings_.empty() && low_epoch_bits(rings_.front()->epoch()) != epoch_bits) {
    read_back_->settle();  // a READ names the ring that is left now
  }
  const auto* const ring =
      leave_earlier(rings_, left_rings_, [&](const auto& one) { return low_epoch_bits(one->epoch()) == epoch_bits; });
  if (ring == nullptr) {
    return nullptr;
  }
  // Only the memory of those without windows must be deregistered before the program has the frame.
  for (auto& earlier : left_rings_) {
    if (earlier->close_windows()) {
      core_.retire(std::move(earlier));
    }
  }
  std::erase(left_rings_, nullptr);
  (*ring)->has_frames = true;
  return ring->get();
}

// ---- Credits ----

void RdmaReceiver::return_credit(const FrameHeader& header) noexcept {
  const std::scoped_lock lock(core_.mutex());
  CreditBatch terms{.held = unsent_credits_.size() + 1,
                    .frame_bytes = header.layout.size_bytes,
                    .more_is_waiting = taken_in_a_row_ > 1};
  for (const auto& ring : rings_) {
    if (ring->epoch() == header.epoch && header.slot < ring->slot_count()) {
      ring->is_lent[header.slot] = true;
      terms.ring_slots = ring->slot_count();
    }
  }
  if (!core_.is_open()) {
    return;
  }
  unsent_credits_.push_back({.epoch = header.epoch, .slot = header.slot, .slice = 0});
  if (!terms.may_wait()) {
    send_credits();
  }
}

/// Posts the receives first: a credit tells the sender that it may announce again. Both happen after a frame has been
/// delivered.
void RdmaReceiver::send_credits() noexcept {
  if (core_.is_open() && !core_.connection().post_held_receives()) {
    core_.fail_by(IBV_WC_WR_FLUSH_ERR);
  }
  std::size_t sent = 0;
  while (sent < unsent_credits_.size() && core_.is_open()) {
    if (core_.room() == 0) {
      core_.poll_sends();
      if (core_.room() == 0) {
        break;  // the next poll or maintain() tries again; a completion of these requests also wakes the receiver
      }
    }
    const std::size_t count = std::min({unsent_credits_.size() - sent, std::size_t{core_.room()}, max_in_post});
    if (!post_credits(std::span(unsent_credits_).subspan(sent, count))) {
      break;
    }
    sent += count;
  }
  unsent_credits_.erase(unsent_credits_.begin(), unsent_credits_.begin() + static_cast<std::ptrdiff_t>(sent));
}

/// Posts all credits in one call. The caller has checked that there is room.
bool RdmaReceiver::post_credits(std::span<const Immediate> credits) noexcept {
  // Not initialised: mostly only one element is used.
  std::array<ibv_send_wr, max_in_post> requests;
  std::array<std::uint32_t, max_in_post> bits;
  std::array<ibv_sge, max_in_post> immediate_sges;
  for (std::size_t i = 0; i < credits.size(); ++i) {
    bits[i] = htonl(encode(credits[i]));
    requests[i] = {};
    requests[i].opcode = IBV_WR_SEND_WITH_IMM;
    requests[i].imm_data = bits[i];
    if (!core_.connection().capabilities().has_immediate) {
      immediate_sges[i] = {.addr = reinterpret_cast<std::uint64_t>(&bits[i]), .length = sizeof bits[i], .lkey = 0};
      requests[i].opcode = IBV_WR_SEND;
      requests[i].send_flags = IBV_SEND_INLINE;
      requests[i].sg_list = &immediate_sges[i];
      requests[i].num_sge = 1;
    }
  }
  return core_.post(std::span(requests).first(credits.size()));
}

}  // namespace framewire
