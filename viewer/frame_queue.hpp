// Frames on their way from the thread that receives them to the thread that draws them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "transport/session/subscriber.hpp"
#include "viewer/frame_selector.hpp"
#include "viewer/playout_schedule.hpp"
#include "viewer/ring_shortage.hpp"
#include "viewer/statistics.hpp"
#include "viewer/sync_group.hpp"

namespace framewire {

/// A FrameSelector between two threads, with the schedule of frames that are shown by their presentation time. The
/// receiving thread returns the credit of a frame as soon as a newer one replaces it, also while the drawing thread is
/// busy or blocked. Every frame that is pushed is counted once, as shown or as superseded.
class FrameQueue {
 public:
  /// A set of frames is given up before (RenderSets).
  static constexpr std::int64_t longest_wait_for_choice_ns = 10 * ns_per_s;

  /// Called without the queue's mutex, by whichever thread made it so. They must not wait.
  struct Listeners {
    std::function<void()> on_frame;  // the drawing thread has something to do
    std::function<void()> on_room;   // has_room() has become true
    std::function<void()> on_done;   // is_done() may have become true, or is_closed() has
  };

  /// `statistics` outlives the queue.
  FrameQueue(Statistics& statistics, FrameSelection rule, Listeners listeners);

  // ---- The receiving thread ----

  void set_rule(FrameSelection rule) noexcept;
  /// From now on a frame's presentation time is the instant at which its sender began it, and all streams of the group
  /// wait for the slowest. Needs a paced rule. `group` outlives the queue.
  void synchronise(SyncGroup& group);
  /// Of the session of the next frame: the sender's clock minus ours.
  void set_clock_offset(std::int64_t offset_ns) noexcept;
  [[nodiscard]] bool has_room() const noexcept;
  /// Adds a frame that is complete. Supersedes frames as the rule says.
  void push(ReceivedFrame frame);
  /// Adds a slice of a frame that is not complete. Replaces those of another frame.
  void push_slice(ReceivedFrame slice);
  /// Supersedes the frame that waits longest, if one does: who draws seems to be blocked. Returns whether one did.
  bool supersede_waiting();
  /// Under `paced`: supersedes the frames whose time was over long before `now_ns`, but for the newest one: who draws
  /// seems to be blocked, and the sender needs their slots. Until the next take() only the newest frame waits then.
  /// Under `tagged`: supersedes frames that came more than longest_wait_for_choice_ns before `now_ns`: nobody chooses
  /// them, and they may have all the ring's slots. Returns when to call it again; INT64_MAX: after the next push().
  std::int64_t supersede_overdue(std::int64_t now_ns);
  /// For rules under which several frames wait in the ring: it has this many `slots`, and `period_ns` passes from frame
  /// to frame. All slots may wait but the one of the frame that is drawn. The delay leaves another free, for the next
  /// frame to arrive in.
  void set_ring(std::uint32_t slots, std::int64_t period_ns) noexcept;
  /// No frame follows. Under `tagged` those that wait are superseded, but for the one that is chosen: nobody may ever
  /// choose the others.
  void close();

  // ---- The drawing thread ----

  [[nodiscard]] bool has_frame() const noexcept;

  /// From now on frames are shown by their tags, whatever set_rule() says; or not any more. Frames with tag 0, which
  /// nobody has asked for, are superseded then. Any thread.
  void show_by_tag(bool is_wanted) noexcept;
  /// Under `tagged`: the user tags of the frames that wait, the oldest first.
  struct Tags {
    std::array<std::uint64_t, FrameSelector<ReceivedFrame>::most_waiting> tags{};
    std::size_t count = 0;
    [[nodiscard]] std::span<const std::uint64_t> all() const noexcept { return std::span(tags).first(count); }
  };
  [[nodiscard]] Tags tags() const noexcept;
  /// Under `tagged`: take() has the frame with this tag, and supersedes older ones.
  void choose(std::uint64_t tag) noexcept;
  /// Under `tagged`: this frame is never chosen. Supersedes it.
  void give_up(std::uint64_t tag) noexcept;

