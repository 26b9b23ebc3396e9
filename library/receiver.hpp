// What a receiver's handles stand for: the receiver, and the frames that the program has.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/file_descriptor.hpp"
#include "library/handles.hpp"
#include "library/include/framewire/framewire.h"
#include "library/program_log.hpp"
#include "library/settings.hpp"
#include "library/waking.hpp"
#include "transport/session/subscriber.hpp"

namespace framewire {

/// A frame that the program has, behind one handle after another: to make an object for each would take longer than all
/// else. Any thread. HeldFrames owns it.
class Frame {
 public:
  /// Takes a place in the table of handles. Throws Failure (FW_ERROR_MEMORY).
  Frame();
  ~Frame();
  Frame(const Frame&) = delete;
  Frame& operator=(const Frame&) = delete;

  [[nodiscard]] bool is_free() const noexcept { return place_.is_free(); }
  /// Its handle. It is free. `format`: of its epoch, or null if that is not known. The frame says its layout and
  /// colours itself. `epoch`: as the receiver counts them, over all sessions.
  [[nodiscard]] fw_frame* open(ReceivedFrame&& frame, const std::shared_ptr<const StreamFormat>& format,
                               std::uint32_t epoch) noexcept;
  /// The receiver has ended. The object deletes itself once the program does not have the frame.
  void outlive_receiver() noexcept;
  void ended(handles::Place& place) noexcept;
  /// The object, if the program has the frame.
  [[nodiscard]] InUse<Frame> use() noexcept { return object_at<Frame>(place_); }

  void fill(fw_view& view) const noexcept;
  [[nodiscard]] StreamFormat format() const noexcept;
  [[nodiscard]] bool is_whole() const noexcept;
  /// Of the newest one here.
  [[nodiscard]] std::uint64_t session_number() const noexcept { return session_number_; }
  /// See HeldFrames::keep_all(). Throws Error (no memory).
  void keep();

 private:
  [[nodiscard]] bool is_shared() const noexcept;

  handles::Place& place_;
  std::optional<ReceivedFrame> frame_;
  std::shared_ptr<const StreamFormat> format_;
  std::uint32_t epoch_ = 0;
  std::uint64_t session_number_ = 0;  // of HeldFrames' callers
  std::atomic<bool> is_kept_ = false;
};

/// The frames of one receiver that the program has. They may outlive it. One thread at a time; frames end on any.
class HeldFrames {
 public:
  HeldFrames() = default;
  ~HeldFrames();
  HeldFrames(const HeldFrames&) = delete;
  HeldFrames& operator=(const HeldFrames&) = delete;

  /// As Frame::open(). Throws Failure (FW_ERROR_MEMORY).
  [[nodiscard]] fw_frame* add(ReceivedFrame&& frame, const std::shared_ptr<const StreamFormat>& format,
                              std::uint32_t epoch);
  /// So many frames of this session.
  [[nodiscard]] std::uint32_t count(std::uint64_t session_number) const noexcept;
  /// So many frames. Any thread.
  [[nodiscard]] std::uint32_t count() const;
  /// The session ends: frames that lie in the sender's memory become copies at the same address. A frame that there is
  /// no memory for stays where it is, and Frame::is_whole() says so.
  void keep_all() noexcept;

 private:
  mutable std::mutex mutex_;  // of who makes frames_ longer, and of count()
  std::vector<std::unique_ptr<Frame>> frames_;
  std::size_t newest_ = 0;  // frames_[newest_] came last: if it is free, the caches have it
};

/// Owned by its handle. Any thread; one at a time in acquire(), and in next_event().
class Receiver {
 public:
  Receiver(ReceiverOptions options, std::shared_ptr<ProgramLog> log);
  ~Receiver();
  Receiver(const Receiver&) = delete;
  Receiver& operator=(const Receiver&) = delete;

  void ended(handles::Place& place) noexcept;

  fw_result acquire(std::int64_t timeout_ns, fw_frame*& frame);
  void wake() noexcept;
  [[nodiscard]] std::uint16_t port() const noexcept { return subscriber_->port(); }
  [[nodiscard]] int descriptor() const noexcept { return descriptor_.get(); }
  /// The handle was ended: who waits in acquire() gets an error. Then, at the latest, the session ends.
  void end() noexcept;
  [[nodiscard]] const std::shared_ptr<ProgramLog>& log() const noexcept { return log_; }

  [[nodiscard]] std::int32_t state(std::string& text) const;
  [[nodiscard]] Subscriber::ClockOffset clock_offset() const noexcept { return subscriber_->clock_offset(); }
  [[nodiscard]] fw_receiver_counts counts() const;
  fw_result next_event(fw_event& event);
  fw_result send(const std::string& message);
  fw_result send_event(const fw_event& event);

 private:
  fw_result wait_for_frame(std::int64_t timeout_ns, fw_frame*& frame, std::unique_lock<std::mutex>& lock);
  bool take_frame(fw_frame*& frame);
  [[nodiscard]] const std::shared_ptr<const StreamFormat>& format_of(const ReceivedFrame& frame);
  [[nodiscard]] std::uint32_t epoch_of(const ReceivedFrame& frame) noexcept;
  void follow_status();
  [[nodiscard]] std::optional<fw_result> outcome_without_frame();
  void lower_acquire_event() noexcept;
  void refuse_to_wait_for_itself() const;
  void keep_frames() noexcept;

  /// The format of one epoch of one session.
  struct KnownFormat {
    std::uint64_t session = 0;
    std::uint32_t epoch = 0;
    std::shared_ptr<const StreamFormat> format;
  };

  const WaitMode wait_;
  const std::shared_ptr<ProgramLog> log_;
  const std::string viewer_id_;
  FileDescriptor acquire_event_ = make_eventfd();  // raised while there may be a frame that nobody has asked for
  FileDescriptor event_event_ = make_eventfd();    // raised while there may be events
  WakeRequests wakes_;
  std::atomic<bool> is_destroyed_ = false;

  /// Held by acquire() except while it sleeps: so a frame that the subscriber gives is among those held before
  /// keep_frames() looks at them. Guards what follows.
  std::mutex acquire_mutex_;
  bool is_acquiring_ = false;
  HeldFrames held_;
  bool is_acquire_event_raised_ = true;
  std::uint64_t status_version_ = 0;
  SubscriberStatus status_;
  std::deque<KnownFormat> formats_;  // the newest last
  std::uint64_t frame_session_ = 0;  // of the newest frame, as the next one
  std::uint32_t frame_epoch_ = 0;
  std::uint32_t epochs_ = 0;  // so many came with frames

  std::mutex event_mutex_;  // guards what follows
  std::string text_;        // of the newest event
  std::int32_t told_state_ = FW_STATE_WAITING;
  std::uint64_t told_session_ = 0;

  std::unique_ptr<Subscriber> subscriber_;  // its thread uses what is above
  FileDescriptor descriptor_;
};

}  // namespace framewire
