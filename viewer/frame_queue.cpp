#include "viewer/frame_queue.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "base/saturating.hpp"
#include "frame/slices.hpp"
#include "viewer/tear_check.hpp"

namespace framewire {

namespace {

bool are_of_one_frame(const ReceivedFrame& a, const ReceivedFrame& b) noexcept {
  return a.session_number() == b.session_number() && a.header().epoch == b.header().epoch &&
         a.header().sequence == b.header().sequence && a.header().slot == b.header().slot;
}

/// All but one may wait, of which there is a limit.
constexpr auto most_useful_slots = static_cast<std::uint32_t>(FrameSelector<ReceivedFrame>::most_waiting + 1);

/// A frame that is so late waits for a drawing thread that is blocked.
constexpr std::int64_t overdue_ns = 100 * ns_per_ms;

/// Counts a frame that is never shown, and releases it.
void supersede(ReceivedFrame frame, Statistics& statistics) noexcept {
  statistics.frame_superseded();
  check_unseen(frame, statistics);
}

/// The frames that one call supersedes.
class Superseded {
 public:
  void add(ReceivedFrame frame) noexcept { frames_.at(count_++).emplace(std::move(frame)); }
  void release(Statistics& statistics) noexcept {
    for (auto& frame : frames_) {
      if (frame) {
        supersede(std::move(*frame), statistics);
      }
    }
  }

