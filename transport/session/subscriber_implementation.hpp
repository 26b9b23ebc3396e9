// A Subscriber's state, which its two threads share: the program's thread and the thread "fw-subscriber".
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "base/adaptive_spin.hpp"
#include "base/file_descriptor.hpp"
#include "base/log.hpp"
#include "transport/session/client_service.hpp"
#include "transport/session/frame_flows.hpp"
#include "transport/session/link_fallback_policy.hpp"
#include "transport/session/subscriber.hpp"
#include "transport/session/viewer_outbox.hpp"
#include "transport/session/viewer_session.hpp"

namespace framewire {

class Subscriber::Implementation {
 public:
  Implementation(SubscriberOptions options, Log& log);
  ~Implementation() { close({}); }

  std::optional<ReceivedFrame> next();
  void wait(std::int64_t deadline_ns, WaitMode mode);
  bool arm();
  void silence() noexcept {
    watch(nullptr, -1);
    clear_eventfd(program_event_.get());
  }
  [[nodiscard]] int descriptor() const noexcept { return poller_.get(); }
  void confirm_epoch(std::uint64_t epochs_begun) noexcept {
    confirmed_epoch_.store(epochs_begun);
    signal_eventfd(thread_event_.get());
  }
  void ask_cadence(const CadenceRequest& request) noexcept;
  [[nodiscard]] ViewerOutbox& outbox() noexcept { return outbox_; }
  void wake() noexcept { signal_eventfd(program_event_.get()); }
  void close(const std::string& statistics_json);

  SubscriberStatus status() const {
    const std::scoped_lock lock(mutex_);
    return status_;
  }
  SubscriberCounts counts() const;
  std::uint16_t port() const noexcept { return acceptor_ ? acceptor_->port() : std::uint16_t{0}; }
  std::uint64_t status_version() const noexcept { return status_version_.load(std::memory_order_acquire); }
  ClockOffset clock_offset() const noexcept;

 private:
  std::optional<ReceivedFrame> take_arrived();
  bool drive_link();
  [[nodiscard]] std::shared_ptr<ReceiverLink> link_to_read() const;
  std::optional<int> arm_link(std::shared_ptr<ReceiverLink>& link);
  void watch(const std::shared_ptr<ReceiverLink>& link, int fd) noexcept;

  void run() noexcept;
  bool run_one_session() noexcept;
  bool run_one_session(std::shared_ptr<ViewerSession>& session);
  void fail_out_of_memory(ViewerSession* session) noexcept;
  void await_bye(std::unique_lock<std::mutex>& lock);
  std::shared_ptr<ViewerSession> establish_session();
  std::shared_ptr<ViewerSession> accept_session();
  bool set_handshake_fd(int fd) noexcept;
  [[nodiscard]] std::int64_t give_up_ns() const noexcept {
    return options_.retry_ns < 0 ? INT64_MAX : no_session_since_ns_ + options_.retry_ns;
  }
  AuthenticatedChannel await_incoming();
  void take_incoming(AuthenticatedChannel authenticated);
  [[nodiscard]] bool set_current_session(const std::shared_ptr<ViewerSession>& session);
  void serve(ViewerSession& session);
  /// The epoch of the session that is served, as the program was told.
  struct ServedEpoch {
    std::uint32_t number = 0;
    std::uint64_t epochs_begun = 0;
  };
  void send_cadence(ViewerSession& session);
  void keep_clock(const ClockEstimate& clock) noexcept;
  void publish_news(const ViewerSession& session, ServedEpoch& epoch);
  void await_news(const ViewerSession& session);
  [[nodiscard]] bool is_stopping() const {
    const std::scoped_lock lock(mutex_);
    return stopping_;
  }
  static void handle_messages(ViewerSession& session);
  [[nodiscard]] Error give_up_memory(const MemoryUnusable& error);
  bool handle_failure(const Error& error, ViewerSession* session);
  std::shared_ptr<ViewerSession> begin_session(AuthenticatedChannel authenticated, DataConnector data_connector);
  bool give_up(const Error& error, bool had_session, std::string& line);
  bool wait_before_retry();
  void finish_if_done();
  void await_close_after_bye(const ViewerSession& session);
  void send_bye(const std::string& statistics_json);
  void tell_program() noexcept {
    ++status_version_;
    signal_eventfd(program_event_.get());
  }
  void report_waiting_for(const std::string& whom);

  const SubscriberOptions options_;
  const std::string program_;
  Log& log_;
  AdaptiveSpin spin_;  // the program's thread
  ViewerPreferences preferences_;
  AuthenticateOptions authenticate_;
  FileDescriptor program_event_ = make_eventfd();  // the status changed, or wake(): wakes the program
  FileDescriptor thread_event_ = make_eventfd();   // wakes the subscriber's thread
  FileDescriptor stop_event_ = make_eventfd();     // close(): ends dialling
  FileDescriptor poller_;                          // program_event_ and what the link is watched by
  std::weak_ptr<ReceiverLink> watched_link_;       // the program's thread, as the next one
  int watched_descriptor_ = -1;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  SubscriberStatus status_;
  FrameFlows flows_;
  std::optional<AuthenticatedChannel> incoming_;
  FileDescriptor handshake_fd_;  // a second descriptor of the connection in handshake: close() ends it early
  bool has_session_ = false;
  std::optional<CadenceRequest> cadence_request_;  // to be sent
  ViewerOutbox outbox_;                            // has a mutex of its own
  bool is_closing_ = false;                        // close() says bye: no further session begins
  bool stopping_ = false;                          // it has said bye
  bool has_begun_bye_ = false;                     // one of the two threads says it, or has
  std::atomic<std::uint64_t> status_version_ = 0;
  std::atomic<std::uint64_t> confirmed_epoch_ = 0;
  std::atomic<std::uint64_t> frames_lost_ = 0;
  std::atomic<std::uint64_t> sessions_ = 0;
  std::atomic<std::size_t> unanswered_peers_ = 0;  // in take_incoming()
  mutable std::mutex clock_mutex_;                 // apart, because every picture asks for it; guards the next one
  ClockEstimate clock_;
  std::int64_t no_session_since_ns_ = 0;  // the subscriber's thread
  bool changes_memory_ = false;           // the same: the next session asks for other memory
  LinkFallbackPolicy link_fallback_;      // the subscriber's thread
  std::uint64_t frames_before_session_ = 0;
  std::int64_t connecting_since_ns_ = 0;  // the subscriber's thread
  ClientService client_service_;
  std::unique_ptr<SessionAcceptor> acceptor_;
  std::thread thread_;
};

}  // namespace framewire
