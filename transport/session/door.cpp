#include "transport/session/door.hpp"

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/wait.hpp"

namespace framewire {

Door::Door(const ListenOptions& listen, AuthenticateOptions authenticate, OnSession on_session, Log& log)
    : listener_(listen),
      authenticate_(std::move(authenticate)),
      on_session_(std::move(on_session)),
      log_(log),
      stop_event_(make_event()) {
  thread_ = std::thread([this] { accept_loop(); });
}

Door::~Door() {
  raise_event(stop_event_.get());
  thread_.join();
  for (const auto& visitor : visitors_) {
    visitor->thread.join();
  }
}

Token Door::issue(const DataConnection& connection) { return tokens_.issue(connection, monotonic_ns()); }

FileDescriptor Door::await_data(const DataConnection& connection, std::int64_t deadline_ns) {
  std::unique_lock lock(mutex_);
  const auto deadline = std::chrono::steady_clock::time_point(std::chrono::nanoseconds(deadline_ns));
  auto found = arrived_.end();
  const bool came = data_arrived_.wait_until(lock, deadline, [&] {
    found = std::ranges::find(arrived_, connection, &Arrived::connection);
    return found != arrived_.end();
  });
  if (!came) {
    tokens_.forget(connection.session);
    throw Error::lost_peer("the peer did not open its data connection in time; does a firewall let the port through twice?");
  }
  FileDescriptor fd = std::move(found->fd);
  arrived_.erase(found);
  return fd;
}

void Door::accept_loop() noexcept {
  name_this_thread("fw-door");
  constexpr std::int64_t reap_interval_ns = ns_per_s;
  constexpr std::int64_t pause_ns = 50 * ns_per_ms;
  for (;;) {
    std::vector<pollfd> descriptors{{.fd = stop_event_.get(), .events = POLLIN, .revents = 0}};
    const bool has_room = unknown_.load() < max_unknown;
    if (has_room) {
      const auto listening = listener_.descriptors();
      descriptors.insert(descriptors.end(), listening.begin(), listening.end());
    }
    wait_until(descriptors, monotonic_ns() + (has_room ? reap_interval_ns : pause_ns));
    if (descriptors.front().revents != 0) {
      return;
    }
    while (auto accepted = has_room ? listener_.accept() : std::nullopt) {
      receive_visitor(std::move(*accepted));
    }
    if (listener_.accept_fault() != 0) {
      // No descriptors left: the queue stays readable, and spinning on it would not help.
      wait_for(stop_event_.get(), POLLIN, monotonic_ns() + pause_ns);
    }
    reap();
  }
}

void Door::receive_visitor(Accepted accepted) {
  ++unknown_;
  auto visitor = std::make_unique<Visitor>();
  Visitor* raw = visitor.get();
  visitors_.push_back(std::move(visitor));
  auto shared = std::make_shared<Accepted>(std::move(accepted));
  raw->thread = std::thread([this, raw, shared] {
    name_this_thread("fw-session");
    examine(std::move(*shared));
    raw->is_done = true;
  });
}

void Door::examine(Accepted accepted) noexcept {
  const std::string address = accepted.address;
  try {
    switch (identify(accepted.fd.get(), monotonic_ns() + authenticate_.timeout_ns)) {
      case ConnectionKind::plain_control:
      case ConnectionKind::tls:
      case ConnectionKind::other_version: {
        std::optional<Authenticated> authenticated;
        try {
          authenticated = authenticate_listener(std::move(accepted), authenticate_);
        } catch (...) {
          --unknown_;
          throw;
        }
        --unknown_;
        on_session_(std::move(*authenticated));
        return;
      }
      case ConnectionKind::data:
        take_data(std::move(accepted));
        break;
      case ConnectionKind::stranger:
        log_.detail("closed a connection from " + address + " that is not framewire");
        break;
      case ConnectionKind::silent:
        log_.detail("closed a connection from " + address + " that said nothing");
        break;
    }
    --unknown_;
  } catch (const std::exception& error) {
    log_.warning("refused a connection from " + address + ": " + error.what());
  }
}

void Door::take_data(Accepted accepted) {
  try {
    const DataHello hello = read_data_hello(accepted.fd.get(), monotonic_ns() + authenticate_.timeout_ns);
    const auto token = tokens_.redeem(hello, monotonic_ns());
    if (!token) {
      log_.warning("closed a data connection from " + accepted.address + " that belongs to no session");
      return;
    }
    send_data_answer(accepted.fd.get(), *token, hello.connection, monotonic_ns() + authenticate_.timeout_ns);
    const std::scoped_lock lock(mutex_);
    arrived_.push_back({hello.connection, std::move(accepted.fd)});
    data_arrived_.notify_all();
  } catch (const Error& error) {
    log_.detail("closed a data connection from " + accepted.address + ": " + error.what());
  }
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

}  // namespace framewire
