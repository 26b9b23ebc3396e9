// Detects torn frames.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "frame/frame_header.hpp"

namespace framewire {

/// Checks one frame while the viewer holds it. A stamped frame: that its stamps match its sequence number. Other
/// frames, if `verifies` is set: that the content does not change. Reads every byte that it checks. Never allocates;
/// used by one thread.
class TearCheck {
 public:
  explicit TearCheck(bool verifies) noexcept : verifies_(verifies) {}

  /// The frame has arrived.
  void begin(const FrameHeader& header, std::span<const std::byte> payload) noexcept;

  /// Call it just before the frame is released. Whether the frame was torn; nothing if it could not be checked.
  std::optional<bool> end(const FrameHeader& header, std::span<const std::byte> payload) noexcept;

 private:
  bool verifies_;
  std::optional<std::uint64_t> fingerprint_;
};

/// Whether a stamped frame has stamps that are not its own (frame/stamp.hpp); nothing for frames without stamps.
std::optional<bool> has_wrong_stamps(const FrameHeader& header, std::span<const std::byte> payload) noexcept;

}  // namespace framewire
