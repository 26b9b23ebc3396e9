// The fan-out's state for one session: the frames that wait for its link, and its exact counts.
#pragma once

#include <bitset>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/fixed_queue.hpp"
#include "transport/event_list.hpp"
#include "transport/link.hpp"

namespace framewire {

/// What happens when a viewer is too slow.
enum class Delivery {
  latest,  // it skips to the newest; the source never waits for it
  every,   // nothing is skipped; the source waits
};
std::string_view name(Delivery delivery) noexcept;
std::optional<Delivery> delivery_from_name(std::string_view wanted) noexcept;

/// frames_produced = frames_skipped + frames_sent + frames_aborted once no frame waits. Under `latest`, counting starts
/// with the first frame that the link accepts, which is the newest one when the viewer becomes ready. Earlier frames do
/// not count for the session.
struct SubscriberQueueCounts {
  std::uint64_t frames_produced = 0;  // published for this session
  std::uint64_t frames_skipped = 0;   // not given to the link, or not completely before the session's end
  std::uint64_t frames_sent = 0;      // given to the link, with all slices
  std::uint64_t frames_aborted = 0;   // begun on the link, and given up by the source or its device
  std::uint64_t frames_unfilled = 0;  // a device failed or took too long; counted as skipped or aborted, too
  std::uint64_t bytes_sent = 0;       // payload
  std::uint64_t first_frame = 0;      // the stream's frame with which it began, from 1; 0: none yet, or a sum

  /// Names every field, so that the compiler asks for a new one.
  SubscriberQueueCounts& operator+=(const SubscriberQueueCounts& more) noexcept {
    auto& [produced, skipped, sent, aborted, unfilled, bytes, first] = *this;
    const auto& [more_produced, more_skipped, more_sent, more_aborted, more_unfilled, more_bytes, ignored] = more;
    produced += more_produced;
    skipped += more_skipped;
    sent += more_sent;
    aborted += more_aborted;
    unfilled += more_unfilled;
    bytes += more_bytes;
    first = 0;  // has no sum
    return *this;
  }
};

using SliceSet = std::bitset<max_slices>;

/// How far a source has filled a slot slice by slice, or a device its copy. Guarded by the stream's mutex.
struct SliceProgress {
  std::uint16_t count = 0;  // of the frame's slices
  bool is_copied = false;   // by a device: the source has done its part
  SliceSet filled;
  std::int64_t completed_ns = 0;      // when the source had filled the last one; 0: it or the device has not yet
  bool is_aborted = false;            // the source or the device has given the frame up
  std::shared_ptr<Fence> uploaded{};  // of a complete frame: its device's copy of it; null: nobody needs that

  [[nodiscard]] FenceState state() const noexcept {
    return completed_ns != 0 ? FenceState::done : is_aborted ? FenceState::failed : FenceState::pending;
  }
};

/// A frame that waits for a subscriber queue's link, as the link gets it if it gets it whole.
struct WaitingFrame : OutgoingFrame {
  std::shared_ptr<Fence> ready{};           // what the link reads is there once this is done; null: it is there
  const SliceProgress* progress = nullptr;  // of a frame in slices; valid while the slot is held
  bool needs_upload = false;                // of such a frame: the link reads what the device has copied

  void clear() noexcept { ready.reset(); }

  /// Of the whole frame.
  [[nodiscard]] FenceState readiness() const noexcept {
    if (progress == nullptr) {
      return ready ? ready->state() : FenceState::done;
    }
    if (!needs_upload || progress->completed_ns == 0) {
      return progress->state();
    }
    return progress->uploaded ? progress->uploaded->state() : FenceState::failed;
  }
  /// The source has done its part.
  [[nodiscard]] bool awaits_device() const noexcept {
    return ready || (progress != nullptr && progress->is_copied) || (needs_upload && completed_ns() != 0);
  }
  /// When the source had filled it; 0: it has not, or a device still copies it.
  [[nodiscard]] std::int64_t completed_ns() const noexcept {
    return progress != nullptr ? progress->completed_ns : header.times.completed_ns;
  }
};

/// A frame of which the link has some slices, but not all.
struct BegunOnLink {
  WaitingFrame frame;
  SliceSet sent;
};

/// Owned by its session, which attaches it to a stream. While attached, guarded by the stream's mutex.
struct SubscriberQueue {
  SubscriberQueue(SenderLink& session_link, Delivery session_delivery, SharedEvent session_wake_event)
      : link(&session_link), delivery(session_delivery), wake_event(std::move(session_wake_event)) {}

  SenderLink* link;
  bool reads_host_copy = false;  // the link does not take the stream's memory; Stream::attach() sets it
  Delivery delivery;
  SharedEvent wake_event;        // signalled when the session has an epoch to announce, or the stream has ended
  bool session_is_due = false;   // it is to be signalled, once the mutex is released
  bool source_polls = false;     // a spinning source looks for its credits: its link is not armed
  bool has_been_polled = false;  // by that source, since the session last looked
  std::int64_t next_look_ns = INT64_MAX;  // when the session looks whether the source still does; INT64_MAX: no need
  std::optional<BegunOnLink> begun;       // is finished before the next one begins
  OutgoingFrame slice;                    // that is given to the link now
  FixedQueue<WaitingFrame> waiting;       // Stream::attach() sets its capacity
  FixedQueue<PoolSlot> held;              // given to the link and not released yet; most are released in this order
  std::size_t max_held = 0;               // its capacity
  std::uint32_t announced_epoch = 0;
  std::uint32_t ready_epoch = 0;
  std::uint32_t sent_epoch = 0;     // of the frame that the link was given last
  std::uint32_t epochs_missed = 0;  // announced since then, but for the last one
  bool takes_slices = false;        // the viewer does, in that epoch
  bool is_replaced = false;         // another queue of its viewer is attached: this one does not count as a viewer
  bool is_concluded = false;        // nothing more is sent over the link
  std::uint64_t acknowledged = 0;   // of the link's frames, when the source was last told
  SubscriberQueueCounts counts;
  std::uint64_t skipped_behind_first = 0;  // of them, behind the frame that is to be the first; until it is sent
};

}  // namespace framewire
