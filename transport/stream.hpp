// A stream: the frames of one source, their pool, and the fan-out to all sessions.
#pragma once

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/adaptive_spin.hpp"
#include "base/file_descriptor.hpp"
#include "frame/frame_header.hpp"
#include "transport/begun_frame.hpp"
#include "transport/claimed_slot.hpp"
#include "transport/event_list.hpp"
#include "transport/pool.hpp"
#include "transport/render_requests.hpp"
#include "transport/source_cadence.hpp"
#include "transport/source_inbox.hpp"
#include "transport/subscriber_queue.hpp"
#include "transport/wake_list.hpp"

namespace framewire {

struct StreamOptions {
  std::string name{};
  std::uint32_t number = 0;
  Delivery delivery = Delivery::latest;
  std::uint32_t slots_per_viewer = 3;
  std::uint32_t max_viewers = 4;  // at most max_stream_viewers
  std::uint64_t first_sequence = 0;
  std::uint64_t max_frames = 0;      // 0: no limit
  std::int64_t max_duration_ns = 0;  // from the first frame on; 0: no limit
  bool ends_with_viewers = false;    // the stream stops when its last viewer has left
  bool allows_pull = false;          // viewers may pull: read the pool by RDMA, outside the fan-out
  bool one_in_flight = false;        // under `every`: claim() waits until every viewer has released the previous frame
  WaitMode wait = WaitMode::adaptive;         // how claim() waits for room
  const MemoryKind* memory = &host_memory();  // of the pools; outlives the stream and all its frames
  std::uint16_t slices = 0;                   // in which a device copies frames to host memory; 0: by their size
  std::string receiver_label = "viewer";      // what log lines call a receiver
  std::string receiver_program{};             // others are refused: "rdrecv"; empty: any receives it
  bool logs_session_ends = true;              // log the end of each session; false: the program reports it itself
  std::string source_file{};  // identifies the file that the bytes come from, for the receivers; see OfferedStream
};

/// What the source knows of one frame when it publishes it.
struct FrameInfo {
  std::int64_t pts_ns = 0;
  std::uint64_t user_tag = 0;
  bool has_test_pattern = false;
  /// Set when it differs from the epoch's layout (padded rows, a short chunk of bytes). Must fit the slot.
  std::optional<FrameLayout> layout{};
  /// Of a stream in a device's memory: the frame is in the slot's block(), or will be. False: it is in bytes(), from
  /// where the device copies it.
  bool is_on_device = false;
  /// A device still fills the slot's block(), which it keeps alive meanwhile: no viewer gets the frame before this is
  /// done. A frame whose device fails, or takes longer than Stream::ready_timeout_ns, is skipped, or aborted where it
  /// was begun. Null: the slot is filled.
  std::shared_ptr<Fence> ready{};
  /// The payload is in this file; the slot's bytes are ignored. Only while supports_sendfile() is true.
  FileRange file{};
  /// When work on the frame began, if that was not when its slot was claimed; else 0.
  std::int64_t begun_ns = 0;
};

/// How a source waits for room.
struct ClaimOptions {
  std::int64_t deadline_ns = INT64_MAX;  // of monotonic_ns(); one that has passed: it does not wait
  bool unwatched = false;                // also while there is no viewer
};

/// Owned by the sender program; outlives every session, the source and its slots. Each session calls its functions on
/// its own thread. One mutex guards the pool's counts and the subscriber queues; no call blocks while it holds the
/// mutex.
class Stream {
 public:
  /// How long a device may take to fill a slot, or to copy it to or from host memory.
  static constexpr std::int64_t ready_timeout_ns = 2'000'000'000;
  /// For how many formats in a row a viewer under `latest` may get ready in vain, because newer ones came meanwhile.
  static constexpr std::uint32_t most_epochs_missed = 3;

  /// Throws Error (failed) for more than max_stream_viewers.
  explicit Stream(StreamOptions options);
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  // ---- The source's side (any thread; several may claim, fill and publish at once) ----

