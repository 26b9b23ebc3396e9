// The contract of every link. A new link is complete when it passes this suite.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <deque>
#include <optional>
#include <thread>
#include <vector>

#include "base/clock.hpp"
#include "base/wait.hpp"
#include "frame/test_pattern.hpp"
#include "tests/base/eventually.hpp"
#include "tests/contract/link_pairs.hpp"
#include "tests/memory/untouchable_memory.hpp"

namespace framewire::test {
namespace {

constexpr std::uint32_t ring_slots = 3;
constexpr std::uint64_t slot_bytes = 100'000;  // not a multiple of a page or a line

class LinkContract : public testing::TestWithParam<LinkMaker> {
 protected:
  void SetUp() override { connect(); }

  void connect() {
    pair_.driving.reset();  // before its receiver
    pair_ = GetParam().make();
    pools_.clear();
    begin_epoch(1, slot_bytes);
  }

  void begin_epoch(std::uint32_t epoch, std::uint64_t bytes, std::uint32_t slots = ring_slots) {
    pool_ = std::make_shared<Pool>(epoch, bytes, 16, false, StopCheck{}, *GetParam().pool_memory);
    pools_.push_back(pool_);
    if (pair_.receiver->takes(*GetParam().ring_memory)) {
      pair_.receiver->set_memory(*GetParam().ring_memory);
    }
    pair_.sender->begin_epoch(pool_);
    const auto access = pair_.receiver->begin_epoch(epoch, bytes, slots, {});
    pair_.sender->epoch_ready(epoch, slots, access);
  }

  /// A slot, as the processor or a device sees it that fills it.
  std::span<std::byte> slot_bytes_of(std::uint16_t index) {
    return pool_->is_on_host() ? pool_->slot(index)
                               : UntouchableMemory::on_device(*pool_->block())
                                     .subspan(index * pool_->stride_bytes(), pool_->slot_bytes());
  }

  /// Does what a stream does for a link that does not take the pool's memory.
  Payload payload_for_link(std::uint16_t index, std::uint64_t bytes) {
    if (pair_.sender->takes(pool_->block()->kind())) {
      return pool_->payload(index, bytes);
    }
    const auto copied =
        pool_->block()->copy_to_host(pool_->host_block(), index * pool_->stride_bytes(), bytes, nullptr);
    EXPECT_TRUE(eventually([&] { return copied->state() == FenceState::done; }));
    return pool_->host_payload(index, bytes);
  }

  static std::span<const std::byte> bytes_of(const IncomingFrame& frame) {
    return frame.block->host() != nullptr ? frame.payload
                                          : UntouchableMemory::on_device(*frame.block)
                                                .subspan(frame.offset_in_block_bytes, frame.header.layout.size_bytes);
  }

  /// A stamped frame in a slot of the pool.
  OutgoingFrame make_frame(std::uint64_t sequence, std::uint64_t bytes = slot_bytes) {
    const auto index = pool_->claim();
    EXPECT_TRUE(index);
    write_test_lines(slot_bytes_of(*index).first(bytes), sequence);
    OutgoingFrame frame{.payload = payload_for_link(*index, bytes), .pool_slot = {pool_->epoch(), *index}};
    frame.header.sequence = sequence;
    frame.header.epoch = pool_->epoch();
    frame.header.layout = bytes_layout(bytes);
    frame.header.slice_bytes = bytes;
    frame.header.user_tag = ~sequence;
    frame.header.has_test_pattern = true;
    return frame;
  }

  /// Does the work of who reads the wire, too.
  std::optional<IncomingFrame> poll() {
    auto frame = pair_.receiver->poll();
    if (!frame && !pair_.driving && pair_.receiver->drive()) {
      frame = pair_.receiver->poll();
    }
    return frame;
  }

  /// Whether somebody who sleeps until there is a frame is woken, in time.
  bool is_woken(std::int64_t deadline_ns) {
    const int wire = pair_.driving ? -1 : pair_.receiver->wire_descriptor();
    return wait_for(wire >= 0 ? wire : pair_.receiver->descriptor(), POLLIN, deadline_ns);
  }

  void poll_released() {
    std::array<PoolSlot, 8> released;
    for (std::size_t count = released.size(); count == released.size();) {
      count = pair_.sender->poll_released(released);
      for (const PoolSlot& slot : std::span(released).first(count)) {
        const auto pool = std::ranges::find(pools_, slot.epoch, [](const auto& p) { return p->epoch(); });
        ASSERT_NE(pool, pools_.end());
        (*pool)->release(slot.index);
        ++released_count_;
      }
    }
  }

