// The link interfaces: a sender side and a viewer side that transfer frames from a pool to one viewer. Every link
// passes the contract suite (tests/contract).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/clock.hpp"
#include "frame/frame_header.hpp"
#include "transport/link_kinds.hpp"
#include "transport/pool.hpp"

namespace framewire {

enum class LinkState {
  open,
  closed,         // the peer closed its end
  lost,           // the peer or the network path to it is gone
  broken,         // the peer broke the protocol; the session ends
  source_failed,  // this side could not read its source; the peer works and should learn why the session ends
};

/// A payload in a regular file instead of a slot, from an offset; the payload's size is known beside it.
struct FileRange {
  int fd = -1;  // -1: not in a file; else owned by the source, open as long as any link holds the frame
  std::uint64_t offset_bytes = 0;
  [[nodiscard]] bool is_there() const noexcept { return fd >= 0; }
};

/// One frame or slice to be sent. The link may read `header` and `payload` until it releases `pool_slot`. The slices of
/// a frame come one after another, in any order; the last one may say that the frame is aborted.
struct OutgoingFrame {
  FrameHeader header{};  // `slot` is set by the link
  Payload payload{};     // of the whole frame, of a kind that the link takes; the pool keeps its block alive
  PoolSlot pool_slot{};
  FileRange file{};      // if present, the payload; only for links that support sendfile
  bool is_first = true;  // of the frame's slices: takes a credit
  bool is_last = true;   // the link releases the slot after it
};

enum class SendResult {
  accepted,   // the link holds the slot until poll_released() returns it
  no_credit,  // every ring slot is in use, or the bounded send queue is full: try again after poll_released()
  closed,     // never again
};

/// What one end of a link tells the other about itself for one epoch (rdma: addresses and keys): the text of a JSON
/// object. Only the links of one kind understand it; sessions carry it on the control channel and know nothing of it.
/// Empty: there is nothing to tell.
using LinkDescription = std::string;

/// Does for the frames that a link was given what needs system calls: wakes the peer, or writes them. Shared, because
/// the link may already be destroyed when wake() is called.
class PeerWaker {
 public:
  virtual ~PeerWaker() = default;
  /// Never waits. Any thread; call without a mutex.
  virtual void wake() noexcept = 0;
};

/// By which way a link's device reaches frames in another device's memory.
struct MemoryAccess {
  std::string way;          // "data-direct", "dma-buf", "peer-memory", "peer-access", "host": by copies; empty: unknown
  std::string passed_over;  // the better ways, and why they are not taken: "no data-direct: the RDMA device has none"

  /// The link's device does not reach that memory: frames go from and to copies in host memory.
  [[nodiscard]] bool is_by_copies() const noexcept { return way == "host"; }

  /// For the start line: " access=dma-buf (no data-direct: the RDMA device has none)". Empty without a way.
  [[nodiscard]] std::string note() const {
    return way.empty() ? "" : " access=" + way + (passed_over.empty() ? "" : " (" + passed_over + ")");
  }
};

/// ReceiverLink::begin_epoch() cannot map the memory in which the sender shares its frames, because this machine
/// refuses it. The next session asks for copies of them.
class MemoryUnusable : public Error {
 public:
  MemoryUnusable(const MemoryKind& memory, const std::string& message)
      : Error(ExitStatus::lost_peer, message), memory_(&memory) {}
  [[nodiscard]] const MemoryKind* memory() const noexcept { return memory_; }

 private:
  const MemoryKind* memory_;
};

/// What both ends of every link have in common.
class LinkEnd {
 public:
  virtual ~LinkEnd() = default;

  /// Any thread.
  [[nodiscard]] virtual LinkState state() const noexcept = 0;
  /// The error message for a state other than open.
  [[nodiscard]] virtual std::string fault() const = 0;
  /// By which way this end's device reaches frames in `memory`, if that is a device's and the link's own device reads
  /// or writes there: those of the newest epoch; before the first, tries it with a little of that memory, which takes
  /// milliseconds. Once it has shown that no way works, takes() is false. On the thread of begin_epoch(). Nothing is an
  /// error here.
  [[nodiscard]] virtual MemoryAccess access_to(const MemoryKind& /*memory*/) const { return {}; }

