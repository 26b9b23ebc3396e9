// Slots of a stream's pool as the memory that a decoder fills.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "media/picture_memory.hpp"
#include "transport/stream.hpp"

namespace framewire {

/// Claims slots of one epoch for a decoder. The decoder fills them, and still reads some as reference pictures after
/// they are published. A slot returns to the stream once it has been published and the decoder has released it. A slot
/// released unpublished (its picture was dropped) is immediately free for the decoder again.
///
/// Any thread may call take(), released() and find(); only the source's thread calls the other functions. The decoder's
/// threads never take the stream's mutex.
class DecodedSlots final : public PictureMemory, public std::enable_shared_from_this<DecodedSlots> {
 public:
  /// At most `count` slots. Throws std::bad_alloc.
  static std::shared_ptr<DecodedSlots> create(std::uint32_t count);

  /// Returns to the stream the published slots that the decoder has released, and claims free ones.
  void refill(Stream& stream) noexcept;
  /// Publishes the picture in buffer `number`. Throws Error.
  void publish(Stream& stream, std::uint32_t number, const FrameInfo& info);
  /// Returns all slots. The decoder gets no more of them; memory that it still reads stays mapped. The stream outlives
  /// this call.
  void end() noexcept;

  Buffer* take(std::uint64_t size_bytes) noexcept override;
  void released(Buffer& buffer) noexcept override;
  [[nodiscard]] const Buffer* find(const std::byte* bytes) const noexcept override;

 private:
  enum class State {
    none,       // has no slot now
    free,       // the decoder may take it
    taken,      // the decoder has it
    published,  // viewers may have it too; the decoder only reads it, until reader_closed
    ended,      // the decoder gets it no more
  };
  struct Place {
    Buffer buffer;
    State state = State::none;
    bool reader_closed = false;  // published, and released by the decoder
    // The source's thread, without the mutex. At most one of them:
    std::optional<ClaimedSlot> claimed;
    std::optional<KeptSlot> kept;
  };

  explicit DecodedSlots(std::uint32_t count);
  bool refill(Stream& stream, Place& place) noexcept;

  mutable std::mutex mutex_;
  std::vector<Place> places_;         // never grows, because buffers are referenced
  std::shared_ptr<HostBlock> block_;  // holds the buffers while the decoder has any of them
};

}  // namespace framewire