  bool try_send(const OutgoingFrame& frame) {
    const bool is_accepted = pair_.sender->try_send(frame) == SendResult::accepted;
    if (const auto waker = pair_.sender->take_waker()) {
      waker->wake();
    }
    return is_accepted;
  }

  /// Waits for the next frame.
  std::optional<IncomingFrame> receive() {
    const std::int64_t deadline_ns = monotonic_ns() + timeout_ns;
    while (monotonic_ns() < deadline_ns) {
      if (auto frame = poll()) {
        return frame;
      }
      serve_sender();
      pair_.let_pass();
    }
    return std::nullopt;
  }

  /// Does the work of the sender's session when the link's descriptor is readable.
  void serve_sender() {
    if (wait_for(pair_.sender->descriptor(), POLLIN, monotonic_ns())) {
      pair_.sender->on_readable();
      poll_released();
    }
  }

  template <typename Condition>
  bool eventually(Condition condition) {
    const std::int64_t deadline_ns = monotonic_ns() + timeout_ns;
    while (monotonic_ns() < deadline_ns) {
      if (condition()) {
        return true;
      }
      pair_.let_pass();
    }
    return false;
  }

  static void expect_whole(const IncomingFrame& frame, std::uint64_t sequence) {
    EXPECT_EQ(frame.header.sequence, sequence);
    EXPECT_EQ(frame.header.user_tag, ~sequence);
    EXPECT_EQ(bytes_of(frame).size(), frame.header.layout.size_bytes);
    EXPECT_FALSE(find_torn_line(bytes_of(frame), sequence)) << "sequence " << sequence;
  }

