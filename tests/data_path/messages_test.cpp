// Any number of messages of any size: each arrives whole, in order and bit for bit.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "frame/test_pattern.hpp"
#include "tests/data_path/streaming.hpp"

namespace framewire::test {
namespace {

constexpr std::uint64_t mebibyte = std::uint64_t{1} << 20;
constexpr std::uint64_t gibibyte = std::uint64_t{1} << 30;
constexpr std::uint64_t frame_bytes = 33'177'600;  // 4K, rgba

/// Sizes around the limits at which a link changes its method: a cache line, the inline payload of an rdma header cell,
/// a page, the buffer of tcp's reader, one rdma write, one tcp call.
const std::vector<std::uint64_t> edges{1,    2,    63,    64,    65,    191,   192,          193,      4095,
                                       4096, 4097, 16383, 16385, 32767, 32769, mebibyte - 1, mebibyte, mebibyte + 1};

class Messages : public testing::TestWithParam<LinkKind> {
 protected:
  /// Sends one message of each size. Each is stamped with its number over its whole length, and the viewer checks every
  /// byte. The ring holds `slots` of the largest messages, and the pool four more.
  static void check_all_arrive(const std::vector<std::uint64_t>& sizes, std::uint32_t slots, std::uint64_t rounds = 1) {
    const std::uint64_t count = sizes.size() * rounds;
    const std::int64_t begin_ns = monotonic_ns();
    Streaming streaming({.link = GetParam(), .slot_bytes = *std::ranges::max_element(sizes), .slots = slots},
                        [&](std::span<std::byte> slot, std::uint64_t sequence) -> std::optional<std::uint64_t> {
                          if (sequence == count) {
                            return std::nullopt;
                          }
                          const std::uint64_t bytes = sizes[sequence % sizes.size()];
                          write_test_lines(slot.first(bytes), sequence);
                          return bytes;
                        });
    std::uint64_t bytes = 0;
    for (std::uint64_t sequence = 0; sequence < count; ++sequence) {
      const auto frame = streaming.receive();
      ASSERT_TRUE(frame) << "message " << sequence << ": " << streaming.viewer().status().message;
      ASSERT_EQ(frame->header().sequence, sequence);
      ASSERT_EQ(frame->payload().size(), sizes[sequence % sizes.size()]) << "message " << sequence;
      const auto torn = find_torn_line(frame->payload(), sequence);
      ASSERT_FALSE(torn) << "message " << sequence << " of " << frame->payload().size() << " bytes: line " << *torn;
      bytes += frame->payload().size();
    }
    EXPECT_FALSE(streaming.receive()) << "more than was sent";
    const SubscriberStatus status = streaming.viewer().status();
    EXPECT_EQ(status.state, SubscriberState::finished) << status.message;
    EXPECT_EQ(status.transport, name(GetParam()));
    EXPECT_EQ(streaming.viewer().counts().frames_lost, 0U);
    EXPECT_EQ(bytes, rounds * std::accumulate(sizes.begin(), sizes.end(), std::uint64_t{0}));
    std::printf("%s: %llu messages, %llu bytes, %.1f s\n", std::string(name(GetParam())).c_str(),
                static_cast<unsigned long long>(count), static_cast<unsigned long long>(bytes),
                static_cast<double>(monotonic_ns() - begin_ns) / 1e9);
  }
};

TEST_P(Messages, OfEverySizeUpToATenthOfAGigabyte) {
  check_all_arrive(edges, 16, 3);
  check_all_arrive({frame_bytes, 1, 100 * mebibyte - 1, 193, 100 * mebibyte, 64, 100 * mebibyte + 1, mebibyte}, 2);
}

TEST_P(Messages, LargerThanMostMemories) {
  check_all_arrive({512 * mebibyte - 1, 1, 512 * mebibyte}, 1);
}

TEST_P(Messages, VeryMany) {
  check_all_arrive({64}, 64, 1'000'000);
}

TEST_P(Messages, FourGibibytesInAll) {
  // Whole frames, with all other sizes between them.
  constexpr std::uint64_t frames = (4 * gibibyte + frame_bytes - 1) / frame_bytes;
  std::vector<std::uint64_t> sizes;
  for (std::uint64_t i = 0; i < frames; ++i) {
    sizes.insert(sizes.end(), {frame_bytes, edges[i % edges.size()]});
  }
  check_all_arrive(sizes, 3);
}

INSTANTIATE_TEST_SUITE_P(Links, Messages, testing::ValuesIn(links_here()),
                         [](const auto& link) { return std::string(name(link.param)); });

}  // namespace
}  // namespace framewire::test
