// A viewer's subscription to a stream, at the sender: it pushes the frames, or lets the viewer pull them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "transport/link.hpp"
#include "transport/session/messages.hpp"
#include "transport/stream.hpp"

namespace framewire {

/// Belongs to its session's thread. The stream outlives it.
class Subscription {
 public:
  virtual ~Subscription() = default;

  /// Joins the stream. `before` is the viewer's previous subscription, or null: if it is on this stream, this one takes
  /// its place, and it leaves next. Returns false when the stream has reached max_viewers.
  virtual bool join(Subscription* before) = 0;
  /// Its queue, if that is attached to `stream`; null for a viewer that pulls, which has none.
  [[nodiscard]] virtual SubscriberQueue* queue_of(const Stream& stream) noexcept = 0;
  /// The memory of its frames, for the start line: "host"; "cuda>host" if the link gets copies in host memory.
  [[nodiscard]] virtual std::string memory() const = 0;
  /// The epoch to announce to the viewer now, if any. Throws Error (failed) when the link cannot use it.
  virtual std::optional<EpochMessage> epoch_to_announce() = 0;
  /// Handles the viewer's `ready`. Throws Error (failed) when it is not allowed now.
  virtual void take_ready(const ReadyMessage& ready) = 0;
  /// Collects released slots and sends waiting frames. Never blocks. Returns when to call it again if nothing happens
  /// before; INT64_MAX: no need.
  virtual std::int64_t make_progress() noexcept = 0;
  /// Whether the stream has ended and this viewer has been sent all of its frames.
  [[nodiscard]] virtual bool is_drained() const = 0;
  [[nodiscard]] virtual SubscriberQueueCounts counts() const = 0;
  /// Stops sending: the counts are final and can go into the bye.
  virtual SubscriberQueueCounts conclude() noexcept = 0;

  /// Readable when make_progress() has work, and when the link's state has changed; then call on_readable(). -1: the
  /// state changes in maintain() only, and there is no progress to make.
  [[nodiscard]] virtual int descriptor() const noexcept { return -1; }
  virtual void on_readable() noexcept {}
  /// Until leave().
  [[nodiscard]] virtual LinkEnd& link() noexcept = 0;

  /// Leaves the stream for good. Returns how many of the sent frames are known to be received.
  virtual std::uint64_t leave() noexcept = 0;
};

}  // namespace framewire
