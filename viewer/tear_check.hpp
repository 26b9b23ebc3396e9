// Detects torn frames.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "frame/frame_header.hpp"

namespace framewire {

/// Checks one frame while the viewer holds it. A frame with a test pattern must have the pattern of its sequence
/// number. The content of any other frame must not change; that is checked only if `verify` is set. Reads every byte
/// that it checks. Never allocates. One thread.
class TearCheck {
 public:
  explicit TearCheck(bool verify) noexcept : verify_(verify) {}

  /// The frame has arrived.
  void begin(const FrameHeader& header, std::span<const std::byte> payload) noexcept;

  /// Call it just before the frame is released. Whether the frame was torn; nothing if it could not be checked.
  std::optional<bool> end(const FrameHeader& header, std::span<const std::byte> payload) noexcept;

 private:
  bool verify_;
  std::optional<std::uint64_t> fingerprint_;
};

/// Whether the test pattern in a frame is not that of its sequence number (frame/test_pattern.hpp); nothing for frames
/// without one.
std::optional<bool> has_wrong_test_pattern(const FrameHeader& header, std::span<const std::byte> payload) noexcept;

}  // namespace framewire
