#include "transport/tcp/tcp_reader.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/bytes.hpp"

namespace framewire {

namespace {

/// Small frames are read many at a time, and their payloads copied once more from the buffer.
constexpr std::size_t buffer_bytes = std::size_t{32} * 1024;
constexpr std::size_t largest_small_payload_bytes = buffer_bytes / 2;

/// A thread that sleeps is woken for so much of a large payload at a time.
constexpr std::size_t most_expected_bytes = std::size_t{1} << 20;
/// Of what is expected, TLS may have taken a record that is not complete.
constexpr std::size_t may_be_taken_bytes = std::size_t{32} * 1024;

}  // namespace

TcpReader::TcpReader(ByteWire& wire, PlaceOf place_of)
    : wire_(wire), place_of_(std::move(place_of)), buffer_(buffer_bytes), ahead_bytes_(buffer_bytes) {}

TcpReader::Status TcpReader::read_frame(std::uint64_t& may_read_bytes) noexcept {
  for (;;) {
    if (!is_in_frame_ && !begin_frame()) {
      return Status::broken;
    }
    if (is_in_frame_ && rest_.empty()) {
      is_in_frame_ = false;
      return Status::frame;
    }
    const Status status = may_read_bytes > 0 ? read_more(may_read_bytes) : Status::part;
    if (status != Status::frame) {
      return status;
    }
  }
}

/// Takes a complete header, and what there is of its payload, from the buffer. False if the sender broke the protocol.
bool TcpReader::begin_frame() noexcept {
  constexpr std::size_t prefix_bytes = 8;
  if (buffered().size() < prefix_bytes) {
    return true;
  }
  const auto header_bytes = header_bytes_from_prefix(buffered().first<prefix_bytes>());
  if (!header_bytes) {
    return break_with("the sender sent bytes that are no frame header");
  }
  if (buffered().size() < *header_bytes) {
    return true;
  }
  const HeaderFault header_fault = decode(buffered().first(*header_bytes), header_);
  if (header_fault != HeaderFault::none) {
    return break_with(std::string("the sender sent ") + describe(header_fault));
  }
  const auto [place, why_not] = place_of_(header_);
  if (why_not != nullptr) {
    return break_with(std::string("the sender sent ") + why_not);
  }
  begin_ += *header_bytes;
  const std::size_t held = std::min(place.size(), buffered().size());
  copy_bytes(buffered().first(held), place.first(held));
  begin_ += held;
  rest_ = place.subspan(held);
  is_in_frame_ = true;
  // Behind a large payload, only the next header: the next payload goes directly into its slot, too.
  ahead_bytes_ = place.size() > largest_small_payload_bytes ? max_frame_header_bytes : buffer_bytes;
  return true;
}

/// One read. `frame`: there is more than before.
TcpReader::Status TcpReader::read_more(std::uint64_t& may_read_bytes) noexcept {
  // Either a header is incomplete, or a payload, and then the buffer is empty.
  std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
  end_ -= std::exchange(begin_, 0);
  const std::size_t ahead = std::max(ahead_bytes_, end_ + max_frame_header_bytes) - end_;
  const WireRead got = wire_.read(rest_, std::span(buffer_).subspan(end_, ahead));
  switch (got.status) {
    case WireStatus::moved:
      break;
    case WireStatus::again:
      expect(rest_.size());
      return Status::again;
    case WireStatus::closed:
      return Status::closed;
    case WireStatus::failed:
      return Status::failed;
  }
  may_read_bytes -= std::min<std::uint64_t>(may_read_bytes, got.bytes);
  const std::size_t of_payload = std::min(rest_.size(), got.bytes);
  rest_ = rest_.subspan(of_payload);
  end_ += got.bytes - of_payload;
  return Status::frame;
}

/// Lets the socket become readable only when much of a large payload has arrived.
void TcpReader::expect(std::size_t bytes) noexcept {
  const std::size_t expected =
      bytes > 2 * may_be_taken_bytes ? std::min(bytes - may_be_taken_bytes, most_expected_bytes) : 1;
  if (std::exchange(expected_bytes_, expected) != expected) {
    const int low_water_bytes = static_cast<int>(expected);
    ::setsockopt(wire_.fd(), SOL_SOCKET, SO_RCVLOWAT, &low_water_bytes, sizeof low_water_bytes);
  }
}

bool TcpReader::break_with(std::string why) noexcept {
  fault_ = std::move(why);
  return false;
}

}  // namespace framewire
