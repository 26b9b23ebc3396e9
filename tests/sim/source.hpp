// A stream of a simulated sender.
#pragma once

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/file_descriptor.hpp"
#include "base/wait.hpp"
#include "frame/test_pattern.hpp"
#include "tests/sim/plan.hpp"
#include "tests/sim/world.hpp"
#include "transport/stream.hpp"

namespace framewire::sim {

/// A stream and the threads that fill it, until it has all frames or the last viewer that keeps it going has left.
class Source {
 public:
  Source(World& world, const Plan& plan, std::uint32_t number)
      : world_(world), plan_(plan), stream_(options_of(plan, number)) {}

  /// Every viewer that is to watch has been added.
  void start() {
    running_ = plan_.source_threads;
    if (plan_.offers_cadence) {
      stream_.cadence().offer(cadence_period_ns);
    }
    if (plan_.takes_input) {
      input_ = stream_.inbox().open_input([this] { check_input_is_prompt(); });
      stream_.inbox().take_messages([] {});
    }
    for (std::uint64_t i = 0; i < plan_.source_threads; ++i) {
      threads_.emplace_back([this, begins_epochs = i == 0] { run(begins_epochs); });
    }
  }
  void join() {
    for (std::thread& thread : threads_) {
      thread.join();
    }
  }
  void add_viewer() { ++viewers_; }
  void lose_viewer() {
    if (--viewers_ == 0) {
      stream_.stop();
    }
  }
  /// A viewer sends some now; false: it did not.
  void input_is_sent(bool is_sent = true) { input_sent_ns_ = is_sent ? monotonic_ns() : INT64_MAX; }
  [[nodiscard]] Stream& stream() { return stream_; }
  /// When it had no more frames; INT64_MAX before.
  [[nodiscard]] std::int64_t finished_ns() const { return finished_ns_; }

 private:
  static StreamOptions options_of(const Plan& plan, std::uint32_t number) {
    StreamOptions options;
    options.name = "test" + std::to_string(number);
    options.number = number;
    options.delivery = plan.delivery;
    options.slots_per_viewer = plan.slots;
    options.max_viewers = plan.max_viewers;
    options.allows_pull = plan.pull_interval_ns > 0;
    options.max_frames = plan.has_frame_limit ? plan.frames : 0;
    options.max_duration_ns = plan.has_time_limit ? time_limit_ns : 0;
    options.one_in_flight = plan.has_one_in_flight;
    options.wait = plan.source_sleeps ? WaitMode::block : WaitMode::adaptive;
    return options;
  }

  static std::int64_t pts_of(std::uint64_t number) { return static_cast<std::int64_t>(number) * ns_per_ms; }

  void run(bool begins_epochs) {
    produce(begins_epochs);
    if (--running_ > 0) {
      return;
    }
    if (viewers_ > 0) {  // otherwise the stream may have been stopped during a claim
      EXPECT_EQ(stream_.frames_dropped_at_source(), dropped_);
    }
    check_limits();
    finished_ns_ = world_.now_ns();
    stream_.finish();
  }

  /// A stream with a limit ends by it, and neither sooner nor later.
  void check_limits() const {
    if (viewers_ == 0 || plan_.is_interrupted) {
      return;  // stopped
    }
    if (plan_.has_frame_limit && !plan_.has_time_limit) {
      EXPECT_EQ(stream_.frames_produced(), plan_.frames);
    }
    if (plan_.has_time_limit && stream_.frames_produced() < plan_.frames) {
      EXPECT_GE(monotonic_ns() - first_frame_ns_, time_limit_ns);
    }
    if (plan_.has_time_limit && plan_.is_undisturbed() && plan_.delivery == Delivery::latest) {
      EXPECT_LT(stream_.produced_over_ns(), time_limit_ns + prompt_ns);
    }
  }

  /// A stream with a limit ends its claims itself.
  [[nodiscard]] bool goes_on() const { return viewers_ > 0 && (plan_.has_frame_limit || produced_ < plan_.frames); }

