// Whole sessions whose frames lie in memory that the processor may not touch, and frames that a device has not filled
// yet when they are published.
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/data_path/any_memory.hpp"

namespace framewire::test {
namespace {

/// Over links that read only host memory.
using CopiedMemory = AnyMemory;

TEST_P(CopiedMemory, ViewersWithoutItGetCopiesMadeOnceForAll) {
  constexpr std::uint64_t frames = 100;
  start_sender(GetParam(), Delivery::every, frames, 2, filled_at_once());
  Subscriber first(dialling(GetParam()), log_);
  Subscriber second(dialling(GetParam()), log_);
  expect_all_at_both(first, host_memory(), second, host_memory(), frames);
  EXPECT_EQ(memory_.copies(), frames) << "one copy serves both viewers";
  stop_sender();
  EXPECT_NE(log_.text().find("memory=untouchable>host "), std::string::npos) << log_.text();
  EXPECT_NE(first.status().start_line.find("memory=host "), std::string::npos);
}

TEST_P(CopiedMemory, TheNewestCopyThatIsFinishedReplacesOlderOnes) {
  start_sender(GetParam(), Delivery::latest, 300, 1, filled_at_once());
  Subscriber viewer(dialling(GetParam()), log_);
  const auto taken = take_all(viewer, host_memory());
  ASSERT_FALSE(taken.empty());
  EXPECT_EQ(taken.back(), 299U) << "whatever was skipped, the newest frame came";
  stop_sender();
  ASSERT_EQ(reports_.size(), 1U);
  EXPECT_EQ(reports_[0].counts.frames_produced, reports_[0].counts.frames_skipped + reports_[0].counts.frames_sent);
  EXPECT_EQ(reports_[0].counts.frames_sent, taken.size());
}

TEST_P(AnyMemory, NoFrameIsSentBeforeItsDeviceHasFilledIt) {
  constexpr std::uint64_t frames = 100;
  start_sender(GetParam(), Delivery::every, frames, 1, filled_later());
  Subscriber viewer(dialling(GetParam()), log_);
  EXPECT_EQ(take_all(viewer, host_memory()).size(), frames);
}

TEST_P(AnyMemory, NobodyIsWarnedOfADeviceThatFillsItsFrames) {
  start_sender(GetParam(), Delivery::every, 100, 1, filled_later([](std::uint64_t) { return FenceState::done; }));
  Subscriber viewer(dialling(GetParam()), log_);
  EXPECT_EQ(take_all(viewer, host_memory()).size(), 100U);
  stop_sender();
  EXPECT_EQ(log_.text().find("a frame was skipped"), std::string::npos) << log_.text();
}

TEST_P(AnyMemory, AFrameWhoseDeviceFailsIsSkippedAndCounted) {
  constexpr std::uint64_t frames = 100;
  start_sender(GetParam(), Delivery::every, frames, 1, filled_later([](std::uint64_t sequence) {
                 return sequence % 5 == 2 ? FenceState::failed : FenceState::done;
               }));
  Subscriber viewer(dialling(GetParam()), log_);
  EXPECT_EQ(take_all(viewer, host_memory()).size(), frames * 4 / 5);
  stop_sender();
  ASSERT_EQ(reports_.size(), 1U);
  EXPECT_EQ(reports_[0].counts.frames_skipped, frames / 5);
  EXPECT_EQ(reports_[0].counts.frames_unfilled, frames / 5);
  EXPECT_EQ(reports_[0].counts.frames_produced, frames);
}

TEST_P(AnyMemory, UnderLatestADeviceThatAlwaysFailsIsCountedAndWarnedOf) {
  constexpr std::uint64_t frames = 50;
  start_sender(GetParam(), Delivery::latest, frames, 1, filled_later([](std::uint64_t) { return FenceState::failed; }));
  Subscriber viewer(dialling(GetParam()), log_);
  EXPECT_EQ(take_all(viewer, host_memory()).size(), 0U);
  stop_sender();
  ASSERT_EQ(reports_.size(), 1U);
  const SubscriberQueueCounts& counts = reports_[0].counts;
  EXPECT_GT(counts.frames_unfilled, 0U);
  EXPECT_EQ(counts.frames_skipped, counts.frames_unfilled);
  EXPECT_EQ(counts.frames_produced, counts.frames_unfilled) << "before its first frame a viewer misses nothing else";
  EXPECT_NE(log_.text().find("did not fill it within 2 s"), std::string::npos) << log_.text();
}

TEST_P(AnyMemory, ADeviceThatNeverFinishesHoldsItsSlotAndNobodyElse) {
  auto stuck = std::make_shared<Fence>();
  const auto fill_first_never = [&](const ClaimedSlot& slot, std::uint64_t sequence) {
    write_test_lines(on_device(slot), sequence);
    return sequence == 0 ? stuck : nullptr;
  };
  start_sender(GetParam(), Delivery::every, 20, 1, fill_first_never);
  {
    Subscriber viewer(dialling(GetParam()), log_);
    EXPECT_EQ(take_all(viewer, host_memory()).size(), 19U) << "after the timeout the others pass";
  }
  ASSERT_TRUE(eventually([&] { return !service_->reports().empty(); })) << "the sender's session ends, too";
  EXPECT_EQ(stream_->slots_in_use(), 1U) << "the device may still write this one";
  EXPECT_NE(log_.text().find("did not fill it within 2 s"), std::string::npos) << log_.text();
  stuck->finish(FenceState::done);
  EXPECT_TRUE(eventually([&] { return stream_->slots_in_use() == 0; }));
}

TEST_P(CopiedMemory, ADeviceThatBreaksDownEndsNoSession) {
  start_sender(GetParam(), Delivery::latest, 100, 1, [this](const ClaimedSlot& slot, std::uint64_t sequence) {
    write_test_lines(on_device(slot), sequence);
    if (sequence == 50) {
      memory_.break_down();
    }
    return nullptr;
  });
  Subscriber viewer(dialling(GetParam()), log_);
  const auto taken = take_all(viewer, host_memory());
  EXPECT_TRUE(taken.empty() || taken.back() <= 50);
  stop_sender();
  ASSERT_EQ(reports_.size(), 1U);
  EXPECT_EQ(reports_[0].counts.frames_produced, reports_[0].counts.frames_skipped + reports_[0].counts.frames_sent);
}

/// Its source's error says why, and no warning beside it.
TEST_P(CopiedMemory, ADeviceThatIsLostEndsItsSource) {
  start_sender(GetParam(), Delivery::latest, 0, 1, [this](const ClaimedSlot& slot, std::uint64_t sequence) {
    write_test_lines(on_device(slot), sequence);
    if (sequence == 50) {
      memory_.lose();
    }
    return nullptr;
  });
  Subscriber viewer(dialling(GetParam()), log_);
  const auto taken = take_all(viewer, host_memory());
  EXPECT_TRUE(taken.empty() || taken.back() < 50);
  EXPECT_EQ(viewer.status().state, SubscriberState::finished) << viewer.status().message;
  stop_sender();
  EXPECT_EQ(source_fault_, "the device is lost");
  EXPECT_EQ(log_.text().find("a frame was skipped"), std::string::npos) << log_.text();
}

TEST_P(CopiedMemory, AFrameWhoseCopyCannotBeginIsSkippedAndCounted) {
  start_sender(GetParam(), Delivery::every, 20, 1, [this](const ClaimedSlot& slot, std::uint64_t sequence) {
    if (sequence == 10) {
      memory_.refuse_copies();
    }
    return filled_later()(slot, sequence);
  });
  Subscriber viewer(dialling(GetParam()), log_);
  EXPECT_EQ(take_all(viewer, host_memory()).size(), 10U);
  EXPECT_TRUE(eventually([&] { return stream_->slots_in_use() == 0; }));
  stop_sender();
  ASSERT_EQ(reports_.size(), 1U);
  EXPECT_EQ(reports_[0].counts.frames_skipped, 10U);
}

/// The copies of a stream that has ended may still be in work.
TEST_P(AnyMemory, AStreamMayEndBeforeItsDevice) {
  start_sender(GetParam(), Delivery::latest, 0, 1, filled_later());
  Subscriber viewer(dialling(GetParam()), log_);
  EXPECT_TRUE(eventually([&] { return viewer.next().has_value(); }));
  viewer.close("{}");
  stop_sender();
}

/// The viewer's device reads each frame late, and in its own order.
TEST_P(AnyMemory, AFrameIsTheViewersUntilItsDeviceHasReadIt) {
  constexpr std::uint64_t frames = 200;
  const UntouchableMemory reader("reader", 7);
  std::atomic<std::uint64_t> read = 0;
  std::atomic<std::uint64_t> torn = 0;
  start_sender(GetParam(), Delivery::every, frames, 1, filled_at_once());
  Subscriber viewer(dialling(GetParam()), log_);
  ASSERT_TRUE(eventually([&] {
    while (auto frame = viewer.next()) {
      const auto fence = std::make_shared<Fence>();
      reader.run_later(
          [&, bytes = bytes_of(*frame), sequence = frame->header().sequence] {
            torn += find_torn_line(bytes, sequence) ? 1U : 0U;
            ++read;
          },
          fence);
      frame->release_after(fence);
    }
    viewer.wait(monotonic_ns() + 5 * ns_per_ms);
    return viewer.status().state == SubscriberState::finished;
  }));
  EXPECT_TRUE(eventually([&] { return read == frames; }));
  EXPECT_EQ(torn, 0U);
  viewer.close("{}");
}

TEST_P(AnyMemory, AViewersDeviceThatNeverFinishesDisturbsNobodyElse) {
  start_sender(GetParam(), Delivery::latest, 100, 2, filled_at_once());
  const auto stuck = std::make_shared<Fence>();
  Subscriber first(dialling(GetParam()), log_);
  Subscriber second(dialling(GetParam()), log_);
  std::uint64_t seen_by_first = 0;
  std::atomic<bool> is_over = false;
  std::thread other([&] {
    while (!is_over) {
      while (auto frame = first.next()) {
        frame->release_after(stuck);
        ++seen_by_first;
      }
      first.wait(monotonic_ns() + 5 * ns_per_ms);
    }
  });
  const auto seen_by_second = take_all(second, host_memory());
  ASSERT_FALSE(seen_by_second.empty());
  EXPECT_GT(seen_by_second.back(), 90U);
  EXPECT_TRUE(eventually([&] { return stream_->slots_in_use() > 0; })) << "the frames came back too early";
  is_over = true;
  other.join();
  EXPECT_LE(seen_by_first, stream_->options().slots_per_viewer);
  stuck->finish(FenceState::failed);
  first.close("{}");
  EXPECT_TRUE(eventually([&] { return stream_->slots_in_use() == 0; })) << "the frames came back";
}

INSTANTIATE_TEST_SUITE_P(Links, AnyMemory, testing::ValuesIn(links_here()), link_name);
INSTANTIATE_TEST_SUITE_P(Links, CopiedMemory, testing::Values(LinkKind::local, LinkKind::tcp), link_name);

/// The device of the link reads and writes such memory itself.
using RdmaMemory = AnyMemory;

TEST_P(RdmaMemory, FramesGoFromMemoryThatNobodyTouchesToSuchMemory) {
  constexpr std::uint64_t frames = 100;
  start_sender(LinkKind::rdma, Delivery::every, frames, 2, filled_later());
  SubscriberOptions with_it = dialling(LinkKind::rdma);
  with_it.memory = {&memory_};
  Subscriber first(with_it, log_);
  Subscriber second(dialling(LinkKind::rdma), log_);
  expect_all_at_both(first, memory_, second, host_memory(), frames);
  EXPECT_EQ(memory_.copies(), 1U) << "the trial of the ring in such memory";
  EXPECT_NE(first.status().start_line.find("memory=untouchable "), std::string::npos) << first.status().start_line;
  EXPECT_NE(second.status().start_line.find("memory=host "), std::string::npos) << second.status().start_line;
}

TEST_P(RdmaMemory, AViewerThatPullsReadsItToo) {
  allows_pull_ = true;
  start_sender(LinkKind::rdma, Delivery::latest, 0, 1, filled_later());
  SubscriberOptions options = dialling(LinkKind::rdma);
  options.endpoint.pull_interval_ns = ns_per_ms;
  Subscriber viewer(options, log_);
  std::uint64_t pulled = 0;
  EXPECT_TRUE(eventually([&] {
    while (const auto frame = viewer.next()) {
      EXPECT_FALSE(find_torn_line(bytes_of(*frame), frame->header().sequence)) << frame->header().sequence;
      ++pulled;
    }
    viewer.wait(monotonic_ns() + 5 * ns_per_ms);
    return pulled >= 20 || viewer.status().state == SubscriberState::failed;
  })) << viewer.status().message;
  EXPECT_GE(pulled, 20U) << viewer.status().message;
  EXPECT_EQ(memory_.copies(), 0U);
  viewer.close("{}");
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(RdmaMemory);
INSTANTIATE_TEST_SUITE_P(Rdma, RdmaMemory, testing::ValuesIn(rdma_if_here()), link_name);

using SharedMemory = AnyMemory;

TEST_P(SharedMemory, AViewerThatTakesTheMemoryReadsItInPlace) {
  constexpr std::uint64_t frames = 100;
  start_sender(LinkKind::local, Delivery::every, frames, 1, filled_later());
  SubscriberOptions options = dialling(LinkKind::local);
  options.memory = {&memory_};
  Subscriber viewer(options, log_);
  EXPECT_EQ(take_all(viewer, memory_).size(), frames);
  EXPECT_EQ(memory_.copies(), 0U);
  EXPECT_NE(viewer.status().start_line.find("memory=untouchable "), std::string::npos) << viewer.status().start_line;
  stop_sender();
  EXPECT_NE(log_.text().find("memory=untouchable "), std::string::npos) << log_.text();
}

TEST_P(SharedMemory, AViewerThatCannotImportItGetsCopies) {
  constexpr std::uint64_t frames = 100;
  const UntouchableMemory refusing;
  refusing.refuse_imports();
  start_sender(LinkKind::local, Delivery::every, frames, 1, filled_later());
  SubscriberOptions options = dialling(LinkKind::local);
  options.memory = {&refusing};
  Subscriber viewer(options, log_);
  EXPECT_EQ(take_all(viewer, host_memory()).size(), frames);
  EXPECT_EQ(memory_.copies(), frames);
  EXPECT_EQ(viewer.status().memory_refusal, "the device imports no memory");
  EXPECT_NE(viewer.status().start_line.find("memory=host "), std::string::npos) << viewer.status().start_line;
}

TEST_P(SharedMemory, OneThatMayNotComeBackEndsWithTheReason) {
  const UntouchableMemory refusing;
  refusing.refuse_imports();
  start_sender(LinkKind::local, Delivery::latest, 0, 1, filled_later());
  SubscriberOptions options = dialling(LinkKind::local);
  options.memory = {&refusing};
  options.reconnect = false;
  Subscriber viewer(options, log_);
  ASSERT_TRUE(eventually([&] { return viewer.status().state == SubscriberState::failed; }));
  EXPECT_EQ(viewer.status().message, "the device imports no memory");
  EXPECT_EQ(viewer.status().exit_status, ExitStatus::failed);
}

/// A device that is lost would fail everything else, too.
TEST_P(SharedMemory, OneWhoseDeviceIsLostEndsWithTheReason) {
  const UntouchableMemory refusing;
  refusing.refuse_imports();
  refusing.lose();
  start_sender(LinkKind::local, Delivery::latest, 0, 1, filled_later());
  SubscriberOptions options = dialling(LinkKind::local);
  options.memory = {&refusing};
  Subscriber viewer(options, log_);
  ASSERT_TRUE(eventually([&] { return viewer.status().state == SubscriberState::failed; }));
  EXPECT_EQ(viewer.status().exit_status, ExitStatus::failed);
}

/// Each viewer gets the frames in a memory that it has.
TEST_P(SharedMemory, OneViewerTakesItAndTheOtherDoesNot) {
  constexpr std::uint64_t frames = 100;
  const UntouchableMemory unknown("unknown");
  start_sender(LinkKind::local, Delivery::every, frames, 2, filled_later());
  SubscriberOptions with_it = dialling(LinkKind::local);
  with_it.memory = {&unknown, &memory_};
  SubscriberOptions without_it = dialling(LinkKind::local);
  without_it.memory = {&unknown};
  Subscriber first(with_it, log_);
  Subscriber second(without_it, log_);
  expect_all_at_both(first, memory_, second, host_memory(), frames);
  EXPECT_EQ(memory_.copies(), frames);
  EXPECT_EQ(unknown.copies(), 0U);
}

INSTANTIATE_TEST_SUITE_P(Local, SharedMemory, testing::Values(LinkKind::local));

/// The stand-in would prove nothing if one could read it.
TEST(UntouchableMemoryTest, CannotBeReadByTheKernelEither) {
  const UntouchableMemory memory;
  const auto block = memory.allocate("test", 4096, {});
  EXPECT_EQ(block->host(), nullptr);
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe(ends.data()), 0);
  const FileDescriptor reader(ends[0]);
  const FileDescriptor writer(ends[1]);
  EXPECT_EQ(::write(writer.get(), reinterpret_cast<const void*>(block->registered_as().address), 1), -1);
  EXPECT_EQ(errno, EFAULT);
}

TEST(UntouchableMemoryTest, ACopyIsPoisonUntilItIsFinished) {
  const UntouchableMemory memory;
  const std::shared_ptr<Block> block = memory.allocate("test", 4096, {});
  const auto into = HostBlock::create_private("copy", 4096);
  std::ranges::fill(UntouchableMemory::on_device(*block), std::byte{7});
  auto filled = std::make_shared<Fence>();
  const auto copied = block->copy_to_host(into, CopyRange::at(100, 50), filled);
  EXPECT_EQ(copied->state(), FenceState::pending);
  EXPECT_EQ(into->bytes()[100], std::byte{0xa5});
  filled->finish(FenceState::done);
  EXPECT_TRUE(eventually([&] { return copied->state() == FenceState::done; }));
  EXPECT_EQ(into->bytes()[100], std::byte{7});
  EXPECT_EQ(into->bytes()[149], std::byte{7});
  EXPECT_EQ(into->bytes()[150], std::byte{0});
}

TEST(HostMemoryTest, CopiesWithinHostMemoryWaitForTheirFence) {
  const auto from = HostBlock::create_private("from", 4096);
  const auto into = HostBlock::create_private("into", 4096);
  from->bytes()[5] = std::byte{9};
  EXPECT_EQ(from->copy_to_host(into, CopyRange::at(5, 1), nullptr)->state(), FenceState::done);
  EXPECT_EQ(into->bytes()[5], std::byte{9});
  auto filled = std::make_shared<Fence>();
  const auto copied = from->copy_to_host(into, CopyRange::at(0, 10), filled);
  EXPECT_EQ(copied->state(), FenceState::pending);
  filled->finish(FenceState::failed);
  EXPECT_EQ(copied->state(), FenceState::failed);
}

}  // namespace
}  // namespace framewire::test
