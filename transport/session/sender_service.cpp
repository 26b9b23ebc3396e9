#include "transport/session/sender_service.hpp"

#include <fcntl.h>
#include <sys/socket.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/wait.hpp"
#include "transport/control/address.hpp"
#include "transport/session/endpoint.hpp"

namespace framewire {

SenderService::SenderService(const EndpointOptions& endpoint, std::vector<Stream*> streams, const std::string& program,
                             Log& log)
    : authenticate_(authentication_of(endpoint)) {
  context_.streams = std::move(streams);
  context_.allowed_links = endpoint.allowed_links;
  context_.program = program;
  context_.peer_timeout_ns = endpoint.peer_timeout_ns;
  context_.log = &log;
  if (endpoint.dial) {
    dial_to_ = *endpoint.dial;
    dialler_ = std::thread([this] { dial_loop(); });
    return;
  }
  door_ = std::make_unique<Door>(
      listening_of(endpoint, authenticate_), authenticate_,
      [this](Authenticated authenticated) { run_session(std::move(authenticated), {.door = door_.get()}); }, log);
}

SenderService::~SenderService() {
  cut_at(0);
  {
    const std::scoped_lock lock(mutex_);
    stopping_ = true;
    ::shutdown(handshake_fd_.get(), SHUT_RDWR);
  }
  changed_.notify_all();
  if (dialler_.joinable()) {
    dialler_.join();
  }
  door_.reset();
}

std::string SenderService::describe() const {
  return door_ ? "listening on " + door_->describe() : "dialling " + format_host_port(dial_to_);
}

std::uint16_t SenderService::port() const noexcept {
  return door_ ? door_->port() : std::uint16_t{0};
}

void SenderService::drain(std::int64_t deadline_ns) {
  cut_at(deadline_ns);
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return sessions_.empty(); });
}

void SenderService::cut_at(std::int64_t deadline_ns) {
  context_.stop_at_ns = deadline_ns;
  const std::scoped_lock lock(mutex_);
  for (SenderSession* session : sessions_) {
    session->wake();
  }
}

std::vector<SessionReport> SenderService::reports() const {
  const std::scoped_lock lock(mutex_);
  return reports_;
}

std::string SenderService::refusal() const {
  const std::scoped_lock lock(mutex_);
  return refusal_;
}

void SenderService::run_session(Authenticated authenticated, DataWay way) {
  SenderSession session(context_, std::move(authenticated), way);
  std::list<SenderSession*>::iterator place;
  {
    const std::scoped_lock lock(mutex_);
    place = sessions_.insert(sessions_.end(), &session);
  }
  const auto leave = [&](const SessionReport* report) {
    const std::scoped_lock lock(mutex_);
    sessions_.erase(place);
    if (report != nullptr) {
      reports_.push_back(*report);
    }
    changed_.notify_all();
  };
  try {
    const SessionReport report = session.run();
    context_.log->info("viewer " + report.viewer + " (" + report.transport + "): " + report.ending);
    leave(&report);
  } catch (...) {
    leave(nullptr);
    throw;
  }
}

void SenderService::dial_loop() noexcept {
  name_this_thread("fw-dial");
  std::string last_sentence;
  do {
    try {
      dial_once();
      last_sentence.clear();
    } catch (const Error& error) {
      const std::scoped_lock lock(mutex_);
      handshake_fd_.reset();
      if (error.status() == ExitStatus::refused) {
        refusal_ = error.what();
        changed_.notify_all();
        return;
      }
      if (!stopping_ && last_sentence != error.what()) {
        last_sentence = error.what();
        context_.log->info(last_sentence);
      }
    }
  } while (pause());
}

void SenderService::dial_once() {
  constexpr std::int64_t patience_ns = 3 * ns_per_s;  // and then again; the end of the program waits for it
  Dialled dialled = dial(dial_to_, monotonic_ns() + patience_ns);
  {
    const std::scoped_lock lock(mutex_);
    handshake_fd_.reset(::fcntl(dialled.fd.get(), F_DUPFD_CLOEXEC, 0));
    if (stopping_) {
      return;
    }
  }
  Authenticated authenticated = authenticate_dialler(std::move(dialled), authenticate_);
  {
    const std::scoped_lock lock(mutex_);
    handshake_fd_.reset();
  }
  run_session(std::move(authenticated), {.dial = &dial_to_});
}

/// False when the service stops.
bool SenderService::pause() {
  constexpr auto between_dials = std::chrono::milliseconds(250);
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, between_dials, [&] { return stopping_; });
  return !stopping_;
}

}  // namespace framewire
