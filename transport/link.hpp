// What a link is: the two ends of one way for frames to get from a pool to one viewer. A link exists when it passes the
// contract suite (tests/contract).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "frame/frame_header.hpp"
#include "transport/pool.hpp"

namespace framewire {

enum class LinkKind { local, tcp, rdma };
std::string_view name(LinkKind kind) noexcept;
std::optional<LinkKind> link_kind_from_name(std::string_view wanted) noexcept;
/// "local, tcp"; "none".
std::string names_of(std::span<const LinkKind> kinds);

enum class LinkState {
  open,
  closed,         // the peer closed its end
  lost,           // the peer or the way to it is gone
  broken,         // the peer broke the protocol; the session ends
  source_failed,  // what this end was to send could not be read: the peer is well, and should hear why the session ends
};

/// Bytes that stand in a regular file instead of a slot.
struct FileRange {
  int fd = -1;  // -1: they do not; else the source's, open as long as any link holds the frame
  std::uint64_t offset_bytes = 0;
  [[nodiscard]] bool is_there() const noexcept { return fd >= 0; }
};

/// One frame (or slice) to be sent. The link reads `header` and `payload` until it lets go of `slot`.
struct OutgoingFrame {
  FrameHeader header{};  // `slot` is set by the link
  std::span<const std::byte> payload{};
  PoolSlot pool_slot{};
  FileRange file{};  // the payload, where it is there; only for links that take files
};

enum class OfferResult {
  accepted,   // the link holds the slot until collect() names it
  no_credit,  // every ring slot is in use, or the send queue is bounded and full: offer again after collect()
  closed,     // never again
};

/// What the sender of a link that writes into the viewer's memory has to know of it: where the ring's slots and header
/// cells stand, and the keys to them. Told on the control channel, with the viewer's `ready`.
struct RingAccess {
  std::uint64_t payload_address = 0;
  std::uint32_t payload_key = 0;
  std::uint64_t cells_address = 0;
  std::uint32_t cells_key = 0;
  std::uint32_t cells_per_slot = 0;
  std::uint32_t receive_depth = 0;  // slices that may be announced and not taken yet
};

/// What a viewer that pulls has to know of the sender's pool: where its slots and its frame directory stand
/// (transport/frame_directory.hpp), and the keys to them. Told on the control channel, with the epoch.
struct PoolAccess {
  std::uint64_t payload_address = 0;
  std::uint32_t payload_key = 0;
  std::uint64_t directory_address = 0;
  std::uint32_t directory_key = 0;
  std::uint32_t slots = 0;
};

/// Wakes the peer of a link. Shared, because the link may be gone when it is called.
class PeerWaker {
 public:
  virtual ~PeerWaker() = default;
  /// Never waits, whatever the peer does. Any thread, and under no mutex.
  virtual void wake() noexcept = 0;
};

/// The sender's end. Owned by its session. begin_epoch(), descriptor(), on_readable() and fault() belong to the
/// session's thread; epoch_ready(), offer(), take_waker(), collect(), arm() and frames_acknowledged() are called under
/// the stream's mutex by any thread, or by the session's once the stream is left, and never wait; state() by any.
class SenderLink {
 public:
  virtual ~SenderLink() = default;

  [[nodiscard]] virtual LinkKind kind() const noexcept = 0;

  /// Prepares for frames of `pool`'s epoch, before the viewer is told of it. Throws Error when the peer is gone.
  virtual void begin_epoch(std::shared_ptr<Pool> pool) = 0;
  /// The viewer has `ring_slots` slots ready for that epoch: all its credits. `access` comes from the peer, as it said
  /// it; a link that moves the bytes otherwise passes over it.
  virtual void epoch_ready(std::uint32_t epoch, std::uint32_t ring_slots,
                           const std::optional<RingAccess>& access) noexcept = 0;

