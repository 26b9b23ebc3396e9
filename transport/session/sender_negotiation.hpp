// From an authenticated viewer to a link that stands: the sender's half of the handshake.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/log.hpp"
#include "transport/session/data_link.hpp"
#include "transport/session/frame_delivery.hpp"
#include "transport/session/messages.hpp"
#include "transport/stream.hpp"

namespace framewire {

/// What the sessions of one sender have in common. Outlives them.
struct SenderContext {
  SenderContext(const EndpointOptions& endpoint, std::vector<Stream*> offered, std::string its_program, Log& its_log);

  std::vector<Stream*> streams;
  std::vector<LinkKind> allowed_links;
  std::string program;
  LinkParameters parameters;
  SenderProtectionDomains protection_domains;  // which the terms name
  SenderProtectionDomains pull_protection_domains{PoolReaders::viewers};
  Log* log;
  std::atomic<std::int64_t> stop_at_ns = INT64_MAX;  // sessions that are not done by then are cut
};

/// What both ends have agreed on, and the link that stands for it.
struct AgreedDelivery {
  ChooseMessage choice;
  Stream* stream = nullptr;  // the context's
  std::unique_ptr<FrameDelivery> frame_delivery;
  std::unique_ptr<nlohmann::json> early;  // a message that came before its link; mostly none
};

/// Offers streams and links, hears what the viewer chooses, and makes that link. A link that cannot be made, or is of
/// no use, is followed by another choice, each of the offered ones once. Belongs to the session's thread; the context,
/// the channel and what `way` names outlive it.
class SenderNegotiation {
 public:
  /// Feeds raise `wake_event`, which outlives them, when the session has something to do.
  SenderNegotiation(SenderContext& context, const AuthenticatedChannel& viewer, DataEndpoint data_endpoint,
                    int wake_event);

  /// Hellos, the offer, and the viewer's choice. Throws Error: refused (by either end), lost_peer, failed.
  AgreedDelivery begin();
  /// The viewer has chosen anew, in `answer`. Throws as begin() does.
  AgreedDelivery settle(std::unique_ptr<nlohmann::json> answer);

  /// Logs that a link of `stream` cannot be used, and why.
  void say_that_link_fails(const Stream& stream, std::string_view link, const std::string& why);

 private:
  [[nodiscard]] OfferMessage make_offer() const;
  [[nodiscard]] std::string why_no_rdma() const;
  [[nodiscard]] LinkParameters parameters_for(const ChooseMessage& choice) const;
  AgreedDelivery agree(const nlohmann::json& answer);
  void check_pull(const Stream& stream, const ChooseMessage& choice);
  void check_encryption(const ChooseMessage& choice);
  std::unique_ptr<nlohmann::json> connect(AgreedDelivery& agreed);
  std::unique_ptr<nlohmann::json> await_peer(AgreedDelivery& agreed, const DataConnectionId& connection,
                                             const Token& token);
  std::unique_ptr<nlohmann::json> dial_peer(AgreedDelivery& agreed, const DataConnectionId& connection);
  [[nodiscard]] std::unique_ptr<FrameDelivery> make_delivery(const AgreedDelivery& agreed, LinkConnection path) const;
  [[nodiscard]] Stream& stream_by_number(std::uint32_t number) const;

  SenderContext& context_;
  const AuthenticatedChannel& viewer_;
  DataEndpoint data_endpoint_;
  int wake_event_;
  SessionId session_{};
  OfferMessage offer_;
  std::size_t choices_ = 0;  // that the viewer has made, of the links in the offer
};

}  // namespace framewire