  /// Starts an epoch: allocates a pool for frames of one format. Call it at every format change, one thread at a time;
  /// before the first one no claim() returns. `slot_bytes` 0 means the layout's size; byte streams and padded decoders
  /// pass their own. `extra_slots`, at most max_extra_slots, are additional ones for claim_spare() and
  /// publish_and_keep(). Slots that are claimed at this moment can no longer be published. Throws Error (no memory;
  /// failed for what no viewer takes). If the stream stops during the allocation, there is no pool and claim() returns
  /// nothing.
  void begin_epoch(const StreamFormat& format, std::uint64_t slot_bytes = 0, std::uint32_t extra_slots = 0);

  /// A slot to fill. Waits until there is a viewer; under `every`, until a viewer that does not pull is ready and the
  /// slowest viewer has room. Nullopt: the deadline has passed, wake() was called, or is_stopping(), and the source
  /// must end. Several slots may be claimed at a time, and published in any order.
  std::optional<ClaimedSlot> claim(const ClaimOptions& options = {});

  /// claim() without waiting: also nullopt when there is no viewer or no room now.
  std::optional<ClaimedSlot> claim_now() { return claim({.deadline_ns = 0}); }

  /// Any free slot, at once, whether or not there is a viewer, for a decoder: it decides later whether to publish it,
  /// and calls wait_for_room() before that. Nullopt when there is none. A source takes as many as it asked for as
  /// `extra_slots`; more would take room from viewers.
  std::optional<ClaimedSlot> claim_spare() noexcept;

  /// Waits as claim() does. False when claim() would return nothing.
  bool wait_for_room(const ClaimOptions& options = {});

  /// Makes descriptor() readable when claim() with these options may have a slot, when the stream stops or reaches its
  /// limit, or wake() is called. False when one of these may be so already: then call claim(). Clears the descriptor
  /// before. The deadline is the caller's to keep. One thread.
  bool arm(const ClaimOptions& options = {}) noexcept;
  /// Makes descriptor() unreadable again for good. For who knows that the stream has ended. The thread of arm().
  void silence() noexcept;
  /// Makes descriptor() unreadable again until arm(), unless the stream has reached its limit. The thread of arm().
  void disarm() noexcept {
    is_armed_.store(false);
    clear_eventfd(source_event_.get());
  }
  [[nodiscard]] int descriptor() const noexcept { return poller_.valid() ? poller_.get() : source_event_.get(); }

  /// Makes one claim() or wait_for_room() that waits return nothing; if none does, the next that finds no room. Called
  /// more often than claims wait, it may make one more return so.
  void wake() noexcept;

  /// Counts a frame that a live device had, and that the source drops, for want of room or for its own reasons
  /// (frames_dropped_at_source).
  void drop_frame() noexcept;

  /// Whether the links of all current viewers support sendfile. A later viewer may not, so only a stream with
  /// max_viewers = 1 can rely on it.
  [[nodiscard]] bool supports_sendfile() const;

  /// Offers a filled slot to every session. Never waits. False when the slot is of an earlier epoch: the frame is
  /// dropped and counted (frames_dropped_at_source). Throws Error (failed) if the layout does not fit the slot or
  /// is none of its pixel format, or a file is named although there may be several viewers; also if the device of the
  /// stream's memory is lost.
  bool publish(ClaimedSlot slot, const FrameInfo& info);
  /// The same; the source goes on reading the slot. Nullopt when the frame is dropped: then `slot` stays the caller's.
  std::optional<KeptSlot> publish_and_keep(ClaimedSlot&& slot, const FrameInfo& info);
  /// The same without another object, for who publishes millions a second: `slot` is kept then. False: it was dropped.
  bool publish_in_place(ClaimedSlot& slot, const FrameInfo& info);

  /// Begins a frame that viewers get slice by slice while the source fills it. It has `slices` slices, or fewer if they
  /// would be smaller than a page. Viewers that do not take slices get it whole. Nullopt, and the slot is returned,
  /// when it is of an earlier epoch: the frame is counted (frames_dropped_at_source). Viewers whose link reads a
  /// device's memory get it whole, once the device has copied it. Throws as publish() does, and for frames in a file,
  /// or that a device fills.
  std::optional<BegunFrame> begin_frame(ClaimedSlot slot, const FrameInfo& info, std::uint16_t slices);

  /// Sleeps until `due_ns`. Returns false early when the stream stops or reaches its time limit.
  bool sleep_until(std::int64_t due_ns);

