#include "transport/session/door.hpp"

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

Door::Door(const ListenOptions& listen, RdmaListening rdma, AuthenticateOptions authenticate, OnSession on_session,
           Log& log)
    : listener_(listen),
      authenticate_(std::move(authenticate)),
      on_session_(std::move(on_session)),
      log_(log),
      stop_event_(make_event()) {
  listen_for_rdma(rdma, listen.rdma_address);
  thread_ = std::thread([this] { accept_loop(); });
}

Door::~Door() {
  rdma_.reset();
  raise_event(stop_event_.get());
  thread_.join();
  {
    // Whoever is still being examined would keep this waiting until its deadline.
    const std::scoped_lock lock(mutex_);
    for (const auto& visitor : visitors_) {
      visitor->was_sent_away = visitor->unknown_fd.valid();
      ::shutdown(visitor->unknown_fd.get(), SHUT_RDWR);
    }
  }
  for (const auto& visitor : visitors_) {
    visitor->thread.join();
  }
}

Token Door::issue(const DataConnection& connection) {
  return tokens_.issue(connection, monotonic_ns());
}

std::optional<Arrival> Door::await_data(const DataConnection& connection, std::int64_t deadline_ns) {
  std::unique_lock lock(mutex_);
  const auto deadline = std::chrono::steady_clock::time_point(std::chrono::nanoseconds(deadline_ns));
  auto found = arrived_.end();
  data_arrived_.wait_until(lock, deadline, [&] {
    found = std::ranges::find(arrived_, connection, &Arrived::connection);
    return found != arrived_.end() || waits_are_over_;
  });
  if (found != arrived_.end()) {
    std::optional<Arrival> arrival(std::move(found->arrival));
    arrived_.erase(found);
    return arrival;
  }
  if (waits_are_over_) {
    tokens_.forget(connection.session);
    throw Error::lost_peer("this end stopped before the peer opened its data connection");
  }
  return std::nullopt;
}

void Door::forget(const DataConnection& connection) noexcept {
  tokens_.forget(connection.session);
  const std::scoped_lock lock(mutex_);
  std::erase_if(arrived_, [&](const Arrived& one) { return one.connection == connection; });
}

void Door::end_waits() noexcept {
  const std::scoped_lock lock(mutex_);
  waits_are_over_ = true;
  data_arrived_.notify_all();
}

void Door::accept_loop() noexcept {
  name_this_thread("fw-door");
  for (bool goes_on = true; goes_on;) {
    try {
      goes_on = wait_and_accept();
    } catch (const std::exception&) {
      // No memory for one visitor: it finds its connection closed, and the next one may find some.
      wait_for(stop_event_.get(), POLLIN, monotonic_ns() + pause_ns);
    }
  }
}

