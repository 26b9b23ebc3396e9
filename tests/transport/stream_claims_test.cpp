// How sources claim slots and publish them: several at once, by several threads, with deadlines and by a descriptor.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <future>
#include <optional>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/file_descriptor.hpp"
#include "base/wait.hpp"
#include "tests/base/eventually.hpp"
#include "tests/transport/attached_viewer.hpp"
#include "transport/stream.hpp"

namespace framewire::test {
namespace {

const StreamFormat format{.layout = bytes_layout(100), .colour = {}};

/// A viewer that is ready for the stream's newest epoch, and has a credit for every frame.
class ReadyViewer : public AttachedViewer {
 public:
  ReadyViewer(Stream& stream, Delivery delivery) : AttachedViewer(stream, delivery) { EXPECT_TRUE(get_ready()); }

  /// Releases the frames that it has, as a session's thread does.
  void release_all() {
    link.done.insert(link.done.end(), link.sent.begin(), link.sent.end());
    link.sent.clear();
    make_progress();
  }
};

class StreamClaims : public testing::Test {
 protected:
  StreamClaims() { stream_.begin_epoch(format); }

  /// What claim() returns on another thread that waits in it until `act` was called.
  template <typename Act>
  bool claims_after(const Act& act) {
    auto claimed = std::async(std::launch::async, [this] { return stream_.claim().has_value(); });
    EXPECT_EQ(claimed.wait_for(std::chrono::milliseconds(10)), std::future_status::timeout) << "it does not wait";
    act();
    return claimed.get();
  }
  bool publish(ClaimedSlot slot, std::uint64_t tag = 0) { return stream_.publish(std::move(slot), {.user_tag = tag}); }