  /// Waits for a viewer as claim() does. Returns false when the stream stops.
  bool wait_for_viewer();
  /// Waits for a viewer that will receive the next frame of the newest epoch, also under Delivery::latest, where
  /// claim() does not wait for its link. For a source whose first frame must not be missed. Returns false when the
  /// stream stops.
  bool wait_for_ready_viewer();

  /// When the source renders, as a viewer asks for it. Any thread.
  [[nodiscard]] SourceCadence& cadence() noexcept { return cadence_; }
  /// What viewers send to the source. Any thread.
  [[nodiscard]] SourceInbox& inbox() noexcept { return inbox_; }
  [[nodiscard]] const SourceInbox& inbox() const noexcept { return inbox_; }

  /// What the source renders, as a viewer asks for it. Any thread. The source takes requests by next_render(), which
  /// also wakes the sessions: they tell their viewers.
  [[nodiscard]] RenderRequests& renders() noexcept { return renders_; }
  /// As RenderRequests::next(). The source's thread.
  std::optional<RenderRequest> next_render(std::int64_t deadline_ns);

  [[nodiscard]] bool is_stopping() const {
    const std::scoped_lock lock(mutex_);
    return !may_go_on();
  }

  // ---- Anyone's side (any thread) ----

  /// Makes claim() and the waits return. Frames already published still go out.
  void stop();
  /// Call when the source has returned. Each session says bye once its subscriber queue is empty.
  void finish();
  [[nodiscard]] bool is_finished() const {
    const std::scoped_lock lock(mutex_);
    return finished_;
  }

  [[nodiscard]] const StreamOptions& options() const noexcept { return options_; }
  [[nodiscard]] std::optional<StreamFormat> format() const {
    const std::scoped_lock lock(mutex_);
    return epochs_.empty() ? std::nullopt : std::optional(epochs_.back().format);
  }
  [[nodiscard]] std::uint64_t frames_produced() const {
    const std::scoped_lock lock(mutex_);
    return frames_produced_;
  }
  /// Time from the first frame's completion to the last one's: n frames make n - 1 intervals.
  [[nodiscard]] std::int64_t produced_over_ns() const {
    const std::scoped_lock lock(mutex_);
    return last_frame_ns_ - first_frame_ns_;
  }
  [[nodiscard]] std::uint64_t frames_dropped_at_source() const {
    const std::scoped_lock lock(mutex_);
    return frames_dropped_at_source_;
  }
  [[nodiscard]] std::uint32_t viewer_count() const {
    const std::scoped_lock lock(mutex_);
    return static_cast<std::uint32_t>(queues_.size() + pullers_.size());
  }
  /// Slots of the current epoch that are claimed, kept, held by viewers or written by a device.
  [[nodiscard]] std::uint32_t slots_in_use() const {
    const std::scoped_lock lock(mutex_);
    return epochs_.empty() ? 0 : epochs_.back().pool->slot_count() - epochs_.back().pool->free_count();
  }
  /// The current epoch, and how many slots it has.
  struct PoolUse {
    std::uint32_t epoch = 0;  // 0: there is none yet
    std::uint32_t slots = 0;
    std::uint32_t free = 0;
  };
  [[nodiscard]] PoolUse pool_use() const {
    const std::scoped_lock lock(mutex_);
    const Pool* const pool = epochs_.empty() ? nullptr : epochs_.back().pool.get();
    return pool != nullptr ? PoolUse{pool->epoch(), pool->slot_count(), pool->free_count()} : PoolUse{};
  }
  /// Whether slots that are claimed fill what is left of the limit of frames: no more room until one comes back.
  [[nodiscard]] bool claims_fill_limit() const {
    const std::scoped_lock lock(mutex_);
    return frames_left_are_claimed();
  }
  /// Whether there is a viewer that claim() would accept.
  [[nodiscard]] bool has_viewer() const {
    const std::scoped_lock lock(mutex_);
    return is_watched();
  }

  // ---- The sessions' side (each its own thread) ----

