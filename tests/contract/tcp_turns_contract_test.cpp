// What the tcp link does in one turn, over a wire that takes and gives as much as anybody asks for: a thread gets its
// turn back, and small things go together. Counts of calls and bytes, and no clock.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include "base/wait.hpp"
#include "tests/contract/link_pairs.hpp"
#include "transport/tcp/tcp_receiver.hpp"
#include "transport/tcp/tcp_writer.hpp"

namespace framewire::test {
namespace {

constexpr std::int64_t wire_timeout_ns = 5'000'000'000;
constexpr std::uint64_t mebibyte = std::uint64_t{1} << 20;

struct WireCounts {
  std::uint64_t bytes_read = 0;
  std::uint64_t bytes_written = 0;
  int writes = 0;
};

/// Takes a mebibyte at a time, and gives `incoming` and then as many zeros.
class EndlessWire final : public ByteWire {
 public:
  EndlessWire(WireCounts& counts, std::deque<std::byte> incoming, std::uint64_t zeros)
      : counts_(counts), incoming_(std::move(incoming)), zeros_(zeros), ends_(unix_socket_pair()) {}

  [[nodiscard]] int fd() const noexcept override { return ends_.first.get(); }

  WireRead read(std::span<std::byte> first, std::span<std::byte> second) noexcept override {
    std::size_t bytes = 0;
    for (const std::span<std::byte> into : {first, second}) {
      for (std::byte& byte : into.first(std::min<std::size_t>(into.size(), mebibyte))) {
        if (incoming_.empty() && zeros_ == 0) {
          break;
        }
        byte = incoming_.empty() ? std::byte{0} : incoming_.front();
        zeros_ -= incoming_.empty() ? 1U : 0U;
        if (!incoming_.empty()) {
          incoming_.pop_front();
        }
        ++bytes;
      }
      if (bytes < into.size()) {
        break;
      }
    }
    counts_.bytes_read += bytes;
    return {.status = bytes > 0 ? WireStatus::moved : WireStatus::again, .bytes = bytes};
  }

  WireWrite write_some(std::span<iovec>& parts) noexcept override {
    ++counts_.writes;
    const std::size_t bytes = std::min<std::size_t>(size_bytes(parts), mebibyte);
    drop_written(parts, bytes);
    drop_written(parts, 0);
    counts_.bytes_written += bytes;
    return parts.empty() ? WireWrite::done : WireWrite::more;
  }