  /// When take() has a frame: in the past for at once; nothing if none waits.
  [[nodiscard]] std::optional<std::int64_t> due_ns() const noexcept;
  /// The frame to show now, if any. Under `paced` the newest that is due, and older ones are superseded; under
  /// `paced_every` the oldest that is due. It counts as neither shown nor superseded before settle(): call that before
  /// the next take().
  std::optional<ReceivedFrame> take(std::int64_t now_ns = INT64_MAX);
  /// A frame that the drawing thread made itself is in hand, as one that take() returned.
  void hold() noexcept;
  /// Whether the frame that take() returned is shown with frames of another instant (synchronise()).
  [[nodiscard]] bool is_out_of_step() const noexcept;
  /// Moves the slices that have come since the last call into `slices`, in the order of their arrival. They belong to
  /// one frame, which is not complete. Allocates only at the first calls.
  void take_slices(std::vector<ReceivedFrame>& slices);
  /// Says what became of the frame that take() returned. `count` counts it, under the queue's mutex; it is not called
  /// if abandon() has counted the frame already.
  template <typename Count>
  void settle(Count&& count) {
    bool has_become_done = false;
    {
      const std::scoped_lock lock(mutex_);
      if (std::exchange(is_in_hand_, false)) {
        count();
        has_become_done = is_done_locked();
      }
    }
    if (has_become_done) {
      listeners_.on_done();
    }
  }

  // ---- Any thread ----

  /// What the schedule has measured; nothing if the rule is not a paced one.
  [[nodiscard]] std::optional<Pacing> pacing() const noexcept;
  /// That the ring has too few slots for the delay that frames need, once enough were measured.
  [[nodiscard]] std::optional<RingShortage> ring_shortage() const noexcept;

  /// No frame waits, none is with the drawing thread, and none will come.
  [[nodiscard]] bool is_done() const noexcept;
  [[nodiscard]] bool is_closed() const noexcept;
  /// Supersedes every frame, also the one that the drawing thread has. Returns whether that has one. Call it when
  /// nobody pushes any more.
  bool abandon();

 private:
  void pace(const ReceivedFrame& frame) noexcept;
  [[nodiscard]] std::int64_t presentation_ns(const ReceivedFrame& frame) const noexcept;
  [[nodiscard]] std::int64_t paced_due_ns(const ReceivedFrame& frame) const noexcept;
  [[nodiscard]] bool is_by_tag() const noexcept { return selector_.rule() == FrameSelection::tagged; }
  [[nodiscard]] std::size_t count_chosen() const noexcept;
  [[nodiscard]] std::size_t count_too_many() const noexcept;
  [[nodiscard]] std::size_t count_due(std::int64_t now_ns) const noexcept;
  [[nodiscard]] bool is_done_locked() const noexcept { return is_closed_ && !is_in_hand_ && !selector_.has_frame(); }

  Statistics& statistics_;
  const Listeners listeners_;
  mutable std::mutex mutex_;  // guards what follows
  FrameSelector<ReceivedFrame> selector_;
  PlayoutSchedule playout_;
  std::optional<SyncGroup::Member> sync_;
  std::int64_t clock_offset_ns_ = 0;
  std::uint32_t ring_slots_ = 0;
  std::int64_t period_ns_ = 0;  // from frame to frame
  FrameSelection rule_;         // without tags
  std::optional<std::uint64_t> chosen_tag_;
  std::pair<std::uint64_t, std::uint32_t> paced_epoch_{};  // session and epoch of the newest frame
  std::vector<ReceivedFrame> slices_;                      // of one frame
  bool is_drawing_blocked_ = false;                        // a frame was overdue, and none was taken since
  bool is_out_of_step_ = false;
  bool is_in_hand_ = false;  // take() returned a frame that is not settled
  bool is_closed_ = false;
};

/// Checks the test pattern of a frame that is never uploaded, if it has one, and counts what comes out. Any thread.
void check_unseen(const ReceivedFrame& frame, Statistics& statistics) noexcept;

}  // namespace framewire
