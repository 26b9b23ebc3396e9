// One viewer at the sender: what it is served once its link stands, and how it ends.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "base/log.hpp"
#include "transport/session/sender_negotiation.hpp"
#include "transport/stream.hpp"

namespace framewire {

/// How a session went. frames_sent = frames_received + frames_lost, frames_produced = frames_skipped + frames_sent.
struct SessionReport {
  std::string viewer;
  std::string stream;
  std::string transport;
  std::string ending;  // a sentence
  bool bye_received = false;
  bool was_refused = false;  // by the viewer, which found no link of use after all
  SubscriberQueueCounts counts;
  std::uint64_t frames_received = 0;
  std::uint64_t frames_lost = 0;
  bool pulls = false;                     // it took its frames itself, beside the counts,
  std::uint64_t frames_pulled = 0;        // so many, as it said
  std::string viewer_statistics;          // JSON object, where the viewer sent one
  std::string receiver_label = "viewer";  // StreamOptions::receiver_label and logs_session_ends
  bool logs_end = true;
};

/// Runs on one thread from the constructor to the destructor; wake() may come from any.
class SenderSession {
 public:
  /// `way` says how data connections come about; it and the context outlive the session.
  SenderSession(SenderContext& context, AuthenticatedChannel authenticated, DataEndpoint data_endpoint);
  ~SenderSession();
  SenderSession(const SenderSession&) = delete;
  SenderSession& operator=(const SenderSession&) = delete;

  /// Handshake, then frames until either end says bye or is gone. Throws Error when the handshake fails; a session that
  /// stood ends with a report instead.
  SessionReport run();

  void wake() noexcept { signal_eventfd(wake_event_.get()); }
  /// Whether the viewer has got as far as to count among those of its stream. Any thread.
  [[nodiscard]] bool has_joined() const noexcept { return has_joined_.load(std::memory_order_relaxed); }

 private:
  void report_error(const Error& error) noexcept;
  bool has_final_message() noexcept;
  /// Takes `agreed` in the place of what there is: what was there has left only when this one has joined.
  void join(AgreedDelivery agreed);
  void change_link(std::unique_ptr<nlohmann::json> answer);
  void give_up_link(const Error& error);
  void serve();
  void handle_messages();
  void handle(const nlohmann::json& message);
  void announce_epoch();
  void send_bye_when_drained();
  void check_peer();
  bool may_bye_still_come(LinkState state) noexcept;
  void wait();
  SessionReport make_report();

  SenderContext& context_;
  AuthenticatedChannel authenticated_;
  FileDescriptor wake_event_;
  SenderNegotiation negotiation_;
  Stream* stream_ = nullptr;
  std::unique_ptr<FrameDelivery> frame_delivery_;
  std::atomic<bool> has_joined_ = false;
  bool has_begun_ = false;  // the viewer was ready: what it gets comes by this link or not at all
  bool bye_sent_ = false;
  bool is_over_ = false;
  std::int64_t next_check_ns_ = 0;
  std::int64_t link_closed_ns_ = 0;  // since when the viewer's end of the link is closed; 0: it is not
  std::uint64_t viewer_received_ = 0;
  std::unique_ptr<nlohmann::json> early_message_;  // a message that came before its link
  SessionReport report_;
};

}  // namespace framewire
