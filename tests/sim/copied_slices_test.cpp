// Frames in a device's memory, whose slices leave over links that read host memory while the device copies the next.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/file_descriptor.hpp"
#include "frame/test_pattern.hpp"
#include "tests/base/eventually.hpp"
#include "tests/memory/untouchable_memory.hpp"
#include "tests/transport/slice_viewer.hpp"
#include "transport/slice_count.hpp"
#include "transport/stream.hpp"

namespace framewire::test {
namespace {

constexpr std::uint64_t copied_bytes = std::uint64_t{10} * 4096;
constexpr std::uint16_t copied_slices = 4;
const StreamFormat copied_format{.layout = bytes_layout(copied_bytes), .colour = {}};

/// Of a stream whose device does nothing before the test says so.
class CopiedSlices : public testing::Test {
 protected:
  CopiedSlices() {
    memory_.hold();
    stream_.begin_epoch(copied_format);
  }

  /// The device has filled the frame, or fills it until `ready` is finished. Its slices wait for it in their order.
  std::uint64_t publish(std::shared_ptr<Fence> ready = nullptr) {
    auto slot = stream_.claim({.unwatched = true});
    const std::uint64_t sequence = slot->next_sequence();
    write_test_lines(UntouchableMemory::on_device(*slot->block()).subspan(slot->offset_in_block_bytes(), copied_bytes),
                     sequence);
    EXPECT_TRUE(stream_.publish(
        std::move(*slot), {.has_test_pattern = true, .layout = {}, .is_on_device = true, .ready = std::move(ready)}));
    return sequence;
  }

  /// The copy at `index`, the oldest being 0, ends, and the sessions do what they are woken for.
  void end_copy(std::size_t index, std::optional<FenceState> state = std::nullopt) {
    ASSERT_LT(index, memory_.held());
    memory_.end_held(index, state);
    serve();
  }
  void end_all() {
    while (memory_.held() > 0) {
      end_copy(0);
    }
  }
  void serve() {
    for (SliceViewer* viewer : served_) {
      viewer->make_progress();
    }
  }

  /// Host memory is poisoned until a copy has ended: nothing leaves before that.
  static void expect_whole_slices(const SliceViewer& viewer) {
    for (std::size_t i = 0; i < viewer.link.headers.size(); ++i) {
      const FrameHeader& header = viewer.link.headers[i];
      const auto bytes = viewer.link.payloads[i].bytes().subspan(header.slice_offset_bytes, header.slice_bytes);
      EXPECT_FALSE(find_torn_line(bytes, header.sequence, header.slice_offset_bytes / test_line_bytes))
          << "slice " << header.slice << " of frame " << header.sequence;
    }
  }
  static void expect_counts_add_up(const SliceViewer& viewer) {
    const SubscriberQueueCounts& counts = viewer.queue.counts;
    EXPECT_EQ(counts.frames_produced, counts.frames_skipped + counts.frames_sent + counts.frames_aborted);
  }

