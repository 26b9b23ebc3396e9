// What the tests of every link have in common: a connected pair, a pool, and frames that say whether they are whole.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/clock.hpp"
#include "base/wait.hpp"
#include "frame/test_pattern.hpp"
#include "tests/base/eventually.hpp"
#include "tests/contract/link_pairs.hpp"

namespace framewire::test {

inline constexpr std::uint32_t ring_slots = 3;
inline constexpr std::uint64_t slot_bytes = 100'000;  // not a multiple of a page or a line

class LinkContract : public testing::TestWithParam<LinkMaker> {
 protected:
  void SetUp() override { connect(); }

  void connect() {
    pair_.driving.reset();  // before its receiver
    pair_ = GetParam().make();
    pools_.clear();
    begin_epoch(1, slot_bytes);
  }

  void begin_epoch(std::uint32_t epoch, std::uint64_t bytes, std::uint32_t slots = ring_slots) {
    pool_ = std::make_shared<Pool>(epoch, bytes, 16, false, StopCheck{}, *GetParam().pool_memory);
    pools_.push_back(pool_);
    if (pair_.receiver->takes(*GetParam().ring_memory)) {
      pair_.receiver->set_memory(*GetParam().ring_memory);
    }
    pair_.sender->begin_epoch(pool_);
    const auto access = pair_.receiver->begin_epoch(epoch, bytes, slots, {});
    pair_.sender->epoch_ready(epoch, slots, access);
  }

  /// A slot, as the processor or a device sees it that fills it.
  std::span<std::byte> slot_bytes_of(std::uint16_t index) {
    return pool_->is_on_host()
               ? pool_->slot(index)
               : GetParam().on_device(*pool_->block()).subspan(index * pool_->stride_bytes(), pool_->slot_bytes());
  }

  /// Does what a stream does for a link that does not take the pool's memory.
  Payload payload_for_link(std::uint16_t index, std::uint64_t bytes) {
    if (pair_.sender->takes(pool_->block()->kind())) {
      return pool_->payload(index, bytes);
    }
    const auto copied =
        pool_->block()->copy_to_host(pool_->host_block(), CopyRange::at(index * pool_->stride_bytes(), bytes), nullptr);
    EXPECT_TRUE(eventually([&] { return copied->state() == FenceState::done; }));
    return pool_->host_payload(index, bytes);
  }

  static std::span<const std::byte> bytes_of(const IncomingFrame& frame) {
    return frame.block->host() != nullptr ? frame.payload
                                          : GetParam()
                                                .on_device(*frame.block)
                                                .subspan(frame.offset_in_block_bytes, frame.header.layout.size_bytes);
  }

  /// A stamped frame in a slot of the pool.
  OutgoingFrame make_frame(std::uint64_t sequence, std::uint64_t bytes = slot_bytes) {
    const auto index = pool_->claim();
    EXPECT_TRUE(index);
    write_test_lines(slot_bytes_of(*index).first(bytes), sequence);
    OutgoingFrame frame{.payload = payload_for_link(*index, bytes), .pool_slot = {pool_->epoch(), *index}};
    frame.header.sequence = sequence;
    frame.header.epoch = pool_->epoch();
    frame.header.layout = bytes_layout(bytes);
    frame.header.slice_bytes = bytes;
    frame.header.user_tag = ~sequence;
    frame.header.has_test_pattern = true;
    return frame;
  }

  /// Does the work of who reads the wire, too, unless a thread does it.
  std::optional<IncomingFrame> poll() {
    return pair_.driving ? pair_.receiver->poll() : drive_and_poll(*pair_.receiver);
  }

  /// Whether somebody who sleeps until there is a frame is woken, in time.
  bool is_woken(std::int64_t deadline_ns) {
    const int wire = pair_.driving ? -1 : pair_.receiver->wire_descriptor();
    return wait_for(wire >= 0 ? wire : pair_.receiver->descriptor(), POLLIN, deadline_ns);
  }

  void poll_released() {
    std::array<PoolSlot, 8> released;
    for (std::size_t count = released.size(); count == released.size();) {
      count = pair_.sender->poll_released(released);
      for (const PoolSlot& slot : std::span(released).first(count)) {
        const auto pool = std::ranges::find(pools_, slot.epoch, [](const auto& p) { return p->epoch(); });
        ASSERT_NE(pool, pools_.end());
        (*pool)->release(slot.index);
        ++released_count_;
      }
    }
  }

  bool try_send(const OutgoingFrame& frame) {
    const bool is_accepted = pair_.sender->try_send(frame) == SendResult::accepted;
    if (const auto waker = pair_.sender->take_waker()) {
      waker->wake();
    }
    return is_accepted;
  }

  /// Waits for the next frame.
  std::optional<IncomingFrame> receive() {
    const std::int64_t deadline_ns = monotonic_ns() + timeout_ns;
    while (monotonic_ns() < deadline_ns) {
      if (auto frame = poll()) {
        return frame;
      }
      serve_sender();
      let_pass();
    }
    return std::nullopt;
  }

  /// Lets time pass for everybody, also for the threads that maintain the two ends now and then.
  void let_pass() {
    if (const std::int64_t now_ns = monotonic_ns(); now_ns >= next_maintenance_ns_) {
      next_maintenance_ns_ = now_ns + 20 * ns_per_ms;
      if (pair_.sender) {
        pair_.sender->maintain();
      }
      if (pair_.receiver) {
        pair_.receiver->maintain();
      }
    }
    pair_.let_pass();
  }

  /// Does the work of the sender's session when the link's descriptor is readable.
  void serve_sender() {
    if (wait_for(pair_.sender->descriptor(), POLLIN, monotonic_ns())) {
      pair_.sender->on_readable();
      poll_released();
    }
  }

  template <typename Condition>
  bool eventually(Condition condition) {
    const std::int64_t deadline_ns = monotonic_ns() + timeout_ns;
    while (monotonic_ns() < deadline_ns) {
      if (condition()) {
        return true;
      }
      let_pass();
    }
    return false;
  }

  static void expect_whole(const IncomingFrame& frame, std::uint64_t sequence) {
    EXPECT_EQ(frame.header.sequence, sequence);
    EXPECT_EQ(frame.header.user_tag, ~sequence);
    EXPECT_EQ(bytes_of(frame).size(), frame.header.layout.size_bytes);
    EXPECT_FALSE(find_torn_line(bytes_of(frame), sequence)) << "sequence " << sequence;
  }

  std::vector<std::shared_ptr<Pool>> pools_;
  std::shared_ptr<Pool> pool_;
  LinkPair pair_;
  std::uint64_t released_count_ = 0;
  std::int64_t next_maintenance_ns_ = 0;
};

}  // namespace framewire::test
