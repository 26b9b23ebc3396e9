// One session at the viewer: the handshake, and what the sender says on the control channel.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "transport/session/data_link.hpp"
#include "transport/session/messages.hpp"

namespace framewire {

/// What a viewer wants of a session.
struct ViewerPreferences {
  std::string stream;  // empty: the first
  std::optional<Delivery> delivery;
  std::vector<LinkKind> allowed_links;  // best first
  bool transport_is_auto = true;
  LinkParameters parameters;
  std::string why_no_rdma{};                             // where it was tried and cannot be used
  std::int64_t clock_timeout_ns = handshake_timeout_ns;  // for all exchanges that compare the clocks
};

/// RDMA connects, but cannot be used: too little memory may be locked, for one. Under `auto` another link is chosen,
/// or, once frames have come, another session without it comes next.
class RdmaUnusable : public Error {
 public:
  explicit RdmaUnusable(const std::string& message) : Error(ExitStatus::lost_peer, message) {}
};

/// Used by the subscriber's thread, but for link() and the atomics.
class ViewerSession {
 public:
  /// Takes a channel on which a sender has said hello, agrees on a stream and opens the data connection. Throws Error.
  ViewerSession(AuthenticatedChannel authenticated, DataEndpoint data_endpoint, const ViewerPreferences& preferences);
  ~ViewerSession();
  ViewerSession(const ViewerSession&) = delete;
  ViewerSession& operator=(const ViewerSession&) = delete;

  /// Takes in what the sender said; never waits. Throws Error when the session is over without a bye.
  void handle_messages();
  /// Lets frames of the epoch that was announced last come: after whoever takes them knows its format().
  void announce_ready();

  [[nodiscard]] int descriptor() const noexcept { return authenticated_.channel->fd(); }
  [[nodiscard]] bool has_buffered() const noexcept { return authenticated_.channel->has_buffered(); }
  /// Throws Error (lost_peer) when the link or the peer's host is gone, or the session is disowned.
  void check_peer() const;

  /// What came cannot be believed, as whoever takes the frames has found: the sentence that says why. By one thread,
  /// once; is_rejected() by any.
  void reject(std::string why) noexcept {
    rejection_reason_ = std::move(why);
    is_rejected_.store(true, std::memory_order_release);
  }
  [[nodiscard]] bool is_rejected() const noexcept { return is_rejected_.load(std::memory_order_acquire); }
  /// Where it is.
  [[nodiscard]] const std::string& rejection_reason() const noexcept { return rejection_reason_; }

  /// Says bye. Any thread; does nothing when the connection is gone.
  void send_bye(const std::string& reason, std::uint64_t frames_received, const std::string& statistics_json) noexcept;

  /// Ends the control channel, and with it the session at the sender. Any thread.
  void hang_up() noexcept { authenticated_.channel->close(); }
  /// Waits until the sender has heard the last word and hung up, or `deadline_ns`. What of its words stood here unread
  /// when the connection is closed would reset it, and a bye that is still under way would be gone. Once no other
  /// thread uses the session.
  void finish(std::int64_t deadline_ns) noexcept { authenticated_.channel->finish(deadline_ns); }

  [[nodiscard]] const std::shared_ptr<ReceiverLink>& link() const noexcept { return link_; }
  [[nodiscard]] const std::string& start_line() const noexcept { return start_line_; }
  [[nodiscard]] Delivery delivery() const noexcept { return delivery_; }
  /// Of the stream; see OfferedStream.
  [[nodiscard]] const std::string& source_file() const noexcept { return source_file_; }
  /// The epoch that was announced last; 0 before the first.
  [[nodiscard]] std::uint32_t epoch() const noexcept { return epoch_; }
  [[nodiscard]] const std::optional<StreamFormat>& format() const noexcept { return format_; }
  [[nodiscard]] const std::string& peer() const noexcept { return authenticated_.channel->peer(); }

  /// Set once the sender has said bye: how many frames it sent in this session.
  [[nodiscard]] bool has_bye() const noexcept { return has_bye_.load(std::memory_order_acquire); }
  [[nodiscard]] std::uint64_t frames_sent() const noexcept { return frames_sent_; }

  /// Sender's clock minus ours; see Subscriber::clock_offset().
  std::int64_t clock_offset_ns = 0;
  std::int64_t clock_uncertainty_ns = 0;

 private:
  std::string choose_link(const OfferMessage& offer, DataEndpoint data_endpoint, const ViewerPreferences& preferences);
  void prove_link(const OfferedStream& stream);
  void forget_link_on_trial() noexcept;
  void agree_on_encryption(const OfferMessage& offer, const ViewerPreferences& preferences);
  void open_link(const OfferMessage& offer, ChooseMessage choice, DataEndpoint data_endpoint,
                 LinkParameters parameters);
  LinkConnection await_sender(DataEndpoint data_endpoint, const DataConnectionId& connection, const Token& token,
                              const LinkParameters& parameters);
  void open_link_to_pull(const OfferMessage& offer, const OfferedStream& stream, DataEndpoint data_endpoint,
                         const ViewerPreferences& preferences);
  nlohmann::json await_connect();
  std::optional<RingAccess> begin_epoch_of_link(const EpochMessage& epoch);
  void give_up_link(const std::string& message) const;
  void compare_clocks(std::int64_t timeout_ns);
  void handle(const nlohmann::json& message);

  AuthenticatedChannel authenticated_;
  std::shared_ptr<ReceiverLink> link_;
  std::string start_line_;
  Delivery delivery_ = Delivery::latest;
  std::string source_file_;
  std::uint32_t epoch_ = 0;
  std::optional<StreamFormat> format_;
  std::optional<ReadyMessage> pending_ready_;
  std::int64_t peer_timeout_ns_;
  bool may_do_without_rdma_ = false;
  bool has_chosen_ = false;  // a link, which may not be the one that it comes to
  bool encrypts_ = false;
  std::unique_ptr<nlohmann::json> early_message_;  // a message that came before its link
  std::uint64_t frames_sent_ = 0;
  std::atomic<bool> has_bye_ = false;
  std::string rejection_reason_;
  std::atomic<bool> is_rejected_ = false;
};

}  // namespace framewire
