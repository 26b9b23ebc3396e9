#include "transport/session/sender_session.hpp"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/failure_text.hpp"
#include "base/text.hpp"
#include "base/wait.hpp"
#include "transport/session/handshake.hpp"
#include "transport/session/input_messages.hpp"
#include "transport/session/render_messages.hpp"
#include "transport/socket_state.hpp"

namespace framewire {

namespace {

/// How often the link is maintained and the kernel asked whether the viewer's host still answers. Together with an RDMA
/// device's own timeout, half of --timeout, this detects a silent viewer within a second.
constexpr std::int64_t check_interval_ns = 200 * ns_per_ms;

std::string no_room_message(const StreamOptions& options) {
  if (options.max_viewers == 1 && options.receiver_label != "viewer") {
    return "the sender has its " + options.receiver_label + " already";
  }
  return "the sender has its " + std::to_string(options.max_viewers) +
         (options.max_viewers == 1 ? " viewer" : " viewers") + " already; start it with a larger --viewers";
}

}  // namespace

SenderSession::SenderSession(SenderContext& context, AuthenticatedChannel authenticated, DataConnector data_connector)
    : context_(context),
      authenticated_(std::move(authenticated)),
      wake_event_(make_shared_event()),
      negotiation_(context_, authenticated_, data_connector, wake_event_) {}

SenderSession::~SenderSession() {
  if (stream_ != nullptr) {
    forget_viewer();
  }
}

/// Lets go of what this viewer asked of the source.
void SenderSession::forget_viewer() noexcept {
  stream_->cadence().forget(this);
  stream_->renders().forget(this);
  stream_->inbox().leave(this);
}

SessionReport SenderSession::run() {
  join(negotiation_.negotiate());
  try {
    serve();
  } catch (const Error& error) {
    if (!has_final_message()) {
      report_.ending = error.what();
      report_.was_refused = error.status() == ExitStatus::refused;
      report_error(error);
    }
  } catch (const std::exception& error) {  // no memory: the viewer may come back
    report_.ending = "the session failed: " + std::string(failure_text(error));
  }
  return make_report();
}

/// Looks for the viewer's bye after our own could not be sent. A viewer that needs no more frames says bye and closes
/// the connection; its bye is still in the channel then.
bool SenderSession::has_final_message() noexcept {
  if (is_over_) {
    return true;  // it was read just before that
  }
  try {
    authenticated_.channel->receive_arrived([this](const nlohmann::json& message) {
      if (message_type(message) == "bye") {
        handle(message);
      }
      return !is_over_;
    });
  } catch (const std::exception&) {
    return false;
  }
  return is_over_;
}

/// Tells the viewer about an error that would occur again, so that it does not reconnect.
void SenderSession::report_error(const Error& error) noexcept {
  try {
    if (error.status() == ExitStatus::failed) {
      authenticated_.channel->send(refusal(error.what()), monotonic_ns() + ns_per_s);
    }
  } catch (const std::exception&) {
    // The viewer is gone.
  }
}

void SenderSession::join(NegotiatedSession agreed) {
  const ChooseMessage& choice = agreed.choice;
  // Before the stream counts the viewer: an interruption must not take one that counts for a handshake.
  has_joined_ = true;
  if (!agreed.subscription->join(subscription_.get())) {
    has_joined_ = subscription_ != nullptr;
    refuse(*authenticated_.channel, choice.pulls ? "the sender has as many viewers that pull as it takes already"
                                                 : no_room_message(agreed.stream->options()));
  }
  if (subscription_) {
    subscription_->leave();
  }
  subscription_ = std::move(agreed.subscription);
  if (stream_ != nullptr && stream_ != agreed.stream) {
    forget_viewer();
  }
  if (stream_ != agreed.stream) {
    agreed.stream->inbox().join(this, wake_event_);
  }
  stream_ = agreed.stream;
  early_messages_ = std::move(agreed.early);
  may_have_messages_ = true;
  watch_peer(authenticated_.channel->fd(), context_.parameters.peer_timeout_ns);
  report_.viewer = authenticated_.channel->peer();
  report_.stream = stream_->options().name;
  link_kind_ = choice.link;
  report_.transport = name(link_kind_);
  report_.memory = subscription_->memory();
  report_.memory_access = subscription_->link().access_to(*stream_->options().memory);
  report_.pulls = choice.pulls;
  report_.receiver_label = stream_->options().receiver_label;
  report_.logs_end = stream_->options().logs_session_ends;
  const auto format = stream_->format();
  context_.log->info(context_.label_of(report_.viewer, stream_->options()) + ": " +
                     start_line(choice.link, report_.memory, authenticated_.auth, authenticated_.control,
                                choice.encrypt, format ? describe(*format) : std::string()) +
                     (choice.pulls ? " mode=pull" : "") +
                     (choice.pulls && report_.memory_access.is_by_copies() ? "" : report_.memory_access.note()));
}

/// Changes the link after one side could not use the current one and the viewer chose another. The first subscription
/// keeps its place until the second can take it. If no other one can be made, leaving ends the session.
void SenderSession::change_link(std::unique_ptr<nlohmann::json> answer) {
  join(negotiation_.handle_choice(std::move(answer)));
  link_closed_ns_ = 0;
  signal_eventfd(wake_event_->get());  // a message may be waiting, and an epoch must be announced
}

/// Gives up a link that this side cannot use, for example when the pool is too large to register for RDMA. Tells the
/// viewer, which may choose another link.
void SenderSession::give_up_link(const Error& error) {
  MessageChannel& channel = *authenticated_.channel;
  channel.send(no_link(error.what()), monotonic_ns() + ns_per_s);
  const Error ending = Error::lost_peer("no " + std::string(name(link_kind_)) + ": " + error.what());
  if (has_begun_) {
    throw ending;
  }
  negotiation_.log_link_failure(*stream_, report_.transport, error.what());
  const std::int64_t deadline_ns = monotonic_ns() + handshake_timeout_ns;
  nlohmann::json answer;
  try {
    do {
      answer = receive_in_step(channel, deadline_ns);
      if (message_type(answer) == "bye") {
        return handle(answer);
      }
    } while (message_type(answer) != "choose" && message_type(answer) != "refused");
  } catch (const Error&) {
    throw ending;  // the viewer has left because of this
  }
  change_link(std::make_unique<nlohmann::json>(std::move(answer)));
}

void SenderSession::serve() {
  while (!is_over_) {
    if (may_have_messages_) {
      handle_messages();
    }
    send_program_messages();
    announce_epoch();
    announce_renders();
    next_progress_ns_ = subscription_->make_progress();
    send_bye_when_drained();
    check_peer();
    if (!is_over_) {
      wait();
    }
  }
}

void SenderSession::handle_messages() {
  authenticated_.channel->flush();
  for (const nlohmann::json& early : std::exchange(early_messages_, {})) {
    handle(early);
  }
  // Stop reading while replies are unsent: a viewer that sends requests must also read the replies.
  const auto reads_on = [this] { return !is_over_ && !authenticated_.channel->has_backlog(); };
  if (reads_on()) {
    authenticated_.channel->receive_arrived([&](const nlohmann::json& message) {
      handle(message);
      return reads_on();
    });
  }
}

void SenderSession::handle(const nlohmann::json& message) {
  throw_if_refused(message);
  const std::string type = message_type(message);
  if (type == "ready") {
    subscription_->take_ready(read_ready(message));
    has_begun_ = true;
  } else if (type == "clock") {
    ClockMessage clock = read_clock(message);
    clock.sender_ns = monotonic_ns();
    authenticated_.channel->post(to_json(clock));
  } else if (type == "cadence") {
    if (const std::string refusal = stream_->cadence().ask(this, read_cadence(message), monotonic_ns());
        !refusal.empty()) {
      authenticated_.channel->post(no_cadence(refusal));
    }
  } else if (type == "render") {
    if (const auto refusal = stream_->renders().ask(this, read_render_request(message))) {
      authenticated_.channel->post(no_render(*refusal));
    }
  } else if (type == "revoke") {
    stream_->renders().revoke(this, read_revoke(message));
  } else if (type == "release_camera") {
    stream_->renders().forget(this);
  } else if (type == "input") {
    take_input(read_input(message));
  } else if (type == "message") {
    tell_message_refusal(stream_->inbox().give_message(this, read_program_message(message)));
  } else if (type == "bye") {
    const ByeMessage bye = read_bye(message);
    viewer_received_ = bye.frames_received;
    report_.bye_received = true;
    report_.viewer_statistics = bye.statistics;
    report_.ending = "the stream ended";
    if (!bye_sent_) {
      report_.ending = "the " + report_.receiver_label + " left" +
                       (bye.reason == usual_viewer_reason ? "" : ": " + quote(bye.reason));
    }
    is_over_ = true;
  } else if (type == "choose") {
    if (has_begun_) {
      throw Error::lost_peer("the " + report_.receiver_label + " could not use the link after all");
    }
    negotiation_.log_link_failure(
        *stream_, report_.transport,
        "the " + report_.receiver_label + " says: " + printable(read_choose(message).why, 1000));
    change_link(std::make_unique<nlohmann::json>(message));
  }
  // Ignore other types: a newer viewer may send them.
}

/// A viewer is told once why its input or its messages are refused, and when that changes.
void SenderSession::take_input(const InputBatch& batch) {
  tell_input_refusal(stream_->inbox().give_input(this, batch));
}

void SenderSession::tell_input_refusal(std::string refusal) {
  tell_refusal(std::move(refusal), input_refusal_, no_input);
}

void SenderSession::tell_message_refusal(std::string refusal) {
  tell_refusal(std::move(refusal), message_refusal_, no_message);
}

void SenderSession::tell_refusal(std::string refusal, std::string& told,
                                 nlohmann::json (*message_of)(const std::string&)) {
  if (refusal != told) {
    authenticated_.channel->post(message_of(refusal));
    told = std::move(refusal);
  }
}

void SenderSession::send_program_messages() {
  if (!has_begun_) {
    return;  // the viewer is still in its handshake, and may expect another message
  }
  SourceInbox& inbox = stream_->inbox();
  if (!input_refusal_.empty() && !bye_sent_) {
    tell_input_refusal(inbox.input_refusal(this));
  }
  if (!message_refusal_.empty() && !bye_sent_) {
    tell_message_refusal(inbox.message_refusal());
  }
  while (!bye_sent_ && !authenticated_.channel->has_backlog()) {
    const auto body = inbox.next_outgoing(this);
    if (!body) {
      return;
    }
    authenticated_.channel->post(program_message(*body));
  }
}

void SenderSession::announce_epoch() {
  try {
    if (const auto epoch = subscription_->epoch_to_announce()) {
      authenticated_.channel->post(to_json(*epoch));
      report_.memory_access = subscription_->link().access_to(*stream_->options().memory);
    }
  } catch (const Error& error) {
    if (!traits(link_kind_).may_prove_unusable || error.status() != ExitStatus::failed) {
      throw;
    }
    give_up_link(error);
  }
}

/// Tells the viewer what is rendered for any of them. One that reads its messages late misses some.
void SenderSession::announce_renders() {
  if (!has_begun_ || stream_->renders().taken() == announced_renders_) {
    return;
  }
  for (const RenderRequest& request : stream_->renders().taken_after(announced_renders_)) {
    if (!authenticated_.channel->has_backlog()) {
      authenticated_.channel->post(rendering(request));
    }
  }
}

void SenderSession::send_bye_when_drained() {
  const bool out_of_time = monotonic_ns() >= context_.stop_at_ns.load();
  if (!bye_sent_ && (subscription_->is_drained() || out_of_time)) {
    bye_sent_ = true;
    authenticated_.channel->post(to_json(ByeMessage{
        .reason = "the stream ended", .frames_sent = subscription_->conclude().frames_sent, .statistics = {}}));
  } else if (out_of_time) {
    was_late_ = true;
    is_over_ = true;
  }
}

void SenderSession::check_peer() {
  const std::int64_t now_ns = monotonic_ns();
  const bool is_time = now_ns >= next_check_ns_;
  if (is_time) {
    next_check_ns_ = now_ns + check_interval_ns;
    subscription_->link().maintain();
    warn_of_unfilled_frames();
  }
  const LinkState state = subscription_->link().state();
  if (state == LinkState::source_failed) {
    throw Error::failed(subscription_->link().fault());
  }
  if (state != LinkState::open && !report_.bye_received) {
    // The control channel may hold the viewer's bye, or its choice of another link.
    const Subscription* subscription = subscription_.get();
    handle_messages();
    if (subscription_.get() != subscription) {
      return;
    }
    if (!is_over_ && !bye_may_arrive(state)) {
      report_.ending = subscription_->link().fault();
      is_over_ = true;
    }
  }
  if (is_time && tcp_peer_is_silent(authenticated_.channel->fd(), context_.parameters.peer_timeout_ns)) {
    throw Error::lost_peer("the " + report_.receiver_label + "'s host does not answer");
  }
}

void SenderSession::warn_of_unfilled_frames() {
  if (has_warned_ || subscription_->counts().frames_unfilled == 0 || stream_->options().memory->failure()) {
    return;
  }
  has_warned_ = true;
  context_.log->warning(context_.label_of(report_.viewer, stream_->options()) +
                        ": a frame was skipped or broken off, because the device of " + quote(report_.stream) +
                        " failed, or did not fill it within " + std::to_string(Stream::ready_timeout_ns / ns_per_s) +
                        " s; look for the cause in the kernel's log (dmesg)");
}

/// A viewer that closed its data connection says bye or closes the control connection, too. That is a separate
/// connection, and packet loss can delay it.
bool SenderSession::bye_may_arrive(LinkState state) noexcept {
  if (state != LinkState::closed) {
    return false;
  }
  if (link_closed_ns_ == 0) {
    link_closed_ns_ = monotonic_ns();
  }
  return monotonic_ns() - link_closed_ns_ < context_.parameters.peer_timeout_ns;
}

void SenderSession::wait() {
  MessageChannel& channel = *authenticated_.channel;
  const bool has_backlog = channel.has_backlog();
  may_have_messages_ = channel.has_buffered() && !has_backlog;
  if (may_have_messages_) {
    return;
  }
  const auto control_events = static_cast<short>((has_backlog ? 0 : POLLIN) | (channel.wants_write() ? POLLOUT : 0));
  std::array descriptors{
      pollfd{.fd = channel.fd(), .events = control_events, .revents = 0},
      // A closed connection stays readable, so polling it would spin.
      pollfd{.fd = link_closed_ns_ == 0 ? subscription_->descriptor() : -1, .events = POLLIN, .revents = 0},
      pollfd{.fd = wake_event_->get(), .events = POLLIN, .revents = 0},
      pollfd{.fd = subscription_->link().maintenance_descriptor(), .events = POLLIN, .revents = 0}};
  const std::int64_t stop_at_ns = context_.stop_at_ns.load();
  const std::int64_t due_ns = std::min(next_check_ns_, next_progress_ns_);
  wait_until(descriptors, stop_at_ns > monotonic_ns() ? std::min(due_ns, stop_at_ns) : due_ns);
  may_have_messages_ = descriptors[0].revents != 0;
  if (descriptors[1].revents != 0) {
    subscription_->on_readable();
  }
  if (descriptors[2].revents != 0) {
    clear_eventfd(wake_event_->get());
  }
  if (descriptors[3].revents != 0) {
    next_check_ns_ = 0;
  }
}

SessionReport SenderSession::make_report() {
  const std::uint64_t acknowledged = subscription_->leave();
  warn_of_unfilled_frames();
  report_.counts = subscription_->counts();
  const std::uint64_t known_received = report_.bye_received ? viewer_received_ : acknowledged;
  report_.frames_received = std::min(known_received, report_.counts.frames_sent);
  report_.frames_lost = report_.counts.frames_sent - report_.frames_received;
  if (was_late_) {
    report_.ending = "the " + report_.receiver_label +
                     (report_.frames_lost > 0 ? " did not take the last frames in time"
                                              : " took all frames, but did not say goodbye in time");
  }
  report_.frames_pulled = report_.pulls ? std::min(viewer_received_, stream_->frames_produced()) : 0;
  return report_;
}

}  // namespace framewire
