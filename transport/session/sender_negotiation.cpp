#include "transport/session/sender_negotiation.hpp"

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/text.hpp"
#include "transport/links.hpp"
#include "transport/session/endpoint.hpp"
#include "transport/session/handshake.hpp"
#include "transport/session/memory_choice.hpp"
#include "transport/session/pending_data_connection.hpp"
#include "transport/session/pull_subscription.hpp"
#include "transport/session/push_subscription.hpp"

namespace framewire {

namespace {

/// Streams that have ended would give a new viewer nothing, while others go on. If all have ended, they are offered so
/// that a late viewer is told of the end.
std::vector<const Stream*> streams_to_offer(const std::vector<Stream*>& streams) {
  std::vector<const Stream*> going_on;
  std::ranges::copy_if(streams, std::back_inserter(going_on),
                       [](const Stream* stream) { return !stream->is_finished(); });
  return going_on.empty() ? std::vector<const Stream*>(streams.begin(), streams.end()) : going_on;
}

}  // namespace

SenderContext::SenderContext(const EndpointOptions& endpoint, std::vector<Stream*> offered, std::string its_program,
                             Log& its_log)
    : streams(std::move(offered)),
      allowed_links(usable_links(endpoint)),
      program(std::move(its_program)),
      parameters(link_parameters_of(endpoint)),
      log(&its_log) {
  parameters.log = log;
  for (const LinkKind link : allowed_links) {
    if (auto shared = link_provider(link).make_sender_resources()) {
      resources[link] = std::move(shared);
    }
  }
}

std::string SenderContext::label_of(std::string_view peer, const StreamOptions& stream) const {
  return stream.receiver_label + " " + std::string(peer) + (streams.size() > 1 ? " of " + stream.name : "");
}

SenderNegotiation::SenderNegotiation(SenderContext& context, const AuthenticatedChannel& viewer,
                                     DataConnector data_connector, SharedEvent wake_event)
    : context_(context), viewer_(viewer), data_connector_(data_connector), wake_event_(std::move(wake_event)) {}

NegotiatedSession SenderNegotiation::negotiate() {
  MessageChannel& channel = *viewer_.channel;
  require_receiver(exchange_hellos(channel, "sender", context_.program, {"viewer"}).program);
  if (const std::string reason = no_encryption_reason(viewer_.control);
      context_.parameters.encrypts && !reason.empty()) {
    refuse(channel, reason);
  }
  session_ = random_session_id();
  offer_ = make_offer();
  channel.send(to_json(offer_));
  return handle_choice(std::make_unique<nlohmann::json>(channel.receive(monotonic_ns() + handshake_timeout_ns)));
}

/// A viewer of pictures would take bytes, and could not say what became of them.
void SenderNegotiation::require_receiver(const std::string& program) const {
  for (const Stream* stream : context_.streams) {
    const std::string& wanted = stream->options().receiver_program;
    if (!program.starts_with(wanted)) {
      refuse(*viewer_.channel, context_.program + " sends bytes, which " + quote(program) +
                                   " does not receive; start " + wanted + " instead");
    }
  }
}

NegotiatedSession SenderNegotiation::handle_choice(std::unique_ptr<nlohmann::json> answer) {
  NegotiatedSession agreed;
  for (; answer; ++choices_) {
    throw_if_refused(*answer);
    if (choices_ == offer_.links.size()) {
      refuse(*viewer_.channel, "the viewer has tried every link that was offered");
    }
    agreed = check_choice(*answer);
    answer = connect(agreed);
  }
  return agreed;
}

OfferMessage SenderNegotiation::make_offer() const {
  OfferMessage offer{.session = to_hex(session_), .streams = {}, .links = {}, .encrypt = context_.parameters.encrypts};
  for (const Stream* stream : streams_to_offer(context_.streams)) {
    const auto format = stream->format();
    offer.streams.push_back({stream->options().name, stream->options().number, stream->options().delivery,
                             format ? describe(*format) : std::string(), stream->options().allows_pull,
                             stream->options().source_file, std::string(stream->options().memory->name()),
                             memory_device_of(*stream->options().memory)});
  }
  for (const LinkKind kind : links_best_first()) {
    if (std::string reason = unavailable_reason(kind); !reason.empty()) {
      offer.unavailable_links[kind] = std::move(reason);
    }
  }
  std::ranges::copy_if(context_.allowed_links, std::back_inserter(offer.links), [&](LinkKind kind) {
    return (!traits(kind).needs_same_host || viewer_.is_unix) && !offer.unavailable_links.contains(kind);
  });
  return offer;
}

/// Why this side can neither accept nor make data connections of the link; empty if it can.
std::string SenderNegotiation::unavailable_reason(LinkKind link) const {
  return data_connector_.acceptor != nullptr ? data_connector_.acceptor->unavailable_reason(link)
                                             : framewire::unavailable_reason(link);
}

NegotiatedSession SenderNegotiation::check_choice(const nlohmann::json& answer) {
  NegotiatedSession agreed;
  agreed.choice = read_choose(answer);
  const ChooseMessage& choice = agreed.choice;
  agreed.stream = &stream_by_number(choice.stream);
  if (std::ranges::find(offer_.links, choice.link) == offer_.links.end()) {
    refuse(*viewer_.channel, "the " + std::string(name(choice.link)) + " link was not offered");
  }
  if (choice.delivery == Delivery::every && agreed.stream->options().delivery != Delivery::every) {
    refuse(*viewer_.channel,
           "this stream is delivered as 'latest'; a viewer cannot ask for 'every': start the sender with --delivery "
           "every");
  }
  if (choice.pulls) {
    check_pull(*agreed.stream, choice);
  }
  check_encryption(choice);
  return agreed;
}

void SenderNegotiation::check_pull(const Stream& stream, const ChooseMessage& choice) {
  if (!stream.options().allows_pull) {
    refuse(*viewer_.channel, "this sender's frames may not be pulled; start it with --allow-pull");
  }
  if (!traits(choice.link).can_be_pulled) {
    refuse(*viewer_.channel, "--pull works over " + names_of_links_that(&LinkTraits::can_be_pulled) + " only");
  }
}

/// If either side requires encryption, no data is sent as plaintext.
void SenderNegotiation::check_encryption(const ChooseMessage& choice) {
  MessageChannel& channel = *viewer_.channel;
  if (context_.parameters.encrypts && !choice.encrypt) {
    refuse(channel, "the sender asks for --encrypt, which the viewer does not know; bring both to the same release");
  }
  if (const std::string reason = no_encryption_reason(choice.link, viewer_.control);
      choice.encrypt && !reason.empty()) {
    refuse(channel, reason);
  }
}

LinkParameters SenderNegotiation::parameters_for(const ChooseMessage& choice) const {
  LinkParameters parameters = context_.parameters;
  parameters.cancel_fd = viewer_.channel->fd();
  parameters.encrypts = choice.encrypt;
  parameters.pulls = choice.pulls;
  parameters.viewer_memory = choice.memory;
  if (const auto shared = context_.resources.find(choice.link); shared != context_.resources.end()) {
    parameters.sender_resources = shared->second.get();
  }
  return parameters;
}

/// Makes the link, or returns the viewer's message that chooses another one.
std::unique_ptr<nlohmann::json> SenderNegotiation::connect(NegotiatedSession& agreed) {
  const DataConnectionId connection{session_, agreed.choice.link, 0};
  if (data_connector_.acceptor == nullptr) {
    viewer_.channel->send(to_json(ConnectMessage{}));
    return dial_peer(agreed, connection);
  }
  PendingDataConnection wait(*data_connector_.acceptor, connection, *viewer_.channel);  // its end revokes the token
  const Token token = data_connector_.acceptor->issue(connection);
  viewer_.channel->send(
      to_json(ConnectMessage{.link = connection.link,
                             .token = token.hex(),
                             .listener = data_connector_.acceptor->listener_description(connection.link)}));
  return await_peer(agreed, connection, token, wait);
}

std::unique_ptr<nlohmann::json> SenderNegotiation::await_peer(NegotiatedSession& agreed,
                                                              const DataConnectionId& connection, const Token& token,
                                                              PendingDataConnection& wait) {
  for (;;) {
    if (auto incoming = wait.next()) {
      try {
        agreed.subscription = make_subscription(
            agreed, accept_data(std::move(*incoming), token, connection, parameters_for(agreed.choice)));
        agreed.early = wait.take_messages();
        return nullptr;
      } catch (const Error& error) {
        if (!traits(connection.link).may_prove_unusable) {
          throw;
        }
        // The link itself has told the viewer, by a rejection or a disconnect; the viewer chooses again.
        log_link_failure(*agreed.stream, name(connection.link), error.what());
      }
    }
    if (wait.message() != nullptr) {
      throw_if_refused(*wait.message());
      if (message_type(*wait.message()) == "choose") {
        return wait.take_message();
      }
    }
  }
}

std::unique_ptr<nlohmann::json> SenderNegotiation::dial_peer(NegotiatedSession& agreed,
                                                             const DataConnectionId& connection) {
  MessageChannel& channel = *viewer_.channel;
  const ChooseMessage& choice = agreed.choice;
  try {
    agreed.subscription =
        make_subscription(agreed, dial_data(*data_connector_.dial, choice.listener, Token::from_hex(choice.token),
                                            connection, parameters_for(choice)));
    return nullptr;
  } catch (const Error& error) {
    if (!traits(connection.link).may_prove_unusable) {
      throw;
    }
    channel.send(no_link(error.what()));
  }
  return std::make_unique<nlohmann::json>(channel.receive(monotonic_ns() + handshake_timeout_ns));
}

std::unique_ptr<Subscription> SenderNegotiation::make_subscription(const NegotiatedSession& agreed,
                                                                   LinkConnection connection) const {
  const ChooseMessage& choice = agreed.choice;
  const LinkProvider& link = link_provider(choice.link);
  if (choice.pulls) {
    return make_pull_subscription(*agreed.stream, link.make_read_target(std::move(connection), parameters_for(choice)),
                                  wake_event_);
  }
  return make_push_subscription(*agreed.stream, link.make_sender(std::move(connection), parameters_for(choice)),
                                choice.delivery, wake_event_);
}

Stream& SenderNegotiation::stream_by_number(std::uint32_t number) const {
  const auto found =
      std::ranges::find(context_.streams, number, [](const Stream* stream) { return stream->options().number; });
  if (found == context_.streams.end()) {
    throw Error::failed("the viewer chose stream " + std::to_string(number) + ", which was not offered");
  }
  return **found;
}

void SenderNegotiation::log_link_failure(const Stream& stream, std::string_view link, const std::string& why) {
  context_.log->warning(context_.label_of(viewer_.channel->peer(), stream.options()) + ": " + std::string(link) + ": " +
                        why);
}

}  // namespace framewire
