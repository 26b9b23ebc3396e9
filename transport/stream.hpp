// A stream: one source's frames, the pool they stand in, and the fan-out to every session.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/adaptive_spin.hpp"
#include "frame/frame_header.hpp"
#include "transport/claimed_slot.hpp"
#include "transport/pool.hpp"
#include "transport/subscriber_queue.hpp"

namespace framewire {

struct StreamOptions {
  std::string name{};
  std::uint32_t number = 0;
  Delivery delivery = Delivery::latest;
  std::uint32_t slots_per_viewer = 3;
  std::uint32_t max_viewers = 4;
  std::uint64_t first_sequence = 0;
  std::uint64_t max_frames = 0;        // 0: no limit
  std::int64_t max_duration_ns = 0;    // from the first frame on; 0: no limit
  bool ends_with_viewers = false;      // the stream stops when its last viewer has left
  bool allows_pull = false;            // viewers may read the pool from afar, beside the fan-out
  bool one_in_flight = false;          // under `every`: claim() waits until every viewer has given the last frame back
  WaitMode wait = WaitMode::adaptive;  // how claim() waits for room
  std::string receiver_label = "viewer";  // what one that takes it is called, in lines for people
  bool logs_session_ends = true;          // a line for each session that ends; else the program says how its own went
  std::string source_file{};  // what receivers are told of the file that its bytes come from; see OfferedStream
};

/// What the source knows of one frame when it publishes it.
struct FrameInfo {
  std::int64_t pts_ns = 0;
  std::uint64_t user_tag = 0;
  bool is_stamped = false;
  /// Where it differs from the epoch's (padded rows, a short chunk of bytes); must fit the slot.
  std::optional<FrameLayout> layout{};
  /// The payload stands there instead of the slot, whose bytes are never looked at then. Where supports_sendfile() is
  /// true.
  FileRange file{};
  /// The payload stands in this slot, from lend(), of the current epoch; the claimed one goes back to the pool. It
  /// stays lent: its memory is not used again before take_back().
  std::optional<PoolSlot> lent{};
};

/// A slot of the current epoch's pool that a decoder fills at its own time and may read on after it is published.
struct LentSlot {
  PoolSlot slot;
  std::span<std::byte> bytes;
  std::shared_ptr<HostBlock> block;  // what keeps the bytes mapped
};

/// Owned by the sender program; outlives every session and the source. The source's functions belong to one thread, the
/// sessions' to theirs; one mutex guards the pool's counts and the subscriber queues, and is held for no longer than
/// handing over a number.
class Stream {
 public:
  explicit Stream(StreamOptions options);
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  // ---- The source's side (one thread) ----

  /// Starts a stretch of frames of one format: makes its pool. Must come before the first claim, and again when the
  /// format changes. `slot_bytes` 0 takes the layout's size; byte streams and padded decoders name their own. Throws
  /// Error (no memory). A stream that is stopped while the pool is being made goes without one, and claims nothing.
  /// `lent_slots`: so many slots more, for lend().
  void begin_epoch(const StreamFormat& format, std::uint64_t slot_bytes = 0, std::uint32_t lent_slots = 0);

  /// A slot to fill. Waits until there is a viewer (under `every` one that is ready, and does not only pull) and, under
  /// `every`, until the slowest one has made room. Nothing: the stream is stopping or its limit of frames or time is
  /// reached, and the source ends.
  std::optional<ClaimedSlot> claim();

  /// The same, but without waiting: nothing, too, when there is no viewer or no room now.
  std::optional<ClaimedSlot> claim_now();

  /// claim_now() for live devices: when it returns nothing and is_stopping() is false, the device's frame is dropped
  /// and counted (frames_dropped_at_source).
  std::optional<ClaimedSlot> try_claim();

  /// A slot beside the claims: it waits for nobody and takes no room from viewers. Nothing when all `lent_slots` are
  /// out.
  std::optional<LentSlot> lend() noexcept;

  /// Ends a loan: whoever had the slot neither writes nor reads it any more. A viewer that still shows it keeps it.
  void take_back(const PoolSlot& slot) noexcept;

