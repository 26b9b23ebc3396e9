// A tcp receiver whose wire always has more.
#include "transport/tcp/tcp_receiver.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "tests/contract/link_pairs.hpp"

namespace framewire::test {
namespace {

/// A wire over which one large frame comes as fast as it is read.
class EndlessWire final : public ByteWire {
 public:
  explicit EndlessWire(std::vector<std::byte> header) : header_(std::move(header)) {}
  [[nodiscard]] int fd() const noexcept override { return sockets_.first.get(); }
  WireRead read(std::span<std::byte> first, std::span<std::byte> second) noexcept override {
    std::size_t bytes = first.size();
    if (bytes == 0) {
      bytes = std::min(second.size(), header_.size() - std::exchange(header_sent_, header_.size()));
      std::copy_n(header_.begin(), bytes, second.begin());
    }
    bytes = std::min(bytes, std::size_t{1} << 20);
    read_bytes_ += bytes;
    return {.status = bytes > 0 ? WireStatus::moved : WireStatus::again, .bytes = bytes};
  }
  WireWrite write_some(std::span<iovec>& parts) noexcept override {
    parts = {};
    return WireWrite::done;
  }
  [[nodiscard]] std::uint64_t read_bytes() const { return read_bytes_; }

 private:
  std::pair<FileDescriptor, FileDescriptor> sockets_ = tcp_socket_pair();
  std::vector<std::byte> header_;
  std::size_t header_sent_ = 0;
  std::uint64_t read_bytes_ = 0;
};

TEST(TcpReceivers, TurnOverALargeFrameInParts) {
  constexpr std::uint64_t large_bytes = std::uint64_t{40} << 20;
  FrameHeader header;
  header.epoch = 1;
  header.layout = bytes_layout(large_bytes);
  header.slice_bytes = large_bytes;
  std::vector<std::byte> encoded(encoded_bytes(header));
  encode(header, encoded);
  auto endless = std::make_unique<EndlessWire>(encoded);
  const EndlessWire& wire = *endless;
  TcpReceiver receiver(std::move(endless), 5 * ns_per_s);
  receiver.begin_epoch(1, large_bytes, 1, {});
  std::uint64_t before = 0;
  int turns = 0;
  for (; receiver.drive(); ++turns) {
    EXPECT_LE(wire.read_bytes() - before, std::uint64_t{17} << 20);
    before = wire.read_bytes();
  }
  EXPECT_EQ(turns, 3);
  EXPECT_TRUE(receiver.poll());
}

}  // namespace
}  // namespace framewire::test
