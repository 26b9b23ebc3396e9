// What a sender's handles stand for: the sender, its streams, and the slots that the program has.
#pragma once

#include <poll.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/file_descriptor.hpp"
#include "library/include/framewire/framewire.h"
#include "library/program_log.hpp"
#include "library/waking.hpp"
#include "transport/session/sender_service.hpp"
#include "transport/stream.hpp"

namespace framewire {

class SourceStream;

/// How many slots of each epoch the program has. Any thread.
class HeldSlots {
 public:
  void add(std::uint32_t epoch) {
    const std::scoped_lock lock(mutex_);
    const auto known = std::ranges::find(counts_, epoch, &Count::epoch);
    if (known != counts_.end()) {
      ++known->slots;
    } else {
      counts_.push_back({.epoch = epoch, .slots = 1});
    }
  }
  void remove(std::uint32_t epoch) noexcept {
    const std::scoped_lock lock(mutex_);
    const auto known = std::ranges::find(counts_, epoch, &Count::epoch);
    --known->slots;
    if (known->slots == 0 && known != counts_.end() - 1) {
      counts_.erase(known);
    }
  }
  [[nodiscard]] std::uint32_t count(std::uint32_t epoch) const {
    const std::scoped_lock lock(mutex_);
    const auto known = std::ranges::find(counts_, epoch, &Count::epoch);
    return known != counts_.end() ? known->slots : 0;
  }

 private:
  struct Count {
    std::uint32_t epoch = 0;
    std::uint32_t slots = 0;
  };
  mutable std::mutex mutex_;
  std::vector<Count> counts_;  // the last one stays also without slots: most programs have one epoch
};

/// A slot that the program has. Any thread.
class Slot {
 public:
  Slot(std::shared_ptr<SourceStream> stream, ClaimedSlot claimed);
  ~Slot();
  Slot(const Slot&) = delete;
  Slot& operator=(const Slot&) = delete;

  [[nodiscard]] fw_view view() const;
  fw_result publish(const fw_frame_info& info);

 private:
  enum class State : std::uint8_t { claimed, publishing, published, dropped };

  const std::shared_ptr<SourceStream> stream_;  // outlives what is of it
  std::optional<ClaimedSlot> claimed_;          // until it is published
  std::optional<KeptSlot> kept_;                // from then on
  const std::span<const std::byte> bytes_;      // the same in both
  const StreamFormat& format_;
  const std::uint32_t epoch_;
  const std::int64_t begun_ns_;
  std::atomic<State> state_ = State::claimed;
  fw_frame_info info_{};  // once it is published
};

/// A stream with what the program asks of it. Any thread. Slots keep it alive, also without its sender.
class SourceStream : public std::enable_shared_from_this<SourceStream> {
 public:
  explicit SourceStream(StreamOptions options);

  std::uint32_t begin(const StreamFormat& format, std::uint32_t kept_slots);
  fw_result claim(std::int64_t timeout_ns, std::uint32_t flags, std::shared_ptr<Slot>& slot);
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
  friend class Slot;

  [[nodiscard]] std::shared_ptr<SenderService> the_service() const;
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
  HeldSlots held_;
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
