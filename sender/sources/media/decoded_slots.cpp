#include "sender/sources/media/decoded_slots.hpp"

#include <algorithm>
#include <utility>

namespace framewire {

std::shared_ptr<DecodedSlots> DecodedSlots::create(std::uint32_t count) {
  return std::shared_ptr<DecodedSlots>(new DecodedSlots(count));
}

DecodedSlots::DecodedSlots(std::uint32_t count) : places_(count) {
  for (std::uint32_t i = 0; i < count; ++i) {
    places_[i].buffer.number = i;
  }
}

void DecodedSlots::refill(Stream& stream) noexcept {
  for (Place& place : places_) {
    if (!refill(stream, place)) {
      return;
    }
  }
}

/// False if the stream has no free slot now. Calls the stream without the mutex: it holds its own one while it gives
/// frames to links.
bool DecodedSlots::refill(Stream& stream, Place& place) noexcept {
  {
    const std::scoped_lock lock(mutex_);
    if (place.state == State::published && place.reader_closed) {
      place.state = State::none;
    }
    if (place.state != State::none) {
      return true;
    }
  }
  place.kept.reset();
  place.claimed = stream.claim_spare();
  if (place.claimed) {
    const std::scoped_lock lock(mutex_);
    block_ = place.claimed->host_block();
    place.buffer.bytes = place.claimed->bytes();
    place.reader_closed = false;
    place.state = State::free;
  }
  return place.claimed.has_value();
}

void DecodedSlots::publish(Stream& stream, std::uint32_t number, const FrameInfo& info) {
  Place& place = places_[number];
  {
    const std::scoped_lock lock(mutex_);
    place.state = State::published;
  }
  place.kept = stream.publish_and_keep(std::move(*place.claimed), info);
  place.claimed.reset();
}

void DecodedSlots::end() noexcept {
  for (Place& place : places_) {
    {
      const std::scoped_lock lock(mutex_);
      place.state = State::ended;
    }
    place.claimed.reset();
    place.kept.reset();
  }
}

PictureMemory::Buffer* DecodedSlots::take(std::uint64_t size_bytes) noexcept {
  const std::scoped_lock lock(mutex_);
  const auto found = std::ranges::find(places_, State::free, &Place::state);
  if (found == places_.end() || found->buffer.bytes.size() < size_bytes) {
    return nullptr;
  }
  found->state = State::taken;
  found->buffer.owner = shared_from_this();
  return &found->buffer;
}

void DecodedSlots::released(Buffer& buffer) noexcept {
  const std::scoped_lock lock(mutex_);
  Place& place = places_[buffer.number];
  place.reader_closed = true;
  if (place.state == State::taken) {
    place.state = State::free;
    place.reader_closed = false;
  }
}

const PictureMemory::Buffer* DecodedSlots::find(const std::byte* bytes) const noexcept {
  const std::scoped_lock lock(mutex_);
  const auto found = std::ranges::find_if(places_, [&](const Place& one) {
    return one.state == State::taken && bytes >= one.buffer.bytes.data() &&
           bytes < one.buffer.bytes.data() + one.buffer.bytes.size();
  });
  return found != places_.end() ? &found->buffer : nullptr;
}

}  // namespace framewire
