// A sender whose frames lie in memory that the processor may not touch, and its viewers.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "frame/test_pattern.hpp"
#include "tests/base/eventually.hpp"
#include "tests/base/logs.hpp"
#include "tests/base/temporary_folder.hpp"
#include "tests/data_path/streaming.hpp"
#include "tests/memory/untouchable_memory.hpp"
#include "transport/session/sender_service.hpp"
#include "transport/session/subscriber.hpp"

namespace framewire::test {

inline constexpr std::uint64_t any_memory_frame_bytes = 20'000;

/// A sender in untouchable memory, whose slots are filled by `fill`.
class AnyMemory : public testing::TestWithParam<LinkKind> {
 protected:
  AnyMemory() { ::setenv("XDG_CONFIG_HOME", folder_.path().c_str(), 1); }
  ~AnyMemory() override { stop_sender(); }

  EndpointOptions endpoint(LinkKind link) const {
    EndpointOptions options;
    options.allowed_links = {link};
    options.may_choose_link = false;
    options.native_on_loopback = link == LinkKind::rdma;
    return options;
  }

  /// Fills the slot, now or later. Returns what the frame is published with.
  using Fill = std::function<std::shared_ptr<Fence>(const ClaimedSlot& slot, std::uint64_t sequence)>;

  void start_sender(LinkKind link, Delivery delivery, std::uint64_t frames, std::uint32_t viewers, Fill fill) {
    start_stream(link, delivery, frames, viewers);
    source_ = std::thread([this, viewers, fill = std::move(fill)] { run_source([&] { produce(viewers, fill); }); });
  }

  void start_stream(LinkKind link, Delivery delivery, std::uint64_t frames, std::uint32_t viewers) {
    StreamOptions options;
    options.name = "test";
    options.delivery = delivery;
    options.max_frames = frames;
    options.max_viewers = viewers;
    options.memory = &memory_;
    options.slices = slices_;
    options.allows_pull = allows_pull_;
    stream_ = std::make_unique<Stream>(options);
    EndpointOptions listening = endpoint(link);
    listening.listen = HostPort{"127.0.0.1", 0};
    service_ = std::make_unique<SenderService>(listening, std::vector<Stream*>{stream_.get()}, "test", log_);
  }

  /// Its frames are begun in slices, of a page each, which the processor fills.
  void start_sliced_sender(LinkKind link, std::uint64_t frames, std::uint32_t viewers) {
    start_stream(link, Delivery::every, frames, viewers);
    source_ = std::thread([this, viewers] { run_source([&] { produce_in_slices(viewers); }); });
  }

  void run_source(const std::function<void()>& source) {
    try {
      source();
    } catch (const Error& error) {
      source_fault_ = error.what();
    }
    stream_->finish();
  }

  void produce_in_slices(std::uint32_t viewers) {
    stream_->begin_epoch({.layout = bytes_layout(any_memory_frame_bytes), .colour = {}});
    eventually([&] { return stream_->viewer_count() == viewers || stream_->is_stopping(); });
    while (auto slot = stream_->claim()) {
      auto frame = stream_->begin_frame(std::move(*slot), {.has_test_pattern = true, .layout = {}}, max_slices);
      if (frame->sequence() == refuses_copies_from_) {
        memory_.refuse_copies();
      }
      if (frame->sequence() == loses_device_at_) {
        memory_.lose();
      }
      for (std::uint16_t i = 0; i < frame->slice_count(); ++i) {
        const ByteRange range = frame->slice(i);
        write_test_lines(frame->bytes().subspan(range.offset_bytes, range.size_bytes), frame->sequence(),
                         range.offset_bytes / test_line_bytes);
        frame->publish(i);
      }
    }
  }

  void produce(std::uint32_t viewers, const Fill& fill) {
    stream_->begin_epoch({.layout = bytes_layout(any_memory_frame_bytes), .colour = {}});
    eventually([&] { return stream_->viewer_count() == viewers || stream_->is_stopping(); });
    while (auto slot = stream_->claim()) {
      const std::uint64_t sequence = slot->next_sequence();
      std::shared_ptr<Fence> ready = fill(*slot, sequence);
      stream_->publish(
          std::move(*slot),
          {.has_test_pattern = true, .layout = {}, .is_on_device = fills_on_device_, .ready = std::move(ready)});
      if (stream_->options().delivery == Delivery::latest) {
        std::this_thread::sleep_for(std::chrono::microseconds(500));
      }
    }
  }