  /// Whether it can send what stands in a file, without a copy to a slot.
  [[nodiscard]] virtual bool supports_sendfile() const noexcept { return false; }
  /// Under `latest` whoever owns the link calls this before the first offer. From then on a frame is taken only while
  /// few of those before have yet to leave (tcp: none, rdma: one); else there is no credit. So the newest frame waits
  /// at the subscriber queue, where a newer one replaces it. collect() and arm() tell of a frame that has left, as of a
  /// credit. A link without a queue has nothing to do.
  virtual void bound_send_queue() noexcept {}
  /// Hands over one frame of the newest ready epoch.
  virtual OfferResult offer(const OutgoingFrame& frame) noexcept = 0;
  /// What has to wake the peer for what was offered since the last call; mostly nothing. For the caller of offer(),
  /// who calls it when the stream's mutex is free again.
  [[nodiscard]] virtual std::shared_ptr<PeerWaker> take_waker() noexcept { return nullptr; }

  /// Names pool slots that the link let go of since the last call; at most let_go.size(). Also takes in credits.
  virtual std::size_t poll_released(std::span<PoolSlot> released) noexcept = 0;

  /// Asks that descriptor() becomes readable at the next credit or let-go slot. Returns false when there is something
  /// to collect already.
  virtual bool arm() noexcept = 0;

  /// Readable when collect() has something after arm(), and when the state has changed. on_readable() comes next, then
  /// collect().
  [[nodiscard]] virtual int descriptor() const noexcept = 0;
  virtual void on_readable() noexcept = 0;

  [[nodiscard]] virtual LinkState state() const noexcept = 0;
  /// The sentence for a state other than open.
  [[nodiscard]] virtual std::string fault() const = 0;

  /// Frames that the viewer gave back: received for certain.
  [[nodiscard]] virtual std::uint64_t frames_acknowledged() const noexcept = 0;
};

/// One frame as it arrived. The payload stands in the ring until return_credit().
struct IncomingFrame {
  FrameHeader header{};  // checked
  std::span<const std::byte> payload{};
  std::int64_t received_ns = 0;
  std::shared_ptr<const HostBlock> block{};  // that the payload lies in
  std::uint64_t offset_in_block_bytes = 0;
};

/// The viewer's end. Owned by the subscriber's connection. poll(), arm() and return_credit() belong to the receiving
/// thread of the program, begin_epoch() to the subscriber's; the link makes these two safe against each other.
class ReceiverLink {
 public:
  virtual ~ReceiverLink() = default;

  [[nodiscard]] virtual LinkKind kind() const noexcept = 0;
  /// What a person should know of this connection beyond its kind, for the start line: " ring=registration". Mostly
  /// nothing.
  [[nodiscard]] virtual std::string note() const { return {}; }

  /// Makes a ring of `ring_slots` slots of `slot_bytes` (local: maps the sender's pool). `pool` comes from the peer, as
  /// it said it; only a link that pulls looks at it. Returns what the sender needs to write into the ring, where it
  /// does that. Throws Error.
  virtual std::optional<RingAccess> begin_epoch(std::uint32_t epoch, std::uint64_t slot_bytes, std::uint32_t ring_slots,
                                                const std::optional<PoolAccess>& pool) = 0;

  /// The sender has been told that this end is ready for the epoch begun last, and whoever takes its frames knows their
  /// format. A link that is written to has nothing to do.
  virtual void epoch_is_ready() noexcept {}

  /// The next frame in order, or nothing now.
  virtual std::optional<IncomingFrame> poll() noexcept = 0;

  /// Asks that descriptor() becomes readable when poll() has something. False when it has already.
  virtual bool arm() noexcept = 0;
  [[nodiscard]] virtual int descriptor() const noexcept = 0;

  /// The credit: the sender may overwrite the slot that `header` names.
  virtual void return_credit(const FrameHeader& header) noexcept = 0;

  /// Frames that were given up because the sender began to overwrite them while they were being read; only a link that
  /// pulls has any. Any thread.
  [[nodiscard]] virtual std::uint64_t frames_discarded() const noexcept { return 0; }

  [[nodiscard]] virtual LinkState state() const noexcept = 0;
  [[nodiscard]] virtual std::string fault() const = 0;

  /// What begin_epoch() asks while it allocates; it throws AllocationStopped then. Set before the first epoch, by its
  /// thread; none is set: nobody stops it.
  void set_stop_check(StopCheck stop) { stop_check_ = std::move(stop); }

 protected:
  [[nodiscard]] const StopCheck& stop_check() const noexcept { return stop_check_; }

 private:
  StopCheck stop_check_;
};

}  // namespace framewire
