// The contract of every link: frames in slices.
#include <random>

#include "tests/contract/link_contract.hpp"

namespace framewire::test {
namespace {

constexpr std::uint16_t slices = 5;

/// Slice `index` of a frame; `is_first` and `is_last` of those that are sent.
OutgoingFrame slice_of(const OutgoingFrame& whole, std::uint16_t index, bool is_first, bool is_last) {
  OutgoingFrame slice = whole;
  slice.header.slice = index;
  slice.header.slice_count = slices;
  const ByteRange range = slice_range(slice.header);
  slice.header.slice_offset_bytes = range.offset_bytes;
  slice.header.slice_bytes = range.size_bytes;
  slice.is_first = is_first;
  slice.is_last = is_last;
  return slice;
}

class LinkSlices : public LinkContract {
 protected:
  /// As a subscriber does whose program takes slices, or not.
  void take_slices(bool takes_slices) {
    pair_.receiver->set_takes_slices(takes_slices);
    begin_epoch(2, slot_bytes);
  }

  void send(const OutgoingFrame& slice) {
    ASSERT_TRUE(eventually([&] {
      poll_released();
      return try_send(slice);
    }));
  }

  /// Sends a frame's slices in a random order, which it returns.
  std::vector<std::uint16_t> send_in_slices(const OutgoingFrame& whole) {
    std::vector<std::uint16_t> order(slices);
    std::ranges::generate(order, [next = std::uint16_t{0}]() mutable { return next++; });
    std::ranges::shuffle(order, random_);
    for (const std::uint16_t index : order) {
      send(slice_of(whole, index, index == order.front(), index == order.back()));
    }
    return order;
  }

  bool has_released(std::uint64_t frames) {
    return eventually([&] {
      serve_sender();
      poll_released();
      return released_count_ == frames && pair_.sender->frames_acknowledged() == frames;
    });
  }

  std::mt19937 random_{1};
};

TEST_P(LinkSlices, ShareOneSlotAndOneCredit) {
  take_slices(true);
  ASSERT_GE(pair_.sender->slice_limit(), slices);
  constexpr std::uint64_t frames = 7;  // more than there are credits
  for (std::uint64_t sequence = 0; sequence < frames; ++sequence) {
    const auto order = send_in_slices(make_frame(sequence));
    std::optional<IncomingFrame> slice;
    for (const std::uint16_t index : order) {
      slice = receive();
      ASSERT_TRUE(slice);
      EXPECT_EQ(slice->header.slice, index);
      EXPECT_EQ(slice->is_last, index == order.back());
      const ByteRange range = slice_range(slice->header);
      EXPECT_FALSE(find_torn_line(bytes_of(*slice).subspan(range.offset_bytes, range.size_bytes), sequence,
                                  range.offset_bytes / test_line_bytes));
    }
    expect_whole(*slice, sequence);
    pair_.receiver->return_credit(slice->header);
  }
  EXPECT_TRUE(has_released(frames));
}

TEST_P(LinkSlices, AreOneFrameForWhoDoesNotTakeThem) {
  take_slices(false);
  for (std::uint64_t sequence = 0; sequence < 7; ++sequence) {
    send_in_slices(make_frame(sequence));
    const auto frame = receive();
    ASSERT_TRUE(frame);
    EXPECT_TRUE(frame->is_last);
    expect_whole(*frame, sequence);
    EXPECT_FALSE(poll());
    pair_.receiver->return_credit(frame->header);
  }
  EXPECT_TRUE(has_released(7));
}

TEST_P(LinkSlices, OfAnAbortedFrameGiveTheSlotBack) {
  take_slices(false);
  for (std::uint64_t sequence = 0; sequence < 7; ++sequence) {
    const OutgoingFrame whole = make_frame(sequence);
    send(slice_of(whole, 3, true, false));
    send(slice_of(whole, 0, false, false));
    OutgoingFrame end = slice_of(whole, 1, false, true);
    end.header.is_aborted = true;
    end.header.slice_offset_bytes = 0;
    end.header.slice_bytes = 0;
    send(end);
    const auto frame = receive();
    ASSERT_TRUE(frame);
    EXPECT_TRUE(frame->is_last);
    EXPECT_TRUE(frame->header.is_aborted);
    pair_.receiver->return_credit(frame->header);
  }
  EXPECT_TRUE(has_released(7));
  send(make_frame(8));
  const auto next = receive();
  ASSERT_TRUE(next);
  expect_whole(*next, 8);
}

TEST_P(LinkSlices, AreFilledWhileTheFirstAreOnTheirWay) {
  take_slices(true);
  if (pair_.sender->takes(pool_->block()->kind())) {
    const OutgoingFrame whole = make_frame(1);
    for (std::uint16_t i = 0; i < slices; ++i) {
      const ByteRange range = slice_range(slot_bytes, slices, i);
      const auto bytes = slot_bytes_of(whole.pool_slot.index).subspan(range.offset_bytes, range.size_bytes);
      std::ranges::fill(slot_bytes_of(whole.pool_slot.index).subspan(range.offset_bytes), std::byte{0});
      write_test_lines(bytes, 1, range.offset_bytes / test_line_bytes);
      send(slice_of(whole, i, i == 0, i + 1 == slices));
      const auto slice = receive();
      ASSERT_TRUE(slice);
      EXPECT_FALSE(find_torn_line(bytes_of(*slice).subspan(range.offset_bytes, range.size_bytes), 1,
                                  range.offset_bytes / test_line_bytes));
      if (slice->is_last) {
        expect_whole(*slice, 1);
      }
    }
  }
}

TEST_P(LinkSlices, GiveTheSlotBackWithTheLastOneOnly) {
  if (GetParam().name == "fake") {
    GTEST_SKIP() << "it believes its viewer";
  }
  take_slices(true);
  send(slice_of(make_frame(1), 0, true, false));
  const auto slice = receive();
  ASSERT_TRUE(slice);
  pair_.receiver->return_credit(slice->header);
  EXPECT_TRUE(eventually([&] {
    serve_sender();
    poll_released();
    return pair_.sender->state() == LinkState::broken;
  }));
  EXPECT_EQ(released_count_, 0U);
}

INSTANTIATE_TEST_SUITE_P(Links, LinkSlices, testing::ValuesIn(link_makers()),
                         [](const auto& link) { return link.param.name; });

}  // namespace
}  // namespace framewire::test
