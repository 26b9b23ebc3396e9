// Streams in the memory of a device whose sources fill host memory: the device copies what viewers read there.
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "tests/data_path/any_memory.hpp"

namespace framewire::test {
namespace {

class HostFilled : public AnyMemory {
 protected:
  HostFilled() { fills_on_device_ = false; }

  static Fill by_the_processor() {
    return [](const ClaimedSlot& slot, std::uint64_t sequence) {
      write_test_lines(slot.bytes().first(any_memory_frame_bytes), sequence);
      return nullptr;
    };
  }

  SubscriberOptions with_memory(LinkKind link) const {
    SubscriberOptions options = dialling(link);
    options.memory = {&memory_};
    return options;
  }

  std::uint64_t unfilled() const { return reports_.empty() ? 0 : reports_[0].counts.frames_unfilled; }
};

TEST_P(HostFilled, ViewersOfHostMemoryNeedNoCopy) {
  constexpr std::uint64_t frames = 100;
  start_sender(GetParam(), Delivery::every, frames, 1, by_the_processor());
  Subscriber viewer(dialling(GetParam()), log_);
  EXPECT_EQ(take_all(viewer, host_memory()).size(), frames);
  EXPECT_EQ(memory_.copies(), 0U);
  EXPECT_EQ(memory_.copies_from_host(), 0U);
}

TEST_P(HostFilled, InSlicesToo) {
  constexpr std::uint64_t frames = 100;
  start_sliced_sender(GetParam(), frames, 1);
  Subscriber viewer(dialling(GetParam()), log_);
  EXPECT_EQ(take_all(viewer, host_memory()).size(), frames);
  EXPECT_EQ(memory_.copies_from_host(), 0U);
}

INSTANTIATE_TEST_SUITE_P(Links, HostFilled, testing::Values(LinkKind::local, LinkKind::tcp), link_name);

/// Links that take the device's memory.
using HostFilledDevice = HostFilled;

TEST_P(HostFilledDevice, TheDeviceCopiesOnceForAllThatReadItsMemory) {
  constexpr std::uint64_t frames = 100;
  start_sender(GetParam(), Delivery::every, frames, 2, by_the_processor());
  Subscriber first(with_memory(GetParam()), log_);
  Subscriber second(with_memory(GetParam()), log_);
  expect_all_at_both(first, memory_, second, memory_, frames);
  EXPECT_EQ(memory_.copies_from_host(), frames);
  EXPECT_EQ(memory_.copies(), GetParam() == LinkKind::rdma ? 2U : 0U) << "rdma tries each ring in such memory";
  EXPECT_TRUE(eventually([&] { return stream_->slots_in_use() == 0; }));
}

TEST_P(HostFilledDevice, AFrameInSlicesComesWholeOnceTheDeviceHasCopiedIt) {
  constexpr std::uint64_t frames = 100;
  start_sliced_sender(GetParam(), frames, 1);
  SubscriberOptions options = with_memory(GetParam());
  options.takes_slices = true;
  Subscriber viewer(options, log_);
  EXPECT_EQ(take_all(viewer, memory_).size(), frames);
  EXPECT_EQ(memory_.copies_from_host(), frames);
  EXPECT_TRUE(eventually([&] { return stream_->slots_in_use() == 0; }));
}

TEST_P(HostFilledDevice, TheNewestCopyThatIsFinishedReplacesOlderOnes) {
  start_sender(GetParam(), Delivery::latest, 300, 1, by_the_processor());
  Subscriber viewer(with_memory(GetParam()), log_);
  const auto taken = take_all(viewer, memory_);
  ASSERT_FALSE(taken.empty());
  EXPECT_EQ(taken.back(), 299U);
  stop_sender();
  ASSERT_EQ(reports_.size(), 1U);
  EXPECT_EQ(reports_[0].counts.frames_produced, reports_[0].counts.frames_skipped + reports_[0].counts.frames_sent);
}

TEST_P(HostFilledDevice, AFrameWhoseCopyFailsIsSkippedAndCounted) {
  constexpr std::uint64_t frames = 20;
  start_sender(GetParam(), Delivery::every, frames, 1, [this](const ClaimedSlot& slot, std::uint64_t sequence) {
    if (sequence == frames / 2) {
      memory_.refuse_copies();
    }
    return by_the_processor()(slot, sequence);
  });
  Subscriber viewer(with_memory(GetParam()), log_);
  EXPECT_EQ(take_all(viewer, memory_).size(), frames / 2);
  stop_sender();
  EXPECT_EQ(unfilled(), frames / 2);
  EXPECT_NE(log_.text().find("a frame was skipped"), std::string::npos) << log_.text();
}

TEST_P(HostFilledDevice, AFrameInSlicesWhoseCopyFailsIsSkippedAndCounted) {
  constexpr std::uint64_t frames = 20;
  refuses_copies_from_ = frames / 2;
  start_sliced_sender(GetParam(), frames, 1);
  Subscriber viewer(with_memory(GetParam()), log_);
  EXPECT_EQ(take_all(viewer, memory_).size(), frames / 2);
  EXPECT_TRUE(eventually([&] { return stream_->slots_in_use() == 0; }));
  stop_sender();
  EXPECT_EQ(unfilled(), frames / 2);
}

TEST_P(HostFilledDevice, ADeviceThatIsLostEndsItsSource) {
  start_sender(GetParam(), Delivery::every, 0, 1, [this](const ClaimedSlot& slot, std::uint64_t sequence) {
    if (sequence == 10) {
      memory_.lose();
    }
    return by_the_processor()(slot, sequence);
  });
  Subscriber viewer(with_memory(GetParam()), log_);
  const auto taken = take_all(viewer, memory_);
  EXPECT_TRUE(taken.empty() || taken.back() < 10);
  stop_sender();
  EXPECT_EQ(source_fault_, "the device is lost");
}

TEST_P(HostFilledDevice, ADeviceThatIsLostEndsASourceOfSlicesToo) {
  loses_device_at_ = 10;
  start_sliced_sender(GetParam(), 0, 1);
  Subscriber viewer(with_memory(GetParam()), log_);
  const auto taken = take_all(viewer, memory_);
  EXPECT_TRUE(taken.empty() || taken.back() < 10);
  stop_sender();
  EXPECT_EQ(source_fault_, "the device is lost");
  EXPECT_EQ(log_.text().find("a frame was skipped"), std::string::npos) << log_.text();
}

/// Each gets what its link reads.
TEST_P(HostFilledDevice, OneViewerReadsTheDeviceAndOneHostMemory) {
  constexpr std::uint64_t frames = 100;
  start_sender(GetParam(), Delivery::every, frames, 2, by_the_processor());
  Subscriber first(with_memory(GetParam()), log_);
  Subscriber second(dialling(GetParam()), log_);
  expect_all_at_both(first, memory_, second, host_memory(), frames);
  EXPECT_EQ(memory_.copies_from_host(), frames);
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(HostFilledDevice);
INSTANTIATE_TEST_SUITE_P(Local, HostFilledDevice, testing::Values(LinkKind::local), link_name);
INSTANTIATE_TEST_SUITE_P(Rdma, HostFilledDevice, testing::ValuesIn(rdma_if_here()), link_name);

TEST(HostFilledStream, AFenceIsOfAFrameOnTheDevice) {
  const UntouchableMemory memory;
  Stream stream({.name = "test", .memory = &memory});
  stream.begin_epoch({.layout = bytes_layout(any_memory_frame_bytes), .colour = {}});
  auto slot = stream.claim({.unwatched = true});
  EXPECT_THROW(stream.publish(std::move(*slot), {.layout = {}, .ready = std::make_shared<Fence>()}), Error);
}

}  // namespace
}  // namespace framewire::test
