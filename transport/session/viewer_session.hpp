// The viewer's side of one session: the handshake and the control channel.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "frame/camera.hpp"
#include "transport/render_requests.hpp"
#include "transport/session/clock_comparison.hpp"
#include "transport/session/data_link.hpp"
#include "transport/session/messages.hpp"

namespace framewire {

class PendingDataConnection;

/// What a viewer asks for in a session.
struct ViewerPreferences {
  std::string stream;  // empty: the first
  std::optional<Delivery> delivery;
  std::vector<LinkKind> allowed_links;  // best first
  bool may_choose_link = true;          // as in EndpointOptions
  LinkParameters parameters;
  std::map<LinkKind, std::string> avoided_links{};  // tried before without success, and why
  std::vector<const MemoryKind*> memory{};          // as SubscriberOptions::memory
  bool takes_slices = false;                        // as SubscriberOptions::takes_slices
  std::function<void(const RenderRequest&)> on_rendering = [](const RenderRequest&) {};  // the sender renders it
  std::function<void(std::string body)> on_message{};    // gets the sender's messages; unset: they are ignored
  std::int64_t clock_timeout_ns = handshake_timeout_ns;  // for the whole clock comparison
};

/// A link connects but cannot be used, for example because too little memory may be locked for rdma. Under `auto` the
/// viewer chooses another link; if frames have already arrived, the next session avoids the link.
class LinkUnusable : public Error {
 public:
  LinkUnusable(LinkKind link, const std::string& message) : Error(ExitStatus::lost_peer, message), link_(link) {}
  [[nodiscard]] LinkKind link() const noexcept { return link_; }

 private:
  LinkKind link_;
};

/// Used by the subscriber's thread, except link(), the atomics and functions marked "any thread".
class ViewerSession {
 public:
  /// Takes a channel on which the sender has said hello, agrees on a stream and opens the data connection. Throws
  /// Error.
  ViewerSession(AuthenticatedChannel authenticated, DataConnector data_connector, const ViewerPreferences& preferences);
  ~ViewerSession();
  ViewerSession(const ViewerSession&) = delete;
  ViewerSession& operator=(const ViewerSession&) = delete;

  /// Handles the sender's messages; never waits. Throws Error when the session ends without a bye.
  void handle_messages();
  /// Tells the sender that this side is ready for the newest epoch, whose frames may then arrive. Call when the program
  /// knows format().
  void announce_ready();

  [[nodiscard]] int descriptor() const noexcept { return authenticated_.channel->fd(); }
  [[nodiscard]] bool has_buffered() const noexcept { return authenticated_.channel->has_buffered(); }
  /// Throws Error (lost_peer) when the link or the peer's host is gone, or the session is rejected.
  void check_peer() const;

  /// Rejects the session because the program's thread received invalid frames; `why` is the error message. One thread
  /// calls it, once; any thread may call is_rejected().
  void reject(std::string why) noexcept {
    rejection_reason_ = std::move(why);
    is_rejected_.store(true, std::memory_order_release);
  }
  [[nodiscard]] bool is_rejected() const noexcept { return is_rejected_.load(std::memory_order_acquire); }
  /// Valid if is_rejected().
  [[nodiscard]] const std::string& rejection_reason() const noexcept { return rejection_reason_; }

  /// Says bye; waits a second at most for a sender that takes nothing. Any thread; does nothing when the connection or
  /// memory is gone.
  void send_bye(std::string_view reason, std::uint64_t frames_received, const std::string& statistics_json) noexcept;

  /// Ends the control channel, and with it the session at the sender. Any thread.
  void hang_up() noexcept { authenticated_.channel->close(); }
  /// Waits until the sender has received the last message and closed the connection, or until `deadline_ns`. Closing a
  /// connection with unread data would reset it, and lose a bye in flight. Call when no other thread uses the session.
  void finish(std::int64_t deadline_ns) noexcept { authenticated_.channel->finish(deadline_ns); }

  [[nodiscard]] const std::shared_ptr<ReceiverLink>& link() const noexcept { return link_; }
  [[nodiscard]] const std::string& start_line() const noexcept { return start_line_; }
  /// Of the streams that the sender offers, as it says them.
  [[nodiscard]] const std::vector<std::string>& stream_names() const noexcept { return stream_names_; }
  [[nodiscard]] Delivery delivery() const noexcept { return delivery_; }
  /// See OfferedStream.
  [[nodiscard]] const std::string& source_file() const noexcept { return source_file_; }
  /// The newest announced epoch; 0 before the first.
  [[nodiscard]] std::uint32_t epoch() const noexcept { return epoch_; }
  /// Of that epoch.
  [[nodiscard]] std::uint32_t ring_slots() const noexcept { return ring_slots_; }
  [[nodiscard]] const std::optional<StreamFormat>& format() const noexcept { return format_; }
  [[nodiscard]] const std::string& peer() const noexcept { return authenticated_.channel->peer(); }

