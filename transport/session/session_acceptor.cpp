#include "transport/session/session_acceptor.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <system_error>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/failure_text.hpp"
#include "base/wait.hpp"
#include "transport/control/data_hello.hpp"
#include "transport/links.hpp"

namespace framewire {

namespace {

constexpr std::int64_t pause_ns = 50 * ns_per_ms;  // when no connection can be accepted

/// The text of an error that may begin with the peer's address, for a line that has it already.
std::string_view without_address(std::string_view text, const std::string& address) {
  for (const std::string& beginning : {"refused " + address + ": ", address + ": "}) {
    if (text.starts_with(beginning)) {
      return text.substr(beginning.size());
    }
  }
  return text;
}

}  // namespace

SessionAcceptor::SessionAcceptor(const ListenOptions& listen, std::span<const LinkListening> links,
                                 AuthenticateOptions authenticate, OnSession on_session, Log& log)
    : listener_(listen),
      authenticate_(std::move(authenticate)),
      on_session_(std::move(on_session)),
      log_(log),
      stop_event_(make_eventfd()) {
  for (const LinkListening& wanted : links) {
    listen_for(wanted, listen.native_listen_address);
  }
  thread_ = std::thread([this] { accept_loop(); });
}

SessionAcceptor::~SessionAcceptor() {
  own_listeners_.clear();
  signal_eventfd(stop_event_.get());
  thread_.join();
  {
    // Connections that are still being identified would delay this until their deadline.
    const std::scoped_lock lock(mutex_);
    for (const auto& pending : pending_) {
      pending->was_closed_at_shutdown = pending->unidentified_fd.valid();
      ::shutdown(pending->unidentified_fd.get(), SHUT_RDWR);
    }
  }
  for (const auto& pending : pending_) {
    pending->thread.join();
  }
}

Token SessionAcceptor::issue(const DataConnectionId& connection) {
  return tokens_.issue(connection, monotonic_ns());
}

std::optional<IncomingDataConnection> SessionAcceptor::await_data(const DataConnectionId& connection,
                                                                  std::int64_t deadline_ns) {
  std::unique_lock lock(mutex_);
  const auto deadline = as_time_point(deadline_ns);
  auto found = authenticated_data_.end();
  connection_authenticated_.wait_until(lock, deadline, [&] {
    found = std::ranges::find(authenticated_data_, connection, &AuthenticatedDataConnection::connection);
    return found != authenticated_data_.end() || waits_ended_;
  });
  if (found != authenticated_data_.end()) {
    std::optional<IncomingDataConnection> incoming(std::move(found->incoming));
    authenticated_data_.erase(found);
    return incoming;
  }
  if (waits_ended_) {
    tokens_.forget(connection.session);
    throw Error::lost_peer("this end stopped before the peer opened its data connection");
  }
  return std::nullopt;
}

void SessionAcceptor::watch(const DataConnectionId& connection, SharedEvent event) {
  const std::scoped_lock lock(mutex_);
  watchers_.push_back({connection, std::move(event)});
}

void SessionAcceptor::forget(const DataConnectionId& connection) noexcept {
  tokens_.forget(connection.session);
  const std::scoped_lock lock(mutex_);
  std::erase_if(watchers_, [&](const Watcher& one) { return one.connection == connection; });
  std::erase_if(authenticated_data_,
                [&](const AuthenticatedDataConnection& one) { return one.connection == connection; });
}

void SessionAcceptor::end_waits() noexcept {
  EventList events;
  const std::scoped_lock lock(mutex_);
  waits_ended_ = true;
  for (const Watcher& one : watchers_) {
    events.add(one.event);
  }
  connection_authenticated_.notify_all();
}

void SessionAcceptor::accept_loop() noexcept {
  set_thread_name("fw-accept");
  for (bool goes_on = true; goes_on;) {
    try {
      goes_on = wait_and_accept();
    } catch (const std::exception&) {
      // Out of memory for one connection: it is closed, and the next one may succeed.
      wait_for(stop_event_.get(), POLLIN, monotonic_ns() + pause_ns);
    }
  }
}

/// Returns false when the acceptor closes.
bool SessionAcceptor::wait_and_accept() {
  std::vector<pollfd> descriptors{{.fd = stop_event_.get(), .events = POLLIN, .revents = 0},
                                  {.fd = news_event_.get(), .events = POLLIN, .revents = 0}};
  const bool has_room = unidentified_.load() < max_unidentified;
  if (has_room) {
    const auto listening = listener_.descriptors();
    descriptors.insert(descriptors.end(), listening.begin(), listening.end());
  } else {
    evict_oldest();
  }
  wait_until(descriptors, has_room ? next_expiry_ns() : monotonic_ns() + pause_ns);
  if (descriptors.front().revents != 0) {
    return false;
  }
  clear_eventfd(news_event_.get());
  accept_all();
  if (const int fault = listener_.accept_fault(); fault != 0) {
    warn("cannot accept a connection: " + errno_text(fault));
    // Out of descriptors: the listening socket stays readable, so pause instead of spinning.
    wait_for(stop_event_.get(), POLLIN, monotonic_ns() + pause_ns);
  }
  reap();
  drop_expired();
  return true;
}

void SessionAcceptor::accept_all() {
  while (unidentified_.load() < max_unidentified) {
    auto accepted = listener_.accept();
    if (!accepted) {
      return;
    }
    start_connection(std::move(*accepted));
  }
}

/// Makes room when many unauthenticated peers block the queue. A valid peer is identified after a few round trips.
void SessionAcceptor::evict_oldest() noexcept {
  constexpr std::int64_t grace_ns = ns_per_s;
  const std::int64_t now_ns = monotonic_ns();
  const std::scoped_lock lock(mutex_);
  for (const auto& pending : pending_) {
    if (pending->unidentified_fd.valid() && now_ns - pending->since_ns > grace_ns) {
      ::shutdown(pending->unidentified_fd.get(), SHUT_RDWR);
    }
  }
}

void SessionAcceptor::start_connection(AcceptedSocket accepted) {
  FileDescriptor unidentified_fd = duplicate(accepted.fd.get());
  const int error_number = errno;
  if (!unidentified_fd.valid()) {
    // Without a second descriptor a silent peer could not be closed, and the session would lack descriptors, too. The
    // peer may try again.
    warn("closed a connection from " + accepted.address + ": " + errno_text(error_number));
    return;
  }
  auto shared = std::make_shared<AcceptedSocket>(std::move(accepted));
  PendingConnection& place = *pending_.emplace_back(std::make_unique<PendingConnection>());
  place.since_ns = monotonic_ns();
  place.unidentified_fd = std::move(unidentified_fd);
  ++unidentified_;
  try {
    place.thread = std::thread([this, &place, shared] { serve(place, *shared); });
  } catch (const std::exception&) {  // out of threads or memory
    --unidentified_;
    pending_.pop_back();
    warn("closed a connection from " + shared->address + ": this machine starts no more threads");
  }
}

/// The connection's thread.
void SessionAcceptor::serve(PendingConnection& pending, AcceptedSocket& accepted) noexcept {
  set_thread_name("fw-session");
  try {
    const std::string address = accepted.address;
    try {
      identify_and_serve(pending, std::move(accepted));
    } catch (const std::exception& error) {
      // No warning at shutdown: the peer tries again and reaches the next acceptor at this address.
      if (!was_closed_at_shutdown(pending)) {
        warn("refused a connection from " + address + ": " +
             std::string(without_address(failure_text(error), address)));
      }
    }
  } catch (const std::exception&) {
    // Out of memory for the message.
  }
  set_identified(pending);
  pending.is_done = true;
  signal_eventfd(news_event_.get());
}

void SessionAcceptor::identify_and_serve(PendingConnection& pending, AcceptedSocket accepted) {
  // One deadline for identification and authentication together.
  const std::int64_t deadline_ns = monotonic_ns() + authenticate_.timeout_ns;
  switch (identify(accepted.fd.get(), deadline_ns)) {
    case ConnectionKind::plain_control:
    case ConnectionKind::tls:
    case ConnectionKind::other_version: {
      AuthenticateOptions options = authenticate_;
      options.timeout_ns = deadline_ns - monotonic_ns();
      AuthenticatedChannel authenticated = authenticate_listener(std::move(accepted), options);
      set_identified(pending);
      on_session_(*this, std::move(authenticated));
      return;
    }
    case ConnectionKind::data:
      receive_data_hello(std::move(accepted), deadline_ns);
      return;
    case ConnectionKind::unrecognized:
      log_.detail("closed a connection from " + accepted.address + " that is not framewire");
      return;
    case ConnectionKind::silent:
      log_.detail("closed a connection from " + accepted.address + " that said nothing");
      return;
  }
}

/// Removes the connection from the count of unidentified ones.
void SessionAcceptor::set_identified(PendingConnection& pending) noexcept {
  const std::scoped_lock lock(mutex_);
  if (pending.unidentified_fd.valid()) {
    pending.unidentified_fd.reset();
    --unidentified_;
  }
}

bool SessionAcceptor::was_closed_at_shutdown(const PendingConnection& pending) noexcept {
  const std::scoped_lock lock(mutex_);
  return pending.was_closed_at_shutdown;
}

/// Logs at most one warning per second, so that repeated attempts of an unauthenticated peer cannot fill the log.
void SessionAcceptor::warn(const std::string& text) {
  std::uint64_t suppressed = 0;
  {
    const std::scoped_lock lock(mutex_);
    const std::int64_t now_ns = monotonic_ns();
    if (now_ns < warnings_suppressed_until_ns_) {
      ++suppressed_warnings_;
      return;
    }
    warnings_suppressed_until_ns_ = now_ns + ns_per_s;
    suppressed = std::exchange(suppressed_warnings_, 0);
  }
  log_.warning(text + (suppressed == 0 ? std::string() : " (and " + std::to_string(suppressed) + " more)"));
}

void SessionAcceptor::receive_data_hello(AcceptedSocket accepted, std::int64_t deadline_ns) {
  try {
    const DataHello hello = read_data_hello(accepted.fd.get(), deadline_ns);
    // Connections of a link with a listener of its own do not arrive at this socket.
    const auto token =
        traits(hello.connection.link).has_own_listener ? std::nullopt : tokens_.redeem(hello, monotonic_ns());
    if (!token) {
      warn("closed a data connection from " + accepted.address + " that belongs to no session");
      return;
    }
    send_data_answer(accepted.fd.get(), *token, hello.connection, deadline_ns);
    store_authenticated(hello.connection, std::move(accepted.fd));
  } catch (const Error& error) {
    log_.detail("closed a data connection from " + accepted.address + ": " + error.what());
  }
}

void SessionAcceptor::store_authenticated(const DataConnectionId& connection, IncomingDataConnection incoming) {
  EventList events;
  {
    const std::scoped_lock lock(mutex_);
    authenticated_data_.push_back({connection, std::move(incoming), monotonic_ns() + authenticated_lifetime_ns});
    for (const Watcher& one : watchers_) {
      if (one.connection == connection) {
        events.add(one.event);
      }
    }
    connection_authenticated_.notify_all();
  }
  signal_eventfd(news_event_.get());
}

// ---- Links that have a listener of their own ----

void SessionAcceptor::listen_for(const LinkListening& wanted, const std::string& native_listen_address) {
  const LinkProvider& provider = link_provider(wanted.link);
  OwnListener& own = own_listeners_[wanted.link];
  if (wanted.when == ListenWhen::beyond_loopback && !listener_.is_beyond_loopback()) {
    own.unavailable_reason = "it listens on loopback only";
    return;
  }
  if (wanted.when == ListenWhen::required) {
    provider.require_available();
  } else if (own.unavailable_reason = framewire::unavailable_reason(wanted.link); !own.unavailable_reason.empty()) {
    return;
  }
  try {
    own.listener =
        provider.listen({.addresses = {listener_.addresses().begin(), listener_.addresses().end()},
                         .port = listener_.port(),
                         .is_beyond_loopback = listener_.is_beyond_loopback(),
                         .native_listen_address = native_listen_address},
                        [this, link = wanted.link](std::unique_ptr<ConnectRequest> request,
                                                   std::span<const std::byte> hello, const std::string& from) {
                          receive_request(link, std::move(request), hello, from);
                        });
  } catch (const Error& error) {
    if (wanted.when == ListenWhen::required || error.status() == ExitStatus::usage) {
      throw;  // usage: --rdma-address names an address that no listener can have
    }
    own.unavailable_reason = error.what();
  }
}

std::string SessionAcceptor::unavailable_reason(LinkKind link) const {
  return traits(link).has_own_listener ? no_listener_reason(link) : framewire::unavailable_reason(link);
}

std::string SessionAcceptor::no_listener_reason(LinkKind link) const {
  const auto own = own_listeners_.find(link);
  if (own == own_listeners_.end()) {
    return "not allowed by its --transport";
  }
  return own->second.listener ? own->second.listener->why_gone() : own->second.unavailable_reason;
}

LinkDescription SessionAcceptor::listener_description(LinkKind link) const {
  const auto own = own_listeners_.find(link);
  return own != own_listeners_.end() && own->second.listener ? own->second.listener->description() : LinkDescription();
}

/// Runs on the link's listening thread. Dropping the request rejects it; the link has allocated nothing for it.
void SessionAcceptor::receive_request(LinkKind link, std::unique_ptr<ConnectRequest> request,
                                      std::span<const std::byte> hello, const std::string& from) {
  const std::string what = std::string(name(link)) + " connection from " + from;
  const auto said = decode_connect_hello(hello, link);
  if (!said) {
    log_.detail("rejected the " + what + ", which is not framewire");
    return;
  }
  const auto token = tokens_.redeem(*said, monotonic_ns());
  if (!token) {
    warn("rejected the " + what + ", which belongs to no session");
    return;
  }
  request->set_answer(encode_connect_hello(
      {.connection = said->connection, .proof = make_proof(*token, said->connection, ProofRole::listener)}));
  store_authenticated(said->connection, std::move(request));
}

void SessionAcceptor::reap() noexcept {
  for (auto pending = pending_.begin(); pending != pending_.end();) {
    if ((*pending)->is_done) {
      (*pending)->thread.join();
      pending = pending_.erase(pending);
    } else {
      ++pending;
    }
  }
}

void SessionAcceptor::drop_expired() noexcept {
  const std::int64_t now_ns = monotonic_ns();
  const std::scoped_lock lock(mutex_);
  std::erase_if(authenticated_data_,
                [now_ns](const AuthenticatedDataConnection& one) { return one.expires_ns <= now_ns; });
}

/// INT64_MAX: nothing expires.
std::int64_t SessionAcceptor::next_expiry_ns() noexcept {
  const std::scoped_lock lock(mutex_);
  return authenticated_data_.empty() ? INT64_MAX : authenticated_data_.front().expires_ns;  // the oldest
}

}  // namespace framewire
