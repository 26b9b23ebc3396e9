// What a sender's handles stand for: the sender, its streams, and the slots that the program has.
#pragma once

#include <poll.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/file_descriptor.hpp"
#include "library/handles.hpp"
#include "library/include/framewire/framewire.h"
#include "library/program_log.hpp"
#include "library/waking.hpp"
#include "transport/session/sender_service.hpp"
#include "transport/stream.hpp"

namespace framewire {

/// A slot that the program has, behind one handle after another: to make an object for each claim would take longer
/// than all else that the claim does. Any thread. Its stream owns it, and outlives what the program has.
class Slot {
 public:
  /// Takes a place in the table of handles. Throws Failure (FW_ERROR_MEMORY).
  explicit Slot(SourceStream& stream);
  ~Slot();
  Slot(const Slot&) = delete;
  Slot& operator=(const Slot&) = delete;

  /// The handle of a slot that was claimed. Null, and `claimed` stays the caller's, while the program has another one
  /// behind this object.
  [[nodiscard]] fw_slot* open(ClaimedSlot& claimed) noexcept;
  /// Whether the program has a slot of this epoch here.
  [[nodiscard]] bool is_held(std::uint32_t epoch) const noexcept {
    return epoch_.load(std::memory_order_relaxed) == epoch && !place_.is_free();
  }
  /// The stream's handle has ended. The object deletes itself, with `stream`, once the program has no slot here.
  void outlive_handle_of(const std::shared_ptr<SourceStream>& stream) noexcept;
  void ended(handles::Place& place) noexcept;

  /// Throws Failure (FW_ERROR_STATE) if the frame was dropped.
  void fill(fw_view& view) const;
  /// `use`: has the mark handles::is_taken, and keeps it if the slot can not be published once more.
  fw_result publish(InUse<Slot>& use, const fw_frame_info& info);

 private:
  enum class State : std::uint8_t { claimed, published, dropped };

  handles::Place& place_;
  SourceStream& stream_;
  std::shared_ptr<SourceStream> kept_stream_;  // of one whose stream's handle has ended
  std::optional<ClaimedSlot> claimed_;
  std::atomic<std::uint32_t> epoch_ = 0;
  std::atomic<State> state_ = State::claimed;
  fw_view view_{};  // while it is claimed; made anew for another epoch
  FrameInfo info_;  // once it is published
};

/// A stream with what the program asks of it. Any thread. Slots keep it alive, also without its sender.
class SourceStream {
 public:
  explicit SourceStream(StreamOptions options);

  /// Makes its handle, which keeps `stream` alive. Throws Failure (FW_ERROR_MEMORY).
  static fw_stream* open(const std::shared_ptr<SourceStream>& stream);
  void ended(handles::Place& place) noexcept;

  std::uint32_t begin(const StreamFormat& format, std::uint32_t kept_slots);
  fw_result claim(std::int64_t timeout_ns, std::uint32_t flags, fw_slot*& slot);
  /// May be called by a signal handler: a Waker passes it on to a claim that waits.
  void wake() noexcept;
  [[nodiscard]] int wake_descriptor() const noexcept { return wake_event_.get(); }
  /// wake_descriptor() is readable.
  void pass_wakes_on() noexcept;
  [[nodiscard]] int descriptor() const noexcept { return descriptor_.get(); }
  fw_result next_event(fw_event& event);
  fw_result send(std::string message);
  void drop() noexcept { stream_.drop_frame(); }
  [[nodiscard]] fw_stream_counts counts() const;

  /// The sender was started.
  void offered_by(const std::shared_ptr<SenderService>& service);
  /// The viewer that the sender dials has refused it: waits return, and nobody will come.
  void refuse() noexcept;
  /// The sender is drained, or has ended: waits return.
  void finish(bool is_destroyed) noexcept;
  [[nodiscard]] bool is_finished() const noexcept { return is_finished_.load(); }
  [[nodiscard]] Stream& stream() noexcept { return stream_; }