 private:
  std::array<std::optional<ReceivedFrame>, FrameSelector<ReceivedFrame>::most_waiting> frames_;
  std::size_t count_ = 0;
};

void drop_all(FrameSelector<ReceivedFrame>& selector, Superseded& superseded) noexcept {
  while (selector.has_frame()) {
    superseded.add(std::move(*selector.pop()));
  }
}

/// The oldest is asked about first. The others stay in their order.
template <typename IsDropped>
void drop_if(FrameSelector<ReceivedFrame>& selector, IsDropped&& is_dropped, Superseded& superseded) noexcept {
  for (std::size_t left = selector.size(); left > 0; --left) {
    ReceivedFrame frame = std::move(*selector.pop());
    if (is_dropped(frame.header())) {
      superseded.add(std::move(frame));
    } else {
      selector.put_back(std::move(frame));
    }
  }
}

}  // namespace

void check_unseen(const ReceivedFrame& frame, Statistics& statistics) noexcept {
  const auto is_torn = has_wrong_test_pattern(frame.header(), frame.payload());
  if (is_torn && !frame.is_withdrawn()) {
    statistics.frame_checked(*is_torn);
  }
}

FrameQueue::FrameQueue(Statistics& statistics, FrameSelection rule, Listeners listeners)
    : statistics_(statistics), listeners_(std::move(listeners)), selector_(rule), rule_(rule) {
  slices_.reserve(max_slices);
}

// ---- The receiving thread ----

void FrameQueue::set_rule(FrameSelection rule) noexcept {
  const std::scoped_lock lock(mutex_);
  rule_ = rule;
  if (!is_by_tag()) {
    selector_.set_rule(rule);
  }
}

void FrameQueue::show_by_tag(bool is_wanted) noexcept {
  Superseded superseded;
  {
    const std::scoped_lock lock(mutex_);
    if (is_by_tag() == is_wanted) {
      return;
    }
    chosen_tag_.reset();
    selector_.set_rule(is_wanted ? FrameSelection::tagged : rule_);
    if (is_wanted) {
      drop_all(selector_, superseded);
    }
  }
  superseded.release(statistics_);
  listeners_.on_room();
}

void FrameQueue::synchronise(SyncGroup& group) {
  const std::scoped_lock lock(mutex_);
  sync_.emplace(group);
}

void FrameQueue::set_clock_offset(std::int64_t offset_ns) noexcept {
  const std::scoped_lock lock(mutex_);
  clock_offset_ns_ = offset_ns;
}

bool FrameQueue::has_room() const noexcept {
  const std::scoped_lock lock(mutex_);
  return selector_.has_room();
}

void FrameQueue::push(ReceivedFrame frame) {
  Superseded superseded;
  {
    const std::scoped_lock lock(mutex_);
    slices_.clear();  // of this frame, which has all of them, or of one that never became complete
    pace(frame);
    if (is_drawing_blocked_) {
      drop_all(selector_, superseded);
    }
    if (is_by_tag() && frame.header().user_tag == 0) {
      superseded.add(std::move(frame));
    } else {
      if (std::size_t too_many = is_by_tag() ? count_too_many() : 0; too_many > 0) {
        drop_if(
            selector_,
            [&](const FrameHeader& header) { return header.user_tag != chosen_tag_ && too_many > 0 && too_many-- > 0; },
            superseded);
      }
      selector_.push(std::move(frame), [&](ReceivedFrame&& older) { superseded.add(std::move(older)); });
    }
  }
  listeners_.on_frame();
  superseded.release(statistics_);
}

/// Under `tagged`, before another frame comes. As many wait as the ring has slots for, but for the one that is drawn:
/// that is also the one that is chosen.
std::size_t FrameQueue::count_too_many() const noexcept {
  const std::size_t others = selector_.size() - (count_chosen() > 0 ? 1 : 0);
  const std::size_t most = std::min(selector_.allowed(), FrameSelector<ReceivedFrame>::most_waiting - 1);
  return others < most ? 0 : others + 1 - most;
}

/// Presentation times begin anew with a session or a format.
void FrameQueue::pace(const ReceivedFrame& frame) noexcept {
  if (!is_paced(selector_.rule())) {
    return;
  }
  const std::pair epoch(frame.session_number(), frame.header().epoch);
  if (std::exchange(paced_epoch_, epoch) != epoch) {
    playout_.restart();
  }
  playout_.frame_arrived(presentation_ns(frame), frame.received_ns());
  if (sync_) {
    playout_.wait_for(sync_->common_ns(*playout_.need_ns(), frame.received_ns()));
  }
}

std::int64_t FrameQueue::presentation_ns(const ReceivedFrame& frame) const noexcept {
  return sync_ ? saturating_subtract(frame.header().times.begun_ns, clock_offset_ns_) : frame.header().pts_ns;
}

void FrameQueue::push_slice(ReceivedFrame slice) {
  {
    const std::scoped_lock lock(mutex_);
    if (!slices_.empty() && (!are_of_one_frame(slices_.front(), slice) || slices_.size() == max_slices)) {
      slices_.clear();
    }
    slices_.push_back(std::move(slice));
  }
  listeners_.on_frame();
}

bool FrameQueue::supersede_waiting() {
  std::optional<ReceivedFrame> waiting;
  {
    const std::scoped_lock lock(mutex_);
    waiting = selector_.pop();
  }
  if (!waiting) {
    return false;
  }
  supersede(std::move(*waiting), statistics_);
  listeners_.on_done();
  return true;
}

std::int64_t FrameQueue::supersede_overdue(std::int64_t now_ns) {
  Superseded superseded;
  std::int64_t next_ns = INT64_MAX;
  {
    const std::scoped_lock lock(mutex_);
    if (selector_.rule() == FrameSelection::paced) {
      while (selector_.size() > 1 && paced_due_ns(selector_.at(0)) + overdue_ns < now_ns) {
        superseded.add(std::move(*selector_.pop()));
        is_drawing_blocked_ = true;
      }
      next_ns = selector_.size() > 1 ? paced_due_ns(selector_.at(0)) + overdue_ns + 1 : INT64_MAX;
    }
    const auto given_up_ns = [this] { return selector_.at(0).received_ns() + longest_wait_for_choice_ns; };
    while (is_by_tag() && selector_.has_frame() && given_up_ns() < now_ns) {
      superseded.add(std::move(*selector_.pop()));
    }
    if (is_by_tag() && selector_.has_frame()) {
      next_ns = given_up_ns() + 1;
    }
  }
  superseded.release(statistics_);
  return next_ns;
}

void FrameQueue::set_ring(std::uint32_t slots, std::int64_t period_ns) noexcept {
  const std::scoped_lock lock(mutex_);
  ring_slots_ = slots;
  period_ns_ = period_ns;
  selector_.set_most_waiting(std::clamp(slots, 2U, most_useful_slots) - 1);
  playout_.limit_delay(longest_wait_ns(slots, most_useful_slots, period_ns));
}

void FrameQueue::close() {
  bool was_closed = false;
  Superseded superseded;
  {
    const std::scoped_lock lock(mutex_);
    was_closed = std::exchange(is_closed_, true);
    if (is_by_tag()) {
      drop_if(
          selector_, [this](const FrameHeader& header) { return header.user_tag != chosen_tag_; }, superseded);
    }
  }
  superseded.release(statistics_);
  if (!was_closed) {
    listeners_.on_done();
  }
}

// ---- The drawing thread ----

bool FrameQueue::has_frame() const noexcept {
  const std::scoped_lock lock(mutex_);
  return selector_.has_frame();
}

std::optional<std::int64_t> FrameQueue::due_ns() const noexcept {
  const std::scoped_lock lock(mutex_);
  if (!selector_.has_frame()) {
    return std::nullopt;
  }
  if (is_by_tag() && count_chosen() == 0) {
    return std::nullopt;
  }
  if (!is_paced(selector_.rule())) {
    return 0;
  }
  std::int64_t due_ns = INT64_MAX;  // the oldest may be taken with a later one that is due before
  for (std::size_t i = 0; i < selector_.size(); ++i) {
    due_ns = std::min(due_ns, paced_due_ns(selector_.at(i)));
  }
  return due_ns;
}

std::int64_t FrameQueue::paced_due_ns(const ReceivedFrame& frame) const noexcept {
  return playout_.due_ns(presentation_ns(frame), frame.received_ns());
}

FrameQueue::Tags FrameQueue::tags() const noexcept {
  const std::scoped_lock lock(mutex_);
  Tags tags;
  for (std::size_t i = 0; is_by_tag() && i < selector_.size(); ++i) {
    tags.tags.at(tags.count++) = selector_.at(i).header().user_tag;
  }
  return tags;
}

void FrameQueue::choose(std::uint64_t tag) noexcept {
  const std::scoped_lock lock(mutex_);
  chosen_tag_ = tag;
}

void FrameQueue::give_up(std::uint64_t tag) noexcept {
  Superseded superseded;
  {
    const std::scoped_lock lock(mutex_);
    if (is_by_tag()) {
      drop_if(
          selector_, [tag](const FrameHeader& header) { return header.user_tag == tag; }, superseded);
    }
  }
  superseded.release(statistics_);
}

/// The frame whose tag is chosen, and those before it; 0: it is not there.
std::size_t FrameQueue::count_chosen() const noexcept {
  for (std::size_t i = 0; i < selector_.size(); ++i) {
    if (selector_.at(i).header().user_tag == chosen_tag_) {
      return i + 1;
    }
  }
  return 0;
}

/// Of the frames that wait, how many are due.
std::size_t FrameQueue::count_due(std::int64_t now_ns) const noexcept {
  if (is_by_tag()) {
    return count_chosen();
  }
  if (!is_paced(selector_.rule())) {
    return selector_.has_frame() ? 1 : 0;
  }
  std::array<std::int64_t, FrameSelector<ReceivedFrame>::most_waiting> due_ns{};
  for (std::size_t i = 0; i < selector_.size(); ++i) {
    due_ns.at(i) = paced_due_ns(selector_.at(i));
  }
  const std::size_t count = PlayoutSchedule::count_due(std::span(due_ns).first(selector_.size()), now_ns);
  return selector_.rule() == FrameSelection::paced_every ? std::min<std::size_t>(count, 1) : count;
}

std::optional<ReceivedFrame> FrameQueue::take(std::int64_t now_ns) {
  std::optional<ReceivedFrame> frame;
  Superseded superseded;
  bool makes_room = false;
  {
    const std::scoped_lock lock(mutex_);
    const bool had_room = selector_.has_room();
    is_drawing_blocked_ = false;
    for (std::size_t due = count_due(now_ns); due > 0; --due) {
      if (frame) {
        superseded.add(std::move(*frame));
      }
      frame = selector_.pop();
    }
    is_in_hand_ = is_in_hand_ || frame.has_value();
    is_out_of_step_ = frame && sync_ && playout_.misses(presentation_ns(*frame), frame->received_ns());
    makes_room = !had_room && selector_.has_room();
  }
  superseded.release(statistics_);
  if (makes_room) {
    listeners_.on_room();
  }
  return frame;
}

bool FrameQueue::is_out_of_step() const noexcept {
  const std::scoped_lock lock(mutex_);
  return is_out_of_step_;
}

void FrameQueue::take_slices(std::vector<ReceivedFrame>& slices) {
  slices.clear();
  const std::scoped_lock lock(mutex_);
  std::swap(slices_, slices);
}

// ---- Any thread ----

std::optional<Pacing> FrameQueue::pacing() const noexcept {
  const std::scoped_lock lock(mutex_);
  return is_paced(selector_.rule()) ? std::optional(playout_.pacing()) : std::nullopt;
}

std::optional<RingShortage> FrameQueue::ring_shortage() const noexcept {
  const std::scoped_lock lock(mutex_);
  const std::optional<std::int64_t> wanted_ns = is_paced(selector_.rule()) ? playout_.denied_delay_ns() : std::nullopt;
  return wanted_ns ? find_ring_shortage(ring_slots_, most_useful_slots, period_ns_, *wanted_ns) : std::nullopt;
}

bool FrameQueue::is_done() const noexcept {
  const std::scoped_lock lock(mutex_);
  return is_done_locked();
}

bool FrameQueue::is_closed() const noexcept {
  const std::scoped_lock lock(mutex_);
  return is_closed_;
}

void FrameQueue::hold() noexcept {
  const std::scoped_lock lock(mutex_);
  is_in_hand_ = true;
}

bool FrameQueue::abandon() {
  bool was_in_hand = false;
  settle([&] {
    statistics_.frame_superseded();
    was_in_hand = true;
  });
  {
    const std::scoped_lock lock(mutex_);
    is_closed_ = true;
    slices_.clear();
  }
  while (supersede_waiting()) {
  }
  return was_in_hand;
}

}  // namespace framewire
