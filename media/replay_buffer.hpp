// The packets that a decoder was sent, for one that takes its place. Internal to media/.
#pragma once

#include <cstddef>
#include <deque>

#include "media/libav.hpp"

namespace framewire::libav {

/// Bounded. A decoder can begin only at a key picture: so packets before the first one are forgotten where room is
/// short, and only what comes from it on can become too much. Used by one thread.
class ReplayBuffer {
 public:
  /// Twice the distance of key pictures that x264 and x265 choose. Also a stream that refreshes its pictures column by
  /// column (x264's intra-refresh) has had time for its first one: it has 480 columns at 7680 pixels.
  static constexpr std::size_t max_packets = 500;
  /// Some seconds of film at the highest bit rates.
  static constexpr std::size_t max_bytes = std::size_t{128} << 20U;

  /// Begins anew, with nothing.
  void start() noexcept;
  /// Forgets everything; nothing is kept any more.
  void stop() noexcept;
  [[nodiscard]] bool is_recording() const noexcept { return is_recording_; }

  /// Keeps what the decoder gets next, if this records. `packet` null: the end. False: what it has got since the first
  /// key picture is more than the limits; this packet is kept, too.
  [[nodiscard]] bool add(const AVPacket* packet);
  [[nodiscard]] std::size_t size() const noexcept { return packets_.size(); }

  /// What was kept, in order; then this does not record.
  [[nodiscard]] std::deque<Packet> take() noexcept;

 private:
  [[nodiscard]] bool is_too_much() const noexcept { return packets_.size() > max_packets || bytes_ > max_bytes; }

  std::deque<Packet> packets_;  // null: the end
  std::size_t bytes_ = 0;
  std::size_t before_key_picture_ = 0;  // packets
  bool has_key_picture_ = false;
  bool is_recording_ = false;
};

}  // namespace framewire::libav