  /// Whether every viewer there is has a link that takes files. A stream for one viewer alone may go by it.
  [[nodiscard]] bool supports_sendfile() const;

  /// Gives a filled slot to every session. Never waits.
  void publish(ClaimedSlot slot, const FrameInfo& info);

  /// Sleeps until `due_ns`; false when before that the stream stops or its limit of time is reached.
  bool sleep_until(std::int64_t due_ns);

  /// Waits until there is a viewer as claim() wants it; false when the stream is stopping.
  bool wait_for_viewer();

  [[nodiscard]] bool is_stopping() const;

  // ---- Anyone's side (any thread) ----

  /// Makes claim() and the waits return. Frames already published still go out.
  void stop();
  /// The source has returned: once a subscriber queue is drained its session says bye.
  void finish();
  [[nodiscard]] bool is_finished() const {
    const std::scoped_lock lock(mutex_);
    return finished_;
  }

  [[nodiscard]] const StreamOptions& options() const noexcept { return options_; }
  [[nodiscard]] std::optional<StreamFormat> format() const;
  [[nodiscard]] std::uint64_t frames_produced() const {
    const std::scoped_lock lock(mutex_);
    return frames_produced_;
  }
  /// From the first frame's completion to the last one's: n frames are n - 1 intervals.
  [[nodiscard]] std::int64_t produced_over_ns() const;
  [[nodiscard]] std::uint64_t frames_dropped_at_source() const {
    const std::scoped_lock lock(mutex_);
    return frames_dropped_at_source_;
  }
  [[nodiscard]] std::uint32_t viewer_count() const {
    const std::scoped_lock lock(mutex_);
    return static_cast<std::uint32_t>(queues_.size() + pullers_.size());
  }
  /// Whether there is a viewer as claim() wants it.
  [[nodiscard]] bool has_viewer() const;

  // ---- The sessions' side (each its own thread) ----

  /// Adds a session's subscriber queue. Returns false when max_viewers are attached; one that is about to leave for it
  /// is not counted (`has_place`). From now on frames count for it.
  bool attach(SubscriberQueue& queue, bool has_place = false);
  /// Takes it out: its last credits are taken in, it gets no more frames, and what waited counts as skipped.
  void detach(SubscriberQueue& queue) noexcept;
  /// Gives the slots back that its link still held. After detach(), once the link is destroyed.
  void release_held(SubscriberQueue& queue) noexcept;
  /// Collects what the subscriber queue's link let go of, and offers what waits. Called when its link's descriptor is
  /// readable.
  void service(SubscriberQueue& queue) noexcept;
  /// The epoch that the subscriber queue's next frame needs and has not been told yet, with its format and pool;
  /// nothing if none.
  struct EpochStart {
    std::uint32_t number = 0;
    StreamFormat format;
    std::shared_ptr<Pool> pool;
  };
  [[nodiscard]] std::optional<EpochStart> epoch_to_announce(SubscriberQueue& queue);
  /// The newest epoch, if it is another one than this.
  [[nodiscard]] std::optional<EpochStart> epoch_after(std::uint32_t known_epoch) const;
  /// The viewer is ready for frames of `epoch`, in so many ring slots. A word for another epoch than the one announced
  /// last is late, and passed over. False when it has said so before: that would be credits out of nothing.
  bool epoch_ready(SubscriberQueue& queue, std::uint32_t epoch, std::uint32_t ring_slots,
                   const std::optional<RingAccess>& access = std::nullopt) noexcept;
  /// Whether the stream has ended and the subscriber queue has nothing left to send.
  [[nodiscard]] bool is_drained(const SubscriberQueue& queue) const {
    const std::scoped_lock lock(mutex_);
    return finished_ && queue.waiting.empty();
  }
  /// A viewer that pulls: frames do not go to it, but are made while it is there. `wake_event` is raised at a new epoch
  /// and at the end, until remove_puller(). False when as many are there already as may be.
  bool add_puller(int wake_event);
  void remove_puller(int wake_event) noexcept;
  [[nodiscard]] SubscriberQueueCounts counts(const SubscriberQueue& queue) const {
    const std::scoped_lock lock(mutex_);
    return queue.counts;
  }
  /// Offers its link nothing more; what waits for it is skipped when it is detached. frames_sent is final then.
  SubscriberQueueCounts conclude(SubscriberQueue& queue) noexcept {
    const std::scoped_lock lock(mutex_);
    queue.is_concluded = true;
    return queue.counts;
  }

