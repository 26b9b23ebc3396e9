// The contract of every link. A new link is complete when it passes this suite.
#include "tests/contract/link_contract.hpp"

#include <deque>

namespace framewire::test {
namespace {

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
    let_pass();
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

/// As a session ends while others of its stream go on.
TEST_P(LinkContract, WhatTheSenderTakesBackIsNotHandedOut) {
  ASSERT_TRUE(try_send(make_frame(1)));
  ASSERT_TRUE(try_send(make_frame(2)));
  const auto held = receive();
  ASSERT_TRUE(held);
  EXPECT_FALSE(pair_.receiver->is_withdrawn());
  const bool is_in_pool = pair_.receiver->kind() == LinkKind::local;
  pair_.sender->withdraw();
  pair_.sender.reset();
  for (std::uint32_t slot = 0; slot < pool_->slot_count(); ++slot) {
    write_test_lines(slot_bytes_of(static_cast<std::uint16_t>(slot)), 99);
  }
  std::uint64_t received = 1;
  EXPECT_TRUE(eventually([&] {
    while (const auto frame = poll()) {
      expect_whole(*frame, ++received);
    }
    return pair_.receiver->state() != LinkState::open;
  }));
  EXPECT_EQ(pair_.receiver->is_withdrawn(), is_in_pool) << "who holds a frame can know that it is not whole any more";
  EXPECT_EQ(pair_.receiver->frames_withdrawn(), is_in_pool ? 1U : 0U);
  if (!is_in_pool) {
    expect_whole(*held, 1);
  }
}

/// As the loop of a session does, which sleeps on the descriptor. After the end nothing is to be done, so it sleeps.
TEST_P(LinkContract, ADescriptorSaysWhenToMaintainAnEndWhosePeerIsGone) {
  const auto sees_end = [](LinkEnd& end) {
    const std::int64_t deadline_ns = monotonic_ns() + timeout_ns;
    while (end.state() == LinkState::open && wait_for(end.maintenance_descriptor(), POLLIN, deadline_ns)) {
      end.maintain();
    }
    EXPECT_NE(end.state(), LinkState::open);
    EXPECT_FALSE(end.fault().empty());
    for (int i = 0; i < 100 && wait_for(end.maintenance_descriptor(), POLLIN, monotonic_ns() + 50 * ns_per_ms); ++i) {
      end.maintain();
    }
    EXPECT_FALSE(wait_for(end.maintenance_descriptor(), POLLIN, monotonic_ns()));
  };
  if (pair_.sender->maintenance_descriptor() < 0) {
    GTEST_SKIP() << "frames and credits tell it the end of its peer";
  }
  pair_.sender.reset();
  sees_end(*pair_.receiver);
  connect();
  pair_.receiver.reset();
  sees_end(*pair_.sender);
}

INSTANTIATE_TEST_SUITE_P(Links, LinkContract, testing::ValuesIn(link_makers()),
                         [](const auto& link) { return link.param.name; });

}  // namespace
}  // namespace framewire::test
