#include "transport/fake/fake_wire.hpp"

#include <algorithm>
#include <cassert>
#include <deque>
#include <limits>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "base/bytes.hpp"
#include "base/file_descriptor.hpp"

namespace framewire {

/// State shared by both sides. Payload is copied in two halves, at the start and at the end of its transfer time. So a
/// slot that is overwritten too early arrives torn, as on a real network.
class FakeWire::State {
 public:
  State(VirtualClock& clock, const FakeWireOptions& options)
      : clock_(clock), options_(options), random_(options.seed) {}

  struct Ring {
    std::uint64_t slot_bytes = 0;
    std::vector<bool> is_lent;
    std::shared_ptr<HostBlock> block;
    std::span<std::byte> slot(std::uint16_t index) const {
      return block->bytes().subspan(index * slot_bytes, slot_bytes);
    }
  };
  struct OnTheWire {
    std::int64_t due_ns = 0;
    OutgoingFrame frame;
    std::vector<std::byte> first_half;
  };
  struct Credit {
    std::int64_t due_ns = 0;
    FrameHeader header;
  };

  void start(const OutgoingFrame& frame) {
    const std::span<const std::byte> payload = slice_of(frame);
    const auto half = payload.first(payload.size() / 2);
    frames.push_back({later_than(frames.empty() ? 0 : frames.back().due_ns), frame, {half.begin(), half.end()}});
  }
  void start_credit(const FrameHeader& header) {
    credits.push_back({later_than(credits.empty() ? 0 : credits.back().due_ns), header});
    run_due();
  }

  [[nodiscard]] std::int64_t next_event_ns() const noexcept {
    std::int64_t next = std::numeric_limits<std::int64_t>::max();
    if (!frames.empty()) {
      next = std::min(next, frames.front().due_ns);
    }
    if (!credits.empty()) {
      next = std::min(next, credits.front().due_ns);
    }
    return next == std::numeric_limits<std::int64_t>::max() ? -1 : next;
  }

  void run_due() {
    while (!frames.empty() && frames.front().due_ns <= clock_.now_ns()) {
      arrive(frames.front());
      frames.pop_front();
    }
    while (!credits.empty() && credits.front().due_ns <= clock_.now_ns()) {
      credited.push_back(credits.front().header);
      credits.pop_front();
      signal_eventfd(sender_event.get());
    }
  }

  void cut() noexcept {
    link_state = LinkState::lost;
    frames.clear();
    credits.clear();
    signal_eventfd(sender_event.get());
    signal_eventfd(receiver_event.get());
  }

  std::deque<OnTheWire> frames;
  std::deque<Credit> credits;
  std::deque<IncomingFrame> arrived;
  std::deque<FrameHeader> credited;
  std::vector<PoolSlot> released;
  std::map<std::uint32_t, Ring> rings;
  LinkState link_state = LinkState::open;
  std::string fault = "the wire was cut";
  FileDescriptor sender_event = make_eventfd();
  FileDescriptor receiver_event = make_eventfd();

 private:
  static std::span<const std::byte> slice_of(const OutgoingFrame& frame) noexcept {
    return slice_bytes(frame.payload.bytes(), frame.header);
  }

  /// In order: no event overtakes another.
  std::int64_t later_than(std::int64_t earlier_ns) {
    std::uniform_int_distribution<std::int64_t> delay(options_.shortest_delay_ns, options_.longest_delay_ns);
    return std::max(earlier_ns, clock_.now_ns() + delay(random_));
  }

  void arrive(const OnTheWire& on_the_wire) {
    const OutgoingFrame& frame = on_the_wire.frame;
    Ring& ring = rings.at(frame.header.epoch);
    if (!ring.is_lent.at(frame.header.slot)) {
      fault = "the sender sent a frame for a slot that it had no credit for";
      link_state = LinkState::broken;
      return;
    }
    const auto slot = ring.slot(frame.header.slot).first(frame.payload.size_bytes);
    const auto slice = slice_bytes(slot, frame.header);
    const std::size_t half = on_the_wire.first_half.size();
    copy_bytes(on_the_wire.first_half, slice);
    copy_bytes(slice_of(frame).subspan(half), slice.subspan(half));
    arrived.push_back({.header = frame.header,
                       .is_last = frame.is_last,
                       .payload = slot,
                       .received_ns = clock_.now_ns(),
                       .block = ring.block,
                       .offset_in_block_bytes = frame.header.slot * ring.slot_bytes});
    if (frame.is_last) {
      ring.is_lent.at(frame.header.slot) = false;
      released.push_back(frame.pool_slot);
    }
    signal_eventfd(receiver_event.get());
    signal_eventfd(sender_event.get());
  }

  VirtualClock& clock_;
  FakeWireOptions options_;
  std::mt19937_64 random_;
};

namespace {

class FakeSender final : public SenderLink {
 public:
  explicit FakeSender(std::shared_ptr<FakeWire::State> state) : state_(std::move(state)) {}
  ~FakeSender() override { state_->cut(); }

  [[nodiscard]] LinkKind kind() const noexcept override { return LinkKind::tcp; }
  void begin_epoch(std::shared_ptr<Pool> /*pool*/) override {}