 private:
  WireCounts& counts_;
  std::deque<std::byte> incoming_;
  std::uint64_t zeros_;
  std::pair<FileDescriptor, FileDescriptor> ends_;
};

void add_header(std::deque<std::byte>& to, std::uint64_t sequence, std::uint16_t slot, std::uint64_t bytes) {
  FrameHeader header;
  header.sequence = sequence;
  header.epoch = 1;
  header.slot = slot;
  header.layout = bytes_layout(bytes);
  header.slice_bytes = bytes;
  std::array<std::byte, max_frame_header_bytes> encoded{};
  to.insert(to.end(), encoded.begin(), encoded.begin() + static_cast<std::ptrdiff_t>(encode(header, encoded)));
}

/// A sender that writes as fast as its frames are read does not keep who reads them from other work.
TEST(TcpTurn, OfWhoReadsEndsWithinALargeFrame) {
  constexpr std::uint64_t frame_bytes = 40 * mebibyte;
  WireCounts counts;
  std::deque<std::byte> incoming;
  add_header(incoming, 1, 0, frame_bytes);
  TcpReceiver receiver(std::make_unique<EndlessWire>(counts, std::move(incoming), frame_bytes), wire_timeout_ns);
  receiver.begin_epoch(1, frame_bytes, 1, {});
  EXPECT_TRUE(receiver.drive()) << "there is more to read";
  EXPECT_GE(counts.bytes_read, 4 * mebibyte) << "and it is no small turn";
  EXPECT_LE(counts.bytes_read, 20 * mebibyte);
  EXPECT_FALSE(receiver.poll());
  for (int turns = 0; turns < 20 && receiver.drive(); ++turns) {
  }
  const auto frame = receiver.poll();
  ASSERT_TRUE(frame);
  EXPECT_EQ(frame->payload.size(), frame_bytes);
}

/// Credits of small frames cost one call together, if more frames wait.
TEST(TcpTurn, OfCreditsHoldsBackThoseOfSmallFramesWhileMoreWait) {
  constexpr std::uint16_t frames = 16;
  for (const std::uint64_t bytes : {std::uint64_t{100}, std::uint64_t{100'000}}) {
    WireCounts counts;
    std::deque<std::byte> incoming;
    for (std::uint16_t i = 0; i < frames; ++i) {
      add_header(incoming, i, i, bytes);
      incoming.insert(incoming.end(), bytes, std::byte{0});
    }
    TcpReceiver receiver(std::make_unique<EndlessWire>(counts, std::move(incoming), 0), wire_timeout_ns);
    receiver.begin_epoch(1, bytes, frames, {});
    while (receiver.drive()) {
    }
    for (int i = 0; i < 3; ++i) {
      const auto frame = receiver.poll();
      ASSERT_TRUE(frame);
      receiver.return_credit(frame->header);
    }
    EXPECT_EQ(counts.writes, bytes == 100 ? 0 : 3) << "a large frame's credit does not wait";
    while (const auto frame = receiver.poll()) {
      receiver.return_credit(frame->header);
    }
    EXPECT_EQ(counts.bytes_written, frames * sizeof(CreditWord));
    EXPECT_LE(counts.writes, bytes == 100 ? frames / 4 + 1 : frames);
  }
}

class TcpTurnOfWhoWrites : public testing::Test {
 protected:
  void queue(std::uint64_t frames, std::uint64_t bytes) {
    payload_ = HostBlock::create_private("frames", bytes, {});
    for (std::uint64_t i = 0; i < frames; ++i) {
      OutgoingFrame frame{.payload = {payload_.get(), 0, bytes}, .pool_slot = {1, static_cast<std::uint16_t>(i)}};
      frame.header.sequence = i;
      frame.header.epoch = 1;
      frame.header.layout = bytes_layout(bytes);
      frame.header.slice_bytes = bytes;
      ASSERT_TRUE(writer_.queue(frame, false));
    }
  }
  [[nodiscard]] bool is_called() const { return wait_for(writer_.descriptor(), POLLIN, 0); }
  std::size_t written() {
    std::array<PoolSlot, 100> slots;
    return writer_.take_written(slots);
  }

  WireCounts counts_;
  std::shared_ptr<HostBlock> payload_;
  TcpWriter writer_{std::make_unique<EndlessWire>(counts_, std::deque<std::byte>(), 0)};
};

/// The session's thread has other work. It is called again for the rest.
TEST_F(TcpTurnOfWhoWrites, EndsAfterSomeMebibytes) {
  queue(4, 3 * mebibyte);
  writer_.write();
  EXPECT_GE(counts_.bytes_written, 3 * mebibyte);
  EXPECT_LE(counts_.bytes_written, 6 * mebibyte);
  for (int turns = 0; turns < 10 && is_called(); ++turns) {
    writer_.write();
  }
  EXPECT_EQ(written(), 4U);
  EXPECT_FALSE(is_called());
}

/// A source writes small frames itself, and leaves others to the session's thread, which is called once.
TEST_F(TcpTurnOfWhoWrites, IsShortForASource) {
  writer_.set_idle(true);
  queue(5, 30'000);
  writer_.wake();
  EXPECT_GE(written(), 1U);
  EXPECT_LE(counts_.bytes_written, 70'000U);
  EXPECT_TRUE(is_called());
  writer_.write();
  EXPECT_FALSE(is_called());
  queue(1, 100'000);
  const std::uint64_t before = counts_.bytes_written;
  writer_.wake();
  EXPECT_EQ(counts_.bytes_written, before);
  EXPECT_TRUE(is_called());
  writer_.write();
  EXPECT_GT(counts_.bytes_written, before + 100'000);
}

TEST_F(TcpTurnOfWhoWrites, IsLeftToTheSessionWhereTheLinkIsNotIdle) {
  writer_.set_idle(false);
  queue(3, 100);
  writer_.wake();
  EXPECT_EQ(counts_.writes, 0);
  EXPECT_TRUE(is_called());
  writer_.write();
  EXPECT_EQ(counts_.writes, 1) << "small frames go together";
  EXPECT_FALSE(is_called());
}

/// Who sleeps for written frames is told of those that another thread writes.
TEST_F(TcpTurnOfWhoWrites, IsToldToWhoArmed) {
  writer_.set_idle(true);
  queue(1, 100);
  EXPECT_TRUE(writer_.arm());
  EXPECT_FALSE(is_called());
  writer_.wake();
  EXPECT_TRUE(is_called());
  EXPECT_FALSE(writer_.arm()) << "a frame is written";
  writer_.write();
  EXPECT_FALSE(is_called());
  EXPECT_EQ(written(), 1U);
  EXPECT_TRUE(writer_.arm());
}

}  // namespace
}  // namespace framewire::test