/// False when the door is closing.
bool Door::wait_and_accept() {
  constexpr std::int64_t reap_interval_ns = ns_per_s;
  std::vector<pollfd> descriptors{{.fd = stop_event_.get(), .events = POLLIN, .revents = 0}};
  const bool has_room = unknown_.load() < max_unknown;
  if (has_room) {
    const auto listening = listener_.descriptors();
    descriptors.insert(descriptors.end(), listening.begin(), listening.end());
  } else {
    make_room();
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
  drop_unfetched();
  return true;
}

void Door::accept_all() {
  while (unknown_.load() < max_unknown) {
    auto accepted = listener_.accept();
    if (!accepted) {
      return;
    }
    receive_visitor(std::move(*accepted));
  }
}

/// A viewer may wait behind a crowd of strangers. Whoever belongs here is known after a few round trips.
void Door::make_room() noexcept {
  constexpr std::int64_t grace_ns = ns_per_s;
  const std::int64_t now_ns = monotonic_ns();
  const std::scoped_lock lock(mutex_);
  for (const auto& visitor : visitors_) {
    if (visitor->unknown_fd.valid() && now_ns - visitor->since_ns > grace_ns) {
      ::shutdown(visitor->unknown_fd.get(), SHUT_RDWR);
    }
  }
}

void Door::receive_visitor(Accepted accepted) {
  FileDescriptor unknown_fd(::fcntl(accepted.fd.get(), F_DUPFD_CLOEXEC, 0));
  const int error_number = errno;
  if (!unknown_fd.valid()) {
    // Nobody could end its silence, and a session would find no descriptors either: it may come again.
    warn("closed a connection from " + accepted.address + ": " + errno_text(error_number));
    return;
  }
  auto shared = std::make_shared<Accepted>(std::move(accepted));
  Visitor& place = *visitors_.emplace_back(std::make_unique<Visitor>());
  place.since_ns = monotonic_ns();
  place.unknown_fd = std::move(unknown_fd);
  ++unknown_;
  try {
    place.thread = std::thread([this, &place, shared] { serve(place, *shared); });
  } catch (const std::exception&) {  // no more threads, or no memory for one
    --unknown_;
    visitors_.pop_back();
    warn("closed a connection from " + shared->address + ": this machine starts no more threads");
  }
}

/// The visitor's thread.
void Door::serve(Visitor& visitor, Accepted& accepted) noexcept {
  name_this_thread("fw-session");
  try {
    const std::string address = accepted.address;
    try {
      examine(visitor, std::move(accepted));
    } catch (const std::exception& error) {
      // Whoever came as the door closed finds the next door at this address when it tries again.
      if (!was_sent_away(visitor)) {
        warn("refused a connection from " + address + ": " + error.what());
      }
    }
  } catch (const std::exception&) {
    // No memory even for that sentence.
  }
  make_known(visitor);
  visitor.is_done = true;
}

void Door::examine(Visitor& visitor, Accepted accepted) {
  // One deadline for all that comes before it is known.
  const std::int64_t deadline_ns = monotonic_ns() + authenticate_.timeout_ns;
  switch (identify(accepted.fd.get(), deadline_ns)) {
    case ConnectionKind::plain_control:
    case ConnectionKind::tls:
    case ConnectionKind::other_version: {
      AuthenticateOptions options = authenticate_;
      options.timeout_ns = deadline_ns - monotonic_ns();
      Authenticated authenticated = authenticate_listener(std::move(accepted), options);
      make_known(visitor);
      on_session_(*this, std::move(authenticated));
      return;
    }
    case ConnectionKind::data:
      take_data(std::move(accepted), deadline_ns);
      return;
    case ConnectionKind::stranger:
      log_.detail("closed a connection from " + accepted.address + " that is not framewire");
      return;
    case ConnectionKind::silent:
      log_.detail("closed a connection from " + accepted.address + " that said nothing");
      return;
  }
}

/// It counts no longer among those that are examined.
void Door::make_known(Visitor& visitor) noexcept {
  const std::scoped_lock lock(mutex_);
  if (visitor.unknown_fd.valid()) {
    visitor.unknown_fd.reset();
    --unknown_;
  }
}

bool Door::was_sent_away(const Visitor& visitor) noexcept {
  const std::scoped_lock lock(mutex_);
  return visitor.was_sent_away;
}

/// At most one a second: a stranger that knocks all day must not fill the log.
void Door::warn(const std::string& text) {
  std::uint64_t unsaid = 0;
  {
    const std::scoped_lock lock(mutex_);
    const std::int64_t now_ns = monotonic_ns();
    if (now_ns < quiet_until_ns_) {
      ++unsaid_warnings_;
      return;
    }
    quiet_until_ns_ = now_ns + ns_per_s;
    unsaid = std::exchange(unsaid_warnings_, 0);
  }
  log_.warning(text + (unsaid == 0 ? std::string() : " (and " + std::to_string(unsaid) + " more)"));
}

void Door::take_data(Accepted accepted, std::int64_t deadline_ns) {
  try {
    const DataHello hello = read_data_hello(accepted.fd.get(), deadline_ns);
    // By RDMA connections come elsewhere.
    const auto token = hello.connection.link == LinkKind::rdma ? std::nullopt : tokens_.redeem(hello, monotonic_ns());
    if (!token) {
      warn("closed a data connection from " + accepted.address + " that belongs to no session");
      return;
    }
    send_data_answer(accepted.fd.get(), *token, hello.connection, deadline_ns);
    keep(hello.connection, std::move(accepted.fd));
  } catch (const Error& error) {
    log_.detail("closed a data connection from " + accepted.address + ": " + error.what());
  }
}

void Door::keep(const DataConnection& connection, Arrival arrival) {
  const std::scoped_lock lock(mutex_);
  arrived_.push_back({connection, std::move(arrival), monotonic_ns() + arrived_lifetime_ns});
  data_arrived_.notify_all();
}

// ---- RDMA ----

void Door::listen_for_rdma(RdmaListening rdma, const std::string& rdma_address) {
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
        [this](RdmaRequest request, std::span<const std::byte> hello, const std::string& from) {
          take_request(std::move(request), hello, from);
        });
  } catch (const Error& error) {
    if (is_required) {
      throw;
    }
    why_no_rdma_ = error.what();
  }
}

std::string Door::why_no_rdma() const {
  // A device can go at any time; who listens at all addresses is not even told.
  return rdma_ && (rdma_->port() == 0 || framewire::rdma_addresses().empty()) ? "its RDMA device is gone"
                                                                              : why_no_rdma_;
}

std::vector<std::string> Door::rdma_addresses() const {
  std::vector<std::string> addresses = rdma_ ? rdma_->addresses() : std::vector<std::string>();
  std::erase_if(addresses, [](const std::string& one) { return !rdma_address_from_text(one, 0); });
  addresses.resize(std::min(addresses.size(), most_rdma_addresses));
  return addresses;
}

/// Dropped, the request is rejected: nothing was made for it.
void Door::take_request(RdmaRequest request, std::span<const std::byte> hello, const std::string& from) {
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
      {.connection = said->connection, .proof = make_proof(*token, said->connection, DataRole::listener)}));
  keep(said->connection, std::move(request));
}

void Door::reap() noexcept {
  for (auto visitor = visitors_.begin(); visitor != visitors_.end();) {
    if ((*visitor)->is_done) {
      (*visitor)->thread.join();
      visitor = visitors_.erase(visitor);
    } else {
      ++visitor;
    }
  }
}

void Door::drop_unfetched() noexcept {
  const std::int64_t now_ns = monotonic_ns();
  const std::scoped_lock lock(mutex_);
  std::erase_if(arrived_, [now_ns](const Arrived& one) { return one.expires_ns <= now_ns; });
}

}  // namespace framewire
