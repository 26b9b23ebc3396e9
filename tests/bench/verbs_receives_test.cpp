#include "bench/verbs/verbs_receives.hpp"

#include <arpa/inet.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <vector>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "bench/verbs/verbs_wait.hpp"

namespace framewire {
namespace {

/// A fake device that records posted receives and completes them when the test says so. libibverbs calls it through the
/// context.
class FakeDevice {
 public:
  explicit FakeDevice(std::uint32_t depth) : depth_(depth) {
    context_.ops.post_recv = [](ibv_qp* pair, ibv_recv_wr* first, ibv_recv_wr** /*bad*/) {
      auto& self = *static_cast<FakeDevice*>(pair->qp_context);
      for (const ibv_recv_wr* one = first; one != nullptr; one = one->next) {
        self.posted_.push_back(one->num_sge == 0 ? ibv_sge{} : *one->sg_list);
      }
      EXPECT_LE(self.posted_.size(), self.depth_) << "more than the queue holds";
      return 0;
    };
    context_.ops.poll_cq = [](ibv_cq* queue, int most, ibv_wc* completions) {
      auto& self = *static_cast<FakeDevice*>(queue->cq_context);
      const int count = std::min(most, static_cast<int>(self.completed_.size()));
      std::copy_n(self.completed_.begin(), count, completions);
      self.completed_.erase(self.completed_.begin(), self.completed_.begin() + count);
      return count;
    };
    pair_.context = queue_.context = &context_;
    pair_.qp_context = queue_.cq_context = this;
  }
  FakeDevice(const FakeDevice&) = delete;
  FakeDevice& operator=(const FakeDevice&) = delete;

  [[nodiscard]] VerbsReceives::Queue queue() { return {.queue_pair = &pair_, .completions = &queue_, .depth = depth_}; }

  /// The peer sends one chunk of a message. It fills the oldest posted receive. False if none is posted.
  bool arrive(std::uint64_t message) {
    if (posted_.empty()) {
      return false;
    }
    written_[posted_.front().addr] = message;
    ibv_wc completion{};
    completion.status = IBV_WC_SUCCESS;
    completion.byte_len = posted_.front().length;
    completed_.push_back(completion);
    posted_.pop_front();
    return true;
  }
  void arrive_announced(std::uint32_t number) {
    ibv_wc completion{};
    completion.status = IBV_WC_SUCCESS;
    completion.wc_flags = IBV_WC_WITH_IMM;
    completion.imm_data = htonl(number);
    completed_.push_back(completion);
    posted_.pop_front();
  }

  [[nodiscard]] std::size_t waiting() const { return posted_.size(); }
  /// The number of the message whose bytes are at an address.
  [[nodiscard]] std::uint64_t at(std::uint64_t address) const { return written_.at(address); }

