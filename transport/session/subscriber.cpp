#include "transport/session/subscriber.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/clock.hpp"
#include "base/wait.hpp"
#include "transport/session/endpoint.hpp"
#include "transport/session/messages.hpp"
#include "transport/session/subscriber_implementation.hpp"

namespace framewire {

Subscriber::Implementation::Implementation(SubscriberOptions options, Log& log)
    : options_(std::move(options)),
      program_(options_.program.empty() ? "framewire-view " FRAMEWIRE_VERSION : options_.program),
      log_(log),
      authenticate_(authentication_of(options_.endpoint)),
      client_service_(options_.client_role, options_.serve_client, program_) {
  preferences_ = {.stream = options_.stream,
                  .delivery = options_.delivery,
                  .allowed_links = usable_links(options_.endpoint),
                  .transport_is_auto = options_.endpoint.transport_is_auto,
                  .parameters = link_parameters_of(options_.endpoint)};
  preferences_.parameters.stop_check = [this] {
    const std::scoped_lock lock(mutex_);
    return stopping_;
  };
  preferences_.parameters.log = &log_;
  require_link_where_asked(options_.endpoint);
  if (options_.endpoint.dial) {
    report_waiting_for(format_host_port(*options_.endpoint.dial));
  } else {
    acceptor_ = std::make_unique<SessionAcceptor>(
        listening_of(options_.endpoint, authenticate_), link_listening_of(options_.endpoint), authenticate_,
        [this](SessionAcceptor&, AuthenticatedChannel authenticated) { take_incoming(std::move(authenticated)); },
        log_);
    report_waiting_for("a sender on " + acceptor_->describe());
  }
  thread_ = std::thread([this] { run(); });
}

// ---- The program's thread ----

std::optional<ReceivedFrame> Subscriber::Implementation::next() {
  const std::scoped_lock lock(mutex_);
  auto frame = flows_.next();
  if (frame) {
    spin_.found(frame->received_ns());
  }
  finish_if_done();
  return frame;
}

void Subscriber::Implementation::finish_if_done() {
  const auto end = flows_.end();
  if (!end || status_.state == SubscriberState::finished || status_.state == SubscriberState::failed) {
    return;
  }
  const bool is_well = end->fault.empty();
  frames_lost_ += end->frames_lost;
  status_.state = is_well ? SubscriberState::finished : SubscriberState::failed;
  status_.message = is_well ? "the stream ended" : end->fault;
  status_.exit_status = is_well ? ExitStatus::ok : ExitStatus::lost_peer;
  tell_program();
}

void Subscriber::Implementation::wait(std::int64_t deadline_ns, WaitMode mode) {
  if (spin_.poll_again(mode)) {
    spin_.pause(mode);
    return;
  }
  std::shared_ptr<ReceiverLink> link;
  {
    const std::scoped_lock lock(mutex_);
    link = flows_.link();
  }
  if (link && !link->arm()) {
    return;
  }
  std::array descriptors{pollfd{.fd = link ? link->descriptor() : -1, .events = POLLIN, .revents = 0},
                         pollfd{.fd = status_event_.get(), .events = POLLIN, .revents = 0},
                         pollfd{.fd = wake_event_.get(), .events = POLLIN, .revents = 0}};
  wait_until(descriptors, deadline_ns);
  for (const pollfd& event : std::span(descriptors).subspan(1)) {
    if (event.revents != 0) {
      clear_eventfd(event.fd);
    }
  }
}

SubscriberCounts Subscriber::Implementation::counts() const {
  const std::scoped_lock lock(mutex_);
  return {.frames_received = flows_.frames_received(),
          .bytes_received = flows_.bytes_received(),
          .frames_lost = frames_lost_.load(),
          .frames_skipped = flows_.frames_skipped(),
          .frames_discarded = flows_.frames_discarded(),
          .sessions = sessions_.load()};
}

void Subscriber::Implementation::close(const std::string& statistics_json) {
  {
    const std::scoped_lock lock(mutex_);
    if (stopping_) {
      return;
    }
    stopping_ = true;
    ::shutdown(handshake_fd_.get(), SHUT_RDWR);
    client_service_.end();
    if (has_session_ && !flows_.empty()) {
      flows_.send_bye(std::string(usual_viewer_reason), statistics_json);
    }
  }
  changed_.notify_all();
  signal_eventfd(thread_event_.get());
  signal_eventfd(stop_event_.get());
  if (acceptor_) {
    acceptor_->end_waits();
  }
  thread_.join();
  flows_.finish();
  acceptor_.reset();
}

// ---- The public interface ----

Subscriber::Subscriber(SubscriberOptions options, Log& log)
    : implementation_(std::make_unique<Implementation>(std::move(options), log)) {}
Subscriber::~Subscriber() = default;
std::optional<ReceivedFrame> Subscriber::next() {
  return implementation_->next();
}
void Subscriber::wait(std::int64_t deadline_ns, WaitMode mode) {
  implementation_->wait(deadline_ns, mode);
}
void Subscriber::confirm_epoch(std::uint64_t epochs_begun) noexcept {
  implementation_->confirm_epoch(epochs_begun);
}
void Subscriber::wake() noexcept {
  implementation_->wake();
}
SubscriberStatus Subscriber::status() const {
  return implementation_->status();
}
SubscriberCounts Subscriber::counts() const {
  return implementation_->counts();
}
std::uint16_t Subscriber::port() const noexcept {
  return implementation_->port();
}
std::uint64_t Subscriber::status_version() const noexcept {
  return implementation_->status_version();
}
Subscriber::ClockOffset Subscriber::clock_offset() const noexcept {
  return implementation_->clock_offset();
}
void Subscriber::close(const std::string& statistics_json) {
  implementation_->close(statistics_json);
}

}  // namespace framewire
