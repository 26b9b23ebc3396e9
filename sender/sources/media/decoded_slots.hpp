// Lends slots of a stream's pool to a decoder as memory.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "media/picture_memory.hpp"
#include "transport/stream.hpp"

namespace framewire {

/// Lends slots of one epoch to a decoder. The decoder fills them, and keeps some as reference pictures after they are
/// published. A slot belongs to the stream until it is lent, then to the decoder. It returns to the stream once it has
/// been published and the decoder has released it. A slot released unpublished (its picture was dropped) is immediately
/// free for the decoder again.
///
/// Any thread may call take(), released() and find(); only the source's thread calls the other functions. The decoder's
/// threads never take the stream's mutex.
class DecodedSlots final : public PictureMemory, public std::enable_shared_from_this<DecodedSlots> {
 public:
  /// At most `count` slots. Throws std::bad_alloc.
  static std::shared_ptr<DecodedSlots> create(std::uint32_t count);

  /// Returns to the stream the published slots that the decoder has released, and lends free slots.
  void refill(Stream& stream) noexcept;
  /// The slot of the picture in buffer `number`. Call it just before publishing.
  PoolSlot publish(std::uint32_t number) noexcept;
  /// Ends all loans. Call it when no slot of this epoch is claimed any more. The decoder gets no more slots; memory
  /// that it still reads stays mapped.
  void end(Stream& stream) noexcept;

  Buffer* take(std::uint64_t size_bytes) noexcept override;
  void released(Buffer& buffer) noexcept override;
  [[nodiscard]] const Buffer* find(const std::byte* bytes) const noexcept override;

 private:
  enum class State {
    none,       // not lent by the stream now
    free,       // the decoder may take it
    taken,      // the decoder has it
    published,  // the stream has it too; the decoder only reads it, until reader_closed
    returning,  // being returned to the stream
    ended,      // the stream has it; no longer lent
  };
  struct Lent {
    Buffer buffer;
    State state = State::none;
    bool reader_closed = false;  // published, and released by the decoder
    PoolSlot slot;
  };

  explicit DecodedSlots(std::uint32_t count);
  bool lend(Stream& stream, Lent& one) noexcept;

  mutable std::mutex mutex_;
  std::vector<Lent> lent_;            // never grows, because buffers are referenced
  std::shared_ptr<HostBlock> block_;  // holds the buffers while the decoder has any of them
};

}  // namespace framewire
