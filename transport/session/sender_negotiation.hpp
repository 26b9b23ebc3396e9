// The sender's side of the negotiation: from an authenticated viewer to a working link.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/log.hpp"
#include "transport/session/data_link.hpp"
#include "transport/session/messages.hpp"
#include "transport/session/subscription.hpp"
#include "transport/stream.hpp"

namespace framewire {

class PendingDataConnection;

/// Shared by all sessions of one sender. Outlives them.
struct SenderContext {
  SenderContext(const EndpointOptions& endpoint, std::vector<Stream*> offered, std::string its_program, Log& its_log);

  /// What log lines call one viewer: "viewer 127.0.0.1:40000", with " of NAME" if there are several streams.
  [[nodiscard]] std::string label_of(std::string_view peer, const StreamOptions& stream) const;

  std::vector<Stream*> streams;
  std::vector<LinkKind> allowed_links;
  std::string program;
  LinkParameters parameters;
  std::map<LinkKind, std::unique_ptr<SenderResources>> resources;  // of each allowed link that needs some
  Log* log;
  std::atomic<std::int64_t> stop_at_ns = INT64_MAX;  // sessions that still run then are cut
};

/// The agreed choice and its link.
struct NegotiatedSession {
  ChooseMessage choice;
  Stream* stream = nullptr;  // owned by the program
  std::unique_ptr<Subscription> subscription;
  std::vector<nlohmann::json> early;  // messages that arrived before the link was made; usually none
};

/// Offers streams and links, receives the viewer's choice, and makes the link. If a link cannot be made or used, the
/// viewer chooses again, each offered link once. Belongs to the session's thread. The context, the channel and the
/// targets of `data_connector` outlive it.
class SenderNegotiation {
 public:
  /// Subscriptions signal `wake_event` when the session has something to do.
  SenderNegotiation(SenderContext& context, const AuthenticatedChannel& viewer, DataConnector data_connector,
                    SharedEvent wake_event);

  /// Exchanges hellos, sends the offer and handles the viewer's choice. Throws Error: refused (by either side),
  /// lost_peer, failed.
  NegotiatedSession negotiate();
  /// Handles the viewer's new choice in `answer`. Throws as negotiate() does.
  NegotiatedSession handle_choice(std::unique_ptr<nlohmann::json> answer);

  /// Logs that a link of `stream` cannot be used, and why.
  void log_link_failure(const Stream& stream, std::string_view link, const std::string& why);

 private:
  [[nodiscard]] OfferMessage make_offer() const;
  [[nodiscard]] std::string unavailable_reason(LinkKind link) const;
  [[nodiscard]] LinkParameters parameters_for(const ChooseMessage& choice) const;
  void require_receiver(const std::string& program) const;
  NegotiatedSession check_choice(const nlohmann::json& answer);
  void check_pull(const Stream& stream, const ChooseMessage& choice);
  void check_encryption(const ChooseMessage& choice);
  std::unique_ptr<nlohmann::json> connect(NegotiatedSession& agreed);
  std::unique_ptr<nlohmann::json> await_peer(NegotiatedSession& agreed, const DataConnectionId& connection,
                                             const Token& token, PendingDataConnection& wait);
  std::unique_ptr<nlohmann::json> dial_peer(NegotiatedSession& agreed, const DataConnectionId& connection);
  [[nodiscard]] std::unique_ptr<Subscription> make_subscription(const NegotiatedSession& agreed,
                                                                LinkConnection connection) const;
  [[nodiscard]] Stream& stream_by_number(std::uint32_t number) const;

  SenderContext& context_;
  const AuthenticatedChannel& viewer_;
  DataConnector data_connector_;
  SharedEvent wake_event_;
  SessionId session_{};
  OfferMessage offer_;
  std::size_t choices_ = 0;  // made by the viewer; at most one for each offered link
};

}  // namespace framewire
