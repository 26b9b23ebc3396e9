#include "transport/session/session_acceptor.hpp"

#include <fcntl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <iterator>
#include <system_error>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/wait.hpp"
#include "transport/rdma/addresses.hpp"
#include "transport/session/rdma_data.hpp"
#include "transport/session/rdma_hello.hpp"

namespace framewire {

namespace {

constexpr std::int64_t pause_ns = 50 * ns_per_ms;  // where nobody can be taken in

}  // namespace

SessionAcceptor::SessionAcceptor(const ListenOptions& listen, RdmaListening rdma, AuthenticateOptions authenticate,
                                 OnSession on_session, Log& log)
    : listener_(listen),
      authenticate_(std::move(authenticate)),
      on_session_(std::move(on_session)),
      log_(log),
      stop_event_(make_eventfd()) {
  listen_for_rdma(rdma, listen.rdma_address);
  thread_ = std::thread([this] { accept_loop(); });
}

SessionAcceptor::~SessionAcceptor() {
  rdma_.reset();
  signal_eventfd(stop_event_.get());
  thread_.join();
  {
    // Whoever is still being examined would keep this waiting until its deadline.
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
  const auto deadline = std::chrono::steady_clock::time_point(std::chrono::nanoseconds(deadline_ns));
  auto found = proven_.end();
  data_proven_.wait_until(lock, deadline, [&] {
    found = std::ranges::find(proven_, connection, &ProvenConnection::connection);
    return found != proven_.end() || waits_ended_;
  });
  if (found != proven_.end()) {
    std::optional<IncomingDataConnection> incoming(std::move(found->incoming));
    proven_.erase(found);
    return incoming;
  }
  if (waits_ended_) {
    tokens_.forget(connection.session);
    throw Error::lost_peer("this end stopped before the peer opened its data connection");
  }
  return std::nullopt;
}

void SessionAcceptor::forget(const DataConnectionId& connection) noexcept {
  tokens_.forget(connection.session);
  const std::scoped_lock lock(mutex_);
  std::erase_if(proven_, [&](const ProvenConnection& one) { return one.connection == connection; });
}

void SessionAcceptor::end_waits() noexcept {
  const std::scoped_lock lock(mutex_);
  waits_ended_ = true;
  data_proven_.notify_all();
}

void SessionAcceptor::accept_loop() noexcept {
  set_thread_name("fw-accept");
  for (bool goes_on = true; goes_on;) {
    try {
      goes_on = wait_and_accept();
    } catch (const std::exception&) {
      // No memory for one connection: it finds its connection closed, and the next one may find some.
      wait_for(stop_event_.get(), POLLIN, monotonic_ns() + pause_ns);
    }
  }
}

/// False when the acceptor is closing.
bool SessionAcceptor::wait_and_accept() {
  constexpr std::int64_t reap_interval_ns = ns_per_s;
  std::vector<pollfd> descriptors{{.fd = stop_event_.get(), .events = POLLIN, .revents = 0}};
  const bool has_room = unidentified_.load() < max_unidentified;
  if (has_room) {
    const auto listening = listener_.descriptors();
    descriptors.insert(descriptors.end(), listening.begin(), listening.end());
  } else {
    evict_oldest();
  }
  wait_until(descriptors, monotonic_ns() + (has_room ? reap_interval_ns : pause_ns));
  if (descriptors.front().revents != 0) {
    return false;
  }
  accept_all();
  if (const int fault = listener_.accept_fault(); fault != 0) {
    warn("cannot take in whoever comes: " + errno_text(fault));
    // No descriptors left: the queue stays readable, and spinning on it would not help.
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

/// A viewer may wait behind a crowd of unauthenticated peers. Whoever belongs here is known after a few round trips.
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
  FileDescriptor unidentified_fd(::fcntl(accepted.fd.get(), F_DUPFD_CLOEXEC, 0));
  const int error_number = errno;
  if (!unidentified_fd.valid()) {
    // Nobody could end its silence, and a session would find no descriptors either: it may come again.
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
  } catch (const std::exception&) {  // no more threads, or no memory for one
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
      // Whoever came as the acceptor closed finds the next acceptor at this address when it tries again.
      if (!was_closed_at_shutdown(pending)) {
        warn("refused a connection from " + address + ": " + error.what());
      }
    }
  } catch (const std::exception&) {
    // No memory even for that sentence.
  }
  set_identified(pending);
  pending.is_done = true;
}

void SessionAcceptor::identify_and_serve(PendingConnection& pending, AcceptedSocket accepted) {
  // One deadline for all that comes before it is known.
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

/// It counts no longer among those that are examined.
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

/// At most one a second: an unauthenticated peer that knocks all day must not fill the log.
void SessionAcceptor::warn(const std::string& text) {
  std::uint64_t suppressed = 0;
  {
    const std::scoped_lock lock(mutex_);
    const std::int64_t now_ns = monotonic_ns();
    if (now_ns < quiet_until_ns_) {
      ++suppressed_warnings_;
      return;
    }
    quiet_until_ns_ = now_ns + ns_per_s;
    suppressed = std::exchange(suppressed_warnings_, 0);
  }
  log_.warning(text + (suppressed == 0 ? std::string() : " (and " + std::to_string(suppressed) + " more)"));
}

void SessionAcceptor::receive_data_hello(AcceptedSocket accepted, std::int64_t deadline_ns) {
  try {
    const DataHello hello = read_data_hello(accepted.fd.get(), deadline_ns);
    // By RDMA connections come elsewhere.
    const auto token = hello.connection.link == LinkKind::rdma ? std::nullopt : tokens_.redeem(hello, monotonic_ns());
    if (!token) {
      warn("closed a data connection from " + accepted.address + " that belongs to no session");
      return;
    }
    send_data_answer(accepted.fd.get(), *token, hello.connection, deadline_ns);
    store_proven(hello.connection, std::move(accepted.fd));
  } catch (const Error& error) {
    log_.detail("closed a data connection from " + accepted.address + ": " + error.what());
  }
}

void SessionAcceptor::store_proven(const DataConnectionId& connection, IncomingDataConnection incoming) {
  const std::scoped_lock lock(mutex_);
  proven_.push_back({connection, std::move(incoming), monotonic_ns() + proven_lifetime_ns});
  data_proven_.notify_all();
}

// ---- RDMA ----

void SessionAcceptor::listen_for_rdma(RdmaListening rdma, const std::string& rdma_address) {
  const bool is_required = rdma == RdmaListening::required;
  if (rdma == RdmaListening::never) {
    why_no_rdma_ = "not allowed by its --transport";
    return;
  }
  if (rdma == RdmaListening::beyond_loopback && !listener_.is_beyond_loopback()) {
    why_no_rdma_ = "it listens on loopback only";
    return;
  }
  std::vector<sockaddr_storage> addresses = framewire::rdma_addresses();
  if (addresses.empty()) {
    if (is_required) {
      throw no_rdma_device();
    }
    why_no_rdma_ = "it has no RDMA device";
    return;
  }
  if (!rdma_address.empty()) {
    addresses = {named_rdma_address(rdma_address, listener_.port()).storage};
  } else if (listener_.is_beyond_loopback()) {
    addresses.clear();
    std::ranges::transform(listener_.addresses(), std::back_inserter(addresses), &SocketAddress::storage);
  }
  try {
    rdma_ = std::make_unique<RdmaListener>(
        addresses, listener_.port(),
        [this](RdmaConnectRequest request, std::span<const std::byte> hello, const std::string& from) {
          receive_rdma_request(std::move(request), hello, from);
        });
  } catch (const Error& error) {
    if (is_required) {
      throw;
    }
    why_no_rdma_ = error.what();
  }
}

std::string SessionAcceptor::why_no_rdma() const {
  // A device can go at any time; who listens at all addresses is not even told.
  return rdma_ && (rdma_->port() == 0 || framewire::rdma_addresses().empty()) ? "its RDMA device is gone"
                                                                              : why_no_rdma_;
}

std::vector<std::string> SessionAcceptor::rdma_addresses() const {
  std::vector<std::string> addresses = rdma_ ? rdma_->addresses() : std::vector<std::string>();
  std::erase_if(addresses, [](const std::string& one) { return !rdma_address_from_text(one, 0); });
  addresses.resize(std::min(addresses.size(), max_rdma_addresses));
  return addresses;
}

/// Dropped, the request is rejected: nothing was made for it.
void SessionAcceptor::receive_rdma_request(RdmaConnectRequest request, std::span<const std::byte> hello,
                                           const std::string& from) {
  const auto said = decode_rdma_hello(hello);
  if (!said) {
    log_.detail("rejected an RDMA connection from " + from + " that is not framewire");
    return;
  }
  const auto token = tokens_.redeem(*said, monotonic_ns());
  if (!token) {
    warn("rejected an RDMA connection from " + from + " that belongs to no session");
    return;
  }
  request.set_answer(encode_rdma_hello(
      {.connection = said->connection, .proof = make_proof(*token, said->connection, ProofRole::listener)}));
  store_proven(said->connection, std::move(request));
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
  std::erase_if(proven_, [now_ns](const ProvenConnection& one) { return one.expires_ns <= now_ns; });
}

}  // namespace framewire
