// Whether a frame is what its sender made of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "frame/frame_header.hpp"

namespace framewire {

/// Checks one frame for as long as the viewer holds it: stamps against its sequence number, and where it has none and
/// `verifies` is set, that its content stays the same. Reads every byte that it checks. No allocation; one thread.
class TearCheck {
 public:
  explicit TearCheck(bool verifies) noexcept : verifies_(verifies) {}

  /// The frame has arrived.
  void begin(const FrameHeader& header, std::span<const std::byte> payload) noexcept;

  /// It is about to be given back. Whether it was torn; nothing when there was no way to tell.
  std::optional<bool> end(const FrameHeader& header, std::span<const std::byte> payload) noexcept;

 private:
  bool verifies_;
  std::optional<std::uint64_t> fingerprint_;
};

/// Whether a stamped frame carries other stamps than its own (frame/stamp.hpp); nothing for frames without stamps.
std::optional<bool> has_wrong_stamps(const FrameHeader& header, std::span<const std::byte> payload) noexcept;

}  // namespace framewire