  Stream stream_{{.name = "test", .delivery = Delivery::latest}};
};

TEST_F(StreamClaims, EndAtTheDeadline) {
  EXPECT_FALSE(stream_.claim({.deadline_ns = monotonic_ns() + ns_per_ms}));
  EXPECT_FALSE(stream_.wait_for_room({.deadline_ns = monotonic_ns() + ns_per_ms}));
  EXPECT_FALSE(stream_.is_stopping());
  const ReadyViewer viewer(stream_, Delivery::latest);
  EXPECT_TRUE(stream_.claim({.deadline_ns = 0})) << "nothing to wait for";
}

TEST_F(StreamClaims, NeedNoViewerOnRequest) {
  auto slot = stream_.claim({.unwatched = true});
  ASSERT_TRUE(slot);
  EXPECT_TRUE(publish(std::move(*slot)));
  EXPECT_EQ(stream_.frames_produced(), 1U);
  EXPECT_EQ(stream_.slots_in_use(), 0U);
}

TEST_F(StreamClaims, AreEndedByWakeOnce) {
  EXPECT_FALSE(claims_after([&] { stream_.wake(); }));
  stream_.wake();
  EXPECT_FALSE(stream_.claim()) << "the next one that would wait";
  std::optional<ReadyViewer> viewer;
  EXPECT_TRUE(claims_after([&] { viewer.emplace(stream_, Delivery::latest); }));
}

TEST_F(StreamClaims, WaitForTheFirstEpoch) {
  Stream empty({.name = "test"});
  EXPECT_FALSE(empty.claim_now());
  EXPECT_FALSE(empty.claim_spare());
  auto claimed = std::async(std::launch::async, [&] { return empty.claim({.unwatched = true}).has_value(); });
  EXPECT_EQ(claimed.wait_for(std::chrono::milliseconds(10)), std::future_status::timeout);
  empty.begin_epoch(format);
  EXPECT_TRUE(claimed.get());
}

TEST_F(StreamClaims, MayBePublishedInAnyOrder) {
  ReadyViewer viewer(stream_, Delivery::latest);
  auto first = stream_.claim();
  auto second = stream_.claim();
  auto third = stream_.claim();
  ASSERT_TRUE(first && second && third);
  EXPECT_TRUE(publish(std::move(*third), 3));
  EXPECT_TRUE(publish(std::move(*first), 1));
  second.reset();  // given up
  const auto& headers = viewer.link.headers;
  ASSERT_EQ(headers.size(), 2U);
  EXPECT_EQ(headers[0].user_tag, 3U);
  EXPECT_EQ(headers[1].user_tag, 1U);
  EXPECT_EQ(headers[1].sequence, headers[0].sequence + 1) << "frames are numbered as they are published";
  viewer.release_all();
  EXPECT_EQ(stream_.slots_in_use(), 0U);
}

TEST_F(StreamClaims, OfAnEarlierEpochCanNoLongerBePublished) {
  ReadyViewer viewer(stream_, Delivery::latest);
  auto slot = stream_.claim();
  auto kept = stream_.claim();
  const std::weak_ptr<HostBlock> block = slot->host_block();
  stream_.begin_epoch(format);
  EXPECT_FALSE(publish(std::move(*slot)));
  EXPECT_FALSE(stream_.publish_and_keep(std::move(*kept), {}));
  slot.reset();
  kept.reset();
  EXPECT_EQ(stream_.frames_dropped_at_source(), 2U);
  EXPECT_EQ(stream_.frames_produced(), 0U);
  EXPECT_TRUE(block.expired()) << "the earlier pool is freed";
}

TEST_F(StreamClaims, CountTowardsTheLimitOfFrames) {
  Stream limited({.name = "test", .max_frames = 3});
  limited.begin_epoch(format);
  const ReadyViewer viewer(limited, Delivery::latest);
  auto first = limited.claim();
  auto second = limited.claim();
  const auto spare = limited.claim_spare();
  auto third = limited.claim();
  ASSERT_TRUE(first && second && spare && third);
  EXPECT_FALSE(limited.claim_now()) << "one of them may come back, or not";
  EXPECT_FALSE(limited.wait_for_room({.deadline_ns = 0}));
  EXPECT_FALSE(limited.is_stopping());
  third.reset();
  EXPECT_TRUE(limited.claim_now());
  EXPECT_TRUE(limited.publish(std::move(*first), {}));
  EXPECT_TRUE(limited.publish(std::move(*second), {}));
  EXPECT_TRUE(limited.publish(std::move(*limited.claim_now()), {}));
  EXPECT_TRUE(limited.is_stopping());
  EXPECT_FALSE(limited.claim()) << "it does not wait";
}

void expect_error(const std::function<void()>& act, const std::string& what) {
  try {
    act();
    ADD_FAILURE() << "no error: " << what;
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find(what), std::string::npos) << error.what();
  }
}

TEST_F(StreamClaims, AreCheckedWhenTheyArePublished) {
  const ReadyViewer viewer(stream_, Delivery::latest);
  const auto publish_with = [&](const FrameInfo& info) { stream_.publish(std::move(*stream_.claim()), info); };
  expect_error([&] { publish_with({.layout = bytes_layout(101)}); }, "a frame of 101 bytes");
  expect_error([&] { publish_with({.file = {.fd = 0}}); }, "only a stream for one viewer");
  Stream other({.name = "other"});
  expect_error([&] { other.publish(std::move(*stream_.claim()), {}); }, "has not given out");
  auto slot = stream_.claim();
  ASSERT_TRUE(publish(std::move(*slot)));
  expect_error([&] { publish(std::move(*slot)); }, "for the second time");
  EXPECT_EQ(stream_.frames_produced(), 1U) << "nothing else counts";
  EXPECT_EQ(stream_.slots_in_use(), 1U) << "the viewer's";
}

TEST(StreamOfOneViewer, OffersFramesInFilesAsSuch) {
  Stream stream({.name = "test", .max_viewers = 1});
  stream.begin_epoch(format);
  const ReadyViewer viewer(stream, Delivery::latest);
  EXPECT_TRUE(stream.publish(std::move(*stream.claim()), {.file = {.fd = 7}}));
  EXPECT_TRUE(stream.publish(std::move(*stream.claim()), {}));
  EXPECT_EQ(viewer.link.files, (std::vector<int>{7, -1}));
}

TEST(StreamOptionsTest, OutOfRangeAreRefused) {
  expect_error([] { const Stream stream({.max_viewers = max_stream_viewers + 1}); }, "65 viewers");
  Stream stream({.name = "test"});
  expect_error([&] { stream.begin_epoch(format, 99); }, "a slot of 99 bytes");
  expect_error([&] { stream.begin_epoch(format, 0, max_extra_slots + 1); }, "25 slots");
}

/// A header has no room for so many planes.
TEST(StreamLayouts, ThatNoViewerTakesAreRefused) {
  Stream stream({.name = "test"});
  StreamFormat wrong{.layout = packed_layout(PixelFormat::rgba, 4, 4), .colour = {}};
  wrong.layout.plane_count = 9;
  expect_error([&] { stream.begin_epoch(wrong); }, "has 1 planes, not 9");
  wrong.layout = bytes_layout(100);
  wrong.layout.plane_count = 1;
  expect_error([&] { stream.begin_epoch(wrong); }, "bytes has no planes");
  stream.begin_epoch(format);
  const FrameInfo info{.layout = wrong.layout};
  expect_error([&] { stream.publish(std::move(*stream.claim({.unwatched = true})), info); }, "bytes has no planes");
  expect_error([&] { stream.begin_frame(std::move(*stream.claim({.unwatched = true})), info, 2); }, "no planes");
  EXPECT_EQ(stream.slots_in_use(), 0U);
}

// ---- Several threads ----

/// One of several threads that publish frames. It claims up to two at a time, publishes them in any order, and goes on
/// reading one.
void publish_frames(Stream& stream, std::uint64_t count, unsigned seed) {
  std::minstd_rand random(seed);
  std::array<std::optional<ClaimedSlot>, 2> claimed;
  std::optional<KeptSlot> kept;
  for (std::uint64_t published = 0; published < count;) {
    std::optional<ClaimedSlot>& one = claimed.at(random() % 2);
    if (!one) {
      // Who holds a slot must not wait for another one: all threads might.
      const bool may_wait = !claimed[0] && !claimed[1];
      one = may_wait ? stream.claim() : stream.claim_now();
      if (one) {
        one->bytes()[0] = static_cast<std::byte>(seed);
      }
      continue;
    }
    if (kept) {
      EXPECT_EQ(kept->bytes()[0], static_cast<std::byte>(seed)) << "another thread's frame is in a slot that is kept";
      kept.reset();
    }
    kept = stream.publish_and_keep(std::move(*one), {.user_tag = seed});
    one.reset();
    ++published;
  }
}

TEST(SourcesOnSeveralThreads, LoseNothing) {
  constexpr std::uint64_t threads = 4;
  constexpr std::uint64_t frames_each = 300;
  Stream stream({.name = "test", .delivery = Delivery::every});
  stream.begin_epoch(format);
  ReadyViewer viewer(stream, Delivery::every);
  viewer.link.releases_at_once = true;
  std::vector<std::thread> sources;
  for (std::uint64_t number = 1; number <= threads; ++number) {
    sources.emplace_back(publish_frames, std::ref(stream), frames_each, static_cast<unsigned>(number));
  }
  for (std::thread& source : sources) {
    source.join();
  }
  viewer.release_all();
  EXPECT_EQ(stream.slots_in_use(), 0U);
  ASSERT_EQ(viewer.link.headers.size(), threads * frames_each);
  std::array<std::uint64_t, threads + 1> of_thread{};
  for (std::uint64_t i = 0; i < threads * frames_each; ++i) {
    EXPECT_EQ(viewer.link.headers[i].sequence, i);
    ++of_thread.at(viewer.link.headers[i].user_tag);
  }
  EXPECT_TRUE(std::all_of(of_thread.begin() + 1, of_thread.end(), [](auto count) { return count == frames_each; }));
}

/// A claim that sleeps beside others, which poll the links in its place. No session wakes it here.
class SleepingClaim : public StreamClaims {
 protected:
  SleepingClaim() {
    while (auto slot = stream_.claim_now()) {
      publish(std::move(*slot));
    }
    sleeper_ = std::async(std::launch::async, [this] { return stream_.claim().has_value(); });
    EXPECT_TRUE(eventually([&] { return viewer_.link.is_armed.load(); }));
  }
  ~SleepingClaim() override {
    stream_.stop();
    if (sleeper_.valid()) {
      sleeper_.wait();
    }
  }

