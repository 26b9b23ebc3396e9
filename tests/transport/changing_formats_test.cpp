// Sources that change their format faster than viewers get ready for it.
#include <gtest/gtest.h>

#include <poll.h>

#include <cstdint>
#include <optional>
#include <utility>

#include "base/file_descriptor.hpp"
#include "base/wait.hpp"
#include "tests/transport/attached_viewer.hpp"
#include "transport/stream.hpp"

namespace framewire::test {
namespace {

class ChangingFormats : public testing::Test {
 protected:
  ChangingFormats() {
    change_format();
    EXPECT_TRUE(viewer_.get_ready());
  }

  void change_format() { stream_.begin_epoch({.layout = bytes_layout(++frame_bytes_), .colour = {}}); }
  void publish(std::uint64_t tag = 0) {
    auto slot = stream_.claim_now();
    ASSERT_TRUE(slot);
    stream_.publish(std::move(*slot), {.user_tag = tag});
  }
  /// The number of the epoch that the session is to announce.
  std::optional<std::uint32_t> announced() {
    const auto epoch = stream_.epoch_to_announce(viewer_.queue);
    return epoch ? std::optional(epoch->number) : std::nullopt;
  }
  bool get_ready(std::uint32_t epoch) { return stream_.epoch_ready(viewer_.queue, epoch, 64); }
  /// The session does what it was woken for. Returns whether it is to go on at once.
  bool session_is_woken_again() {
    clear_eventfd(viewer_.event->get());
    viewer_.make_progress();
    return wait_for(viewer_.event->get(), POLLIN, 0);
  }

  std::uint64_t frame_bytes_ = 100;
  Stream stream_{{.name = "test", .delivery = Delivery::latest}};
  AttachedViewer viewer_{stream_, Delivery::latest};
};

TEST_F(ChangingFormats, AreAnnouncedOneAtATime) {
  change_format();
  const auto first = announced();
  ASSERT_TRUE(first);
  for (int i = 0; i < 100; ++i) {
    change_format();
    EXPECT_FALSE(announced()) << "a viewer that does not read keeps only one pool";
  }
  EXPECT_TRUE(get_ready(*first));
  const auto next = announced();
  ASSERT_TRUE(next);
  EXPECT_EQ(*next, *first + 100);
  EXPECT_TRUE(get_ready(*next));
  EXPECT_FALSE(announced());
}

TEST_F(ChangingFormats, AreShownNowAndThenHoweverFastTheyChange) {
  constexpr std::uint32_t rounds = 40;
  std::uint64_t tag = 0;
  for (std::uint32_t round = 0; round < rounds; ++round) {
    change_format();
    publish(++tag);
    const auto epoch = announced();
    ASSERT_TRUE(epoch);
    publish(++tag);
    const std::uint64_t newest_of_epoch = tag;
    for (std::uint32_t i = 0; i <= round % 3; ++i) {  // while the viewer gets ready
      change_format();
      publish(++tag);
      publish(++tag);
    }
    EXPECT_FALSE(announced());
    const std::size_t sent_before = viewer_.link.sent.size();
    ASSERT_TRUE(get_ready(*epoch));
    if (viewer_.link.sent.size() != sent_before) {
      EXPECT_EQ(viewer_.link.sent.back().epoch, *epoch);
      EXPECT_EQ(viewer_.link.headers.back().user_tag, newest_of_epoch);
    }
    if (const SubscriberQueueCounts counts = stream_.counts(viewer_.queue); counts.first_frame != 0) {
      EXPECT_EQ(counts.frames_produced, tag - counts.first_frame + 1)
          << "all from the first one on, in round " << round;
    }
  }
  const SubscriberQueueCounts counts = stream_.counts(viewer_.queue);
  EXPECT_GE(counts.frames_sent, rounds / (Stream::most_epochs_missed + 1));
  EXPECT_EQ(counts.frames_produced, counts.frames_sent + counts.frames_skipped + viewer_.queue.waiting.size());
}

TEST_F(ChangingFormats, CountFromTheFirstFrameThatIsSent) {
  constexpr std::uint32_t missed = Stream::most_epochs_missed - 1;  // besides the first one, which had no frame
  for (std::uint32_t i = 0; i < missed; ++i) {
    change_format();
    publish();
    const auto epoch = announced();
    ASSERT_TRUE(epoch);
    change_format();
    publish();
    ASSERT_TRUE(get_ready(*epoch));
    ASSERT_TRUE(viewer_.link.sent.empty());
  }
  change_format();
  publish();
  const auto epoch = announced();
  ASSERT_TRUE(epoch);
  publish();  // takes the place of the one before, which is to be the first
  const std::uint64_t first = 2 * missed + 2;
  for (int i = 0; i < 3; ++i) {
    change_format();
    publish();
  }
  EXPECT_EQ(stream_.counts(viewer_.queue).frames_skipped, 2U) << "two of three behind the one that is kept";
  ASSERT_TRUE(get_ready(*epoch));
  const SubscriberQueueCounts counts = stream_.counts(viewer_.queue);
  EXPECT_EQ(counts.frames_sent, 1U);
  EXPECT_EQ(counts.first_frame, first);
  EXPECT_EQ(counts.frames_produced, 4U);
  EXPECT_EQ(counts.frames_skipped, 2U);
}

TEST_F(ChangingFormats, OnceAreShownInTheirNewestFrame) {
  change_format();
  publish(1);
  const auto epoch = announced();
  ASSERT_TRUE(epoch);
  change_format();
  publish(2);
  ASSERT_TRUE(get_ready(*epoch));
  EXPECT_TRUE(viewer_.link.sent.empty()) << "an older frame would only come late";
  EXPECT_TRUE(viewer_.get_ready());
  ASSERT_EQ(viewer_.link.headers.size(), 1U);
  EXPECT_EQ(viewer_.link.headers[0].user_tag, 2U);
}

TEST_F(ChangingFormats, WakeTheSessionOnlyForWhatItCanDo) {
  change_format();
  publish();
  const auto epoch = announced();
  ASSERT_TRUE(epoch);
  change_format();
  publish();
  EXPECT_FALSE(session_is_woken_again());
  ASSERT_TRUE(get_ready(*epoch));
  EXPECT_TRUE(wait_for(viewer_.event->get(), POLLIN, 0)) << "to announce the next one";
  EXPECT_TRUE(announced());
}

}  // namespace
}  // namespace framewire::test