  /// Adds a session's subscriber queue; frames count for it from now on. Returns false when max_viewers are attached.
  /// `replaced`: the attached queue of the same viewer, which detaches next and does not count any more. A viewer that
  /// replaces its queue is never turned away.
  bool attach(SubscriberQueue& queue, SubscriberQueue* replaced = nullptr);
  /// Removes the queue: reads its last credits, gives it no more frames, and counts waiting frames as skipped.
  void detach(SubscriberQueue& queue) noexcept;
  /// Releases the slots that its link still held. Call after detach(), when the link is destroyed.
  void release_held(SubscriberQueue& queue) noexcept;
  /// Collects slots that the queue's link has released, and sends waiting frames. Call when the link's descriptor is
  /// readable. Returns when to call it again if nothing happens before; INT64_MAX: no need.
  std::int64_t make_progress(SubscriberQueue& queue) noexcept;
  /// The epoch of the queue's next frame, if it has not been announced yet; else nullopt.
  struct EpochStart {
    std::uint32_t number = 0;
    StreamFormat format;
    std::shared_ptr<Pool> pool;
  };
  [[nodiscard]] std::optional<EpochStart> epoch_to_announce(SubscriberQueue& queue);
  /// The newest epoch, if it differs from `known_epoch`.
  [[nodiscard]] std::optional<EpochStart> epoch_after(std::uint32_t known_epoch) const;
  /// The viewer is ready for frames of `epoch` with `ring_slots` slots; slices go only to one that takes_slices. A
  /// message for an epoch other than the last announced one is late and ignored. Returns false for a second message
  /// about the same epoch, which would create credits twice.
  bool epoch_ready(SubscriberQueue& queue, std::uint32_t epoch, std::uint32_t ring_slots,
                   const LinkDescription& ring = {}, bool takes_slices = false) noexcept;
  /// Whether the stream has ended and the subscriber queue has nothing left to send.
  [[nodiscard]] bool is_drained(const SubscriberQueue& queue) const {
    const std::scoped_lock lock(mutex_);
    return finished_ && queue.waiting.empty() && !queue.begun;
  }
  /// Adds a viewer that pulls: it gets no frames from the fan-out, but under `latest` the source runs while it is
  /// there. `wake_event` is signalled at a new epoch and at the end, until remove_puller(). Returns false when the
  /// limit of pulling viewers is reached.
  bool add_puller(const SharedEvent& wake_event);
  void remove_puller(const SharedEvent& wake_event) noexcept;
  [[nodiscard]] SubscriberQueueCounts counts(const SubscriberQueue& queue) const {
    const std::scoped_lock lock(mutex_);
    return queue.counts;
  }
  /// Stops giving frames to the queue's link; detach() counts waiting frames as skipped. frames_sent is final after
  /// this.
  SubscriberQueueCounts conclude(SubscriberQueue& queue) noexcept {
    const std::scoped_lock lock(mutex_);
    queue.is_concluded = true;
    return queue.counts;
  }

 private:
  friend class BegunFrame;
  friend class ClaimedSlot;
  friend class KeptSlot;
  friend class SourceSlot;

  struct Epoch {
    StreamFormat format;
    std::shared_ptr<Pool> pool;
    std::vector<SliceProgress> progress;  // of each slot
  };
  using Epochs = std::list<Epoch>;  // moved from one to the other without an allocation

