#include "transport/session/subscriber_implementation.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <new>
#include <span>
#include <string>
#include <utility>

#include "base/clock.hpp"
#include "base/failure_text.hpp"
#include "base/saturating.hpp"
#include "base/wait.hpp"
#include "memory/out_of_memory.hpp"
#include "transport/address.hpp"
#include "transport/session/endpoint.hpp"
#include "transport/session/handshake.hpp"
#include "transport/session/messages.hpp"
#include "transport/socket_state.hpp"

namespace framewire {

namespace {

constexpr std::int64_t between_dials_ns = 200 * ns_per_ms;
constexpr std::int64_t dial_timeout_ns = 3 * ns_per_s;  // for each attempt
constexpr std::int64_t longest_sleep_ns =
    100 * ns_per_ms;  // no event wakes it when a frame ends the link, and the end must be reported within 1 s

/// Reads for a few milliseconds at most, so that the control channel gets its turn. True: there may be more to read.
bool drive_for_a_while(ReceiverLink& link) noexcept {
  constexpr std::int64_t turn_ns = 5 * ns_per_ms;
  const std::int64_t until_ns = monotonic_ns() + turn_ns;
  bool may_have_more = true;
  while (may_have_more && monotonic_ns() < until_ns) {
    may_have_more = link.drive();
  }
  return may_have_more;
}

/// Reads what has arrived: less than so many reads, unless the peer goes on sending.
template <typename IsStopping>
void drive_to_the_end(ReceiverLink& link, const IsStopping& is_stopping) {
  constexpr int max_reads = 1024;
  for (int reads = 0; reads < max_reads && link.drive() && !is_stopping(); ++reads) {
  }
}

/// Counts a peer while it waits for its answer.
class UnansweredPeer {
 public:
  explicit UnansweredPeer(std::atomic<std::size_t>& all) noexcept : all_(all), count_(++all) {}
  ~UnansweredPeer() { --all_; }
  UnansweredPeer(const UnansweredPeer&) = delete;
  UnansweredPeer& operator=(const UnansweredPeer&) = delete;
  /// How many there were when this one came, with it.
  [[nodiscard]] std::size_t count() const noexcept { return count_; }

