// Cuts the bytes of a wire into frames, each payload read directly into its slot.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "frame/frame_header.hpp"
#include "transport/byte_wire.hpp"

namespace framewire {

/// Never waits. One thread at a time.
class TcpReader {
 public:
  /// Where a slice's payload goes: exactly header.slice_bytes bytes.
  struct Place {
    std::span<std::byte> bytes{};
    const char* why_not = nullptr;  // set: the sender may not send this; the rest of "the sender sent …"
  };
  using PlaceOf = std::function<Place(const FrameHeader& header)>;

  /// `wire` outlives this.
  TcpReader(ByteWire& wire, PlaceOf place_of);

  enum class Status {
    frame,   // one is complete: see header()
    part,    // it has read as many bytes as it may
    again,   // nothing more has arrived
    closed,  // the sender ended the connection
    failed,  // it broke
    broken,  // the sender broke the protocol: see fault()
  };
  /// Reads until a frame (or slice) is complete, or as long as `may_read_bytes` is above 0; takes what it reads off
  /// that. With 0 it takes only what earlier calls have read.
  Status read_frame(std::uint64_t& may_read_bytes) noexcept;
  [[nodiscard]] const FrameHeader& header() const noexcept { return header_; }
  [[nodiscard]] const std::string& fault() const noexcept { return fault_; }

 private:
  bool begin_frame() noexcept;
  Status read_more(std::uint64_t& may_read_bytes) noexcept;
  void expect(std::size_t bytes) noexcept;
  [[nodiscard]] std::span<const std::byte> buffered() const noexcept {
    return std::span(buffer_).subspan(begin_, end_ - begin_);
  }
  bool break_with(std::string why) noexcept;

  ByteWire& wire_;
  const PlaceOf place_of_;
  FrameHeader header_;
  bool is_in_frame_ = false;
  std::span<std::byte> rest_;  // of the payload, not here yet
  std::size_t expected_bytes_ = 1;
  std::string fault_;

  // What was read behind a payload. Empty while a payload is not complete.
  std::vector<std::byte> buffer_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  std::size_t ahead_bytes_;  // how much is read behind a payload
};

}  // namespace framewire
