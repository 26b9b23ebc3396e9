// Frames that a source begins, and that viewers get slice by slice.
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/file_descriptor.hpp"
#include "tests/memory/untouchable_memory.hpp"
#include "tests/transport/slice_viewer.hpp"
#include "transport/stream.hpp"

namespace framewire::test {
namespace {

constexpr std::uint64_t sliced_bytes = std::uint64_t{10} * 4096;
constexpr std::uint16_t slice_number = 4;
const StreamFormat sliced_format{.layout = bytes_layout(sliced_bytes), .colour = {}};

class StreamSlices : public testing::Test {
 protected:
  StreamSlices() { stream_.begin_epoch(sliced_format); }

  std::optional<BegunFrame> begin() {
    return stream_.begin_frame(*stream_.claim({.unwatched = true}), {}, slice_number);
  }
  static void publish_all(BegunFrame&& frame) { publish_all(frame); }
  static void publish_all(BegunFrame& frame) {
    for (std::uint16_t i = 0; i < frame.slice_count(); ++i) {
      frame.publish(i);
    }
  }
  static SubscriberQueueCounts counts_of(const SliceViewer& viewer) { return viewer.queue.counts; }

  Stream stream_{{.name = "test", .delivery = Delivery::latest}};
};

TEST_F(StreamSlices, LeaveOneByOneInTheOrderOfTheSource) {
  SliceViewer viewer(stream_, Delivery::latest, true);
  auto frame = begin();
  ASSERT_TRUE(frame);
  EXPECT_EQ(viewer.got(), SliceNumbers{});
  frame->publish(2);
  EXPECT_EQ(viewer.got(), SliceNumbers{2});
  frame->publish(0);
  frame->publish(3);
  EXPECT_EQ(viewer.got(), (SliceNumbers{2, 0, 3}));
  EXPECT_EQ(counts_of(viewer).frames_sent, 0U);
  frame->publish(1);
  EXPECT_EQ(viewer.got(), (SliceNumbers{2, 0, 3, 1}));
  EXPECT_EQ(counts_of(viewer).frames_sent, 1U);
  EXPECT_EQ(counts_of(viewer).bytes_sent, sliced_bytes);
  std::uint64_t end_bytes = 0;
  for (const FrameHeader& header : viewer.link.headers) {
    EXPECT_EQ(header.sequence, frame->sequence());
    EXPECT_EQ(header.slice_count, slice_number);
    EXPECT_EQ(header.times.completed_ns != 0, header.slice == 1) << "only the last one knows";
    EXPECT_EQ((ByteRange{header.slice_offset_bytes, header.slice_bytes}), frame->slice(header.slice));
    end_bytes += header.slice_bytes;
  }
  EXPECT_EQ(end_bytes, sliced_bytes);
}

TEST_F(StreamSlices, KeepTheSlotUntilSourceAndLinkReleaseIt) {
  SliceViewer viewer(stream_, Delivery::latest, true);
  auto frame = begin();
  publish_all(*frame);
  EXPECT_EQ(stream_.slots_in_use(), 1U);
  frame.reset();
  EXPECT_EQ(stream_.slots_in_use(), 1U);
  viewer.release_all();
  EXPECT_EQ(stream_.slots_in_use(), 0U);
}

TEST_F(StreamSlices, AViewerThatDoesNotTakeThemGetsTheFrameWhole) {
  SliceViewer with(stream_, Delivery::latest, true);
  SliceViewer without(stream_, Delivery::latest, false);
  SliceViewer limited(stream_, Delivery::latest, true);
  limited.link.limit = slice_number - 1;
  auto frame = begin();
  publish_all(*frame);
  EXPECT_EQ(with.got(), (SliceNumbers{0, 1, 2, 3}));
  EXPECT_EQ(without.got(), SliceNumbers{-1});
  EXPECT_EQ(limited.got(), SliceNumbers{-1}) << "the link has no room for so many";
  EXPECT_GT(without.link.headers[0].times.completed_ns, 0);
  EXPECT_EQ(without.link.headers[0].slice_bytes, sliced_bytes);
}

TEST_F(StreamSlices, AFrameThatIsNotCompleteReplacesNone) {
  SliceViewer viewer(stream_, Delivery::latest, true);
  viewer.link.credits = 0;
  auto whole = begin();
  publish_all(*whole);
  auto newer = begin();
  newer->publish(0);
  viewer.link.credits = 1;
  stream_.make_progress(viewer.queue);
  EXPECT_EQ(viewer.link.headers.front().sequence, whole->sequence());
  EXPECT_EQ(viewer.got(), (SliceNumbers{0, 1, 2, 3})) << "there is a credit for one";
  publish_all(*begin());
  auto newest = begin();
  publish_all(*newest);
  viewer.link.credits = 1;
  stream_.make_progress(viewer.queue);
  EXPECT_EQ(viewer.link.headers.back().sequence, newest->sequence());
  EXPECT_EQ(counts_of(viewer).frames_skipped, 2U);
}

TEST_F(StreamSlices, AFrameThatWasBegunOnALinkIsFinished) {
  SliceViewer viewer(stream_, Delivery::latest, true);
  auto begun = begin();
  begun->publish(0);
  auto newer = begin();
  publish_all(*newer);
  EXPECT_EQ(viewer.got(), SliceNumbers{0}) << "frames do not mix";
  for (std::uint16_t i = 1; i < slice_number; ++i) {
    begun->publish(i);
  }
  EXPECT_EQ(viewer.got(), (SliceNumbers{0, 1, 2, 3, 0, 1, 2, 3}));
  EXPECT_EQ(counts_of(viewer).frames_sent, 2U);
}

TEST_F(StreamSlices, AnAbortedFrameIsEndedWhereItWasBegun) {
  SliceViewer viewer(stream_, Delivery::every, true);
  SliceViewer whole(stream_, Delivery::every, false);
  {
    auto frame = begin();
    frame->publish(1);
  }
  EXPECT_EQ(viewer.got(), (SliceNumbers{1, -2}));
  EXPECT_EQ(viewer.link.headers.back().slice_bytes, 0U);
  EXPECT_NE(viewer.link.headers.back().slice, 1) << "some links have a place for each slice";
  EXPECT_EQ(whole.got(), SliceNumbers{});
  viewer.release_all();
  EXPECT_EQ(stream_.slots_in_use(), 0U);
  const SubscriberQueueCounts counts = counts_of(viewer);
  EXPECT_EQ(counts.frames_aborted, 1U);
  EXPECT_EQ(counts.frames_produced, counts.frames_skipped + counts.frames_sent + counts.frames_aborted);
  EXPECT_EQ(counts_of(whole).frames_skipped, 1U);
  auto next = begin();
  publish_all(*next);
  EXPECT_EQ(whole.got(), SliceNumbers{-1});
}

TEST_F(StreamSlices, ASessionThatEndsInAFrameCountsItAsSkipped) {
  SliceViewer viewer(stream_, Delivery::latest, true);
  auto frame = begin();
  frame->publish(0);
  viewer.leave();
  EXPECT_EQ(counts_of(viewer).frames_skipped, 1U);
  publish_all(*begin());
  frame->publish(1);
  frame.reset();
  EXPECT_EQ(stream_.slots_in_use(), 0U);
}

TEST_F(StreamSlices, ANewFormatWaitsForTheFrameThatWasBegun) {
  SliceViewer viewer(stream_, Delivery::latest, true);
  auto frame = begin();
  frame->publish(0);
  stream_.begin_epoch({.layout = bytes_layout(2 * sliced_bytes), .colour = {}});
  EXPECT_FALSE(viewer.get_ready());
  clear_eventfd(viewer.event->get());
  for (std::uint16_t i = 1; i < slice_number; ++i) {
    frame->publish(i);
  }
  EXPECT_TRUE(clear_eventfd(viewer.event->get())) << "the session is told";
  EXPECT_TRUE(viewer.get_ready());
  publish_all(*begin());
  EXPECT_EQ(viewer.link.headers.back().epoch, 2U);
}

TEST_F(StreamSlices, ASlotOfAnEarlierFormatBeginsNoFrame) {
  auto slot = stream_.claim({.unwatched = true});
  stream_.begin_epoch(sliced_format);
  EXPECT_FALSE(stream_.begin_frame(std::move(*slot), {}, slice_number));
  EXPECT_EQ(stream_.frames_dropped_at_source(), 1U);
}

TEST_F(StreamSlices, WrongUseIsAnError) {
  auto frame = begin();
  frame->publish(1);
  EXPECT_THROW(frame->publish(1), Error);
  EXPECT_THROW(frame->publish(slice_number), Error);
  auto slot = stream_.claim({.unwatched = true});
  EXPECT_THROW(stream_.begin_frame(std::move(*slot), {.layout = bytes_layout(2 * sliced_bytes)}, slice_number), Error);
  slot = stream_.claim({.unwatched = true});
  EXPECT_THROW(stream_.begin_frame(std::move(*slot), {.ready = std::make_shared<Fence>()}, slice_number), Error);
  const UntouchableMemory memory;
  Stream elsewhere({.name = "test", .memory = &memory});
  elsewhere.begin_epoch(sliced_format);
  EXPECT_THROW(elsewhere.begin_frame(*elsewhere.claim({.unwatched = true}), {.is_on_device = true}, slice_number),
               Error);
}

TEST_F(StreamSlices, ASmallFrameHasFewer) {
  stream_.begin_epoch({.layout = bytes_layout(5000), .colour = {}});
  SliceViewer viewer(stream_, Delivery::latest, true);
  auto frame = begin();
  EXPECT_EQ(frame->slice_count(), 1);
  frame->publish(0);
  EXPECT_EQ(viewer.got(), SliceNumbers{-1});
}

TEST_F(StreamSlices, FramesThatAreBegunCountForTheLimit) {
  Stream stream({.name = "test", .max_frames = 2});
  stream.begin_epoch(sliced_format);
  auto first = stream.begin_frame(*stream.claim({.unwatched = true}), {}, slice_number);
  auto second = stream.claim({.unwatched = true});
  ASSERT_TRUE(second);
  EXPECT_FALSE(stream.claim({.deadline_ns = 0, .unwatched = true}));
  publish_all(*first);
  EXPECT_EQ(stream.frames_produced(), 1U);
}

}  // namespace
}  // namespace framewire::test
