// The viewer's side of all sessions: connects to the sender, authenticates, owns the link, and reconnects when it is
// lost.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/adaptive_spin.hpp"
#include "base/error.hpp"
#include "frame/frame_layout.hpp"
#include "input/events.hpp"
#include "memory/fence.hpp"
#include "transport/address.hpp"
#include "transport/control/no_peer.hpp"
#include "transport/endpoint_options.hpp"
#include "transport/link.hpp"
#include "transport/render_requests.hpp"
#include "transport/source_cadence.hpp"
#include "transport/subscriber_queue.hpp"

namespace framewire {

struct AuthenticatedChannel;
class SessionAcceptor;
class MessageChannel;

enum class SubscriberState {
  waiting,    // no sender yet: dialling or listening
  connected,  // a session is established
  lost,       // the session was lost; dialling again
  finished,   // the sender said bye, and all of its frames have been taken
  failed,     // refused, or timed out; see SubscriberStatus::message and ::exit_status
};

struct SubscriberStatus {
  SubscriberState state = SubscriberState::waiting;
  std::string message;  // for the user: which peer it waits for, or why the session was lost or refused
  PeerAbsence absence = PeerAbsence::none;  // what `message` says of a peer that is not there
  ExitStatus exit_status = ExitStatus::ok;  // for finished and failed
  bool is_out_of_memory = false;            // for failed: this end has not enough of it
  std::string start_line;                   // "transport=… memory=… auth=…" of the session
  std::string transport;                    // name(LinkKind)
  std::string memory;                       // the kind of memory that frames arrive in (MemoryKind::name())
  MemoryAccess memory_access;               // how the link's device gets them there
  std::string memory_refusal;               // why copies of them come, instead of the memory that was asked for
  std::uint64_t session_number = 0;         // of the newest, from 1; shows reconnections
  std::int64_t connecting_since_ns = 0;     // when dialling began, or the connection was accepted
  std::optional<Delivery> delivery;         // of the session
  std::optional<StreamFormat> format;       // of the newest epoch
  std::uint32_t format_epoch = 0;           // FrameHeader::epoch of its frames
  std::uint64_t format_session = 0;         // session_number of that epoch: an earlier one until the next format comes
  std::uint32_t ring_slots = 0;             // of the newest epoch: so many frames the program may hold
  std::uint64_t epochs_begun = 0;           // in all sessions so far, for confirm_epoch(); a stream numbers its own
  std::string cadence_refusal;              // why the sender does not follow ask_cadence(); or empty
  RenderRefusal render_refusal;             // the newest: why the sender does not follow ask_render()
  std::uint64_t render_refusals = 0;        // how often it said so in this session
  std::string input_refusal;                // why the source takes no send_input() at present; or empty
  std::string message_refusal;              // why the sender takes no send_message(); or empty
  std::vector<std::string> stream_names;    // that the sender offers; the first is taken if none is named
  std::string source_file;                  // byte streams: identifies the sender's source file; or empty
};

/// Serves a peer that is not a sender. Arguments: the control channel, after both hellos, and the acceptor for its data
/// connections. Runs on the subscriber's thread, between sessions; no sender is accepted meanwhile. Both arguments are
/// valid during the call only. Subscriber::close() closes the channel. Must not throw.
using ServeClient = std::function<void(AuthenticatedChannel& client, SessionAcceptor& acceptor)>;

/// Talks to a dialled peer before the hellos, when the peer is not a sender yet. An exception ends this connection
/// attempt. Runs on the subscriber's thread.
using BeforeHello = std::function<void(MessageChannel& channel)>;

/// Finds the sender of a viewer that dials, for each attempt anew.
struct SenderFinder {
  std::string whom;  // it waits for: "the sender that ssh starts on box"
  /// Where the sender listens now. Throws Error (lost_peer) while that is not known, or at `stop`. Runs on the
  /// subscriber's thread.
  std::function<HostPort(const StopWait& stop)> find;
};

/// Who reads the wire of a link whose frames do not arrive by themselves (tcp).
enum class Driver {
  subscriber,  // the subscriber's thread, also while the program does something else
  program,     // next(): no thread hands frames over, which is faster for small ones. A program that does not call it
               // takes nothing in.
};

struct SubscriberOptions {
  EndpointOptions endpoint;
  std::optional<SenderFinder> finder{};  // instead of endpoint.dial and endpoint.listen
  std::string stream;                    // the stream's name; empty: the sender's first stream
  std::optional<Delivery> delivery;      // to ask for a weaker mode than the stream's default
  // Kinds of memory, best first, besides host memory, in which the program takes frames. They outlive the subscriber
  // and its frames. Over `local` a frame then lies where the sender put it, over rdma in a ring of the first kind.
  std::vector<const MemoryKind*> memory{};
  std::int64_t retry_ns = -1;  // how long to wait without a sender; < 0: forever
  bool reconnect = true;
  Driver driver = Driver::subscriber;
  bool takes_slices = false;           // next() also returns slices of frames that are not complete, but maybe not each
  bool takes_messages = false;         // take_message() is called; otherwise messages of the sender are ignored
  std::function<void()> on_message{};  // one has come; the subscriber's thread calls it, and it must not wait
  bool confirms_epochs = false;        // the frames of an epoch arrive only after confirm_epoch()
  // The sender has said bye, and next() has returned all of its frames. The subscriber's thread calls it, once, and
  // says bye as soon as it has returned. Without it the sender waits for close().
  std::function<void()> on_finished{};
  std::string program{};                              // name and version to tell the peer; empty: framewire-view's
  std::string client_role{};                          // with listen: also serves peers of this role,
  ServeClient serve_client{};                         // with this function
  BeforeHello before_hello = [](MessageChannel&) {};  // with dial: turns the peer into a sender, if it needs that
};

/// Exact counts over all sessions of this subscriber. The sender's bye contains frames_sent; frames_lost is computed
/// from it.
struct SubscriberCounts {
  std::uint64_t frames_received = 0;
  std::uint64_t bytes_received = 0;
  std::uint64_t frames_lost = 0;
  std::uint64_t frames_skipped = 0;    // gaps in the sequence: skipped by the sender, or between two pulls
  std::uint64_t frames_discarded = 0;  // pulled, but overwritten by the sender during the read
  std::uint64_t sessions = 0;
  std::uint64_t messages_dropped = 0;  // of the sender's, because take_message() was not called in time
};

/// A received frame. Move-only. Its destructor returns the credit: the sender may then overwrite the frame. Any thread
/// may destroy it.
class ReceivedFrame {
 public:
  ReceivedFrame(IncomingFrame frame, std::shared_ptr<ReceiverLink> link, std::uint64_t session_number) noexcept
      : frame_(std::move(frame)), link_(std::move(link)), session_number_(session_number) {}
  ReceivedFrame(ReceivedFrame&&) noexcept = default;
  ReceivedFrame& operator=(ReceivedFrame&& other) noexcept;
  ReceivedFrame(const ReceivedFrame&) = delete;
  ~ReceivedFrame();