 private:
  std::atomic<std::size_t>& all_;
  std::size_t count_;
};

}  // namespace

Subscriber::Implementation::Implementation(SubscriberOptions options, Log& log)
    : options_(std::move(options)),
      program_(options_.program.empty() ? "framewire-view " FRAMEWIRE_VERSION : options_.program),
      log_(log),
      authenticate_(authentication_of(options_.endpoint)),
      client_service_(options_.client_role, options_.serve_client, program_) {
  preferences_ = {.stream = options_.stream,
                  .delivery = options_.delivery,
                  .allowed_links = usable_links(options_.endpoint),
                  .may_choose_link = options_.endpoint.may_choose_link,
                  .parameters = link_parameters_of(options_.endpoint),
                  .memory = options_.memory,
                  .takes_slices = options_.takes_slices};
  preferences_.parameters.stop_check = [this] {
    const std::scoped_lock lock(mutex_);
    return is_closing_;
  };
  preferences_.parameters.log = &log_;
  preferences_.on_rendering = [this](const RenderRequest& request) { outbox_.add_rendering(request); };
  if (options_.takes_messages) {
    preferences_.on_message = [this](std::string body) {
      outbox_.add_incoming(std::move(body));
      signal_eventfd(program_event_.get());
      if (options_.on_message) {
        options_.on_message();
      }
    };
  }
  require_link_where_asked(options_.endpoint);
  poller_ = make_poller({program_event_.get()});
  if (options_.finder || options_.endpoint.dial) {
    report_waiting_for(options_.finder ? options_.finder->whom : format_host_port(*options_.endpoint.dial));
  } else {
    acceptor_ = std::make_unique<SessionAcceptor>(
        listening_of(options_.endpoint, authenticate_), link_listening_of(options_.endpoint), authenticate_,
        [this](SessionAcceptor&, AuthenticatedChannel authenticated) { take_incoming(std::move(authenticated)); },
        log_);
    report_waiting_for("a sender on " + acceptor_->describe());
  }
  thread_ = std::thread([this] { run(); });
}

// ---- The thread "fw-subscriber": dials or listens, performs handshakes, serves the control channel, reconnects ----

void Subscriber::Implementation::run() noexcept {
  set_thread_name("fw-subscriber");
  no_session_since_ns_ = monotonic_ns();
  while (run_one_session() && wait_before_retry()) {
  }
}

/// Returns false when there will be no further session.
bool Subscriber::Implementation::run_one_session() noexcept {
  std::shared_ptr<ViewerSession> session;
  try {
    return run_one_session(session);
  } catch (const std::exception&) {
    fail_out_of_memory(session.get());
    return false;
  }
}

/// Throws std::bad_alloc when there is no memory for the message of an error.
bool Subscriber::Implementation::run_one_session(std::shared_ptr<ViewerSession>& session) {
  try {
    preferences_.avoided_links = link_fallback_.avoided();
    if (session = establish_session(); session && set_current_session(session)) {
      serve(*session);
    }
    return false;
  } catch (const LinkUnusable& error) {
    link_fallback_.set_unusable(error.link(), error.what());
    return handle_failure(error, session.get());
  } catch (const MemoryUnusable& error) {
    return handle_failure(give_up_memory(error), session.get());
  } catch (const Error& error) {
    return handle_failure(error, session.get());
  } catch (const std::bad_alloc& error) {
    return handle_failure(OutOfMemory(failure_text(error)), session.get());
  } catch (const std::exception& error) {  // out of threads: the next attempt may succeed
    return handle_failure(Error::failed(failure_text(error)), session.get());
  }
}

/// Closes the control channel at once, though the program may still take the session's last frames: a sender that dials
/// must learn that the session is over. Returns false when there will be no further session.
bool Subscriber::Implementation::handle_failure(const Error& error, ViewerSession* session) {
  if (session != nullptr) {
    drive_to_the_end(*session->link(), [this] { return is_stopping(); });  // what has arrived is the program's
  }
  std::string line;
  bool goes_on = false;
  {
    std::unique_lock lock(mutex_);
    await_bye(lock);
    handshake_fd_.reset();
    has_session_ = false;
    if (session != nullptr) {
      session->hang_up();
      flows_.drop_rejected();
      link_fallback_.session_was_lost(session->link()->kind(), flows_.frames_received() != frames_before_session_,
                                      error.what());
    }
    goes_on = !stopping_ && !give_up(error, session != nullptr, line);
  }
  if (!line.empty()) {
    log_.info(line);  // without the mutex: a log may ask this subscriber
  }
  return goes_on;
}

/// close() may be about to say bye to a session that ends just now, for instance because its ring is no longer wanted.
void Subscriber::Implementation::await_bye(std::unique_lock<std::mutex>& lock) {
  changed_.wait(lock, [this] { return !is_closing_ || stopping_; });
}

void Subscriber::Implementation::fail_out_of_memory(ViewerSession* session) noexcept {
  std::unique_lock lock(mutex_);
  await_bye(lock);
  handshake_fd_.reset();
  has_session_ = false;
  if (session != nullptr) {
    session->hang_up();
  }
  status_.state = SubscriberState::failed;
  status_.exit_status = ExitStatus::failed;
  status_.is_out_of_memory = true;
  status_.message = "out of memory";  // fits into the string itself
  status_.absence = PeerAbsence::none;
  tell_program();
}

std::shared_ptr<ViewerSession> Subscriber::Implementation::establish_session() {
  if (acceptor_) {
    return accept_session();
  }
  const HostPort to = options_.finder ? options_.finder->find({.fd = stop_event_.get()}) : *options_.endpoint.dial;
  connecting_since_ns_ = monotonic_ns();
  DialledSocket dialled = dial(to, connecting_since_ns_ + dial_timeout_ns, DialMode::any, {.fd = stop_event_.get()},
                               preferences_.parameters.type_of_service);
  if (!set_handshake_fd(dialled.fd.get())) {
    return nullptr;
  }
  const HostPort data_address = reached(dialled, to);
  AuthenticatedChannel authenticated =
      authenticate_dialler(std::move(dialled), with_deadline(authenticate_, give_up_ns()));
  options_.before_hello(*authenticated.channel);
  exchange_hellos(*authenticated.channel, "viewer", program_, {"sender"});
  return begin_session(std::move(authenticated), {.dial = &data_address});
}

/// The next sender's session. Serves clients that connect before it. Null when the subscriber stops.
std::shared_ptr<ViewerSession> Subscriber::Implementation::accept_session() {
  for (;;) {
    AuthenticatedChannel authenticated = await_incoming();
    if (!authenticated.channel || !set_handshake_fd(authenticated.channel->fd())) {
      return nullptr;
    }
    connecting_since_ns_ = monotonic_ns();
    if (client_service_.greet(authenticated, *acceptor_)) {
      return begin_session(std::move(authenticated), {.acceptor = acceptor_.get()});
    }
    set_handshake_fd(-1);
  }
}

std::shared_ptr<ViewerSession> Subscriber::Implementation::begin_session(AuthenticatedChannel authenticated,
                                                                         DataConnector data_connector) {
  flows_.release_lost(mutex_, [this] { signal_eventfd(program_event_.get()); });
  auto session = std::make_shared<ViewerSession>(std::move(authenticated), data_connector, preferences_);
  set_handshake_fd(-1);
  return session;
}

/// Sets the connection that close() shuts down; -1: none. Returns false when close() has already begun.
bool Subscriber::Implementation::set_handshake_fd(int fd) noexcept {
  const std::scoped_lock lock(mutex_);
  handshake_fd_ = fd < 0 ? FileDescriptor() : duplicate(fd);
  return !stopping_;
}

/// Returns no channel when the subscriber stops. Throws Error (lost_peer) when no sender connects within the time of
/// --retry.
AuthenticatedChannel Subscriber::Implementation::await_incoming() {
  std::unique_lock lock(mutex_);
  const auto has_news = [&] { return stopping_ || incoming_; };
  if (options_.retry_ns >= 0) {
    changed_.wait_for(lock, std::chrono::nanoseconds(options_.retry_ns), has_news);
  } else {
    changed_.wait(lock, has_news);
  }
  if (stopping_) {
    return {};
  }
  if (!incoming_) {
    throw Error::lost_peer("no sender came");
  }
  return *std::exchange(incoming_, std::nullopt);
}

/// Runs on the acceptor's thread for this connection. Throws Error (lost_peer) when too many peers are here.
void Subscriber::Implementation::take_incoming(AuthenticatedChannel authenticated) {
  const UnansweredPeer peer(unanswered_peers_);
  if (peer.count() > max_unanswered_peers) {
    throw Error::lost_peer(std::to_string(max_unanswered_peers) + " peers wait for an answer already");
  }
  const bool is_busy = !client_service_.is_free_soon();
  {
    const std::scoped_lock lock(mutex_);
    if (stopping_ || status_.state == SubscriberState::finished) {
      return;  // the dialler tries again, and reaches the next listener at this address
    }
    if (!has_session_ && !incoming_ && !is_busy) {
      incoming_ = std::move(authenticated);
      changed_.notify_all();
      return;
    }
  }
  refuse(*authenticated.channel, is_busy ? "this end is busy with another peer" : "this end has a sender already");
}

/// Returns false when the subscriber stops: close() has found no session that it could say bye to.
bool Subscriber::Implementation::set_current_session(const std::shared_ptr<ViewerSession>& session) {
  // Closes a connection that arrived during this handshake; its dialler tries again.
  std::optional<AuthenticatedChannel> too_late;
  std::shared_ptr<ViewerSession> surplus;
  {
    const std::scoped_lock lock(mutex_);
    if (is_closing_) {
      session->hang_up();
      return false;
    }
    surplus = flows_.drop_surplus();
    status_.session_number = flows_.add(session);
    outbox_.begin(session, status_.session_number);  // before the program learns of the session
    frames_before_session_ = flows_.frames_received();
    has_session_ = true;
    ++sessions_;
    keep_clock(session->clock());
    status_.state = SubscriberState::connected;
    status_.message = "connected to " + session->peer();
    status_.absence = PeerAbsence::none;
    status_.start_line = session->start_line();
    status_.transport = name(session->link()->kind());
    status_.memory = session->link()->memory().name();
    status_.memory_access = session->memory_access();
    status_.delivery = session->delivery();
    status_.stream_names = session->stream_names();
    status_.source_file = session->source_file();
    status_.cadence_refusal.clear();
    status_.input_refusal.clear();
    status_.message_refusal.clear();
    cadence_request_.reset();
    status_.render_refusal = {};
    status_.render_refusals = 0;
    status_.connecting_since_ns = connecting_since_ns_;
    tell_program();
    too_late.swap(incoming_);
  }
  return true;
}

void Subscriber::Implementation::serve(ViewerSession& session) {
  ServedEpoch epoch;
  while (!session.has_bye()) {
    clear_eventfd(thread_event_.get());
    handle_messages(session);
    if (is_stopping()) {
      return;
    }
    publish_news(session, epoch);
    keep_clock(session.clock());
    if (!options_.confirms_epochs || confirmed_epoch_.load() == epoch.epochs_begun) {
      session.announce_ready();
    }
    try {
      if (!session.has_bye()) {
        send_cadence(session);
        session.keep_comparing_clocks(monotonic_ns());
        outbox_.flush();
      }
      session.check_peer();
      await_news(session);
    } catch (const Error&) {
      handle_messages(session);  // a bye may have arrived just before the end
      if (!session.has_bye()) {
        throw;
      }
    }
  }
  publish_news(session, epoch);
  await_close_after_bye(session);
}

void Subscriber::Implementation::keep_clock(const ClockEstimate& clock) noexcept {
  const std::scoped_lock lock(clock_mutex_);
  clock_ = clock;
}

Subscriber::ClockOffset Subscriber::Implementation::clock_offset() const noexcept {
  const std::scoped_lock lock(clock_mutex_);
  return {.offset_ns = clock_.offset_ns, .uncertainty_ns = clock_.uncertainty_at(monotonic_ns())};
}

void Subscriber::Implementation::ask_cadence(const CadenceRequest& request) noexcept {
  {
    const std::scoped_lock lock(mutex_);
    if (!has_session_) {
      return;
    }
    const std::int64_t unsent_ns = cadence_request_ ? cadence_request_->shift_ns : 0;
    cadence_request_ =
        CadenceRequest{.period_ns = request.period_ns, .shift_ns = saturating_add(unsent_ns, request.shift_ns)};
  }
  signal_eventfd(thread_event_.get());
}

void Subscriber::Implementation::send_cadence(ViewerSession& session) {
  std::optional<CadenceRequest> request;
  {
    const std::scoped_lock lock(mutex_);
    request = std::exchange(cadence_request_, std::nullopt);
  }
  if (request) {
    session.ask_cadence(*request);
  }
}

void Subscriber::Implementation::publish_news(const ViewerSession& session, ServedEpoch& epoch) {
  const std::scoped_lock lock(mutex_);
  if (session.epoch() != epoch.number) {
    epoch.number = session.epoch();
    status_.format = session.format();
    status_.format_epoch = epoch.number;
    status_.format_session = status_.session_number;
    status_.ring_slots = session.ring_slots();
    status_.memory_access = session.memory_access();
    epoch.epochs_begun = ++status_.epochs_begun;
    tell_program();
  }
  if (status_.cadence_refusal != session.cadence_refusal() || status_.input_refusal != session.input_refusal() ||
      status_.message_refusal != session.message_refusal()) {
    status_.cadence_refusal = session.cadence_refusal();
    status_.input_refusal = session.input_refusal();
    status_.message_refusal = session.message_refusal();
    tell_program();
  }
  if (status_.render_refusals != session.render_refusals()) {
    status_.render_refusals = session.render_refusals();
    status_.render_refusal = session.render_refusal();
    tell_program();
  }
  if (session.has_bye()) {
    signal_eventfd(program_event_.get());
  }
}

/// Reads frames, if that is for this thread to do, until there is something else to do, at most for a while. Then
/// maintains the link, also if the program reads it: the program may be busy.
void Subscriber::Implementation::await_news(const ViewerSession& session) {
  ReceiverLink& link = *session.link();
  const bool drives = options_.driver == Driver::subscriber;
  const std::int64_t deadline_ns = monotonic_ns() + (session.has_buffered() ? 0 : longest_sleep_ns);
  const auto control_events = static_cast<short>(POLLIN | (session.wants_write() ? POLLOUT : 0));
  std::array descriptors{
      pollfd{.fd = session.has_bye() ? -1 : session.descriptor(), .events = control_events, .revents = 0},
      pollfd{.fd = thread_event_.get(), .events = POLLIN, .revents = 0},
      pollfd{.fd = drives ? link.wire_descriptor() : -1, .events = POLLIN, .revents = 0},
      pollfd{.fd = link.maintenance_descriptor(), .events = POLLIN, .revents = 0}};
  const bool has_wire = descriptors[2].fd >= 0;
  do {
    const bool may_have_more = has_wire && drive_for_a_while(link);
    if (has_wire && link.wire_descriptor() < 0) {
      return;  // the link has ended
    }
    wait_until(descriptors, may_have_more ? 0 : deadline_ns);
  } while (descriptors[0].revents == 0 && descriptors[1].revents == 0 && descriptors[3].revents == 0 &&
           monotonic_ns() < deadline_ns);
  link.maintain();
}

/// A sender may close the connection directly after its bye; that is not an error.
void Subscriber::Implementation::handle_messages(ViewerSession& session) {
  try {
    session.handle_messages();
  } catch (const Error&) {
    if (!session.has_bye()) {
      throw;
    }
  }
}

bool Subscriber::Implementation::wait_before_retry() {
  std::unique_lock lock(mutex_);
  return !changed_.wait_for(lock, std::chrono::nanoseconds(between_dials_ns), [&] { return stopping_; });
}

void Subscriber::Implementation::report_waiting_for(const std::string& whom) {
  const std::scoped_lock lock(mutex_);
  status_.state = SubscriberState::waiting;
  status_.message = "waiting for " + whom;
  status_.absence = PeerAbsence::to_come;
  tell_program();
}

}  // namespace framewire
