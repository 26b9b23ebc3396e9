#include "transport/session/sender_session.hpp"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/text.hpp"
#include "base/wait.hpp"
#include "transport/session/data_wait.hpp"
#include "transport/session/endpoint.hpp"
#include "transport/session/handshake.hpp"
#include "transport/session/rdma_data.hpp"
#include "transport/socket_state.hpp"

namespace framewire {

namespace {

std::string why_full(const StreamOptions& options) {
  if (options.max_viewers == 1 && options.taker != "viewer") {
    return "the sender has its " + options.taker + " already";
  }
  return "the sender has its " + std::to_string(options.max_viewers) +
         " viewers already; start it with a larger --viewers";
}

}  // namespace

SenderContext::SenderContext(const EndpointOptions& endpoint, std::vector<Stream*> offered, std::string its_program,
                             Log& its_log)
    : streams(std::move(offered)),
      allowed_links(usable_links(endpoint)),
      program(std::move(its_program)),
      terms(terms_of(endpoint)),
      log(&its_log) {
  terms.sender_domains = &domains;
  terms.log = log;
}

SenderSession::SenderSession(SenderContext& context, Authenticated authenticated, DataWay way)
    : context_(context), authenticated_(std::move(authenticated)), way_(way), wake_event_(make_event()) {}

SenderSession::~SenderSession() = default;

SessionReport SenderSession::run() {
  shake_hands();
  try {
    serve();
  } catch (const Error& error) {
    if (!has_last_words()) {
      report_.ending = error.what();
      report_.was_refused = error.status() == ExitStatus::refused;
      tell(error);
    }
  }
  return make_report();
}

/// A viewer that has all it wants says bye and closes, while ours is on its way: that cannot be written then, but its
/// own still stands in the channel.
bool SenderSession::has_last_words() noexcept {
  try {
    while (!is_over_) {
      const auto message = authenticated_.channel->try_receive();
      if (!message) {
        break;
      }
      if (message_type(*message) == "bye") {
        handle(*message);
      }
    }
  } catch (const std::exception&) {
    return false;
  }
  return is_over_;
}

/// What this end cannot do would only meet the viewer again: it should know, and not come back.
void SenderSession::tell(const Error& error) noexcept {
  try {
    if (error.status() == ExitStatus::failed) {
      authenticated_.channel->send(refusal(error.what()), monotonic_ns() + ns_per_s);
    }
  } catch (const std::exception&) {
    // It has gone meanwhile.
  }
}

void SenderSession::shake_hands() {
  MessageChannel& channel = *authenticated_.channel;
  exchange_hellos(channel, "sender", context_.program, {"viewer"});
  if (const std::string why_not = why_not_encrypted(LinkKind::tcp, authenticated_.control);
      context_.terms.encrypts && !why_not.empty()) {
    refuse(channel, why_not);
  }
  session_ = random_session_id();
  offer_ = make_offer(session_);
  channel.send(to_json(offer_));
  join(settle(std::make_unique<nlohmann::json>(channel.receive(monotonic_ns() + handshake_timeout_ns))));
}

/// From the viewer's choice to the one whose link stands.
ChooseMessage SenderSession::settle(std::unique_ptr<nlohmann::json> answer) {
  ChooseMessage choice;
  for (; answer; ++choices_) {
    throw_if_refused(*answer);
    if (choices_ == offer_.links.size()) {
      refuse(*authenticated_.channel, "every link that was offered has been chosen already");
    }
    choice = agree(*answer);
    answer = connect({session_, choice.link, 0}, choice);
  }
  return choice;
}

OfferMessage SenderSession::make_offer(const SessionId& session) const {
  OfferMessage offer{.session = to_hex(session),
                     .streams = {},
                     .links = {},
                     .why_no_rdma = why_no_rdma(),
                     .encrypt = context_.terms.encrypts};
  for (const Stream* stream : context_.streams) {
    const auto format = stream->format();
    offer.streams.push_back({stream->options().name, stream->options().number, stream->options().delivery,
                             format ? describe(*format) : std::string(), stream->options().allows_pull});
  }
  std::ranges::copy_if(context_.allowed_links, std::back_inserter(offer.links), [&](LinkKind kind) {
    switch (kind) {
      case LinkKind::local:
        return authenticated_.is_unix;
      case LinkKind::rdma:
        return offer.why_no_rdma.empty();
      case LinkKind::tcp:
        break;
    }
    return true;
  });
  return offer;
}

/// Empty where this end can take or make RDMA connections.
std::string SenderSession::why_no_rdma() const {
  if (way_.door != nullptr) {
    return way_.door->why_no_rdma();
  }
  return has_rdma_device() ? "" : "it has no RDMA device";
}

ChooseMessage SenderSession::agree(const nlohmann::json& answer) {
  ChooseMessage choice = read_choose(answer);
  stream_ = &stream_by_number(choice.stream);
  if (std::ranges::find(offer_.links, choice.link) == offer_.links.end()) {
    refuse(*authenticated_.channel, "the " + std::string(name(choice.link)) + " link was not offered");
  }
  if (choice.delivery == Delivery::every && stream_->options().delivery != Delivery::every) {
    refuse(*authenticated_.channel,
           "this stream is delivered as 'latest'; a viewer cannot ask for 'every': start the sender with --delivery "
           "every");
  }
  if (choice.pulls) {
    check_pull(choice);
  }
  check_encryption(choice);
  return choice;
}

void SenderSession::check_pull(const ChooseMessage& choice) {
  if (!stream_->options().allows_pull) {
    refuse(*authenticated_.channel, "this sender's frames may not be pulled; start it with --allow-pull");
  }
  if (choice.link != LinkKind::rdma) {
    refuse(*authenticated_.channel, "frames can be pulled over rdma alone");
  }
}

/// Nothing goes in the clear that either end wants encrypted.
void SenderSession::check_encryption(const ChooseMessage& choice) {
  MessageChannel& channel = *authenticated_.channel;
  if (context_.terms.encrypts && !choice.encrypt) {
    refuse(channel,
           "the sender asks for encrypted data (--encrypt), and the viewer does not know what that is; bring both to "
           "the same release");
  }
  if (const std::string why_not = why_not_encrypted(choice.link, authenticated_.control);
      choice.encrypt && !why_not.empty()) {
    refuse(channel, why_not);
  }
}

/// Who pulls has its connection in domains of its own, where pools stand open; the others' never do.
LinkTerms SenderSession::terms_for(const ChooseMessage& choice) const {
  LinkTerms terms = context_.terms;
  terms.lifeline = authenticated_.channel->fd();
  terms.encrypts = choice.encrypt;
  if (choice.pulls) {
    terms.pulls = true;
    terms.sender_domains = &context_.pull_domains;
  }
  return terms;
}

/// Makes the link; or returns the message in which the viewer chose another one.
std::unique_ptr<nlohmann::json> SenderSession::connect(const DataConnection& connection, const ChooseMessage& choice) {
  if (way_.door == nullptr) {
    authenticated_.channel->send(to_json(ConnectMessage{}));
    return dial_peer(connection, choice);
  }
  const Token token = way_.door->issue(connection);
  ConnectMessage go{.token = token.hex(), .rdma_port = way_.door->rdma_port()};
  if (choice.link == LinkKind::rdma) {
    go.rdma_addresses = way_.door->rdma_addresses();
  }
  authenticated_.channel->send(to_json(go));
  return await_peer(connection, token, choice);
}

std::unique_ptr<nlohmann::json> SenderSession::await_peer(const DataConnection& connection, const Token& token,
                                                          const ChooseMessage& choice) {
  MessageChannel& channel = *authenticated_.channel;
  DataWait wait(*way_.door, connection, channel);
  for (;;) {
    if (auto arrival = wait.next()) {
      try {
        make_feed(accept_data(std::move(*arrival), token, connection, terms_for(choice)), choice);
        early_ = wait.take_message();
        return nullptr;
      } catch (const Error& error) {
        if (connection.link != LinkKind::rdma) {
          throw;
        }
        // The viewer has been told over RDMA, by a rejection or a disconnection, and chooses again.
        say_that_link_fails(name(connection.link), error.what());
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

std::unique_ptr<nlohmann::json> SenderSession::dial_peer(const DataConnection& connection,
                                                         const ChooseMessage& choice) {
  MessageChannel& channel = *authenticated_.channel;
  try {
    make_feed(dial_data(*way_.dial, choice.rdma_port, Token::from_hex(choice.token), connection, terms_for(choice),
                        choice.rdma_addresses),
              choice);
    return nullptr;
  } catch (const Error& error) {
    if (connection.link != LinkKind::rdma) {
      throw;
    }
    channel.send(no_link(error.what()));
  }
  return std::make_unique<nlohmann::json>(channel.receive(monotonic_ns() + handshake_timeout_ns));
}

void SenderSession::make_feed(DataPath path, const ChooseMessage& choice) {
  if (choice.pulls) {
    feed_ = make_pull_feed(*stream_, std::move(path), terms_for(choice), wake_event_.get());
  } else {
    feed_ = make_push_feed(*stream_, make_sender_link(choice.link, std::move(path), context_.terms), choice.delivery,
                           wake_event_.get());
  }
}

void SenderSession::join(const ChooseMessage& choice, const Feed* before) {
  if (!feed_->join(before)) {
    refuse(*authenticated_.channel, choice.pulls ? "the sender has as many viewers that pull as it takes already"
                                                 : why_full(stream_->options()));
  }
  watch_peer(authenticated_.channel->fd(), context_.terms.peer_timeout_ns);
  report_.viewer = authenticated_.channel->peer();
  report_.stream = stream_->options().name;
  report_.transport = name(choice.link);
  report_.pulls = choice.pulls;
  report_.taker = stream_->options().taker;
  report_.says_ending = stream_->options().says_endings;
  context_.log->info(report_.taker + " " + report_.viewer + ": " +
                     start_line(choice.link, authenticated_.auth, authenticated_.control, choice.encrypt) +
                     (choice.pulls ? " mode=pull" : ""));
}

Stream& SenderSession::stream_by_number(std::uint32_t number) const {
  const auto found =
      std::ranges::find(context_.streams, number, [](const Stream* stream) { return stream->options().number; });
  if (found == context_.streams.end()) {
    throw Error::failed("the viewer chose stream " + std::to_string(number) + ", which was not offered");
  }
  return **found;
}

void SenderSession::say_that_link_fails(std::string_view link, const std::string& why) {
  context_.log->warning(stream_->options().taker + " " + authenticated_.channel->peer() + ": " + std::string(link) +
                        ": " + why);
}

/// One of both ends found that it cannot use the link that stands, and the viewer chose another one. The first feed
/// stays in its place until the other one can take that.
void SenderSession::change_link(std::unique_ptr<nlohmann::json> answer) {
  std::unique_ptr<Feed> first = std::exchange(feed_, nullptr);
  try {
    const ChooseMessage choice = settle(std::move(answer));
    join(choice, first.get());
  } catch (...) {
    feed_ = std::move(first);  // its leaving ends the session
    throw;
  }
  first->leave();
  link_closed_ns_ = 0;
  raise_event(wake_event_.get());  // there may be a message already, and there is an epoch to announce
}

/// This end found that it cannot use the link that stands: over RDMA the pool may be more than can be registered. The
/// viewer should know, and can take another one.
void SenderSession::give_up_link(const Error& error) {
  MessageChannel& channel = *authenticated_.channel;
  channel.send(no_link(error.what()), monotonic_ns() + ns_per_s);
  const Error ending = Error::lost_peer("no rdma: " + std::string(error.what()));
  if (has_begun_) {
    throw ending;
  }
  say_that_link_fails(report_.transport, error.what());
  const std::int64_t deadline_ns = monotonic_ns() + handshake_timeout_ns;
  nlohmann::json answer;
  try {
    do {
      answer = channel.receive(deadline_ns);
    } while (message_type(answer) != "choose" && message_type(answer) != "refused");
  } catch (const Error&) {
    throw ending;  // it has left, for this
  }
  change_link(std::make_unique<nlohmann::json>(std::move(answer)));
}

void SenderSession::serve() {
  while (!is_over_) {
    handle_messages();
    announce_epoch();
    feed_->service();
    say_bye_when_drained();
    check_peer();
    if (!is_over_) {
      wait();
    }
  }
}

void SenderSession::handle_messages() {
  authenticated_.channel->flush();
  if (const auto early = std::exchange(early_, nullptr)) {
    handle(*early);
  }
  while (!is_over_) {
    const auto message = authenticated_.channel->try_receive();
    if (!message) {
      return;
    }
    handle(*message);
  }
}

void SenderSession::handle(const nlohmann::json& message) {
  throw_if_refused(message);
  const std::string type = message_type(message);
  if (type == "ready") {
    feed_->take_ready(read_ready(message));
    has_begun_ = true;
  } else if (type == "clock") {
    ClockMessage clock = read_clock(message);
    clock.sender_ns = monotonic_ns();
    authenticated_.channel->post(to_json(clock));
  } else if (type == "bye") {
    const ByeMessage bye = read_bye(message);
    viewer_received_ = bye.frames_received;
    report_.has_said_bye = true;
    report_.viewer_statistics = bye.statistics;
    report_.ending = bye_sent_ ? "the stream ended" : "the " + report_.taker + " left: " + quote(bye.reason);
    is_over_ = true;
  } else if (type == "choose") {
    if (has_begun_) {
      throw Error::lost_peer("the " + report_.taker + " could not use the link after all");
    }
    say_that_link_fails(report_.transport,
                        "the " + report_.taker + " says: " + printable(read_choose(message).why, 1000));
    change_link(std::make_unique<nlohmann::json>(message));
  }
  // Other types are of a newer viewer.
}

void SenderSession::announce_epoch() {
  try {
    if (const auto epoch = feed_->epoch_to_announce()) {
      authenticated_.channel->post(to_json(*epoch));
    }
  } catch (const Error& error) {
    if (report_.transport != name(LinkKind::rdma) || error.status() != ExitStatus::failed) {
      throw;
    }
    give_up_link(error);
  }
}

void SenderSession::say_bye_when_drained() {
  const bool out_of_time = monotonic_ns() >= context_.stop_at_ns.load();
  if (!bye_sent_ && (feed_->is_drained() || out_of_time)) {
    bye_sent_ = true;
    authenticated_.channel->post(to_json(
        ByeMessage{.reason = "the stream ended", .frames_sent = feed_->conclude().frames_sent, .statistics = {}}));
  } else if (out_of_time) {
    report_.ending = "the " + report_.taker + " did not take the last frames in time";
    is_over_ = true;
  }
}

void SenderSession::check_peer() {
  const LinkState state = feed_->state();
  if (state == LinkState::unread) {
    throw Error::failed(feed_->fault());
  }
  if (state != LinkState::open && !report_.has_said_bye) {
    // The viewer's bye may stand in the control channel behind the end of the data connection; or that it takes
    // another.
    const Feed* feed = feed_.get();
    handle_messages();
    if (feed_.get() != feed) {
      return;
    }
    if (!is_over_ && !may_bye_still_come(state)) {
      report_.ending = feed_->fault();
      is_over_ = true;
    }
  }
  if (const std::int64_t now_ns = monotonic_ns(); now_ns >= next_check_ns_) {
    next_check_ns_ = now_ns + ns_per_s / 2;
    if (tcp_peer_is_silent(authenticated_.channel->fd(), context_.terms.peer_timeout_ns)) {
      throw Error::lost_peer("the " + report_.taker + "'s host does not answer");
    }
  }
}

/// A viewer that closed its data connection says bye, or hangs up: on a connection of its own, where a packet that was
/// lost can make either come later.
bool SenderSession::may_bye_still_come(LinkState state) noexcept {
  if (state != LinkState::closed) {
    return false;
  }
  if (link_closed_ns_ == 0) {
    link_closed_ns_ = monotonic_ns();
  }
  return monotonic_ns() - link_closed_ns_ < context_.terms.peer_timeout_ns;
}

void SenderSession::wait() {
  constexpr std::int64_t longest_sleep_ns = ns_per_s / 2;
  MessageChannel& channel = *authenticated_.channel;
  if (channel.has_buffered()) {
    return;
  }
  const auto control_events = static_cast<short>(channel.wants_write() ? POLLIN | POLLOUT : POLLIN);
  std::array descriptors{pollfd{.fd = channel.fd(), .events = control_events, .revents = 0},
                         // A connection that has ended stays readable, and would let nobody sleep.
                         pollfd{.fd = link_closed_ns_ == 0 ? feed_->descriptor() : -1, .events = POLLIN, .revents = 0},
                         pollfd{.fd = wake_event_.get(), .events = POLLIN, .revents = 0}};
  const std::int64_t now_ns = monotonic_ns();
  const std::int64_t stop_at_ns = context_.stop_at_ns.load();
  const std::int64_t deadline_ns = now_ns + longest_sleep_ns;
  wait_until(descriptors, stop_at_ns > now_ns ? std::min(deadline_ns, stop_at_ns) : deadline_ns);
  if (descriptors[1].revents != 0) {
    feed_->on_readable();
  }
  if (descriptors[2].revents != 0) {
    clear_event(wake_event_.get());
  }
}

SessionReport SenderSession::make_report() {
  const std::uint64_t acknowledged = feed_->leave();
  report_.counts = feed_->counts();
  const std::uint64_t known_received = report_.has_said_bye ? viewer_received_ : acknowledged;
  report_.frames_received = std::min(known_received, report_.counts.frames_sent);
  report_.frames_lost = report_.counts.frames_sent - report_.frames_received;
  report_.frames_pulled = report_.pulls ? std::min(viewer_received_, stream_->frames_produced()) : 0;
  return report_;
}

}  // namespace framewire