 private:
  const std::uint32_t depth_;
  ibv_context context_{};
  ibv_qp pair_{};
  ibv_cq queue_{};
  std::deque<ibv_sge> posted_;
  std::deque<ibv_wc> completed_;
  std::map<std::uint64_t, std::uint64_t> written_;
};

constexpr std::uint64_t chunk_bytes = 1024;

/// Messages of `chunks` chunks. The last chunk is shorter.
VerbsReceives::Shape messages_of(std::uint64_t chunks, std::uint32_t slots) {
  return {.has_buffers = true,
          .message_bytes = chunks * chunk_bytes - 24,
          .chunk_bytes = chunk_bytes,
          .slots = slots,
          .address = 1 << 20,
          .stride_bytes = chunks * chunk_bytes,
          .key = 7};
}

void expect_message_whole(const FakeDevice& device, const VerbsReceives::Shape& shape, std::uint64_t number) {
  const std::uint64_t begin = shape.address + number % shape.slots * shape.stride_bytes;
  for (std::uint64_t address = begin; address < begin + shape.message_bytes; address += chunk_bytes) {
    ASSERT_EQ(device.at(address), number) << "a later message stands in message " << number << " before it was checked";
  }
}

/// The peer sends while receives are posted. Completions arrive in batches of `heap`.
void expect_every_message_whole(std::uint32_t depth, std::uint64_t chunks, std::uint32_t slots, std::size_t heap) {
  SCOPED_TRACE(testing::Message() << "depth " << depth << ", " << chunks << " chunks, " << slots << " slots, by "
                                  << heap);
  constexpr std::uint64_t total = 20;
  FakeDevice device(depth);
  VerbsReceives receives(device.queue());
  const VerbsReceives::Shape shape = messages_of(chunks, slots);
  receives.begin(shape);
  std::uint64_t sent_chunks = 0;
  for (std::uint64_t checked = 0; checked < total;) {
    std::size_t sent = 0;
    while (sent < heap && sent_chunks < total * chunks && device.arrive(sent_chunks / chunks)) {
      ++sent_chunks;
      ++sent;
    }
    ASSERT_GT(sent, 0U) << "no place for what has to come next: message " << checked << " never gets whole";
    while (receives.poll()) {
    }
    for (; checked < receives.messages(); ++checked) {
      expect_message_whole(device, shape, checked);
    }
    receives.post_again(checked);
  }
}

TEST(VerbsReceives, AMessageOfSeveralChunksStandsUntilItIsChecked) {
  for (const std::size_t heap : {1U, 3U, 7U, 16U, 40U}) {
    expect_every_message_whole(512, 4, 4, heap);
    expect_every_message_whole(512, 33, 2, heap);
    expect_every_message_whole(512, 5, 1, heap);
    expect_every_message_whole(6, 4, 4, heap);  // the queue has fewer entries than the slots have chunks
    expect_every_message_whole(3, 8, 2, heap);  // the queue has fewer entries than one message has chunks
  }
}

TEST(VerbsReceives, UncheckedMessagesGiveTheirPlacesBackAtOnce) {
  FakeDevice device(512);
  VerbsReceives receives(device.queue());
  receives.begin(messages_of(4, 2));
  EXPECT_EQ(device.waiting(), 8U);
  for (int i = 0; i < 3; ++i) {
    device.arrive(0);
  }
  receives.poll();
  receives.post_again(0);
  EXPECT_EQ(device.waiting(), 5U) << "message 0 is looked at when it is whole";
  receives.post_again(receives.messages() + 1);
  EXPECT_EQ(device.waiting(), 8U);
}

TEST(VerbsReceives, AnnouncementsAreAsDeepAsTheDevice) {
  FakeDevice device(100);
  VerbsReceives receives(device.queue());
  receives.begin({.has_buffers = false, .message_bytes = 1 << 20, .chunk_bytes = 1024, .slots = 1});
  EXPECT_EQ(device.waiting(), 100U);
  for (std::uint32_t number = 0; number < 70; ++number) {
    device.arrive_announced(number);
  }
  while (receives.poll()) {
  }
  EXPECT_EQ(receives.messages(), 70U);
  receives.post_again(0);
  EXPECT_EQ(device.waiting(), 100U);
  device.arrive_announced(71);
  EXPECT_THROW(receives.poll(), Error) << "70 was to come next";
}

TEST(VerbsDrainTimeout, TheTimeoutBeginsWithTheClientsMessage) {
  constexpr std::int64_t hour_ns = 3600 * ns_per_s;
  VerbsDrainTimeout last;
  EXPECT_FALSE(last.are_overdue(false, true, 1));
  EXPECT_FALSE(last.are_overdue(false, false, hour_ns));
  EXPECT_FALSE(last.are_overdue(true, false, hour_ns + 1)) << "the last one came an hour ago; the next with the word";
  EXPECT_FALSE(last.are_overdue(true, false, hour_ns + VerbsDrainTimeout::timeout_ns));
  EXPECT_TRUE(last.are_overdue(true, false, hour_ns + 2 + VerbsDrainTimeout::timeout_ns));
}

TEST(VerbsDrainTimeout, EveryMessageBeginsItAnew) {
  VerbsDrainTimeout last;
  for (std::int64_t now_ns = 1; now_ns < 100 * ns_per_s; now_ns += VerbsDrainTimeout::timeout_ns) {
    EXPECT_FALSE(last.are_overdue(true, true, now_ns));
    EXPECT_FALSE(last.are_overdue(true, false, now_ns + VerbsDrainTimeout::timeout_ns));
  }
}

}  // namespace
}  // namespace framewire
