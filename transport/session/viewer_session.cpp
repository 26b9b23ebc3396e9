#include "transport/session/viewer_session.hpp"

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <span>
#include <utility>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/text.hpp"
#include "transport/links.hpp"
#include "transport/ring_limits.hpp"
#include "transport/session/handshake.hpp"
#include "transport/session/input_messages.hpp"
#include "transport/session/memory_choice.hpp"
#include "transport/session/pending_data_connection.hpp"
#include "transport/session/render_messages.hpp"
#include "transport/socket_state.hpp"

namespace framewire {

namespace {

const OfferedStream& find_stream(const OfferMessage& offer, const std::string& wanted, MessageChannel& channel) {
  if (offer.streams.empty()) {
    throw Error::failed("the sender offers no stream");
  }
  if (wanted.empty()) {
    return offer.streams.front();
  }
  const auto found = std::ranges::find(offer.streams, wanted, &OfferedStream::name);
  if (found == offer.streams.end()) {
    std::string names;
    for (const OfferedStream& stream : offer.streams) {
      names += (names.empty() ? "" : ", ") + stream.name;
    }
    refuse(channel, "the sender has no stream " + quote(wanted) + "; it has " + names);
  }
  return *found;
}

/// Empty if the link can be tried.
std::string unusable_reason(LinkKind kind, const OfferMessage& offer, bool is_unix, const DataConnector& data_connector,
                            const ViewerPreferences& preferences) {
  const bool is_offered = std::ranges::find(offer.links, kind) != offer.links.end();
  const LinkTraits& link = traits(kind);
  const std::string name(link.name);
  if (link.needs_same_host && !is_unix) {
    return is_offered ? "" : name + " needs the same user on the same machine";
  }
  const auto why_not_offered = offer.unavailable_links.find(kind);
  if (!is_offered && why_not_offered != offer.unavailable_links.end()) {
    return name + ": the sender has none, " + why_not_offered->second;
  }
  if (!is_offered) {
    return link.has_own_listener ? name + ": the sender has none" : name + " is not offered";
  }
  if (!preferences.may_choose_link) {
    return "";
  }
  if (const auto avoided = preferences.avoided_links.find(kind); avoided != preferences.avoided_links.end()) {
    return name + ": " + avoided->second;
  }
  if (data_connector.acceptor != nullptr) {
    const std::string why = data_connector.acceptor->unavailable_reason(kind);
    return why.empty() ? "" : name + ": this end has none, " + why;
  }
  return link_provider(kind).is_available() ? "" : name + ": " + std::string(link.missing) + " here";
}

}  // namespace

ViewerSession::ViewerSession(AuthenticatedChannel authenticated, DataConnector data_connector,
                             const ViewerPreferences& preferences)
    : authenticated_(std::move(authenticated)),
      on_rendering_(preferences.on_rendering),
      on_message_(preferences.on_message),
      peer_timeout_ns_(preferences.parameters.peer_timeout_ns),
      memory_(preferences.memory),
      takes_slices_(preferences.takes_slices) {
  MessageChannel& channel = *authenticated_.channel;
  const OfferMessage offer = read_offer(channel.receive(monotonic_ns() + handshake_timeout_ns));
  std::ranges::transform(offer.streams, std::back_inserter(stream_names_), &OfferedStream::name);
  const std::string why = choose_link(offer, data_connector, preferences);
  watch_peer(channel.fd(), preferences.parameters.peer_timeout_ns);
  memory_access_ = access_to_memory();
  start_line_ =
      framewire::start_line(link_->kind(), link_->memory().name(), authenticated_.auth, authenticated_.control,
                            encrypts_, find_stream(offer, preferences.stream, channel).description) +
      link_->note() + memory_access_.note() + why;
  handle_early_messages();
  if (!authenticated_.is_unix) {
    compare_clocks(preferences.clock_timeout_ns);
  }
}

ViewerSession::~ViewerSession() = default;

/// Opens the best link that works. Returns the start line's remark on better links that do not work.
std::string ViewerSession::choose_link(const OfferMessage& offer, DataConnector data_connector,
                                       const ViewerPreferences& preferences) {
  MessageChannel& channel = *authenticated_.channel;
  const OfferedStream& stream = find_stream(offer, preferences.stream, channel);
  if (preferences.delivery == Delivery::every && stream.delivery == Delivery::latest) {
    refuse(
        channel,
        "the stream is delivered as 'latest'; a viewer cannot ask for 'every': start the sender with --delivery every");
  }
  delivery_ = preferences.delivery.value_or(stream.delivery);
  source_file_ = stream.source_file;
  may_change_link_ = preferences.may_choose_link && !preferences.parameters.pulls;
  agree_on_encryption(offer, preferences);
  if (encrypts_) {
    const LinkKind link = link_for_encryption(offer, preferences);
    open_link(offer, {.stream = stream.number, .link = link, .delivery = delivery_, .token = {}, .encrypt = true},
              data_connector, preferences.parameters);
    return preferences.may_choose_link ? " (auto: " + std::string(name(link)) + "; --encrypt works over " +
                                             names_of_links_that(&LinkTraits::can_be_encrypted) + " only)"
                                       : "";
  }
  if (preferences.parameters.pulls) {
    open_link_to_pull(offer, stream, data_connector, preferences);
    return stream.delivery == Delivery::latest
               ? ""
               : " (--delivery every: the stream goes on only while another viewer watches it without --pull)";
  }
  std::string skipped_links;
  std::string change_reason;
  for (const LinkKind kind : preferences.allowed_links) {
    if (const std::string reason = unusable_reason(kind, offer, authenticated_.is_unix, data_connector, preferences);
        !reason.empty()) {
      skipped_links += "; " + reason;
      continue;
    }
    try {
      const ChooseMessage choice{
          .stream = stream.number, .link = kind, .delivery = delivery_, .token = {}, .why = change_reason};
      open_link(offer, choice, data_connector, preferences.parameters);
      test_link(stream);
      if (!preferences.may_choose_link) {
        return {};
      }
      return traits(kind).needs_same_host ? " (auto: " + std::string(name(kind)) + ", both ends are on this machine)"
                                          : " (auto: " + std::string(name(kind)) + skipped_links + ")";
    } catch (const Error& error) {
      if (!traits(kind).may_prove_unusable || !preferences.may_choose_link || error.status() == ExitStatus::refused) {
        throw;
      }
      skipped_links += "; " + std::string(name(kind)) + ": " + error.what();
      change_reason = error.what();
      reset_epoch_state();
    }
  }
  refuse(channel, "no transport in common: the receiving end takes " + names_of(preferences.allowed_links) +
                      ", the sender offers " + names_of(offer.links) + skipped_links);
}

/// Tests a link by its first epoch: rdma may connect, and then fail to register the pool or the ring. Possible only if
/// the stream already has a format; needed only if another link can be chosen.
void ViewerSession::test_link(const OfferedStream& stream) {
  if (!traits(link_->kind()).may_prove_unusable || !may_change_link_ || stream.description.empty()) {
    return;
  }
  handle_early_messages();
  const std::int64_t deadline_ns = monotonic_ns() + handshake_timeout_ns;
  while (epoch_ == 0 && !has_bye()) {
    handle(receive_in_step(*authenticated_.channel, deadline_ns));
  }
}

/// Keeps the link object until another one replaces it, so that the sender receives the new choice before it sees the
/// link close.
void ViewerSession::reset_epoch_state() noexcept {
  early_messages_.clear();
  epoch_ = 0;
  format_.reset();
  pending_ready_.reset();
}

/// Either side may require encryption; then both encrypt, or the session is refused. Both sides see the error messages.
void ViewerSession::agree_on_encryption(const OfferMessage& offer, const ViewerPreferences& preferences) {
  MessageChannel& channel = *authenticated_.channel;
  encrypts_ = preferences.parameters.encrypts || offer.encrypt.value_or(false);
  if (!encrypts_) {
    return;
  }
  const std::string who_asks = preferences.parameters.encrypts ? "the viewer asks" : "the sender asks";
  if (!offer.encrypt) {
    refuse(channel, who_asks + " for --encrypt, which the sender does not know; bring both to the same release");
  }
  if (preferences.parameters.pulls) {
    refuse(channel, who_asks + " for --encrypt, and --pull reads over " +
                        names_of_links_that(&LinkTraits::can_be_pulled) +
                        ", which is not encrypted; leave out one of them");
  }
  const std::string only =
      " for --encrypt, which works over " + names_of_links_that(&LinkTraits::can_be_encrypted) + " only, and ";
  const std::string take = "; start it with --transport " + transports_that(&LinkTraits::can_be_encrypted);
  if (!first_link_that(&LinkTraits::can_be_encrypted, preferences.allowed_links)) {
    refuse(channel, who_asks + only + "the viewer takes " + names_of(preferences.allowed_links) + take);
  }
  if (!first_link_that(&LinkTraits::can_be_encrypted, offer.links)) {
    refuse(channel, who_asks + only + "the sender offers " + names_of(offer.links) + take);
  }
  if (const std::string reason = no_encryption_reason(authenticated_.control); !reason.empty()) {
    refuse(channel, reason);
  }
}

/// The best link that both sides allow and that can be encrypted. agree_on_encryption() has seen that both have one.
LinkKind ViewerSession::link_for_encryption(const OfferMessage& offer, const ViewerPreferences& preferences) {
  std::vector<LinkKind> common = preferences.allowed_links;
  std::erase_if(common, [&](LinkKind kind) {
    return std::ranges::find(offer.links, kind) == offer.links.end() || !link_provider(kind).is_available();
  });
  const auto link = first_link_that(&LinkTraits::can_be_encrypted, common);
  if (!link) {
    refuse(*authenticated_.channel, "no encrypted transport in common: the receiving end takes " +
                                        names_of(preferences.allowed_links) + ", the sender offers " +
                                        names_of(offer.links));
  }
  return *link;
}

void ViewerSession::open_link_to_pull(const OfferMessage& offer, const OfferedStream& stream,
                                      DataConnector data_connector, const ViewerPreferences& preferences) {
  MessageChannel& channel = *authenticated_.channel;
  if (!stream.allows_pull) {
    refuse(channel, "the sender's frames may not be pulled; start it with --allow-pull, or leave out --pull here");
  }
  std::vector<LinkKind> common = offer.links;
  std::erase_if(common, [&](LinkKind kind) {
    return std::ranges::find(preferences.allowed_links, kind) == preferences.allowed_links.end();
  });
  const auto link = first_link_that(&LinkTraits::can_be_pulled, common);
  if (!link) {
    const auto why =
        std::ranges::find_if(offer.unavailable_links, [](const auto& one) { return traits(one.first).can_be_pulled; });
    refuse(channel, "--pull works over " + names_of_links_that(&LinkTraits::can_be_pulled) +
                        " only, and the sender has none" +
                        (why == offer.unavailable_links.end() ? "" : ": " + why->second));
  }
  delivery_ = Delivery::latest;
  open_link(offer, {.stream = stream.number, .link = *link, .delivery = delivery_, .token = {}, .pulls = true},
            data_connector, preferences.parameters);
}

void ViewerSession::open_link(const OfferMessage& offer, ChooseMessage choice, DataConnector data_connector,
                              LinkParameters parameters) {
  MessageChannel& channel = *authenticated_.channel;
  parameters.cancel_fd = channel.fd();
  parameters.encrypts = choice.encrypt;
  const DataConnectionId connection{session_id_from_hex(offer.session), choice.link, 0};
  std::optional<PendingDataConnection> wait;  // its end revokes the token
  std::optional<Token> token;
  if (data_connector.acceptor != nullptr) {
    wait.emplace(*data_connector.acceptor, connection, channel);
    token = data_connector.acceptor->issue(connection);
    choice.token = token->hex();
    choice.listener = data_connector.acceptor->listener_description(choice.link);
  }
  const auto stream = std::ranges::find(offer.streams, choice.stream, &OfferedStream::number);
  const OfferedStream offered = stream != offer.streams.end() ? *stream : OfferedStream{};
  const std::vector<const MemoryKind*> kinds = kinds_over(choice.link, memory_, offered);
  for (const MemoryKind* const kind : std::span(kinds).first(std::min(kinds.size(), max_memory_kinds))) {
    choice.memory.emplace_back(kind->name());
  }
  channel.send(to_json(choice));
  const ConnectMessage go = read_connect(await_connect(), choice.link);
  try {
    LinkConnection link_connection =
        wait ? await_sender(*wait, connection, *token, parameters)
             : dial_data(*data_connector.dial, go.listener, Token::from_hex(go.token), connection, parameters);
    link_ = link_provider(choice.link).make_receiver(std::move(link_connection), parameters);
  } catch (const Error&) {
    throw_if_told_why(channel);
    throw;
  }
  link_->set_stop_check(std::move(parameters.stop_check));
  link_->set_takes_slices(takes_slices_);
  link_->set_memory(choose_memory(*link_, kinds, offered));
  access_to_shared_ = access_to_shared(choice.link, link_->memory(), offered);
}

/// A pool of a kind that was not agreed on cannot be imported.
void ViewerSession::check_memory(const EpochMessage& epoch) const {
  const std::string agreed(link_->memory().name());
  if (traits(link_->kind()).shares_memory && epoch.memory != agreed) {
    throw Error::failed("the sender's frames lie in memory of the kind " + quote(epoch.memory) + ", and " +
                        quote(agreed) + " was agreed on");
  }
}

/// Ignores messages about a link that was given up, which the sender wrote before it knew.
nlohmann::json ViewerSession::await_connect() {
  const bool is_first = !std::exchange(has_chosen_, true);
  const std::int64_t deadline_ns = monotonic_ns() + handshake_timeout_ns;
  for (;;) {
    auto message = receive_in_step(*authenticated_.channel, deadline_ns);
    const std::string type = message_type(message);
    if (is_first || type == "connect" || type == "refused") {
      return message;
    }
    if (type == "bye") {
      handle(message);
    }
  }
}

LinkConnection ViewerSession::await_sender(PendingDataConnection& wait, const DataConnectionId& connection,
                                           const Token& token, const LinkParameters& parameters) {
  std::optional<Error> fault;
  for (;;) {
    if (auto incoming = wait.next()) {
      try {
        LinkConnection link_connection = accept_data(std::move(*incoming), token, connection, parameters);
        early_messages_ = wait.take_messages();
        return link_connection;
      } catch (const Error& error) {
        if (!traits(connection.link).may_prove_unusable) {
          throw;
        }
        // The link tells the sender of the failure; the sender then sends no_link, so wait for that.
        fault = error;
      }
    }
    if (wait.message() != nullptr) {
      throw_if_refused(*wait.message());
      if (fault && message_type(*wait.message()) == "no_link") {
        throw *fault;
      }
      throw_if_no_link(*wait.message());
    }
  }
}

void ViewerSession::compare_clocks(std::int64_t timeout_ns) {
  const std::int64_t deadline_ns = monotonic_ns() + timeout_ns;
  std::optional<ClockMessage> question = clocks_.begin(monotonic_ns());
  while (question) {
    authenticated_.channel->send(to_json(*question));
    for (;;) {
      const auto message = receive_in_step(*authenticated_.channel, deadline_ns);
      if (message_type(message) != "clock") {
        handle(message);
        continue;
      }
      question = clocks_.take(read_clock(message), monotonic_ns());
      break;
    }
  }
}

/// A sender that does not answer is asked again the next time.
void ViewerSession::keep_comparing_clocks(std::int64_t now_ns) {
  if (!authenticated_.is_unix && clocks_.is_due(now_ns) && !has_backlog()) {
    post(to_json(clocks_.begin(monotonic_ns())));
  }
}

void ViewerSession::handle_messages() {
  try {
    authenticated_.channel->flush();
    authenticated_.channel->receive_arrived([this](const nlohmann::json& message) {
      handle(message);
      return true;
    });
  } catch (const Error& error) {
    if (error.status() == ExitStatus::lost_peer && link_->is_withdrawn()) {
      throw Error::lost_peer(link_->fault());  // says more than that the channel was closed
    }
    throw;
  }
}

void ViewerSession::handle_early_messages() {
  for (const nlohmann::json& message : std::exchange(early_messages_, {})) {
    handle(message);
  }
}

void ViewerSession::ask_cadence(const CadenceRequest& request) {
  authenticated_.channel->post(to_json(request));
}

void ViewerSession::announce_ready() {
  if (pending_ready_) {
    authenticated_.channel->post(to_json(*pending_ready_));
    pending_ready_.reset();
    link_->epoch_is_ready();
  }
}

void ViewerSession::handle(const nlohmann::json& message) {
  throw_if_refused(message);
  const std::string type = message_type(message);
  if (type == "epoch") {
    const EpochMessage epoch = read_epoch(message);
    if (epoch.number <= epoch_) {
      throw Error::failed("the sender announced format " + std::to_string(epoch.number) + " after format " +
                          std::to_string(epoch_));
    }
    if (const std::string fault = find_ring_fault(epoch.format, epoch.slot_bytes, epoch.ring_slots); !fault.empty()) {
      refuse(*authenticated_.channel, fault);
    }
    check_memory(epoch);
    const auto access = begin_epoch_of_link(epoch);
    memory_access_ = access_to_memory();
    epoch_ = epoch.number;
    ring_slots_ = epoch.ring_slots;
    format_ = epoch.format;
    pending_ready_ = ReadyMessage{.number = epoch.number,
                                  .ring_slots = epoch.ring_slots,
                                  .ring = access,
                                  .memory = std::string(link_->memory().name()),
                                  .takes_slices = true};
  } else if (type == "no_link") {
    give_up_link(read_no_link(message));
  } else if (type == "clock") {
    if (const auto question = clocks_.take(read_clock(message), monotonic_ns())) {
      post(to_json(*question));
    }
  } else if (type == "no_cadence") {
    cadence_refusal_ = read_no_cadence(message);
  } else if (type == "no_render") {
    render_refusal_ = read_no_render(message);
    ++render_refusals_;
  } else if (type == "rendering") {
    on_rendering_(read_render_request(message));
  } else if (type == "no_input") {
    input_refusal_ = read_no_input(message);
  } else if (type == "no_message") {
    message_refusal_ = read_no_message(message);
  } else if (type == "message") {
    if (std::string body = read_program_message(message); on_message_) {
      on_message_(std::move(body));
    }
  } else if (type == "bye") {
    frames_sent_ = read_bye(message).frames_sent;
    has_bye_.store(true, std::memory_order_release);
  }
}

LinkDescription ViewerSession::begin_epoch_of_link(const EpochMessage& epoch) {
  try {
    return link_->begin_epoch(epoch.number, epoch.slot_bytes, epoch.ring_slots, epoch.pool);
  } catch (const AllocationStopped&) {
    throw;  // this side stops; the link is not at fault
  } catch (const MemoryUnusable&) {
    link_->memory().require_device();
    throw;
  } catch (const Error& error) {
    link_->memory().require_device();
    if (traits(link_->kind()).may_prove_unusable && may_change_link_ && error.status() == ExitStatus::failed) {
      throw LinkUnusable(link_->kind(), error.what());
    }
    throw;
  }
}

/// The sender gave up the link after the negotiation.
void ViewerSession::give_up_link(const std::string& message) const {
  const std::string whole = "the sender " + message;
  if (may_change_link_) {
    throw LinkUnusable(link_->kind(), whole);
  }
  throw Error::refused(whole);
}

void ViewerSession::check_peer() const {
  if (is_rejected()) {
    throw Error::lost_peer(rejection_reason_);
  }
  const LinkState state = link_->state();
  if (state != LinkState::open) {
    throw Error::lost_peer(link_->fault());
  }
  if (tcp_peer_is_silent(authenticated_.channel->fd(), peer_timeout_ns_)) {
    throw Error::lost_peer("the sender's host does not answer");
  }
}

void ViewerSession::send_bye(std::string_view reason, std::uint64_t frames_received,
                             const std::string& statistics_json) noexcept {
  try {
    authenticated_.channel->send(
        to_json(ByeMessage{
            .reason = std::string(reason), .frames_received = frames_received, .statistics = statistics_json}),
        monotonic_ns() + ns_per_s);
  } catch (const std::exception&) {
    // The sender is already gone.
  }
}

}  // namespace framewire
