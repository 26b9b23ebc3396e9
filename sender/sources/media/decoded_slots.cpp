#include "sender/sources/media/decoded_slots.hpp"

#include <algorithm>
#include <utility>

namespace framewire {

std::shared_ptr<DecodedSlots> DecodedSlots::create(std::uint32_t count) {
  return std::shared_ptr<DecodedSlots>(new DecodedSlots(count));
}

DecodedSlots::DecodedSlots(std::uint32_t count) : lent_(count) {
  for (std::uint32_t i = 0; i < count; ++i) {
    lent_[i].buffer.number = i;
  }
}

void DecodedSlots::refill(Stream& stream) noexcept {
  for (Lent& one : lent_) {
    State state = State::none;
    {
      const std::scoped_lock lock(mutex_);
      one.state = one.state == State::published && one.reader_closed ? State::returning : one.state;
      state = one.state;
    }
    // Not under our mutex: the stream holds its own mutex while it gives frames to links.
    if (state == State::returning) {
      stream.take_back(one.slot);
    }
    if ((state == State::returning || state == State::none) && !lend(stream, one)) {
      return;
    }
  }
}

/// False if the stream has no free slot now.
bool DecodedSlots::lend(Stream& stream, Lent& one) noexcept {
  const std::optional<LentSlot> slot = stream.lend();
  const std::scoped_lock lock(mutex_);
  one.state = slot ? State::free : State::none;
  if (slot) {
    block_ = slot->block;
    one.slot = slot->slot;
    one.buffer.bytes = slot->bytes;
    one.reader_closed = false;
  }
  return slot.has_value();
}

PoolSlot DecodedSlots::publish(std::uint32_t number) noexcept {
  const std::scoped_lock lock(mutex_);
  lent_[number].state = State::published;
  return lent_[number].slot;
}

void DecodedSlots::end(Stream& stream) noexcept {
  for (Lent& one : lent_) {
    bool was_lent = false;
    {
      const std::scoped_lock lock(mutex_);
      was_lent = std::exchange(one.state, State::ended) != State::none;
    }
    if (was_lent) {
      stream.take_back(one.slot);
    }
  }
}

PictureMemory::Buffer* DecodedSlots::take(std::uint64_t size_bytes) noexcept {
  const std::scoped_lock lock(mutex_);
  const auto found = std::ranges::find(lent_, State::free, &Lent::state);
  if (found == lent_.end() || found->buffer.bytes.size() < size_bytes) {
    return nullptr;
  }
  found->state = State::taken;
  found->buffer.owner = shared_from_this();
  return &found->buffer;
}

void DecodedSlots::released(Buffer& buffer) noexcept {
  const std::scoped_lock lock(mutex_);
  Lent& one = lent_[buffer.number];
  one.reader_closed = true;
  if (one.state == State::taken) {
    one.state = State::free;
    one.reader_closed = false;
  }
}

const PictureMemory::Buffer* DecodedSlots::find(const std::byte* bytes) const noexcept {
  const std::scoped_lock lock(mutex_);
  const auto found = std::ranges::find_if(lent_, [&](const Lent& one) {
    return one.state == State::taken && bytes >= one.buffer.bytes.data() &&
           bytes < one.buffer.bytes.data() + one.buffer.bytes.size();
  });
  return found != lent_.end() ? &found->buffer : nullptr;
}

}  // namespace framewire