  void epoch_ready(std::uint32_t epoch, std::uint32_t ring_slots, const LinkDescription& /*ring*/) noexcept override {
    ready_epoch_ = epoch;
    free_ring_slots_.clear();
    for (std::uint32_t i = ring_slots; i > 0; --i) {
      free_ring_slots_.push_back(static_cast<std::uint16_t>(i - 1));
    }
  }

  SendResult try_send(const OutgoingFrame& frame) noexcept override {
    if (state_->link_state != LinkState::open) {
      return SendResult::closed;
    }
    assert(frame.pool_slot.epoch == ready_epoch_);
    if (frame.is_first) {
      if (free_ring_slots_.empty()) {
        return SendResult::no_credit;
      }
      current_ring_slot_ = free_ring_slots_.back();
      free_ring_slots_.pop_back();
    }
    OutgoingFrame outgoing = frame;
    outgoing.header.slot = current_ring_slot_;
    state_->start(outgoing);
    return SendResult::accepted;
  }

  std::size_t poll_released(std::span<PoolSlot> released) noexcept override {
    for (; !state_->credited.empty(); state_->credited.pop_front()) {
      ++acknowledged_;
      if (state_->credited.front().epoch == ready_epoch_) {
        free_ring_slots_.push_back(state_->credited.front().slot);
      }
    }
    auto& waiting = state_->released;
    const std::size_t count = std::min(released.size(), waiting.size());
    std::copy_n(waiting.begin(), count, released.begin());
    waiting.erase(waiting.begin(), waiting.begin() + static_cast<std::ptrdiff_t>(count));
    return count;
  }

  bool arm() noexcept override { return state_->released.empty() && state_->credited.empty(); }
  [[nodiscard]] int descriptor() const noexcept override { return state_->sender_event.get(); }
  void on_readable() noexcept override { clear_eventfd(state_->sender_event.get()); }
  [[nodiscard]] LinkState state() const noexcept override { return state_->link_state; }
  [[nodiscard]] std::string fault() const override { return state_->fault; }
  [[nodiscard]] std::uint64_t frames_acknowledged() const noexcept override { return acknowledged_; }

 private:
  std::shared_ptr<FakeWire::State> state_;
  std::uint32_t ready_epoch_ = 0;
  std::vector<std::uint16_t> free_ring_slots_;
  std::uint16_t current_ring_slot_ = 0;
  std::uint64_t acknowledged_ = 0;
};

class FakeReceiver final : public ReceiverLink {
 public:
  explicit FakeReceiver(std::shared_ptr<FakeWire::State> state) : state_(std::move(state)) {}
  ~FakeReceiver() override { state_->cut(); }

  [[nodiscard]] LinkKind kind() const noexcept override { return LinkKind::tcp; }

  LinkDescription begin_epoch(std::uint32_t epoch, std::uint64_t slot_bytes, std::uint32_t ring_slots,
                              const LinkDescription& /*pool*/) override {
    state_->rings[epoch] = {slot_bytes, std::vector<bool>(ring_slots, true),
                            HostBlock::create("fake ring", slot_bytes * ring_slots)};
    return {};
  }

  std::optional<IncomingFrame> poll() noexcept override {
    while (!state_->arrived.empty()) {
      IncomingFrame frame = std::move(state_->arrived.front());
      state_->arrived.pop_front();
      if (frame.is_last || takes_slices()) {
        return frame;
      }
    }
    return std::nullopt;
  }

  bool arm() noexcept override {
    clear_eventfd(state_->receiver_event.get());
    return state_->arrived.empty();
  }
  [[nodiscard]] int descriptor() const noexcept override { return state_->receiver_event.get(); }

  void return_credit(const FrameHeader& header) noexcept override {
    if (state_->link_state == LinkState::open) {
      state_->rings.at(header.epoch).is_lent.at(header.slot) = true;
      state_->start_credit(header);
    }
  }

  [[nodiscard]] LinkState state() const noexcept override { return state_->link_state; }
  [[nodiscard]] std::string fault() const override { return state_->fault; }

 private:
  std::shared_ptr<FakeWire::State> state_;
};

}  // namespace

FakeWire::FakeWire(VirtualClock& clock, const FakeWireOptions& options)
    : clock_(clock), state_(std::make_shared<State>(clock, options)) {}
FakeWire::~FakeWire() = default;

std::unique_ptr<SenderLink> FakeWire::take_sender() {
  return std::make_unique<FakeSender>(state_);
}
std::unique_ptr<ReceiverLink> FakeWire::take_receiver() {
  return std::make_unique<FakeReceiver>(state_);
}

std::int64_t FakeWire::next_event_ns() const noexcept {
  return state_->next_event_ns();
}
void FakeWire::run_due() {
  state_->run_due();
}
void FakeWire::cut() noexcept {
  state_->cut();
}

bool FakeWire::step() {
  const std::int64_t next_ns = state_->next_event_ns();
  if (next_ns < 0) {
    return false;
  }
  clock_.advance_to_ns(next_ns);
  state_->run_due();
  return true;
}

}  // namespace framewire