  /// Does what no frame and no credit does: notices that the peer is gone, frees what is no longer used, and writes
  /// credits that the kernel had no memory for. One thread calls it while the session lasts, without a mutex, since it
  /// may take some milliseconds: at the sender the session's thread, at the viewer the subscriber's. It does so a few
  /// times a second, and when maintenance_descriptor() is readable. Whoever calls it late notices late, and such
  /// credits wait as long; nothing else is lost.
  virtual void maintain() noexcept {}
  /// Readable when maintain() has something to do at once. -1: it never has.
  [[nodiscard]] virtual int maintenance_descriptor() const noexcept { return -1; }
};

/// The sender's side. Owned by its session. Threads:
/// - begin_epoch(), descriptor(), on_readable(), maintain(), fault(): the session's thread.
/// - epoch_ready(), slice_limit(), try_send(), take_waker(), poll_released(), arm(), withdraw(), frames_acknowledged():
///   any thread, under the stream's mutex; after leaving the stream, the session's thread. They never block.
/// - state(): any thread.
class SenderLink : public LinkEnd {
 public:
  [[nodiscard]] virtual LinkKind kind() const noexcept = 0;

  /// Whether the link reads payloads in this kind of memory. If not, it gets their copies in host memory
  /// (Pool::host_payload()). Never changes after access_to().
  [[nodiscard]] virtual bool takes(const MemoryKind& memory) const noexcept { return memory.is_host(); }

  /// Prepares for frames of `pool`'s epoch, before the viewer learns of it. Throws Error when the peer is gone.
  virtual void begin_epoch(std::shared_ptr<Pool> pool) = 0;
  /// The viewer has `ring_slots` slots ready for that epoch: all its credits. `ring` describes them in the words of the
  /// peer, unchecked. Only a link that writes into the viewer's memory uses it.
  virtual void epoch_ready(std::uint32_t epoch, std::uint32_t ring_slots, const LinkDescription& ring) noexcept = 0;

  /// The most slices that a frame of the newest ready epoch may have.
  [[nodiscard]] virtual std::uint16_t slice_limit() const noexcept { return max_slices; }

  /// Whether the link can send a payload from a file without copying it to a slot.
  [[nodiscard]] virtual bool supports_sendfile() const noexcept { return false; }
  /// The link's owner calls this under `latest`, before the first frame. From then on try_send() returns no_credit
  /// while too many frames are queued in the link (tcp: any, rdma: more than one). So the newest frame waits in the
  /// subscriber queue, where a newer one can replace it. poll_released() and arm() report a frame that has left the
  /// queue like a credit. A link without a queue does nothing.
  virtual void bound_send_queue() noexcept {}
  /// Hands over one frame or slice of the newest ready epoch.
  virtual SendResult try_send(const OutgoingFrame& frame) noexcept = 0;
  /// The waker for frames sent since the last call, or null when there is nothing to do for them. The caller of
  /// try_send() calls this, and wake() after unlocking the stream's mutex.
  [[nodiscard]] virtual std::shared_ptr<PeerWaker> take_waker() noexcept { return nullptr; }

  /// Takes in credits, and returns in `released` the pool slots that the link no longer reads since the last call, at
  /// most released.size().
  virtual std::size_t poll_released(std::span<PoolSlot> released) noexcept = 0;

  /// Makes descriptor() readable at the next credit or released slot. Returns false when poll_released() already has
  /// something.
  virtual bool arm() noexcept = 0;

  /// After arm(), readable when poll_released() has something; also readable when the state has changed. Then call
  /// on_readable() and poll_released().
  [[nodiscard]] virtual int descriptor() const noexcept = 0;
  virtual void on_readable() noexcept = 0;

  /// Others are about to write into the slots that the link holds: from now on the viewer hands out none of them. Only
  /// a link whose viewer reads the pool itself has to tell it. Nothing is sent after this.
  virtual void withdraw() noexcept {}

  /// Frames whose credit the viewer has returned: they were received for certain.
  [[nodiscard]] virtual std::uint64_t frames_acknowledged() const noexcept = 0;
};

/// The sender's side of a link whose viewer pulls: it lets one viewer read pools, and does nothing else. Used by its
/// session's thread.
class ReadTarget : public LinkEnd {
 public:
  /// Opens a pool that has a frame directory. Returns what the viewer needs to read both. Throws Error (failed).
  virtual LinkDescription open(const std::shared_ptr<Pool>& pool) = 0;
  /// Closes all pools but the newest: the viewer no longer reads them.
  virtual void close_earlier() noexcept = 0;
};

/// One received frame or slice. A frame stays valid until return_credit(), or until the sender withdraws it
/// (ReceiverLink::is_withdrawn()). An aborted one has a credit to return, too, and no content.
struct IncomingFrame {
  FrameHeader header{};                  // checked; of the slice that came last
  bool is_last = true;                   // the frame is complete or aborted; false: there are more slices to come
  std::span<const std::byte> payload{};  // of the whole frame; empty if the processor may not touch it
  std::int64_t received_ns = 0;
  std::shared_ptr<const Block> block{};  // holds the payload
  std::uint64_t offset_in_block_bytes = 0;
};

/// The viewer's side. Owned by the subscriber's connection. poll() and arm() belong to the program's receiving
/// thread, begin_epoch() and maintain() to the subscriber's thread, drive() to one of them. The link makes all threads
/// safe against each other.
class ReceiverLink : public LinkEnd {
 public:
  [[nodiscard]] virtual LinkKind kind() const noexcept = 0;
  /// Detail for the start line beyond the kind, such as " ring=registration". Usually empty.
  [[nodiscard]] virtual std::string note() const { return {}; }