 private:
  friend class ClaimedSlot;

  struct Epoch {
    StreamFormat format;
    std::shared_ptr<Pool> pool;
    std::uint32_t lendable = 0;  // of the slots for lend()
  };
  using Epochs = std::vector<Epoch>;

  using Wakers = std::vector<std::shared_ptr<PeerWaker>>;

  /// Wakes viewers for what was offered to their links, when it goes. Declared before the lock of the mutex: a wake-up
  /// is a system call, and whoever it wakes may want the mutex at once.
  class Wakes {
   public:
    Wakes() noexcept : places_(&one_, 1) {}
    explicit Wakes(Wakers& places) noexcept : places_(places) {}
    ~Wakes() { wake(); }
    Wakes(const Wakes&) = delete;
    Wakes& operator=(const Wakes&) = delete;

    /// Once for each link between two wake().
    void add(SenderLink& link) noexcept;
    void wake() noexcept;
    [[nodiscard]] bool empty() const noexcept { return count_ == 0; }

   private:
    std::shared_ptr<PeerWaker> one_;
    std::span<std::shared_ptr<PeerWaker>> places_;
    std::size_t count_ = 0;
  };

  [[nodiscard]] bool may_go_on() const noexcept;
  [[nodiscard]] bool is_watched() const noexcept;
  [[nodiscard]] bool has_room() const noexcept;
  std::optional<ClaimedSlot> take_slot() noexcept;
  std::optional<ClaimedSlot> take_slot_if_room(Wakes& wakes) noexcept;
  void poll_all_released(Wakes& wakes) noexcept;
  void poll_released(SubscriberQueue& queue) noexcept;
  void enqueue(SubscriberQueue& queue, const WaitingFrame& frame) noexcept;
  void offer_waiting(SubscriberQueue& queue, Wakes& wakes) noexcept;
  [[nodiscard]] bool source_polls_itself(const SubscriberQueue& queue) const noexcept;
  [[nodiscard]] bool must_wait_to_collect() noexcept;
  void wait_for_change(std::unique_lock<std::mutex>& lock);
  [[nodiscard]] Epoch& epoch_numbered(std::uint32_t number) noexcept;
  [[nodiscard]] Pool& pool_of(std::uint32_t epoch) noexcept { return *epoch_numbered(epoch).pool; }
  void add_reference(const PoolSlot& slot) noexcept { pool_of(slot.epoch).add_reference(slot.index); }
  void release(const PoolSlot& slot) noexcept { pool_of(slot.epoch).release(slot.index); }
  void return_unpublished(const PoolSlot& slot) noexcept;
  [[nodiscard]] Epochs take_unused_epochs() noexcept;
  void wake_sessions() noexcept;

  const StreamOptions options_;
  AdaptiveSpin spin_;  // the source's thread
  Wakers wakers_;      // the source's thread: places for one of each subscriber queue, empty between its calls
  mutable std::mutex mutex_;
  std::condition_variable changed_;  // a slot came back, a viewer came or left, the stream stops
  bool stopping_ = false;
  bool finished_ = false;
  std::uint64_t next_sequence_;
  std::uint64_t frames_produced_ = 0;
  std::uint64_t frames_claimed_ = 0;  // and not published yet
  std::uint64_t frames_dropped_at_source_ = 0;
  std::int64_t first_frame_ns_ = 0;
  std::int64_t last_frame_ns_ = 0;
  Epochs epochs_;  // the current one last; earlier ones while a frame of theirs is still about
  std::vector<SubscriberQueue*> queues_;
  std::vector<int> pullers_;  // their wake events
};

}  // namespace framewire