  void produce(bool begins_epochs) {
    std::optional<ClaimedSlot> second;
    std::optional<KeptSlot> kept;
    std::byte first_byte_kept{};
    while (goes_on()) {
      if (begins_epochs && !begin_epoch_when_due()) {
        continue;
      }
      auto slot = second ? std::exchange(second, std::nullopt) : claim(!begins_epochs);
      if (!slot) {
        break;
      }
      if (plan_.source_threads > 1 && world_.chance(30)) {
        second = stream_.claim_now();  // published after the first one, or given up at the end
      }
      if (kept) {
        EXPECT_EQ(kept->bytes()[0], first_byte_kept) << "a slot that is kept was used again";
        kept.reset();
      }
      const std::uint64_t number = ++numbers_;
      first_frame_ns_ = std::min(first_frame_ns_, monotonic_ns());
      if (plan_.slices > 1 && world_.chance(80)) {
        produce_in_slices(std::move(*slot), number);
        continue;
      }
      write_test_lines(slot->bytes(), number);
      FrameInfo info{.pts_ns = pts_of(number), .user_tag = number, .has_test_pattern = true};
      // supports_sendfile() may switch threads, and another one may cut the file: its length is looked at last.
      if (plan_.sends_files && stream_.supports_sendfile() && !is_cut_) {
        info.file = move_to_file(slot->bytes());
      }
      if (plan_.files_are_cut && number > 5 && world_.chance(20)) {
        cut_file();
      }
      const std::byte first_byte = slot->bytes()[0];
      if (auto published = stream_.publish_and_keep(std::move(*slot), info)) {
        ++produced_;
        if (plan_.source_threads > 1 && world_.chance(30)) {
          kept = std::move(published);
          first_byte_kept = first_byte;
        }
      } else {
        ++dropped_;  // another thread has begun an epoch
      }
      rest();
    }
  }

  /// What lay in the slot before is torn.
  FileRange move_to_file(std::span<std::byte> bytes) {
    const std::uint64_t offset_bytes = file_bytes_;
    EXPECT_EQ(::pwrite(file_.get(), bytes.data(), bytes.size(), static_cast<off_t>(offset_bytes)),
              static_cast<ssize_t>(bytes.size()));
    file_bytes_ += bytes.size();
    std::ranges::fill(bytes, std::byte{0xa5});
    return {.fd = file_.get(), .offset_bytes = offset_bytes};
  }

  /// Frames that were not sent yet may be beyond its end now. No more are written to it, and a second cut leaves less
  /// than the first: a file that grows again has zeros in the place of such frames, which nobody can tell from what was
  /// there.
  void cut_file() {
    file_bytes_ = world_.below(file_bytes_ + 1);
    EXPECT_EQ(::ftruncate(file_.get(), static_cast<off_t>(file_bytes_)), 0);
    is_cut_ = true;
  }

  /// In any order, each filled just before it is published. What the frame before left in the slot is torn.
  void produce_in_slices(ClaimedSlot slot, std::uint64_t number) {
    auto frame =
        stream_.begin_frame(std::move(slot), {.pts_ns = pts_of(number), .user_tag = number, .has_test_pattern = true},
                            static_cast<std::uint16_t>(plan_.slices));
    if (!frame) {
      ++dropped_;  // another thread has begun an epoch
      return;
    }
    std::vector<std::uint16_t> left(frame->slice_count());
    std::ranges::generate(left, [next = std::uint16_t{0}]() mutable { return next++; });
    while (!left.empty()) {
      const std::size_t chosen = world_.below(left.size());
      const ByteRange range = frame->slice(left[chosen]);
      write_test_lines(frame->bytes().subspan(range.offset_bytes, range.size_bytes), number,
                       range.offset_bytes / test_line_bytes);
      frame->publish(left[chosen]);
      left.erase(left.begin() + static_cast<std::ptrdiff_t>(chosen));
      if (world_.chance(30)) {
        stream_.sleep_until(monotonic_ns() + static_cast<std::int64_t>(world_.below(2'000'000)));
      }
      if (plan_.gives_frames_up && !left.empty() && world_.chance(5)) {
        return;
      }
    }
    ++produced_;
    rest();
  }

  void rest() {
    follow_cadence();
    follow_input();
    if (plan_.delivery == Delivery::latest) {
      stream_.sleep_until(monotonic_ns() + static_cast<std::int64_t>(world_.below(5'000'000)));
    }
  }

  void follow_cadence() {
    if (const auto change = stream_.cadence().take_change()) {
      EXPECT_TRUE(plan_.offers_cadence && plan_.viewers_ask_cadence);
      EXPECT_LE(std::abs(change->period_ns - cadence_period_ns), cadence_period_ns / 50);
      // One period in each quarter of a second, of which the source may have slept through some.
      const std::int64_t quarters = 2 + (monotonic_ns() - cadence_taken_ns_) / (250 * ns_per_ms);
      EXPECT_LE(std::abs(change->shift_ns), quarters * cadence_period_ns);
      cadence_taken_ns_ = monotonic_ns();
    }
  }

  /// Each viewer presses and releases one key. Another one has the input when that is released.
  void follow_input() {
    while (const auto batch = input_ ? input_->take() : std::nullopt) {
      EXPECT_TRUE(plan_.viewers_send_input);
      for (const InputEvent& event : batch->events) {
        const bool is_pressed = std::get<KeyInput>(event.what).is_pressed;
        if (plan_.source_threads == 1) {
          EXPECT_TRUE(pressed_by_.empty() || (!is_pressed && pressed_by_ == batch->viewer)) << "it was not released";
          pressed_by_ = is_pressed ? batch->viewer : "";
        }
      }
    }
    while (const auto message = stream_.inbox().take_message()) {
      EXPECT_EQ(message->body, "{\"a\":1}");
      stream_.inbox().broadcast(message->body);
    }
  }

