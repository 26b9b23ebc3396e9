#include "media/replay_buffer.hpp"

#include <utility>

namespace framewire::libav {

void ReplayBuffer::start() noexcept {
  stop();
  is_recording_ = true;
}

void ReplayBuffer::stop() noexcept {
  packets_.clear();
  bytes_ = before_key_picture_ = 0;
  has_key_picture_ = is_recording_ = false;
}

bool ReplayBuffer::add(const AVPacket* packet) {
  if (!is_recording_) {
    return true;
  }
  Packet kept(packet != nullptr ? av_packet_clone(packet) : nullptr);
  if (packet != nullptr && !kept) {
    stop();  // without memory: no other decoder can take the place then
    return true;
  }
  has_key_picture_ = has_key_picture_ || (packet != nullptr && (packet->flags & AV_PKT_FLAG_KEY) != 0);
  before_key_picture_ += has_key_picture_ ? 0U : 1U;
  bytes_ += packet != nullptr ? static_cast<std::size_t>(packet->size) : 0U;
  packets_.push_back(std::move(kept));
  while (is_too_much() && before_key_picture_ > 0) {
    bytes_ -= packets_.front() ? static_cast<std::size_t>(packets_.front()->size) : 0U;
    packets_.pop_front();
    --before_key_picture_;
  }
  return !is_too_much();
}

std::deque<Packet> ReplayBuffer::take() noexcept {
  std::deque<Packet> taken = std::exchange(packets_, {});
  stop();
  return taken;
}

}  // namespace framewire::libav