  void stop_sender() {
    if (stream_) {
      stream_->stop();
      source_.join();
      service_->drain(monotonic_ns() + 5 * ns_per_s);
      reports_ = service_->reports();
      service_.reset();
      stream_.reset();
    }
  }

  std::span<std::byte> on_device(const ClaimedSlot& slot) const {
    return UntouchableMemory::on_device(*slot.block()).subspan(slot.offset_in_block_bytes(), any_memory_frame_bytes);
  }

  /// The device has filled the slot when it is published.
  Fill filled_at_once() {
    return [this](const ClaimedSlot& slot, std::uint64_t sequence) {
      write_test_lines(on_device(slot), sequence);
      return nullptr;
    };
  }

  /// The device fills the slot after it is published; `state_of` says how that ends.
  Fill filled_later(const std::function<FenceState(std::uint64_t)>& state_of = [](std::uint64_t) {
    return FenceState::done;
  }) {
    return [this, state_of](const ClaimedSlot& slot, std::uint64_t sequence) {
      auto fence = std::make_shared<Fence>();
      const auto bytes = on_device(slot);
      std::ranges::fill(bytes, std::byte{0x5a});
      memory_.run_later([bytes, sequence, block = slot.block()] { write_test_lines(bytes, sequence); }, fence,
                        state_of(sequence));
      return fence;
    };
  }

  SubscriberOptions dialling(LinkKind link) const {
    SubscriberOptions options{.endpoint = endpoint(link), .stream = {}, .delivery = {}};
    options.endpoint.dial = HostPort{"127.0.0.1", service_->port()};
    return options;
  }

  /// The frames' bytes as the viewer's device or processor sees them.
  static std::span<const std::byte> bytes_of(const ReceivedFrame& frame) {
    return frame.block()->host() != nullptr ? frame.payload()
                                            : UntouchableMemory::on_device(*frame.block())
                                                  .subspan(frame.offset_in_block_bytes(), any_memory_frame_bytes);
  }

  /// Takes frames until the stream ends. Checks that each is whole and later than the one before. Returns their
  /// sequence numbers.
  static std::vector<std::uint64_t> take_all(Subscriber& subscriber, const MemoryKind& expected) {
    std::vector<std::uint64_t> taken;
    EXPECT_TRUE(eventually([&] {
      while (const auto frame = subscriber.next()) {
        const std::uint64_t sequence = frame->header().sequence;
        EXPECT_FALSE(find_torn_line(bytes_of(*frame), sequence)) << "frame " << sequence;
        EXPECT_EQ(&frame->block()->kind(), &expected);
        EXPECT_TRUE(taken.empty() || sequence > taken.back());
        taken.push_back(sequence);
      }
      const SubscriberState state = subscriber.status().state;
      subscriber.wait(monotonic_ns() + 5 * ns_per_ms);
      return state == SubscriberState::finished || state == SubscriberState::failed;
    }));
    EXPECT_EQ(subscriber.status().state, SubscriberState::finished) << subscriber.status().message;
    subscriber.close("{}");
    return taken;
  }

  /// Two viewers take all frames at the same time, each in this memory.
  static void expect_all_at_both(Subscriber& first, const MemoryKind& of_first, Subscriber& second,
                                 const MemoryKind& of_second, std::uint64_t frames) {
    std::vector<std::uint64_t> seen_by_second;
    std::thread other([&] { seen_by_second = take_all(second, of_second); });
    EXPECT_EQ(take_all(first, of_first).size(), frames);
    other.join();
    EXPECT_EQ(seen_by_second.size(), frames);
  }

  TemporaryFolder folder_;
  KeptLog log_;
  UntouchableMemory memory_;
  bool allows_pull_ = false;
  bool fills_on_device_ = true;
  std::uint16_t slices_ = 1;  // in which its device copies frames to host memory
  std::uint64_t refuses_copies_from_ = UINT64_MAX;
  std::uint64_t loses_device_at_ = UINT64_MAX;
  std::string source_fault_;  // of a source that has ended
  std::unique_ptr<Stream> stream_;
  std::unique_ptr<SenderService> service_;
  std::thread source_;
  std::vector<SessionReport> reports_;
};

inline std::string link_name(const testing::TestParamInfo<LinkKind>& one) {
  return std::string(name(one.param));
}

}  // namespace framewire::test