  /// Asks the sender to render at other times. Call before has_bye(), on the session's thread.
  void ask_cadence(const CadenceRequest& request);
  /// Why the sender does not do so; empty if it has not said no.
  [[nodiscard]] const std::string& cadence_refusal() const noexcept { return cadence_refusal_; }

  /// Why the sender does not render what was asked for, and how often it said so.
  [[nodiscard]] const RenderRefusal& render_refusal() const noexcept { return render_refusal_; }
  [[nodiscard]] std::uint64_t render_refusals() const noexcept { return render_refusals_; }
  /// Queues a message without waiting, on any thread. Throws Error when the connection is gone.
  void post(const nlohmann::json& message) { authenticated_.channel->post(message); }
  /// While true, post nothing more. Any thread.
  [[nodiscard]] bool has_backlog() const { return authenticated_.channel->has_backlog(); }
  /// While true, also poll descriptor() for POLLOUT. Any thread.
  [[nodiscard]] bool wants_write() const { return authenticated_.channel->wants_write(); }
  /// Why the source takes no input, or no messages; empty if the sender has not said no.
  [[nodiscard]] const std::string& input_refusal() const noexcept { return input_refusal_; }
  [[nodiscard]] const std::string& message_refusal() const noexcept { return message_refusal_; }

  /// Whether the sender has said bye; frames_sent() is the number of frames it sent in this session, valid then.
  [[nodiscard]] bool has_bye() const noexcept { return has_bye_.load(std::memory_order_acquire); }
  [[nodiscard]] std::uint64_t frames_sent() const noexcept { return frames_sent_; }

  /// How the link's device gets frames to link()->memory(), of the newest epoch, or what is known before the first.
  [[nodiscard]] const MemoryAccess& memory_access() const noexcept { return memory_access_; }

  /// See Subscriber::clock_offset().
  [[nodiscard]] const ClockEstimate& clock() const noexcept { return clocks_.estimate(); }
  /// Compares the clocks of two machines again if that is due at `now_ns`; call it now and then. Never waits: the
  /// answers come with handle_messages(). Throws Error when the connection is gone.
  void keep_comparing_clocks(std::int64_t now_ns);

 private:
  std::string choose_link(const OfferMessage& offer, DataConnector data_connector,
                          const ViewerPreferences& preferences);
  void test_link(const OfferedStream& stream);
  void reset_epoch_state() noexcept;
  void agree_on_encryption(const OfferMessage& offer, const ViewerPreferences& preferences);
  LinkKind link_for_encryption(const OfferMessage& offer, const ViewerPreferences& preferences);
  void open_link(const OfferMessage& offer, ChooseMessage choice, DataConnector data_connector,
                 LinkParameters parameters);
  LinkConnection await_sender(PendingDataConnection& wait, const DataConnectionId& connection, const Token& token,
                              const LinkParameters& parameters);
  void open_link_to_pull(const OfferMessage& offer, const OfferedStream& stream, DataConnector data_connector,
                         const ViewerPreferences& preferences);
  nlohmann::json await_connect();
  /// To the memory that is wanted, also where frames come in host memory instead: it says why.
  [[nodiscard]] MemoryAccess access_to_memory() const {
    return access_to_shared_.way.empty() ? link_->access_to(memory_.empty() ? link_->memory() : *memory_.front())
                                         : access_to_shared_;
  }
  void check_memory(const EpochMessage& epoch) const;
  LinkDescription begin_epoch_of_link(const EpochMessage& epoch);
  void give_up_link(const std::string& message) const;
  void compare_clocks(std::int64_t timeout_ns);
  void handle(const nlohmann::json& message);
  void handle_early_messages();

  AuthenticatedChannel authenticated_;
  std::shared_ptr<ReceiverLink> link_;
  std::string start_line_;
  std::vector<std::string> stream_names_;
  Delivery delivery_ = Delivery::latest;
  std::string source_file_;
  std::string cadence_refusal_;
  RenderRefusal render_refusal_;
  std::uint64_t render_refusals_ = 0;
  std::string input_refusal_;
  std::string message_refusal_;
  std::function<void(const RenderRequest&)> on_rendering_;
  std::function<void(std::string body)> on_message_;
  std::uint32_t epoch_ = 0;
  std::uint32_t ring_slots_ = 0;
  std::optional<StreamFormat> format_;
  std::optional<ReadyMessage> pending_ready_;
  std::int64_t peer_timeout_ns_;
  std::vector<const MemoryKind*> memory_;  // that the program takes, besides host memory
  bool takes_slices_;                      // SubscriberOptions::takes_slices
  MemoryAccess access_to_shared_;
  MemoryAccess memory_access_;
  bool may_change_link_ = false;
  bool has_chosen_ = false;  // a link; the final link may differ
  bool encrypts_ = false;
  std::vector<nlohmann::json> early_messages_;  // that arrived before the link was made
  ClockComparison clocks_;
  std::uint64_t frames_sent_ = 0;
  std::atomic<bool> has_bye_ = false;
  std::string rejection_reason_;
  std::atomic<bool> is_rejected_ = false;
};

}  // namespace framewire