  /// Input is sent by the thread that has it: what comes later has waited for another one.
  void check_input_is_prompt() {
    const bool is_alone = plan_.viewers == 1 && !plan_.has_stopped_viewers && !plan_.has_dying_viewers;
    if (is_alone && plan_.is_undisturbed() && !plan_.is_crowded() && !plan_.is_short_of_memory &&
        !plan_.loses_packets && !plan_.fills_wires()) {
      const std::int64_t sent_ns = std::exchange(input_sent_ns_, INT64_MAX);  // what is released at the end is not sent
      EXPECT_TRUE(sent_ns == INT64_MAX || monotonic_ns() - sent_ns < prompt_ns) << "input came late";
    }
  }

  /// False if there is no memory: the next call may have some.
  bool begin_epoch_when_due() {
    if (produced_ < epoch_due_) {
      return true;
    }
    try {
      stream_.begin_epoch({.layout = bytes_layout(1 + world_.below(plan_.largest_frame_bytes)), .colour = {}});
    } catch (const Error&) {
      EXPECT_FALSE(plan_.is_undisturbed());
      return false;
    }
    epoch_due_ = plan_.frames_per_epoch == UINT64_MAX ? UINT64_MAX : produced_ + plan_.frames_per_epoch;
    return true;
  }

  /// A source that cannot wait, such as a camera, drops a frame for which there is no room.
  std::optional<ClaimedSlot> claim(bool may_leave) {
    if (!plan_.drops_at_source) {
      auto slot = plan_.source_has_event_loop               ? claim_by_descriptor()
                  : plan_.mixes_claims && world_.chance(50) ? claim_for_moments(may_leave)
                                                            : claim_as_long_as_it_takes();
      // Over tcp a frame may be acknowledged a moment before the call returns that has sent it.
      if (slot && plan_.has_one_in_flight && plan_.source_threads == 1 && plan_.link == LinkKind::local) {
        EXPECT_EQ(stream_.slots_in_use(), 1U) << "a frame is still in flight";
      }
      return slot;
    }
    for (;;) {
      if (auto slot = stream_.claim_now(); slot || !goes_on() || stream_.is_stopping()) {
        return slot;
      }
      stream_.drop_frame();
      ++dropped_;
      stream_.sleep_until(monotonic_ns() + ns_per_ms);
    }
  }

  std::optional<ClaimedSlot> claim_as_long_as_it_takes() {
    const std::int64_t begun_ns = monotonic_ns();
    auto slot = stream_.claim();
    if (plan_.stretches_timeouts) {
      EXPECT_LT(monotonic_ns() - begun_ns, 1800 * ns_per_s) << "only a timer has woken it";
    }
    return slot;
  }

  /// Rests between two attempts, or gives up for good: whoever waits beside it is not to rely on it.
  std::optional<ClaimedSlot> claim_for_moments(bool may_leave) {
    for (;;) {
      auto slot =
          world_.chance(50)
              ? stream_.claim_now()
              : stream_.claim({.deadline_ns = monotonic_ns() + static_cast<std::int64_t>(world_.below(ns_per_ms))});
      if (slot || !goes_on() || stream_.is_stopping() || (may_leave && world_.chance(20))) {
        return slot;
      }
      stream_.sleep_until(monotonic_ns() + static_cast<std::int64_t>(world_.below(10 * ns_per_ms)));
    }
  }

  std::optional<ClaimedSlot> claim_by_descriptor() {
    for (bool is_told = true;;) {
      auto slot = stream_.claim_now();
      EXPECT_TRUE(is_told || !slot) << "the stream's descriptor did not tell of room";
      if (slot || stream_.is_stopping()) {
        return slot;
      }
      is_told = !stream_.arm() || wait_for(stream_.descriptor(), POLLIN, monotonic_ns() + 5 * ns_per_s);
    }
  }

  World& world_;
  const Plan& plan_;
  Stream stream_;
  std::unique_ptr<SourceInbox::Reader> input_;
  std::int64_t input_sent_ns_ = INT64_MAX;  // and has not come
  std::string pressed_by_;                  // whose key is pressed
  std::int64_t cadence_taken_ns_ = 0;       // a change of it
  std::uint64_t viewers_ = 0;
  std::uint64_t running_ = 0;  // threads
  std::uint64_t produced_ = 0;
  std::uint64_t numbers_ = 0;  // given to frames
  std::uint64_t epoch_due_ = 0;
  std::uint64_t dropped_ = 0;
  std::int64_t first_frame_ns_ = INT64_MAX;  // when it had a slot
  std::int64_t finished_ns_ = INT64_MAX;
  FileDescriptor file_{::memfd_create("frames", MFD_CLOEXEC)};
  std::uint64_t file_bytes_ = 0;
  bool is_cut_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace framewire::sim