  std::vector<std::shared_ptr<Pool>> pools_;
  std::shared_ptr<Pool> pool_;
  LinkPair pair_;
  std::uint64_t released_count_ = 0;
};

TEST_P(LinkContract, AFrameArrivesWhole) {
  const OutgoingFrame sent = make_frame(7);
  ASSERT_TRUE(try_send(sent));
  const auto frame = receive();
  ASSERT_TRUE(frame);
  expect_whole(*frame, 7);
  EXPECT_EQ(frame->header.layout, sent.header.layout);
  EXPECT_TRUE(frame->header.has_test_pattern);
  const bool is_on_host = &frame->block->kind() == &host_memory();
  EXPECT_EQ(is_on_host, !frame->payload.empty()) << "only host memory gives bytes";
  EXPECT_EQ(&frame->block->kind(), &pair_.receiver->memory());
}

TEST_P(LinkContract, PayloadsOfAnySize) {
  for (const std::uint64_t bytes : {0UL, 1UL, 63UL, 64UL, 65UL, 4095UL, 4096UL, 4097UL, 65536UL, 99'999UL, 100'000UL}) {
    const OutgoingFrame outgoing = make_frame(bytes, bytes);
    ASSERT_TRUE(eventually([&] {
      poll_released();
      return try_send(outgoing);
    })) << bytes;
    const auto frame = receive();
    ASSERT_TRUE(frame) << bytes;
    expect_whole(*frame, bytes);
    pair_.receiver->return_credit(frame->header);
    ASSERT_TRUE(eventually([&] {
      poll_released();
      return pool_->free_count() == pool_->slot_count();
    }));
  }
}

TEST_P(LinkContract, NoMoreFramesThanCredits) {
  for (std::uint64_t i = 0; i < ring_slots; ++i) {
    ASSERT_TRUE(try_send(make_frame(i)));
  }
  const OutgoingFrame one_more = make_frame(ring_slots);
  EXPECT_EQ(pair_.sender->try_send(one_more), SendResult::no_credit);
  const auto frame = receive();
  ASSERT_TRUE(frame);
  poll_released();
  EXPECT_EQ(pair_.sender->try_send(one_more), SendResult::no_credit) << "a frame that was only looked at is no credit";
  pair_.receiver->return_credit(frame->header);
  EXPECT_TRUE(eventually([&] {
    poll_released();
    return try_send(one_more);
  }));
  for (std::uint64_t i = 1; i <= ring_slots; ++i) {
    const auto next = receive();
    ASSERT_TRUE(next);
    expect_whole(*next, i);
  }
}

TEST_P(LinkContract, ABoundedQueueTellsWhenItTakesTheNextFrame) {
  pair_.sender->bound_send_queue();
  constexpr std::uint64_t count = 200;
  std::uint64_t sent = 0;
  std::uint64_t received = 0;
  std::optional<OutgoingFrame> pending;
  EXPECT_TRUE(eventually([&] {
    if (!pending && sent < count) {
      pending = make_frame(sent);
    }
    if (pending && try_send(*pending)) {
      pending.reset();
      ++sent;
    } else if (!pair_.sender->arm() || wait_for(pair_.sender->descriptor(), POLLIN, monotonic_ns())) {
      pair_.sender->on_readable();
      poll_released();  // only here: a session sleeps until the link wakes it
    }
    while (auto frame = poll()) {
      expect_whole(*frame, received++);
      pair_.receiver->return_credit(frame->header);
    }
    return received == count;
  })) << sent
      << " sent, " << received << " received";
}

TEST_P(LinkContract, ThousandsInOrderAcrossTwoToThe32) {
  constexpr std::uint64_t first = (std::uint64_t{1} << 32) - 1000;
  constexpr std::uint64_t count = 2000;
  std::uint64_t sent = 0;
  std::uint64_t received = 0;
  std::optional<OutgoingFrame> pending;
  ASSERT_TRUE(eventually([&] {
    while (sent < count) {
      if (!pending) {
        pending = make_frame(first + sent, 1 + (sent * 37) % 3000);
      }
      if (!try_send(*pending)) {
        break;
      }
      pending.reset();
      ++sent;
    }
    while (auto frame = poll()) {
      expect_whole(*frame, first + received);
      pair_.receiver->return_credit(frame->header);
      ++received;
    }
    serve_sender();
    poll_released();
    return received == count;
  }));
  EXPECT_TRUE(eventually([&] {
    serve_sender();
    poll_released();
    return pair_.sender->frames_acknowledged() == count && released_count_ == count;
  }));
  EXPECT_EQ(pool_->free_count(), pool_->slot_count());
}

TEST_P(LinkContract, AStalledViewerDelaysNobodyAndLosesNothing) {
  std::deque<std::uint64_t> accepted;
  std::optional<OutgoingFrame> pending;
  for (std::uint64_t i = 0; i < 10; ++i) {
    pending = make_frame(i);
    if (!try_send(*pending)) {
      pool_->release(pending->pool_slot.index);
    } else {
      accepted.push_back(i);
    }
    pair_.let_pass();
    poll_released();
  }
  EXPECT_EQ(accepted.size(), ring_slots);
  for (const std::uint64_t sequence : accepted) {
    const auto frame = receive();
    ASSERT_TRUE(frame);
    expect_whole(*frame, sequence);
    pair_.receiver->return_credit(frame->header);
  }
  EXPECT_TRUE(eventually([&] {
    poll_released();
    return pair_.sender->frames_acknowledged() == ring_slots;
  }));
}

TEST_P(LinkContract, CreditsComeBackInAnyOrder) {
  std::vector<IncomingFrame> held;
  std::uint64_t sequence = 0;
  for (int round = 0; round < 50; ++round) {
    while (held.size() < ring_slots) {
      ASSERT_TRUE(eventually([&] {
        poll_released();
        const OutgoingFrame frame = make_frame(sequence);
        if (try_send(frame)) {
          return true;
        }
        pool_->release(frame.pool_slot.index);
        return false;
      }));
      held.push_back(*receive());
      expect_whole(held.back(), sequence++);
    }
    const auto victim = held.begin() + (round * 7) % static_cast<int>(held.size());
    EXPECT_FALSE(find_torn_line(bytes_of(*victim), victim->header.sequence));
    pair_.receiver->return_credit(victim->header);
    held.erase(victim);
  }
}

TEST_P(LinkContract, EpochsFollowEachOther) {
  ASSERT_TRUE(try_send(make_frame(1)));
  const auto old_frame = receive();
  ASSERT_TRUE(old_frame);
  ASSERT_TRUE(try_send(make_frame(2)));  // in flight while the format changes
  begin_epoch(2, 3 * slot_bytes, 2);
  ASSERT_TRUE(try_send(make_frame(3, 3 * slot_bytes)));
  ASSERT_TRUE(try_send(make_frame(4, 3 * slot_bytes)));
  EXPECT_NE(pair_.sender->try_send(make_frame(5, 3 * slot_bytes)), SendResult::closed);
  const auto second = receive();
  ASSERT_TRUE(second);
  expect_whole(*second, 2);
  EXPECT_EQ(second->header.epoch, 1U);
  const auto third = receive();
  ASSERT_TRUE(third);
  expect_whole(*third, 3);
  EXPECT_EQ(third->header.epoch, 2U);
  expect_whole(*old_frame, 1);  // a held frame keeps its ring alive
  pair_.receiver->return_credit(old_frame->header);
  pair_.receiver->return_credit(second->header);
  pair_.receiver->return_credit(third->header);
  EXPECT_TRUE(eventually([&] {
    poll_released();
    return pair_.sender->frames_acknowledged() == 3;
  }));
  EXPECT_EQ(pair_.sender->state(), LinkState::open);
}

TEST_P(LinkContract, SlicesShareOneSlotAndOneCredit) {
  constexpr std::uint16_t slices = 4;
  for (int round = 0; round < 5; ++round) {
    OutgoingFrame whole = make_frame(static_cast<std::uint64_t>(round));
    for (std::uint16_t i = 0; i < slices; ++i) {
      OutgoingFrame slice = whole;
      slice.header.slice = i;
      slice.header.slice_count = slices;
      slice.header.slice_offset_bytes = i * slot_bytes / slices;
      slice.header.slice_bytes = slot_bytes / slices;
      ASSERT_TRUE(eventually([&] {
        poll_released();
        return try_send(slice);
      }));
    }
    std::optional<IncomingFrame> last;
    for (std::uint16_t i = 0; i < slices; ++i) {
      last = receive();
      ASSERT_TRUE(last);
      EXPECT_EQ(last->header.slice, i);
      if (i + 1 < slices) {
        pair_.receiver->return_credit(last->header);  // only the last slice releases the slot
      }
    }
    expect_whole(*last, static_cast<std::uint64_t>(round));
    pair_.receiver->return_credit(last->header);
  }
  EXPECT_TRUE(eventually([&] {
    poll_released();
    return pair_.sender->frames_acknowledged() == 5;
  }));
}

TEST_P(LinkContract, ADescriptorWakesTheEndThatArmed) {
  ASSERT_TRUE(pair_.receiver->arm());
  EXPECT_FALSE(is_woken(monotonic_ns()));
  ASSERT_TRUE(try_send(make_frame(1)));
  EXPECT_TRUE(eventually([&] {
    serve_sender();
    return is_woken(monotonic_ns() + ns_per_ms);
  }));
  const auto frame = receive();
  ASSERT_TRUE(frame);
  poll_released();
  pair_.sender->on_readable();
  poll_released();
  ASSERT_TRUE(pair_.sender->arm());
  pair_.receiver->return_credit(frame->header);
  EXPECT_TRUE(eventually([&] { return wait_for(pair_.sender->descriptor(), POLLIN, monotonic_ns() + ns_per_ms); }));
  pair_.sender->on_readable();
  poll_released();
  EXPECT_EQ(pair_.sender->frames_acknowledged(), 1U);
}

TEST_P(LinkContract, ArmSaysNoWhenThereIsSomething) {
  ASSERT_TRUE(try_send(make_frame(1)));
  ASSERT_TRUE(eventually([&] {
    serve_sender();
    if (!pair_.driving) {
      pair_.receiver->drive();
    }
    return !pair_.receiver->arm();
  }));
  EXPECT_TRUE(receive());
}

TEST_P(LinkContract, ACutIsNoticedAtEveryStep) {
  for (int step = 0; step < 8; ++step) {
    connect();
    LinkPair& pair = pair_;
    std::vector<IncomingFrame> held;
    const auto act = [&](int action) {
      if (action < 3) {
        ASSERT_TRUE(try_send(make_frame(static_cast<std::uint64_t>(action))));
      } else if (action < 5) {
        held.push_back(*receive());
      } else if (action == 5) {
        pair.receiver->return_credit(held.front().header);
      } else {
        poll_released();
      }
    };
    for (int action = 0; action < step; ++action) {
      act(action);
    }
    pair.cut();
    EXPECT_TRUE(eventually([&] {
      poll_released();
      while (poll()) {
      }
      return pair.sender->state() != LinkState::open && pair.receiver->state() != LinkState::open;
    })) << "step "
        << step;
    EXPECT_FALSE(pair.sender->fault().empty());
    EXPECT_FALSE(pair.receiver->fault().empty());
    for (const IncomingFrame& frame : held) {
      expect_whole(frame, frame.header.sequence);  // a complete frame stays intact
    }
  }
}

TEST_P(LinkContract, EitherEndMayGoFirst) {
  ASSERT_TRUE(try_send(make_frame(1)));
  const auto frame = receive();
  ASSERT_TRUE(frame);
  pair_.driving.reset();
  pair_.receiver.reset();
  expect_whole(*frame, 1);
  EXPECT_TRUE(eventually([&] {
    poll_released();
    return pair_.sender->state() != LinkState::open;
  }));
  connect();
  ASSERT_TRUE(try_send(make_frame(2)));
  pair_.sender.reset();
  EXPECT_TRUE(eventually([&] {
    while (poll()) {
    }
    return pair_.receiver->state() != LinkState::open;
  }));
}

INSTANTIATE_TEST_SUITE_P(Links, LinkContract, testing::ValuesIn(link_makers()),
                         [](const auto& link) { return link.param.name; });

}  // namespace
}  // namespace framewire::test
