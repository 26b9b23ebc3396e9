// The sender's side of one session, from the handshake to the report.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "base/log.hpp"
#include "transport/session/sender_negotiation.hpp"
#include "transport/stream.hpp"

namespace framewire {

/// The result of a session. frames_sent = frames_received + frames_lost, frames_produced = frames_skipped +
/// frames_sent + frames_aborted.
struct SessionReport {
  std::string viewer;
  std::string stream;
  std::string transport;
  std::string memory{};  // Subscription::memory()
  MemoryAccess memory_access{};
  std::string ending;  // a sentence
  bool bye_received = false;
  bool was_refused = false;  // by the viewer, which found no usable link
  SubscriberQueueCounts counts;
  std::uint64_t frames_received = 0;
  std::uint64_t frames_lost = 0;
  bool pulls = false;                     // the viewer pulled; its frames are not in `counts`
  std::uint64_t frames_pulled = 0;        // as reported by the viewer
  std::string viewer_statistics;          // JSON object, or empty
  std::string receiver_label = "viewer";  // copied from StreamOptions, as is logs_end
  bool logs_end = true;
};

/// One thread uses it from construction to destruction, except wake() and has_joined(), which any thread may call.
class SenderSession {
 public:
  /// `data_connector` says how to make data connections; its targets and the context outlive the session.
  SenderSession(SenderContext& context, AuthenticatedChannel authenticated, DataConnector data_connector);
  ~SenderSession();
  SenderSession(const SenderSession&) = delete;
  SenderSession& operator=(const SenderSession&) = delete;

  /// Performs the handshake, then sends frames until one side says bye or is gone. Throws Error when the handshake
  /// fails. An established session returns a report instead.
  SessionReport run();

  void wake() noexcept { signal_eventfd(wake_event_->get()); }
  /// Whether the viewer counts as a viewer of its stream. Any thread.
  [[nodiscard]] bool has_joined() const noexcept { return has_joined_.load(std::memory_order_relaxed); }
  /// SenderContext::label_of() this viewer. After run() has returned.
  [[nodiscard]] std::string label() const { return context_.label_of(report_.viewer, stream_->options()); }

 private:
  void report_error(const Error& error) noexcept;
  bool has_final_message() noexcept;
  /// Replaces the current subscription with `agreed`. The old one leaves only after the new one has joined.
  void join(NegotiatedSession agreed);
  void change_link(std::unique_ptr<nlohmann::json> answer);
  void give_up_link(const Error& error);
  void serve();
  void handle_messages();
  void handle(const nlohmann::json& message);
  void forget_viewer() noexcept;
  void take_input(const InputBatch& batch);
  void tell_input_refusal(std::string refusal);
  void tell_message_refusal(std::string refusal);
  void tell_refusal(std::string refusal, std::string& told, nlohmann::json (*message_of)(const std::string&));
  void send_program_messages();
  void announce_epoch();
  void announce_renders();
  void send_bye_when_drained();
  void check_peer();
  void warn_of_unfilled_frames();
  bool bye_may_arrive(LinkState state) noexcept;
  void wait();
  SessionReport make_report();

  SenderContext& context_;
  AuthenticatedChannel authenticated_;
  SharedEvent wake_event_;
  SenderNegotiation negotiation_;
  Stream* stream_ = nullptr;
  LinkKind link_kind_{};  // of the link in use
  std::unique_ptr<Subscription> subscription_;
  std::atomic<bool> has_joined_ = false;
  bool has_begun_ = false;  // the viewer was ready: the link cannot be changed any more
  bool bye_sent_ = false;
  bool is_over_ = false;
  bool was_late_ = false;                // the viewer's bye did not come in time
  std::uint64_t announced_renders_ = 0;  // RenderRequests::taken()
  bool may_have_messages_ = true;        // on the control channel; asking it is a system call
  std::int64_t next_check_ns_ = 0;
  std::int64_t next_progress_ns_ = INT64_MAX;  // when to look for it although nothing has happened
  bool has_warned_ = false;                    // of frames that no device has filled
  std::int64_t link_closed_ns_ = 0;            // when the viewer closed its side of the link; 0: open
  std::uint64_t viewer_received_ = 0;
  std::vector<nlohmann::json> early_messages_;  // that arrived before the link was made
  std::string input_refusal_;                   // that the viewer was told
  std::string message_refusal_;                 // the same
  SessionReport report_;
};

}  // namespace framewire