  UntouchableMemory memory_;
  Stream stream_{{.name = "test", .delivery = Delivery::latest, .memory = &memory_, .slices = copied_slices}};
  std::vector<SliceViewer*> served_;
};

TEST_F(CopiedSlices, LeaveWhileTheDeviceCopiesTheOthers) {
  SliceViewer viewer(stream_, Delivery::latest, true);
  served_ = {&viewer};
  const std::uint64_t sequence = publish();
  EXPECT_EQ(memory_.held(), copied_slices);
  serve();
  EXPECT_EQ(viewer.got(), SliceNumbers{}) << "nothing is there yet";
  clear_eventfd(viewer.event->get());
  memory_.end_held(0);
  EXPECT_TRUE(clear_eventfd(viewer.event->get())) << "the session is told";
  serve();
  EXPECT_EQ(viewer.got(), SliceNumbers{0});
  expect_whole_slices(viewer);
  end_copy(2);
  end_copy(0);
  EXPECT_EQ(viewer.got(), (SliceNumbers{0, 3, 1}));
  EXPECT_EQ(viewer.queue.counts.frames_sent, 0U);
  end_copy(0);
  EXPECT_EQ(viewer.got(), (SliceNumbers{0, 3, 1, 2}));
  expect_whole_slices(viewer);
  EXPECT_EQ(viewer.queue.counts.frames_sent, 1U);
  EXPECT_EQ(viewer.queue.counts.bytes_sent, copied_bytes);
  EXPECT_EQ(viewer.queue.counts.frames_unfilled, 0U);
  for (const FrameHeader& header : viewer.link.headers) {
    EXPECT_EQ(header.sequence, sequence);
    EXPECT_EQ(header.times.completed_ns != 0, header.slice == 2) << "only the last one knows";
  }
  EXPECT_EQ(stream_.slots_in_use(), 1U);
  viewer.release_all();
  EXPECT_EQ(stream_.slots_in_use(), 0U);
}

TEST_F(CopiedSlices, ViewersWithoutThemGetTheFrameWholeOnceAllIsCopied) {
  SliceViewer with(stream_, Delivery::latest, true);
  SliceViewer without(stream_, Delivery::latest, false);
  SliceViewer limited(stream_, Delivery::latest, true);
  limited.link.limit = copied_slices - 1;
  served_ = {&with, &without, &limited};
  publish();
  for (int i = 0; i < copied_slices; ++i) {
    EXPECT_EQ(without.got(), SliceNumbers{});
    EXPECT_EQ(limited.got(), SliceNumbers{});
    end_copy(0);
  }
  EXPECT_EQ(with.got(), (SliceNumbers{0, 1, 2, 3}));
  EXPECT_EQ(without.got(), SliceNumbers{-1});
  EXPECT_EQ(limited.got(), SliceNumbers{-1});
  EXPECT_GT(without.link.headers[0].times.completed_ns, 0);
  expect_whole_slices(without);
  EXPECT_EQ(memory_.copies(), copied_slices) << "one for all viewers";
}

TEST_F(CopiedSlices, ThereAreNoneWhereNobodyTakesThem) {
  SliceViewer viewer(stream_, Delivery::latest, false);
  served_ = {&viewer};
  publish();
  EXPECT_EQ(memory_.copies(), 1U);
  end_all();
  EXPECT_EQ(viewer.got(), SliceNumbers{-1});
  expect_whole_slices(viewer);
}

TEST_F(CopiedSlices, LinksThatReadTheDevicesMemoryDoNotWaitForThem) {
  SliceViewer of_block(stream_, Delivery::latest, true, true);
  SliceViewer of_host(stream_, Delivery::latest, true);
  served_ = {&of_block, &of_host};
  publish();
  EXPECT_EQ(of_block.got(), SliceNumbers{-1});
  EXPECT_FALSE(of_block.link.payloads[0].is_on_host());
  end_copy(1, FenceState::failed);
  end_copy(0);
  EXPECT_EQ(of_host.got(), SliceNumbers{});
  EXPECT_EQ(of_block.queue.counts.frames_skipped, 0U);
  EXPECT_EQ(of_host.queue.counts.frames_unfilled, 1U);
  end_all();
  publish();
  end_all();
  EXPECT_EQ(of_host.got(), (SliceNumbers{0, 1, 2, 3}));
  EXPECT_EQ(of_block.got(), (SliceNumbers{-1, -1}));
}

TEST_F(CopiedSlices, ASliceThatFailsEndsTheFrameWhereItWasBegun) {
  SliceViewer viewer(stream_, Delivery::every, true);
  SliceViewer whole(stream_, Delivery::every, false);
  served_ = {&viewer, &whole};
  publish();
  end_copy(1);
  end_copy(1, FenceState::failed);
  EXPECT_EQ(viewer.got(), (SliceNumbers{1, -2}));
  EXPECT_EQ(viewer.link.headers.back().slice_bytes, 0U);
  EXPECT_NE(viewer.link.headers.back().slice, 1) << "some links have a place for each slice";
  EXPECT_EQ(whole.got(), SliceNumbers{});
  EXPECT_EQ(viewer.queue.counts.frames_aborted, 1U);
  EXPECT_EQ(viewer.queue.counts.frames_unfilled, 1U);
  EXPECT_EQ(whole.queue.counts.frames_skipped, 1U);
  EXPECT_EQ(whole.queue.counts.frames_unfilled, 1U);
  viewer.release_all();
  EXPECT_EQ(stream_.slots_in_use(), 1U) << "the device still writes there";
  end_copy(0);
  EXPECT_EQ(stream_.slots_in_use(), 1U);
  end_copy(0);
  EXPECT_EQ(stream_.slots_in_use(), 0U);
  publish();
  end_all();
  EXPECT_EQ(viewer.got(), (SliceNumbers{1, -2, 0, 1, 2, 3}));
  EXPECT_EQ(whole.got(), SliceNumbers{-1});
  expect_counts_add_up(viewer);
  expect_counts_add_up(whole);
}

TEST_F(CopiedSlices, AFrameThatFailsBeforeItWasBegunIsSkipped) {
  SliceViewer viewer(stream_, Delivery::every, true);
  served_ = {&viewer};
  publish();
  end_copy(0, FenceState::failed);
  end_all();
  EXPECT_EQ(viewer.got(), SliceNumbers{});
  EXPECT_EQ(viewer.queue.counts.frames_skipped, 1U);
  EXPECT_EQ(viewer.queue.counts.frames_unfilled, 1U);
  EXPECT_EQ(viewer.queue.counts.frames_aborted, 0U);
  EXPECT_EQ(stream_.slots_in_use(), 0U);
}

TEST_F(CopiedSlices, ACopyThatCannotBeginFailsTheFrame) {
  SliceViewer viewer(stream_, Delivery::every, true);
  served_ = {&viewer};
  memory_.refuse_copies(2);
  publish();
  serve();
  EXPECT_EQ(memory_.held(), 2U) << "the others are not tried";
  EXPECT_EQ(viewer.got(), SliceNumbers{});
  EXPECT_EQ(viewer.queue.counts.frames_unfilled, 1U);
  EXPECT_EQ(stream_.slots_in_use(), 1U) << "the device writes there";
  end_all();
  EXPECT_EQ(viewer.got(), SliceNumbers{});
  EXPECT_EQ(stream_.slots_in_use(), 0U);
  memory_.refuse_copies(0);
  clear_eventfd(viewer.event->get());
  publish();
  EXPECT_TRUE(clear_eventfd(viewer.event->get())) << "the session is told, though no copy will end";
  serve();
  EXPECT_EQ(viewer.queue.counts.frames_unfilled, 2U);
  EXPECT_EQ(stream_.slots_in_use(), 0U);
}

TEST_F(CopiedSlices, ADeviceThatStopsWithinAFrameEndsIt) {
  SliceViewer viewer(stream_, Delivery::every, true);
  SliceViewer whole(stream_, Delivery::every, false);
  served_ = {&viewer};
  publish();
  end_copy(0);
  EXPECT_TRUE(eventually([&] {
    serve();
    return viewer.got() == SliceNumbers{0, -2};
  }));
  EXPECT_EQ(viewer.queue.counts.frames_aborted, 1U);
  EXPECT_EQ(viewer.queue.counts.frames_unfilled, 1U);
  viewer.release_all();
  EXPECT_EQ(stream_.slots_in_use(), 1U) << "the device may still write this one";
  end_all();
  whole.make_progress();
  EXPECT_EQ(viewer.got(), (SliceNumbers{0, -2})) << "too late";
  EXPECT_EQ(whole.got(), SliceNumbers{}) << "a frame that was given up stays so";
  EXPECT_EQ(whole.queue.counts.frames_unfilled, 1U);
  EXPECT_EQ(stream_.slots_in_use(), 0U);
}

TEST_F(CopiedSlices, TheSourcesDeviceFillsTheFrameFirst) {
  SliceViewer viewer(stream_, Delivery::every, true);
  served_ = {&viewer};
  const auto filled = std::make_shared<Fence>();
  publish(filled);
  EXPECT_EQ(memory_.held(), 0U);
  filled->finish(FenceState::done);
  EXPECT_EQ(memory_.held(), copied_slices);
  end_all();
  EXPECT_EQ(viewer.got(), (SliceNumbers{0, 1, 2, 3}));
  const auto broken = std::make_shared<Fence>();
  publish(broken);
  broken->finish(FenceState::failed);
  end_all();
  EXPECT_EQ(viewer.got(), (SliceNumbers{0, 1, 2, 3}));
  EXPECT_EQ(viewer.queue.counts.frames_unfilled, 1U);
}

TEST_F(CopiedSlices, AFrameThatIsNotCopiedReplacesNone) {
  SliceViewer viewer(stream_, Delivery::latest, true);
  served_ = {&viewer};
  viewer.link.credits = 0;
  const std::uint64_t first = publish();
  end_all();
  publish();
  end_copy(0);
  viewer.link.credits = 1;
  serve();
  EXPECT_EQ(viewer.got(), (SliceNumbers{0, 1, 2, 3})) << "there is a credit for one";
  EXPECT_EQ(viewer.link.headers.back().sequence, first);
  expect_whole_slices(viewer);
}

TEST_F(CopiedSlices, TheNewestThatIsCopiedReplacesAllBeforeIt) {
  SliceViewer viewer(stream_, Delivery::latest, true);
  served_ = {&viewer};
  publish();
  end_all();
  viewer.link.credits = 0;
  publish();
  end_copy(0);  // a slice of it could go, if there were a credit
  publish();    // none of this one could
  const std::uint64_t newest = publish();
  for (int i = 0; i < copied_slices; ++i) {
    end_copy(memory_.held() - 1);
  }
  viewer.link.credits = 2;
  serve();
  EXPECT_EQ(viewer.link.headers.back().sequence, newest);
  EXPECT_EQ(viewer.got(), (SliceNumbers{0, 1, 2, 3, 0, 1, 2, 3}));
  EXPECT_EQ(viewer.queue.counts.frames_skipped, 2U);
  viewer.release_all();
  EXPECT_EQ(stream_.slots_in_use(), 2U) << "the device still writes two";
  end_all();
  EXPECT_EQ(viewer.link.headers.back().sequence, newest) << "the others come too late";
  EXPECT_EQ(stream_.slots_in_use(), 0U);
  EXPECT_EQ(viewer.queue.counts.frames_unfilled, 0U);
  expect_counts_add_up(viewer);
  expect_whole_slices(viewer);
}

/// Its device copies the second frame first. Nothing is begun that is not there.
TEST_F(CopiedSlices, AFrameOfWhichNothingIsCopiedIsNotBegun) {
  SliceViewer viewer(stream_, Delivery::latest, true);
  served_ = {&viewer};
  publish();
  const std::uint64_t second = publish();
  for (int i = 0; i < copied_slices; ++i) {
    end_copy(copied_slices);
  }
  EXPECT_EQ(viewer.got(), (SliceNumbers{0, 1, 2, 3}));
  EXPECT_EQ(viewer.link.headers.front().sequence, second);
  end_all();
  EXPECT_EQ(viewer.got().size(), copied_slices);
}

TEST_F(CopiedSlices, AFrameThatWasBegunOnALinkIsFinished) {
  SliceViewer viewer(stream_, Delivery::latest, true);
  served_ = {&viewer};
  const std::uint64_t first = publish();
  end_copy(0);
  const std::uint64_t second = publish();
  for (int i = 0; i < copied_slices; ++i) {
    end_copy(copied_slices - 1);
  }
  EXPECT_EQ(viewer.got(), SliceNumbers{0}) << "frames do not mix";
  end_all();
  EXPECT_EQ(viewer.got(), (SliceNumbers{0, 1, 2, 3, 0, 1, 2, 3}));
  EXPECT_EQ(viewer.link.headers[3].sequence, first);
  EXPECT_EQ(viewer.link.headers[4].sequence, second);
  expect_whole_slices(viewer);
}

TEST_F(CopiedSlices, ANewFormatWaitsForTheFrameThatWasBegun) {
  SliceViewer viewer(stream_, Delivery::latest, true);
  served_ = {&viewer};
  publish();
  end_copy(0);
  stream_.begin_epoch({.layout = bytes_layout(2 * copied_bytes), .colour = {}});
  EXPECT_FALSE(viewer.get_ready());
  end_all();
  EXPECT_EQ(viewer.got(), (SliceNumbers{0, 1, 2, 3}));
  EXPECT_TRUE(viewer.get_ready());
  publish();
  end_all();
  EXPECT_EQ(viewer.link.headers.back().epoch, 2U);
}

TEST_F(CopiedSlices, ASessionThatEndsInAFrameCountsItAsSkipped) {
  SliceViewer viewer(stream_, Delivery::latest, true);
  publish();
  memory_.end_held(0);
  viewer.make_progress();
  EXPECT_EQ(viewer.got(), SliceNumbers{0});
  viewer.leave();
  EXPECT_EQ(viewer.queue.counts.frames_skipped, 1U);
  EXPECT_EQ(stream_.slots_in_use(), 1U) << "the device still writes there";
  end_all();
  EXPECT_EQ(stream_.slots_in_use(), 0U);
}

TEST_F(CopiedSlices, AStreamThatEndsIsDrainedWithTheLastOne) {
  SliceViewer viewer(stream_, Delivery::latest, true);
  served_ = {&viewer};
  publish();
  end_copy(0);
  stream_.stop();
  stream_.finish();
  EXPECT_FALSE(stream_.is_drained(viewer.queue));
  end_all();
  EXPECT_TRUE(stream_.is_drained(viewer.queue));
  EXPECT_EQ(viewer.queue.counts.frames_sent, 1U);
}

TEST(CopiedSlicesOfAStream, ThatHasGoneMayEndLater) {
  UntouchableMemory memory;
  memory.hold();
  {
    Stream stream({.name = "test", .memory = &memory, .slices = copied_slices});
    stream.begin_epoch(copied_format);
    SliceViewer viewer(stream, Delivery::latest, true);
    stream.publish(*stream.claim(), {.layout = {}, .is_on_device = true});
    memory.end_held(0);
    viewer.make_progress();
    EXPECT_EQ(viewer.got(), SliceNumbers{0});
  }
  while (memory.held() > 0) {
    memory.end_held(0);
  }
}

TEST(SliceCount, IsByTheSizeUnlessItIsSaid) {
  constexpr std::uint64_t uhd_bytes = 3840ULL * 2160 * 4;
  EXPECT_EQ(slices_of_frame(0, uhd_bytes), 8);
  EXPECT_EQ(slices_of_frame(0, 1280ULL * 720 * 4), 1);
  EXPECT_EQ(slices_of_frame(1, uhd_bytes), 1);
  EXPECT_EQ(slices_of_frame(5, uhd_bytes), 5);
  EXPECT_EQ(slices_of_frame(5, 3 * slice_alignment_bytes), 3);
  EXPECT_EQ(slices_of_frame(0, std::uint64_t{1} << 32), max_slices_of_source);
}

}  // namespace
}  // namespace framewire::test
