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
#include "library/include/framewire/framewire.h"
#include "library/program_log.hpp"
#include "library/settings.hpp"
#include "library/waking.hpp"
#include "transport/session/subscriber.hpp"

namespace framewire {

class Frame;

/// The frames of one receiver that the program has. It lives as long as the receiver or one of them. Any thread.
class HeldFrames {
 public:
  void add(Frame& frame);
  void remove(Frame& frame) noexcept;
  /// So many frames of this session.
  [[nodiscard]] std::uint32_t count(std::uint64_t session_number) const;
  [[nodiscard]] std::uint32_t count() const;
  /// The session ends: frames that lie in the sender's memory become copies at the same address. A frame that there is
  /// no memory for stays where it is, and Frame::is_whole() says so.
  void keep_all() noexcept;

 private:
  mutable std::mutex mutex_;
  std::vector<Frame*> frames_;  // each knows its place, Frame::held_index_
};

/// A frame that the program has. Any thread.
class Frame {
 public:
  /// `format`: of its epoch, or null if that is not known. The frame says its layout and colours itself. `epoch`: as
  /// the receiver counts them, over all sessions.
  Frame(ReceivedFrame frame, std::shared_ptr<const StreamFormat> format, std::uint32_t epoch,
        std::shared_ptr<HeldFrames> held);
  ~Frame();
  Frame(const Frame&) = delete;
  Frame& operator=(const Frame&) = delete;

  [[nodiscard]] fw_view view() const noexcept;
  [[nodiscard]] StreamFormat format() const noexcept;
  [[nodiscard]] bool is_whole() const noexcept;
  [[nodiscard]] std::uint64_t session_number() const noexcept { return frame_.session_number(); }
  /// See HeldFrames::keep_all(). Throws Error (no memory).
  void keep();

 private:
  friend class HeldFrames;

  [[nodiscard]] bool is_shared() const noexcept;

  const ReceivedFrame frame_;
  const std::shared_ptr<const StreamFormat> format_;
  const std::uint32_t epoch_;
  const std::shared_ptr<HeldFrames> held_;
  std::size_t held_index_ = 0;  // guarded by the mutex of held_
  std::atomic<bool> is_kept_ = false;
};

/// Owned by its handle. Any thread; one at a time in acquire(), and in next_event().
class Receiver {
 public:
  Receiver(ReceiverOptions options, std::shared_ptr<ProgramLog> log);
  ~Receiver();
  Receiver(const Receiver&) = delete;
  Receiver& operator=(const Receiver&) = delete;

  fw_result acquire(std::int64_t timeout_ns, std::shared_ptr<Frame>& frame);
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
  bool take_frame(std::shared_ptr<Frame>& frame);
  [[nodiscard]] std::shared_ptr<const StreamFormat> format_of(const ReceivedFrame& frame);
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
  std::unique_ptr<Subscriber> subscriber_;
  FileDescriptor descriptor_;
  std::shared_ptr<HeldFrames> held_ = std::make_shared<HeldFrames>();
  WakeRequests wakes_;
  std::atomic<bool> is_destroyed_ = false;

  std::mutex handover_mutex_;  // held from where the subscriber gives a frame to where it is among those held

  std::mutex acquire_mutex_;  // guards what follows
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
};

}  // namespace framewire