  void return_slots(std::size_t count) {
    std::vector<PoolSlot>& sent = viewer_.link.sent;
    viewer_.link.done.assign(sent.end() - static_cast<std::ptrdiff_t>(count), sent.end());
    sent.resize(sent.size() - count);
  }
  bool wakes() {
    return sleeper_.wait_for(std::chrono::nanoseconds(timeout_ns)) == std::future_status::ready && sleeper_.get();
  }

  ReadyViewer viewer_{stream_, Delivery::latest};
  std::future<bool> sleeper_;
};

TEST_F(SleepingClaim, IsToldOfRoomThatAnotherOneFindsAndLeaves) {
  return_slots(2);
  const auto slot = stream_.claim_now();
  EXPECT_TRUE(slot);
  EXPECT_TRUE(wakes());
}

TEST_F(SleepingClaim, IsToldOfRoomThatAnotherOneOnlyLooksFor) {
  return_slots(1);
  EXPECT_FALSE(stream_.arm());
  EXPECT_TRUE(wakes());
}

TEST_F(SleepingClaim, StaysOneThatTheLinkWakes) {
  EXPECT_FALSE(stream_.claim_now());
  EXPECT_TRUE(viewer_.link.is_armed);
  EXPECT_FALSE(stream_.claim({.deadline_ns = monotonic_ns() + ns_per_ms}));
  EXPECT_TRUE(viewer_.link.is_armed);
}

// ---- The descriptor ----

class StreamDescriptor : public StreamClaims {
 protected:
  [[nodiscard]] bool is_readable() const { return wait_for(stream_.descriptor(), POLLIN, 0); }
  /// Whether `act` makes the armed descriptor readable, and not before.
  template <typename Act>
  bool is_told(const Act& act) {
    EXPECT_TRUE(stream_.arm());
    EXPECT_FALSE(is_readable());
    act();
    return is_readable();
  }
};

TEST_F(StreamDescriptor, TellsOfViewersRoomAndTheEnd) {
  std::optional<ReadyViewer> viewer;
  EXPECT_TRUE(is_told([&] { viewer.emplace(stream_, Delivery::latest); }));
  EXPECT_FALSE(stream_.arm()) << "there is a viewer, and room";
  EXPECT_FALSE(is_readable()) << "arm() clears it";
  std::vector<ClaimedSlot> all;
  while (auto slot = stream_.claim_now()) {
    all.push_back(std::move(*slot));
  }
  EXPECT_TRUE(is_told([&] { all.pop_back(); }));
  EXPECT_TRUE(stream_.claim_now());
  all.clear();
  while (auto slot = stream_.claim_now()) {
    publish(std::move(*slot));
  }
  EXPECT_TRUE(is_told([&] { viewer->release_all(); })) << "the viewer's session returns slots";
  viewer.reset();
  EXPECT_FALSE(stream_.arm({.unwatched = true}));
  EXPECT_TRUE(is_told([&] { stream_.stop(); }));
  EXPECT_FALSE(stream_.arm());
}

TEST_F(StreamDescriptor, TellsOfWake) {
  EXPECT_TRUE(is_told([&] { stream_.wake(); }));
  EXPECT_FALSE(stream_.arm()) << "no claim() has returned for it yet";
  EXPECT_FALSE(stream_.claim());
  EXPECT_TRUE(is_told([&] { stream_.wake(); }));
}

TEST_F(StreamDescriptor, StaysOneThatTheLinkRaisesWhileAnotherClaims) {
  const ReadyViewer viewer(stream_, Delivery::latest);
  while (auto slot = stream_.claim_now()) {
    publish(std::move(*slot));
  }
  ASSERT_TRUE(stream_.arm());
  EXPECT_FALSE(stream_.claim_now());
  EXPECT_TRUE(viewer.link.is_armed);
}

TEST_F(StreamDescriptor, SaysNothingUnlessArmed) {
  const ReadyViewer viewer(stream_, Delivery::latest);
  EXPECT_FALSE(is_readable());
}

TEST(StreamDescriptorOfALimitedStream, TellsOfTheLimitOfTime) {
  Stream stream({.name = "test", .max_duration_ns = 200 * ns_per_ms});
  stream.begin_epoch(format);
  EXPECT_TRUE(stream.publish(std::move(*stream.claim({.unwatched = true})), {}));
  if (stream.arm()) {  // else the time is over already
    EXPECT_TRUE(wait_for(stream.descriptor(), POLLIN, monotonic_ns() + timeout_ns));
  }
  EXPECT_TRUE(stream.is_stopping());
}

TEST(OneInFlight, WaitsForTheLinkOfAViewerThatLeaves) {
  Stream stream({.name = "test", .delivery = Delivery::every, .one_in_flight = true});
  stream.begin_epoch(format);
  ReadyViewer stays(stream, Delivery::every);
  ReadyViewer leaves(stream, Delivery::every);
  stream.publish(*stream.claim_now(), {});
  stays.link.acknowledged = 1;
  stays.release_all();
  stream.detach(leaves.queue);
  EXPECT_FALSE(stream.claim_now()) << "its link still reads the frame";
  stream.release_held(leaves.queue);
  EXPECT_TRUE(stream.claim_now());
}

}  // namespace
}  // namespace framewire::test
