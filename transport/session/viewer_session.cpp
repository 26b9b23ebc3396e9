#include "transport/session/viewer_session.hpp"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/text.hpp"
#include "transport/session/handshake.hpp"
#include "transport/socket_state.hpp"

namespace framewire {

namespace {

std::string names_of(const std::vector<LinkKind>& kinds) {
  std::string names;
  for (const LinkKind kind : kinds) {
    names += (names.empty() ? "" : ", ") + std::string(name(kind));
  }
  return names.empty() ? "none" : names;
}

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

}  // namespace

ViewerSession::ViewerSession(Authenticated authenticated, DataWay way, const ViewerWishes& wishes)
    : authenticated_(std::move(authenticated)), peer_timeout_ns_(wishes.peer_timeout_ns) {
  MessageChannel& channel = *authenticated_.channel;
  exchange_hellos(channel, "viewer", wishes.program);
  const OfferMessage offer = read_offer(channel.receive(monotonic_ns() + handshake_timeout_ns));
  std::string why;
  const ChooseMessage choice = choose(offer, wishes, why);
  delivery_ = choice.delivery;
  open_link(offer, choice, way, wishes.peer_timeout_ns);
  watch_peer(channel.fd(), wishes.peer_timeout_ns);
  start_line_ = framewire::start_line(choice.link, authenticated_.auth, authenticated_.control) + why;
  if (!authenticated_.is_unix) {
    compare_clocks();
  }
}

ChooseMessage ViewerSession::choose(const OfferMessage& offer, const ViewerWishes& wishes, std::string& why) {
  MessageChannel& channel = *authenticated_.channel;
  const OfferedStream& stream = find_stream(offer, wishes.stream, channel);
  const auto link = std::ranges::find_if(
      wishes.allowed_links, [&](LinkKind kind) { return std::ranges::find(offer.links, kind) != offer.links.end(); });
  if (link == wishes.allowed_links.end()) {
    refuse(channel, "no transport in common: this end takes " + names_of(wishes.allowed_links) +
                        ", the sender offers " + names_of(offer.links) +
                        (authenticated_.is_unix ? "" : " (local needs the same user on the same machine)"));
  }
  if (wishes.delivery == Delivery::every && stream.delivery == Delivery::latest) {
    refuse(
        channel,
        "the stream is delivered as 'latest'; a viewer cannot ask for 'every': start the sender with --delivery every");
  }
  if (wishes.transport_is_auto) {
    why = *link == LinkKind::local ? " (auto: local, both ends are on this machine)"
                                   : " (auto: " + std::string(name(*link)) +
                                         (authenticated_.is_unix ? ", local is not offered)"
                                                                 : ", local needs the same user on the same machine)");
  }
  return {.stream = stream.number, .link = *link, .delivery = wishes.delivery.value_or(stream.delivery), .token = {}};
}

void ViewerSession::open_link(const OfferMessage& offer, ChooseMessage choice, DataWay way,
                              std::int64_t peer_timeout_ns) {
  MessageChannel& channel = *authenticated_.channel;
  const DataConnection connection{session_id_from_hex(offer.session), choice.link, 0};
  if (way.door != nullptr) {
    choice.token = way.door->issue(connection).hex();
  }
  channel.send(to_json(choice));
  const ConnectMessage go = read_connect(channel.receive(monotonic_ns() + handshake_timeout_ns));
  FileDescriptor data = way.door != nullptr
                            ? way.door->await_data(connection, monotonic_ns() + data_connection_timeout_ns)
                            : dial_data(*way.dial, Token::from_hex(go.token), connection);
  link_ = make_receiver_link(choice.link, std::move(data), peer_timeout_ns);
}

/// The offset at the exchange with the shortest round trip; half of that round trip is how far off it can be (Cristian
/// 1989).
void ViewerSession::compare_clocks() {
  constexpr int exchanges = 8;
  std::int64_t shortest_ns = std::numeric_limits<std::int64_t>::max();
  for (int i = 0; i < exchanges; ++i) {
    const std::int64_t asked_ns = monotonic_ns();
    authenticated_.channel->send(to_json(ClockMessage{.viewer_ns = asked_ns}));
    for (;;) {
      const auto message = authenticated_.channel->receive(monotonic_ns() + handshake_timeout_ns);
      if (message_type(message) != "clock") {
        handle(message);
        continue;
      }
      const ClockMessage answer = read_clock(message);
      const std::int64_t round_trip_ns = monotonic_ns() - asked_ns;
      if (answer.viewer_ns == asked_ns && round_trip_ns < shortest_ns) {
        shortest_ns = round_trip_ns;
        clock_offset_ns = answer.sender_ns - (asked_ns + round_trip_ns / 2);
        clock_uncertainty_ns = round_trip_ns / 2;
      }
      break;
    }
  }
}

void ViewerSession::handle_messages() {
  authenticated_.channel->flush();
  while (const auto message = authenticated_.channel->try_receive()) {
    handle(*message);
  }
}

void ViewerSession::announce_ready() {
  if (unsaid_ready_) {
    authenticated_.channel->post(to_json(*unsaid_ready_));
    unsaid_ready_.reset();
  }
}

void ViewerSession::handle(const nlohmann::json& message) {
  throw_if_refused(message);
  const std::string type = message_type(message);
  if (type == "epoch") {
    const EpochMessage epoch = read_epoch(message);
    link_->begin_epoch(epoch.number, epoch.slot_bytes, epoch.ring_slots);
    epoch_ = epoch.number;
    format_ = epoch.format;
    unsaid_ready_ = ReadyMessage{epoch.number, epoch.ring_slots};
  } else if (type == "bye") {
    frames_sent_ = read_bye(message).frames_sent;
    has_bye_.store(true, std::memory_order_release);
  }
}

void ViewerSession::check_peer() const {
  const LinkState state = link_->state();
  if (state != LinkState::open) {
    throw Error::lost_peer(link_->fault());
  }
  if (tcp_peer_is_silent(authenticated_.channel->fd(), peer_timeout_ns_)) {
    throw Error::lost_peer("the sender's host does not answer");
  }
}

void ViewerSession::say_bye(const std::string& reason, std::uint64_t frames_received,
                            const std::string& statistics_json) noexcept {
  try {
    authenticated_.channel->send(
        to_json(ByeMessage{.reason = reason, .frames_received = frames_received, .statistics = statistics_json}),
        monotonic_ns() + ns_per_s);
  } catch (const std::exception&) {
    // It has gone first: there is nobody left to tell.
  }
}

}  // namespace framewire