 private:
  [[nodiscard]] std::shared_ptr<SenderService> the_service() const;
  [[nodiscard]] fw_slot* open_slot(ClaimedSlot& claimed);
  [[nodiscard]] fw_slot* open_further_slot(ClaimedSlot& claimed);
  [[nodiscard]] std::uint32_t held_slots(std::uint32_t epoch) const;
  void refuse_to_wait_for_itself();
  void refuse_to_wait_for_start() const;
  void throw_if_refused() const;
  [[nodiscard]] std::optional<fw_result> outcome_without_slot();
  void lower_at_end() noexcept;
  bool take_message(fw_event& event);
  bool take_input(fw_event& event);

  Stream stream_;
  std::mutex begin_mutex_;  // of who begins an epoch
  std::atomic<bool> is_finished_ = false;
  std::atomic<bool> is_destroyed_ = false;
  std::shared_ptr<SourceStream> own_;  // of its handle
  /// As many as a pool has slots; made when they are needed, and used by all epochs.
  std::vector<std::atomic<Slot*>> slots_;
  std::atomic<Slot*> newest_slot_ = nullptr;  // of these
  mutable std::mutex further_slots_mutex_;
  /// For a claim that finds neither the newest one nor that of its number free.
  std::vector<std::unique_ptr<Slot>> further_slots_;
  WakeRequests wakes_;
  FileDescriptor wake_event_ = make_eventfd();  // counts wakes that were not passed on
  std::atomic<bool> is_refused_ = false;
  std::atomic<bool> is_offered_ = false;
  mutable std::mutex arm_mutex_;  // of arm(), and of the next one
  std::weak_ptr<SenderService> service_;
  FileDescriptor end_event_ = make_eventfd();  // raised from the end on, until a claim() that does not wait has told it
  FileDescriptor event_event_ = make_eventfd();  // raised while there may be events
  FileDescriptor descriptor_;

  std::mutex event_mutex_;  // guards what follows
  std::unique_ptr<SourceInbox::Reader> reader_;
  std::deque<std::pair<InputEvent, std::pair<std::string, std::uint64_t>>> events_;  // with viewer and epoch
  std::string text_;                                                                 // of the newest event
};

/// Passes the wakes of streams on to claims that wait, on a thread of its own, "fw-wake": a claim waits on a condition
/// variable, which a signal handler may not touch, while it may write to a descriptor.
class Waker {
 public:
  explicit Waker(std::vector<std::shared_ptr<SourceStream>> streams);
  ~Waker();
  Waker(const Waker&) = delete;
  Waker& operator=(const Waker&) = delete;

 private:
  void run() noexcept;

  const std::vector<std::shared_ptr<SourceStream>> streams_;
  std::vector<pollfd> descriptors_;  // of the streams, and the next one
  const FileDescriptor stop_event_ = make_eventfd();
  std::thread thread_;
};

/// Owned by its handle. Any thread.
class Sender {
 public:
  Sender(EndpointOptions endpoint, std::shared_ptr<ProgramLog> log);
  ~Sender() { end(); }
  Sender(const Sender&) = delete;
  Sender& operator=(const Sender&) = delete;
  void ended(handles::Place& place) noexcept;

  std::shared_ptr<SourceStream> add_stream(StreamOptions options, fw_stream*& handle);
  void start();
  [[nodiscard]] std::uint16_t port() const;
  fw_result drain(std::int64_t timeout_ns);
  void end() noexcept;

 private:
  struct Offered {
    std::shared_ptr<SourceStream> stream;
    fw_stream* handle = nullptr;
  };

  const EndpointOptions endpoint_;
  const std::shared_ptr<ProgramLog> log_;
  mutable std::mutex mutex_;
  std::vector<Offered> streams_;
  std::shared_ptr<SenderService> service_;
  std::unique_ptr<Waker> waker_;  // of a sender that was started
  bool is_drained_ = false;
};

}  // namespace framewire
