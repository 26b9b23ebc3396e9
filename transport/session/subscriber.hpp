// The viewer's side of a session: finds the sender, authenticates, keeps the link, and comes back when it was lost.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/adaptive_spin.hpp"
#include "base/error.hpp"
#include "frame/frame_layout.hpp"
#include "transport/endpoint_options.hpp"
#include "transport/link.hpp"
#include "transport/subscriber_queue.hpp"

namespace framewire {

struct AuthenticatedChannel;
class SessionAcceptor;
class MessageChannel;

enum class SubscriberState {
  waiting,    // nobody there yet: dialling, or listening
  connected,  // session stands
  lost,       // there was a session; dialling again
  finished,   // the sender said bye, and every frame of it has been taken
  failed,     // refused, or gave up; see SubscriberStatus::message and ::exit_status
};

struct SubscriberStatus {
  SubscriberState state = SubscriberState::waiting;
  std::string message;                      // for a person: whom it waits for, why it was lost or refused
  ExitStatus exit_status = ExitStatus::ok;  // for finished and failed
  std::string start_line;                   // "transport=… memory=… auth=…" of the session
  std::string transport;                    // "local", "tcp"
  std::uint64_t session_number = 0;         // of the newest, from 1: the loss of one can go by unread
  std::int64_t connecting_since_ns = 0;     // when the session's connect() was called, or its connection taken in
  std::optional<Delivery> delivery;         // of the session
  std::optional<StreamFormat> format;       // of the newest epoch
  std::uint64_t epoch_number = 0;           // grows with every epoch, over all sessions; for confirm_epoch()
  std::string source_file;                  // the file that the sender of bytes reads, as it names it; or empty
};

/// Serves a peer that is no sender: its control channel, on which both have said hello, and the acceptor by which its
/// data connections come in. On the subscriber's thread, between sessions; while it runs no sender is let in. Both
/// arguments end with it, and Subscriber::close() closes the channel. Throws nothing.
using ServeClient = std::function<void(AuthenticatedChannel& client, SessionAcceptor& acceptor)>;

/// Speaks to a peer that has been dialled and is no sender yet, before both say hello; what it throws is taken as the
/// end of this try. On the subscriber's thread.
using BeforeHello = std::function<void(MessageChannel& channel)>;

struct SubscriberOptions {
  EndpointOptions endpoint;
  std::string stream;                // its name; empty: the sender's first
  std::optional<Delivery> delivery;  // to ask for less than the stream's own
  std::int64_t retry_ns = -1;        // how long to go on without a sender; < 0: for ever
  bool reconnect = true;
  bool confirms_epochs = false;                       // frames of an epoch come only after confirm_epoch()
  std::string program{};                              // its name and version, to the peer; empty: framewire-view's
  std::string client_role{};                          // with listen: peers of this role are served, too,
  ServeClient serve_client{};                         // by this
  BeforeHello before_hello = [](MessageChannel&) {};  // with dial: makes the peer a sender, where that takes words
};

/// Exact counts over all sessions of this subscriber. frames_sent is the sender's word at bye; frames_lost follows from
/// it.
struct SubscriberCounts {
  std::uint64_t frames_received = 0;
  std::uint64_t bytes_received = 0;
  std::uint64_t frames_lost = 0;
  std::uint64_t frames_skipped =
      0;  // by the sender, as the gaps in the sequence show; by one that pulls, between looks
  std::uint64_t frames_discarded = 0;  // pulled while the sender began to overwrite them
  std::uint64_t sessions = 0;
};

/// A frame that was received; gives its credit back when destroyed: on the thread that calls next(), or when none does
/// any more. Move-only.
class ReceivedFrame {
 public:
  ReceivedFrame(IncomingFrame frame, std::shared_ptr<ReceiverLink> link, std::uint64_t session_number) noexcept
      : frame_(std::move(frame)), link_(std::move(link)), session_number_(session_number) {}
  ReceivedFrame(ReceivedFrame&&) noexcept = default;
  ReceivedFrame& operator=(ReceivedFrame&& other) noexcept;
  ReceivedFrame(const ReceivedFrame&) = delete;
  ~ReceivedFrame();

  [[nodiscard]] const FrameHeader& header() const noexcept { return frame_.header; }
  /// Valid until this object is destroyed.
  [[nodiscard]] std::span<const std::byte> payload() const noexcept { return frame_.payload; }
  [[nodiscard]] const std::shared_ptr<const HostBlock>& block() const noexcept { return frame_.block; }
  [[nodiscard]] std::uint64_t offset_in_block_bytes() const noexcept { return frame_.offset_in_block_bytes; }
  [[nodiscard]] std::int64_t received_ns() const noexcept { return frame_.received_ns; }
  /// In which of the subscriber's sessions, from 1: every one counts its own epochs.
  [[nodiscard]] std::uint64_t session_number() const noexcept { return session_number_; }

 private:
  IncomingFrame frame_;
  std::shared_ptr<ReceiverLink> link_;  // empty after a move
  std::uint64_t session_number_;
};

/// Runs one thread of its own ("fw-subscriber"). next() and wait() belong to one thread of the program, the rest to
/// any.
class Subscriber {
 public:
  /// Starts. Throws Error for what can be known at once (bad address, port in use, no key where one is needed).
  Subscriber(SubscriberOptions options, class Log& log);
  ~Subscriber();
  Subscriber(const Subscriber&) = delete;
  Subscriber& operator=(const Subscriber&) = delete;

  /// The next frame in order, or nothing now. Never waits.
  std::optional<ReceivedFrame> next();

  /// Sleeps until next() may have a frame, the status has changed, wake() was called, or the deadline. Where polling is
  /// cheaper than sleeping it returns at once: look again.
  void wait(std::int64_t deadline_ns, WaitMode mode = WaitMode::adaptive);
  /// The program is ready for frames of the epoch that the status names. With confirms_epochs the sender holds them
  /// back until then, keeping only the newest, so that what takes long to set up costs no frames. Any thread.
  void confirm_epoch(std::uint64_t epoch_number) noexcept;
  /// Makes a wait() return. Any thread.
  void wake() noexcept;

  [[nodiscard]] SubscriberStatus status() const;
  [[nodiscard]] SubscriberCounts counts() const;
  /// Where it listens; 0 when it dials.
  [[nodiscard]] std::uint16_t port() const noexcept;
  /// A number that grows with every change of the status: cheap to compare each frame.
  [[nodiscard]] std::uint64_t status_version() const noexcept;
  /// Sender's CLOCK_MONOTONIC minus ours, and how far off that may be: 0 and 0 on one host, else estimated over the
  /// control channel.
  struct ClockOffset {
    std::int64_t offset_ns = 0;
    std::int64_t uncertainty_ns = 0;
  };
  [[nodiscard]] ClockOffset clock_offset() const noexcept;

  /// Tells the sender bye with the final counts and ends the session. frames_shown etc. stand in `statistics_json` (an
  /// object).
  void close(const std::string& statistics_json);

 private:
  class Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace framewire
