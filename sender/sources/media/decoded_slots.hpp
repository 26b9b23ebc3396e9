// Slots of a stream's pool as a decoder's memory.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "media/picture_memory.hpp"
#include "transport/stream.hpp"

namespace framewire {

/// Lends slots of one epoch to a decoder, which fills them and keeps some of them as references after they are
/// published. A slot belongs to the stream until it is lent, then to the decoder, and to the stream again once it is
/// published and the decoder has let go of it, whichever comes last. What the decoder lets go of unpublished (a picture
/// that was dropped) it gets again at once.
///
/// take(), let_go() and find() may be called by any thread, all else by the source's. The stream's mutex is never taken
/// by the decoder's threads.
class DecodedSlots final : public PictureMemory, public std::enable_shared_from_this<DecodedSlots> {
 public:
  /// At most `count` slots. Throws std::bad_alloc.
  static std::shared_ptr<DecodedSlots> create(std::uint32_t count);

  /// Takes back from the decoder what it has let go of, and lends what is free.
  void refill(Stream& stream) noexcept;
  /// The slot of the picture in place `number`, which is about to be published.
  PoolSlot publish(std::uint32_t number) noexcept;
  /// Ends all loans, when nothing of this epoch is claimed any more: the decoder gets nothing more, and what it still
  /// reads stays mapped.
  void end(Stream& stream) noexcept;

  Place* take(std::uint64_t size_bytes) noexcept override;
  void released(Place& place) noexcept override;
  [[nodiscard]] const Place* find(const std::byte* bytes) const noexcept override;

 private:
  enum class State {
    none,       // not lent to us now
    free,       // the decoder may take it
    taken,      // the decoder has it
    published,  // so has the stream, and the decoder only reads it, until reader_closed
    returning,  // on its way back to the stream
    ended,      // the stream has it, and nobody takes it any more
  };
  struct Lent {
    Place place;
    State state = State::none;
    bool reader_closed = false;  // published, and not the decoder's any more
    PoolSlot slot;
  };

  explicit DecodedSlots(std::uint32_t count);
  bool lend(Stream& stream, Lent& one) noexcept;

  mutable std::mutex mutex_;
  std::vector<Lent> lent_;            // never grows: places are referred to
  std::shared_ptr<HostBlock> block_;  // of the places, as long as the decoder has one of them
};

}  // namespace framewire