  [[nodiscard]] bool may_go_on() const noexcept;
  [[nodiscard]] bool is_watched() const noexcept;
  [[nodiscard]] bool has_ready_viewer() const noexcept;
  [[nodiscard]] bool has_room() const noexcept;
  [[nodiscard]] bool frames_left_are_claimed() const noexcept {
    return options_.max_frames != 0 && frames_produced_ + frames_claimed_ >= options_.max_frames;
  }
  class Notice;
  bool find_room(const ClaimOptions& options, WakeList& wakes, Notice& notice) noexcept;
  bool await_room(const ClaimOptions& options, WakeList& wakes, Notice& notice, std::unique_lock<std::mutex>& lock);
  [[nodiscard]] bool others_sleep() const noexcept { return sleeping_claims_ > 0 || is_armed_.load(); }
  void wait_for_change(std::int64_t deadline_ns, std::unique_lock<std::mutex>& lock);
  [[nodiscard]] std::int64_t ends_ns() const noexcept;
  ClaimedSlot take_slot(bool is_counted) noexcept;
  void return_claimed(const ClaimedSlot& slot) noexcept;
  void return_kept(const SourceSlot& slot) noexcept;
  void poll_all_released(WakeList& wakes) noexcept;
  /// A frame's way to host memory in slices.
  struct SliceCopies {
    std::uint16_t count = 0;                      // of the frame's slices
    std::vector<std::shared_ptr<Fence>> begun{};  // by their numbers
    bool has_failed = false;                      // the next one could not begin
  };
  /// What a device still does to a frame that is published.
  struct DeviceWork {
    std::shared_ptr<Fence> filled{};              // the slot's block; null: the device has nothing to do there
    std::shared_ptr<Fence> copied{};              // to host memory; null: as before, or
    std::shared_ptr<const SliceCopies> slices{};  // in slices
    bool is_in_block = true;                      // the frame is or will be in the slot's block,
    bool is_in_host_memory = true;                // or in host memory; false: nobody needs it there
    [[nodiscard]] bool is_there() const noexcept { return filled || copied || slices; }
    [[nodiscard]] bool has_filled_block() const noexcept {
      return is_in_block && (!filled || filled->state() == FenceState::done);
    }
    [[nodiscard]] bool is_finished() const noexcept {
      return has_finished(filled) && has_finished(copied) &&
             (!slices || std::ranges::all_of(slices->begun, has_finished));
    }
    static bool has_finished(const std::shared_ptr<Fence>& fence) noexcept {
      return !fence || fence->state() != FenceState::pending;
    }
  };
  struct Readers {
    bool of_block = false;
    bool of_host_copy = false;
    bool of_slices = false;  // of that copy
  };
  [[nodiscard]] Readers readers() const noexcept;
  [[nodiscard]] DeviceWork begin_device_work(const ClaimedSlot& slot, const FrameInfo& info) const;
  [[nodiscard]] static std::shared_ptr<SliceCopies> room_for_copies(std::uint16_t slices) noexcept;
  static void copy_to_host(const SourceSlot& slot, std::uint64_t size_bytes, std::uint16_t slices,
                           const std::shared_ptr<Fence>& after, DeviceWork& work);
  static void copy_to_block(const SourceSlot& slot, std::uint64_t size_bytes, DeviceWork& work);
  void require_device(const Pool& pool) const;
  bool publish(ClaimedSlot& slot, const FrameInfo& info, bool is_kept);
  bool offer(ClaimedSlot& slot, const FrameInfo& info, const DeviceWork& work, bool is_kept);
  void publish_slice(BegunFrame& frame, std::uint16_t index);
  void complete(BegunFrame& frame, const DeviceWork& work) noexcept;
  void end_frame(const BegunFrame& frame) noexcept;
  void send_all_waiting(WakeList& wakes) noexcept;
  [[nodiscard]] Payload payload_for(const SubscriberQueue& queue, const WaitingFrame& frame) const noexcept;
  void fill_header(FrameHeader& header, const ClaimedSlot& slot, const FrameInfo& info) noexcept;
  void frame_completed(std::int64_t at_ns) noexcept;
  void check(const ClaimedSlot& slot, const FrameInfo& info) const;
  void observe(const DeviceWork& work) const noexcept;
  void keep_until_finished(const PoolSlot& slot, const FrameHeader& header, const DeviceWork& work) noexcept;
  static void note_copied(SliceProgress& progress, const SliceCopies& copies, std::int64_t published_ns) noexcept;
  void release_finished() noexcept;
  void on_device_work_finished(EventList& sessions) noexcept;
  void drop_front(SubscriberQueue& queue, FenceState readiness) noexcept;
  void drop_superseded(SubscriberQueue& queue) noexcept;
  [[nodiscard]] static std::size_t newest_of_awaited_epoch(const SubscriberQueue& queue, std::size_t newest) noexcept;
  static bool is_failed_or_late(const WaitingFrame& frame, FenceState readiness) noexcept;
  void show_to_pullers(const PoolSlot& slot, const FrameHeader& header) noexcept;
  void poll_released(SubscriberQueue& queue) noexcept;
  void enqueue(SubscriberQueue& queue, const WaitingFrame& frame) noexcept;
  /// `now_ns`: what the clock says, or 0: look at it.
  void send_waiting(SubscriberQueue& queue, WakeList& wakes, std::int64_t now_ns = 0) noexcept;
  const OutgoingFrame* next_to_send(SubscriberQueue& queue, std::int64_t now_ns) noexcept;
  static bool goes_in_slices(const SubscriberQueue& queue, const WaitingFrame& frame) noexcept;
  static const OutgoingFrame* next_slice(SubscriberQueue& queue, const WaitingFrame& frame,
                                         const SliceSet& sent) noexcept;
  void was_sent(SubscriberQueue& queue, const OutgoingFrame& part) noexcept;
  bool leaves_to_source(SubscriberQueue& queue) const noexcept;
  static void look_at_source(SubscriberQueue& queue) noexcept;
  /// True if no link has anything to collect already.
  [[nodiscard]] bool arm_all_links() noexcept;
  [[nodiscard]] Epoch& epoch_numbered(std::uint32_t number) noexcept;
  [[nodiscard]] Pool& pool_of(std::uint32_t epoch) noexcept { return *epoch_numbered(epoch).pool; }
  void add_reference(const PoolSlot& slot) noexcept { pool_of(slot.epoch).add_reference(slot.index); }
  void release(const PoolSlot& slot) noexcept {
    ++room_changes_;
    pool_of(slot.epoch).release(slot.index);
  }
  [[nodiscard]] Epochs take_unused_epochs() noexcept;
  void wake_sessions(EventList& sessions) const noexcept;

