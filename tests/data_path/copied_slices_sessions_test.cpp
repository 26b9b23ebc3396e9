// Whole sessions whose frames lie in memory that the processor may not touch, and that leave slice by slice as the
// device copies them to host memory.
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "tests/data_path/any_memory.hpp"

namespace framewire::test {
namespace {

constexpr std::uint16_t slices = 4;

class CopiedInSlices : public AnyMemory {
 protected:
  CopiedInSlices() { slices_ = slices; }

  SubscriberOptions dialling_for_slices() const {
    SubscriberOptions options = dialling(GetParam());
    options.takes_slices = true;
    return options;
  }

  /// The part of a frame that has come last.
  static bool is_torn(const ReceivedFrame& part) {
    const FrameHeader& header = part.header();
    return find_torn_line(slice_bytes(part.payload(), header), header.sequence,
                          header.slice_offset_bytes / test_line_bytes)
        .has_value();
  }
  void expect_counts_add_up() const {
    ASSERT_EQ(reports_.size(), 1U);
    const SubscriberQueueCounts& counts = reports_[0].counts;
    EXPECT_EQ(counts.frames_produced, counts.frames_skipped + counts.frames_sent + counts.frames_aborted);
  }
};

/// The device does nothing by itself: the viewer has a slice whose copy has ended, and no other copy has.
TEST_P(CopiedInSlices, AViewerHasTheFirstSliceBeforeTheLastOneIsCopied) {
  memory_.hold();
  start_sender(GetParam(), Delivery::every, 1, 1, filled_at_once());
  Subscriber viewer(dialling_for_slices(), log_);
  std::optional<ReceivedFrame> part;
  const auto next_part = [&] {
    return eventually([&] {
      part = viewer.next();
      if (!part) {
        viewer.wait(monotonic_ns() + 5 * ns_per_ms);
      }
      return part.has_value();
    });
  };
  ASSERT_TRUE(eventually([&] { return memory_.held() == slices; }));
  for (std::size_t left = slices; left > 0; --left) {
    EXPECT_FALSE(viewer.next());
    memory_.end_held(left - 1);  // the last one first
    ASSERT_TRUE(next_part());
    EXPECT_EQ(part->header().slice, left - 1);
    EXPECT_EQ(part->header().slice_count, slices);
    EXPECT_FALSE(is_torn(*part));
    EXPECT_EQ(part->is_complete(), left == 1);
  }
  EXPECT_FALSE(find_torn_line(part->payload(), part->header().sequence));
  part.reset();
  EXPECT_TRUE(take_all(viewer, host_memory()).empty());
  stop_sender();
  expect_counts_add_up();
  EXPECT_EQ(reports_[0].counts.frames_sent, 1U);
}

TEST_P(CopiedInSlices, EveryFrameComesWholeByOneCopyForAll) {
  constexpr std::uint64_t frames = 100;
  start_sender(GetParam(), Delivery::every, frames, 2, filled_later());
  Subscriber first(dialling(GetParam()), log_);
  Subscriber second(dialling(GetParam()), log_);
  expect_all_at_both(first, host_memory(), second, host_memory(), frames);
  EXPECT_EQ(memory_.copies(), frames * slices);
  EXPECT_TRUE(eventually([&] { return stream_->slots_in_use() == 0; }));
}

TEST_P(CopiedInSlices, NoSliceIsSentBeforeItIsCopied) {
  constexpr std::uint64_t frames = 100;
  start_sender(GetParam(), Delivery::every, frames, 1, filled_later());
  Subscriber viewer(dialling_for_slices(), log_);
  std::uint64_t whole = 0;
  EXPECT_TRUE(eventually([&] {
    while (const auto part = viewer.next()) {
      EXPECT_FALSE(is_torn(*part)) << "slice " << part->header().slice << " of frame " << part->header().sequence;
      whole += part->is_complete() ? 1U : 0U;
    }
    viewer.wait(monotonic_ns() + 5 * ns_per_ms);
    return viewer.status().state == SubscriberState::finished;
  }));
  EXPECT_EQ(whole, frames);
  viewer.close("{}");
}

TEST_P(CopiedInSlices, TheNewestFrameComesUnderLatest) {
  start_sender(GetParam(), Delivery::latest, 300, 1, filled_later());
  Subscriber viewer(dialling(GetParam()), log_);
  const auto taken = take_all(viewer, host_memory());
  ASSERT_FALSE(taken.empty());
  EXPECT_EQ(taken.back(), 299U);
  stop_sender();
  expect_counts_add_up();
  EXPECT_EQ(reports_[0].counts.frames_sent, taken.size());
  EXPECT_EQ(reports_[0].counts.frames_aborted, 0U);
}

TEST_P(CopiedInSlices, ADeviceThatBreaksDownEndsNoSession) {
  constexpr std::uint64_t frames = 100;
  start_sender(GetParam(), Delivery::every, frames, 1, [this](const ClaimedSlot& slot, std::uint64_t sequence) {
    write_test_lines(on_device(slot), sequence);
    if (sequence == frames / 2) {
      memory_.break_down();
    }
    return nullptr;
  });
  Subscriber viewer(dialling(GetParam()), log_);
  const auto taken = take_all(viewer, host_memory());
  EXPECT_TRUE(taken.empty() || taken.back() <= frames / 2);
  EXPECT_TRUE(eventually([&] { return stream_->slots_in_use() == 0; }));
  stop_sender();
  expect_counts_add_up();
  EXPECT_EQ(reports_[0].counts.frames_sent, taken.size());
  EXPECT_EQ(reports_[0].counts.frames_unfilled, frames - taken.size());
  EXPECT_NE(log_.text().find("a frame was skipped"), std::string::npos) << log_.text();
}

/// Half of a frame is on its way. The viewer drops it, and goes on.
TEST_P(CopiedInSlices, AFrameWhoseCopyFailsHalfWayIsDroppedAndCounted) {
  memory_.hold();
  start_sender(GetParam(), Delivery::every, 2, 1, filled_at_once());
  Subscriber viewer(dialling_for_slices(), log_);
  ASSERT_TRUE(eventually([&] { return memory_.held() == 2U * slices; }));
  memory_.end_held(0);
  ASSERT_TRUE(eventually([&] { return viewer.next().has_value(); }));
  memory_.end_held(0, FenceState::failed);
  while (memory_.held() > 0) {
    memory_.end_held(0);
  }
  std::vector<std::uint64_t> whole;
  EXPECT_TRUE(eventually([&] {
    while (const auto part = viewer.next()) {
      if (part->is_complete()) {
        EXPECT_FALSE(find_torn_line(part->payload(), part->header().sequence));
        whole.push_back(part->header().sequence);
      }
    }
    viewer.wait(monotonic_ns() + 5 * ns_per_ms);
    return viewer.status().state == SubscriberState::finished;
  }));
  EXPECT_EQ(whole, std::vector<std::uint64_t>{1});
  viewer.close("{}");
  stop_sender();
  expect_counts_add_up();
  EXPECT_EQ(reports_[0].counts.frames_aborted, 1U);
  EXPECT_EQ(reports_[0].counts.frames_unfilled, 1U);
}

INSTANTIATE_TEST_SUITE_P(Links, CopiedInSlices, testing::Values(LinkKind::local, LinkKind::tcp), link_name);

/// One viewer reads the device's memory, the other a copy of it.
using SharedInSlices = CopiedInSlices;

TEST_P(SharedInSlices, ViewersOfTheDevicesMemoryGetFramesAsEver) {
  constexpr std::uint64_t frames = 100;
  start_sender(LinkKind::local, Delivery::every, frames, 2, filled_later());
  SubscriberOptions with_it = dialling(LinkKind::local);
  with_it.memory = {&memory_};
  Subscriber first(with_it, log_);
  Subscriber second(dialling(LinkKind::local), log_);
  expect_all_at_both(first, memory_, second, host_memory(), frames);
}

INSTANTIATE_TEST_SUITE_P(Local, SharedInSlices, testing::Values(LinkKind::local));

}  // namespace
}  // namespace framewire::test