  /// Destroys the frame once `fence` is finished: a device of this program still reads the frame, of which payload()
  /// is not used any more. The fence may finish with any state, on any thread. Until then the frame counts as held: a
  /// device that never finishes stops this session under `latest`, and the stream under `every`. Slices hold no
  /// credit, so that the last one needs a fence behind all reads of the frame. Throws std::bad_alloc, and keeps the
  /// frame.
  void release_after(const std::shared_ptr<Fence>& fence);

  /// Of the slice that came last.
  [[nodiscard]] const FrameHeader& header() const noexcept { return frame_.header; }
  /// False for a slice of a frame of which more slices will come (SubscriberOptions::takes_slices). It is not counted
  /// as a frame. Its payload() is the whole frame's; only the bytes that the headers of its slices name are there.
  [[nodiscard]] bool is_complete() const noexcept { return frame_.is_last; }
  /// Valid until this object is destroyed, and whole until then or until is_withdrawn(). Empty for a frame that the
  /// processor may not touch: see block().
  [[nodiscard]] std::span<const std::byte> payload() const noexcept { return frame_.payload; }
  [[nodiscard]] const std::shared_ptr<const Block>& block() const noexcept { return frame_.block; }
  [[nodiscard]] std::uint64_t offset_in_block_bytes() const noexcept { return frame_.offset_in_block_bytes; }
  /// From now on payload() and block() are those of `copy`. Of a frame that the processor may not touch, after a
  /// device has copied it to the same offset there. The frame is held as before.
  void use_copy(std::shared_ptr<const Block> copy) noexcept;
  [[nodiscard]] std::int64_t received_ns() const noexcept { return frame_.received_ns; }
  /// Whether the sender, which has ended the session, uses the memory of this frame again: then what was read of it may
  /// be torn. Ask behind the last read. False if the sender died, or never writes there again. Costs a load.
  [[nodiscard]] bool is_withdrawn() const noexcept { return link_ && link_->is_withdrawn(); }
  /// False when the session was cut. Its sender may then write into a frame that lies in its memory, now or later. May
  /// be a system call.
  [[nodiscard]] bool is_session_open() const noexcept { return link_ && link_->state() == LinkState::open; }
  /// The number of the session, from 1. Each session counts its own epochs.
  [[nodiscard]] std::uint64_t session_number() const noexcept { return session_number_; }

 private:
  void return_credit() noexcept;