  /// Tells those who wait for room that something has changed, in its destructor. Declare it before the lock of the
  /// mutex: to wake them is a system call, and they want the mutex at once.
  class Notice {
   public:
    explicit Notice(Stream& stream, bool is_needed = true) noexcept : stream_(stream), is_needed_(is_needed) {}
    ~Notice() {
      if (is_needed_) {
        stream_.tell_waiting();
      }
    }
    void need() noexcept { is_needed_ = true; }
    Notice(const Notice&) = delete;
    Notice& operator=(const Notice&) = delete;

   private:
    Stream& stream_;
    bool is_needed_;
  };
  void tell_waiting() noexcept;

  const StreamOptions options_;
  FileDescriptor source_event_ = make_eventfd();  // raised once after arm()
  FileDescriptor limit_timer_;                    // only with max_duration_ns, as the next one
  FileDescriptor poller_;                         // of both
  std::atomic<bool> is_armed_ = false;            // set under the mutex, cleared by who raises source_event_
  mutable std::mutex mutex_;
  AdaptiveSpin spin_;                // of those who wait for room
  std::condition_variable changed_;  // a slot was released, a viewer came or left, or the stream stops
  std::size_t sleeping_claims_ = 0;  // that wait on it for room
  std::size_t waiting_claims_ = 0;   // that have not found room yet, asleep or not
  std::size_t wakes_ = 0;            // by wake(), that no claim has taken
  std::uint64_t room_changes_ = 0;   // slots released and frames sent: only they make room
  bool stopping_ = false;
  bool finished_ = false;
  std::uint64_t next_sequence_;
  std::uint64_t frames_produced_ = 0;
  std::uint64_t frames_claimed_ = 0;  // to come: by claim(), not published yet
  std::uint64_t frames_dropped_at_source_ = 0;
  SourceCadence cadence_;  // has a mutex of its own, as the next two
  RenderRequests renders_;
  SourceInbox inbox_;
  std::int64_t first_frame_ns_ = 0;
  std::int64_t last_frame_ns_ = 0;
  /// A slot that a device still fills or copies. It has a reference until the device has finished, also if its frame is
  /// dropped meanwhile.
  struct Unfinished {
    FrameHeader header;
    PoolSlot slot;
    DeviceWork work;
    bool is_hidden = false;  // pulling viewers do not see the frame yet
  };
  std::vector<Unfinished> unfinished_;  // has room for every slot: begin_epoch() sees to it
  std::uint64_t newest_shown_ = 0;      // to pulling viewers: sequence + 1
  /// Tells this stream of finished device work. Shared with devices, which may finish after the stream has gone.
  class Observer;
  std::shared_ptr<Observer> observer_;
  Epochs epochs_;  // the current one last; earlier ones while one of their frames is in use
  std::vector<SubscriberQueue*> queues_;
  std::size_t leaving_ = 0;           // detached queues whose links still hold slots
  std::vector<SharedEvent> pullers_;  // their wake events
};

}  // namespace framewire