  /// Whether frames can arrive in this kind of memory. Never changes after access_to().
  [[nodiscard]] virtual bool takes(const MemoryKind& memory) const noexcept { return memory.is_host(); }

  /// Makes a ring of `ring_slots` slots of `slot_bytes` (local: imports the sender's pool) in memory(). `pool` comes
  /// from the peer, unchecked; only a link that pulls uses it. Returns the ring's description if the sender writes into
  /// it. Throws Error.
  virtual LinkDescription begin_epoch(std::uint32_t epoch, std::uint64_t slot_bytes, std::uint32_t ring_slots,
                                      const LinkDescription& pool) = 0;

  /// The sender has been told that this side is ready for the newest epoch, and the program knows the format. Only a
  /// link that pulls needs this.
  virtual void epoch_is_ready() noexcept {}

  /// Reads from the wire until a frame is complete or nothing more has arrived. True: there may be more to read at
  /// once. Never waits. Any thread; who finds another one reading gets false. Links whose frames arrive by themselves
  /// have nothing to read.
  virtual bool drive() noexcept { return false; }
  /// Readable when drive() has something to do. -1: it never has, or no longer.
  [[nodiscard]] virtual int wire_descriptor() const noexcept { return -1; }

  /// The next frame in order, or nothing now. It has arrived by itself, or drive() has read it. Also the slices before
  /// it is complete, if the program takes_slices(); some may be left out.
  virtual std::optional<IncomingFrame> poll() noexcept = 0;

  /// Makes descriptor() readable when poll() has something. Returns false when it already has.
  virtual bool arm() noexcept = 0;
  [[nodiscard]] virtual int descriptor() const noexcept = 0;

  /// The credit for a frame whose last slice poll() has returned: the sender may overwrite the slot that `header`
  /// names. Any thread.
  virtual void return_credit(const FrameHeader& header) noexcept = 0;

  /// Whether the sender uses the memory of its frames again (SenderLink::withdraw()): poll() returns no more of them,
  /// and those that the program holds are whole only if this is still false behind its last read. Always false where
  /// frames lie in this end's memory. Costs a load. Any thread.
  [[nodiscard]] virtual bool is_withdrawn() const noexcept { return false; }
  /// Complete frames that poll() has left out because of that. Any thread.
  [[nodiscard]] virtual std::uint64_t frames_withdrawn() const noexcept { return 0; }

  /// Frames that were discarded because the sender began to overwrite them during the read. Only a link that pulls
  /// discards frames. Any thread.
  [[nodiscard]] virtual std::uint64_t frames_discarded() const noexcept { return 0; }

  /// begin_epoch() calls this while it allocates or waits for the peer, and throws an Error (AllocationStopped) when it
  /// returns true. Set it before the first epoch, on the thread of begin_epoch(). Without one, nothing interrupts it.
  void set_stop_check(StopCheck stop) { stop_check_ = std::move(stop); }
  /// Where begin_epoch() puts its frames: of a kind that the link takes. Host memory unless set. Call it before
  /// begin_epoch(), on its thread. `memory` outlives the link and its frames.
  void set_memory(const MemoryKind& memory) noexcept { memory_ = &memory; }
  [[nodiscard]] const MemoryKind& memory() const noexcept { return *memory_; }
  /// Whether poll() also returns slices of frames that are not complete. Not unless set. Call it before begin_epoch(),
  /// on its thread.
  void set_takes_slices(bool takes_slices) noexcept { takes_slices_ = takes_slices; }

 protected:
  [[nodiscard]] bool takes_slices() const noexcept { return takes_slices_; }
  [[nodiscard]] const StopCheck& stop_check() const noexcept { return stop_check_; }
  /// The frame of this header, whose layout was checked against the block, has arrived there now.
  static void set_arrived(IncomingFrame& frame, std::shared_ptr<const Block> block,
                          std::uint64_t offset_bytes) noexcept {
    if (const HostBlock* const host = block->host()) {
      frame.payload = host->bytes().subspan(offset_bytes, frame.header.layout.size_bytes);
    }
    frame.block = std::move(block);
    frame.offset_in_block_bytes = offset_bytes;
    frame.received_ns = monotonic_ns();
  }

 private:
  StopCheck stop_check_;
  const MemoryKind* memory_ = &host_memory();
  bool takes_slices_ = false;
};

}  // namespace framewire