  IncomingFrame frame_;
  std::shared_ptr<ReceiverLink> link_;  // empty after a move
  std::uint64_t session_number_;
};

/// Owns one thread ("fw-subscriber"). One thread of the program may call next() and wait(); any thread may call the
/// other functions.
class Subscriber {
 public:
  /// Limit of authenticated peers that wait for an answer at a time, while it listens. A connection beyond it is
  /// closed. framewire's diallers try again at once.
  static constexpr std::size_t max_unanswered_peers = 20;

  /// Starts. Throws Error for errors that are known at once (bad address, port in use, key missing).
  Subscriber(SubscriberOptions options, class Log& log);
  ~Subscriber();
  Subscriber(const Subscriber&) = delete;
  Subscriber& operator=(const Subscriber&) = delete;

  /// The next frame in order, or nullopt. Never waits.
  std::optional<ReceivedFrame> next();

  /// Sleeps until next() may have a frame, the status changes, wake() is called, or the deadline passes. It may return
  /// at once when polling is cheaper than sleeping: call next() again.
  void wait(std::int64_t deadline_ns, WaitMode mode = WaitMode::adaptive);
  /// For a program with an event loop of its own, instead of wait(). Makes descriptor() readable when next() may have a
  /// frame, the status changes, or wake() is called. False when that may be so already: call next() and look at the
  /// status, and then call it again. One descriptor serves all sessions. The thread that calls next().
  bool arm();
  [[nodiscard]] int descriptor() const noexcept;
  /// Makes descriptor() unreadable until the status changes, wake() is called, or arm(): for who knows that no frame
  /// will come. The thread that calls next().
  void silence() noexcept;
  /// The program is ready for the epoch in the status with this `epochs_begun`. With confirms_epochs, the sender sends
  /// no frame of the epoch before this call: under `latest` it keeps the newest one and counts the others as skipped,
  /// under `every` it waits. Any thread.
  void confirm_epoch(std::uint64_t epochs_begun) noexcept;
  /// Asks the sender to render its frames at other times. Does nothing without a session; only the newest of several
  /// requests may be sent, with the sum of their shifts. A refusal appears in the status. Any thread.
  void ask_cadence(const CadenceRequest& request) noexcept;
  /// Asks the sender for a frame; its user tag says that it is the one. Who asks first owns the sender's camera until
  /// release_camera() or the end of the session. A refusal appears in the status. They do nothing without a session, or
  /// if the session's thread has not sent the last 16 yet. Any thread.
  void ask_render(const RenderRequest& request) noexcept;
  void revoke_render(std::uint64_t id) noexcept;
  void release_camera() noexcept;
  /// What any viewer of this stream asked for, by its id: of the newest 16 that the sender has named. Any thread.
  [[nodiscard]] std::optional<RenderRequest> find_render(std::uint64_t id) const noexcept;
  /// Sends input to the stream's source, at once: without a detour over the subscriber's thread. Never waits. While the
  /// sender does not read, events wait in an InputQueue. `session_number`: of the session that the batch is for
  /// (SubscriberStatus::session_number; 0: any). False: the session is another one, or there is none, the batch is not
  /// valid (see read_input()), or events were dropped. A sender that takes none says why in the status, and does so
  /// again when that changes: it may take input when another viewer has left. Any thread.
  bool send_input(const InputBatch& batch, std::uint64_t session_number = 0) noexcept;
  /// Sends a JSON object of at most max_message_body_bytes to the sender's program. Never waits. False: there is no
  /// session, this is no such object, or too many wait already (MessageQueue). Any thread.
  bool send_message(const std::string& json) noexcept;
  /// The sender's oldest message, a JSON object on one line. They wait in a MessageQueue; without room the oldest are
  /// dropped. Their arrival wakes as a frame's does, with takes_messages. Any thread.
  std::optional<std::string> take_message();
  /// Makes a wait() return, or descriptor() readable. Any thread.
  void wake() noexcept;

  [[nodiscard]] SubscriberStatus status() const;
  [[nodiscard]] SubscriberCounts counts() const;
  /// The port it listens on; 0 when it dials.
  [[nodiscard]] std::uint16_t port() const noexcept;
  /// Increases with every change of the status; cheap enough to compare for each frame.
  [[nodiscard]] std::uint64_t status_version() const noexcept;
  /// The sender's CLOCK_MONOTONIC minus ours, and the maximum error. Both are 0 on one host; otherwise estimated over
  /// the control channel, again every ten seconds: between two comparisons the error grows (ClockEstimate).
  struct ClockOffset {
    std::int64_t offset_ns = 0;
    std::int64_t uncertainty_ns = 0;
  };
  [[nodiscard]] ClockOffset clock_offset() const noexcept;

  /// Sends bye with the final counts and ends the session. `statistics_json` is an object with the program's counts,
  /// such as frames_shown.
  void close(const std::string& statistics_json);

 private:
  class Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace framewire
