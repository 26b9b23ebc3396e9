// How one viewer comes to the frames of a stream, once the two have agreed: they are pushed to it, or it pulls.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "transport/session/data_link.hpp"
#include "transport/session/messages.hpp"
#include "transport/stream.hpp"

namespace framewire {

/// Belongs to its session's thread. The stream outlives it.
class FrameDelivery {
 public:
  virtual ~FrameDelivery() = default;

  /// Joins the stream, in the place of the viewer's frame delivery before this one where that has one there (else
  /// none): it leaves next. False when the stream has as many viewers as it takes.
  virtual bool join(const FrameDelivery* before) = 0;
  /// The stream among whose viewers this one counts; none for who only pulls.
  [[nodiscard]] virtual const Stream* place() const noexcept = 0;
  /// The epoch that the viewer has to hear of now, if there is one. Throws Error (failed) when the link cannot take it.
  virtual std::optional<EpochMessage> epoch_to_announce() = 0;
  /// What the viewer said. Throws Error (failed) where that may not be.
  virtual void take_ready(const ReadyMessage& ready) = 0;
  /// Moves on what can be moved on.
  virtual void service() noexcept = 0;
  /// The stream has ended, and this viewer has got of it what it will get.
  [[nodiscard]] virtual bool is_drained() const = 0;
  [[nodiscard]] virtual SubscriberQueueCounts counts() const = 0;
  /// Sends no further frame: the viewer can be told how many there were.
  virtual SubscriberQueueCounts conclude() noexcept = 0;

  /// Readable when service() has something to do, and when the state has changed; on_readable() comes next.
  [[nodiscard]] virtual int descriptor() const noexcept = 0;
  virtual void on_readable() noexcept = 0;
  [[nodiscard]] virtual LinkState state() const noexcept = 0;
  [[nodiscard]] virtual std::string fault() const = 0;

  /// Leaves the stream, for good. How many frames this end knows to be received, of those that counts() says were sent.
  virtual std::uint64_t leave() noexcept = 0;
};

/// Pushes: the stream's fan-out gives the frames to a link. `wake_event` is raised when there is something to announce,
/// or the end has come; it outlives the frame delivery.
std::unique_ptr<FrameDelivery> make_push_delivery(Stream& stream, std::unique_ptr<SenderLink> link, Delivery delivery,
                                                  int wake_event);

/// The viewer reads them from the pool: nothing is counted here, and nothing waits for it.
std::unique_ptr<FrameDelivery> make_pull_delivery(Stream& stream, LinkConnection path, const LinkParameters& parameters,
                                                  int wake_event);

}  // namespace framewire
