#include "transport/session/sender_service.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/failure_text.hpp"
#include "base/wait.hpp"
#include "transport/address.hpp"
#include "transport/links.hpp"
#include "transport/session/endpoint.hpp"

namespace framewire {

namespace {

/// An established session says bye at the cut and waits half a second for the answer. A session that is still there
/// after twice that time is in a handshake with a silent peer.
constexpr std::int64_t final_message_timeout_ns = ns_per_s;

}  // namespace

// ---- What is known of sessions that have ended ----

void SessionHistory::add(SessionReport report) {
  if (report.viewer_statistics.size() > longest_statistics_bytes) {
    report.viewer_statistics.clear();
    report.viewer_statistics.shrink_to_fit();
  }
  last_.push_back(std::move(report));
  if (last_.size() > kept_reports) {
    add_to_earlier(last_.front());
    last_.pop_front();
  }
}

void SessionHistory::add_to_earlier(const SessionReport& report) {
  // Names every field, so that the compiler asks what becomes of a new one. Those without a sum keep their defaults.
  const auto& [viewer, stream, transport, memory, memory_access, ending, bye_received, was_refused, counts,
               frames_received, frames_lost, pulls, frames_pulled, viewer_statistics, receiver_label, logs_end] =
      report;
  const auto same_stream = [&report](const Earlier& earlier) { return earlier.sum.stream == report.stream; };
  auto found = std::ranges::find_if(earlier_, same_stream);
  if (found == earlier_.end()) {
    found = earlier_.emplace(earlier_.end());
    found->sum.stream = stream;
  }
  auto& [count, sum] = *found;
  const bool is_first = count == 0;
  const auto merge = [is_first](std::string& into, const std::string& text) {
    into = is_first || into == text ? text : "several";
  };
  ++count;
  sum.viewer = std::to_string(count) + " earlier session" + (is_first ? "" : "s");
  merge(sum.transport, transport);
  merge(sum.memory, memory);
  merge(sum.memory_access.way, memory_access.way);
  merge(sum.memory_access.passed_over, memory_access.passed_over);
  sum.ending = "added up";
  sum.bye_received = bye_received && (is_first || sum.bye_received);
  sum.counts += counts;
  sum.frames_received += frames_received;
  sum.frames_lost += frames_lost;
  sum.pulls = pulls && (is_first || sum.pulls);
  sum.frames_pulled += frames_pulled;
}

std::vector<SessionReport> SessionHistory::reports() const {
  std::vector<SessionReport> reports;
  for (const Earlier& earlier : earlier_) {
    reports.push_back(earlier.sum);
  }
  reports.insert(reports.end(), last_.begin(), last_.end());
  return reports;
}

// ---- The service ----

SenderService::SenderService(const EndpointOptions& endpoint, std::vector<Stream*> streams, const std::string& program,
                             Log& log, std::function<void()> on_refused)
    : context_(endpoint, std::move(streams), program, log),
      authenticate_(authentication_of(endpoint)),
      on_refused_(std::move(on_refused)) {
  require_link_where_asked(endpoint);
  if (endpoint.dial) {
    dial_to_ = *endpoint.dial;
    is_dialling_ = true;
    dialler_ = std::thread([this] { dial_loop(); });
    return;
  }
  acceptor_ = std::make_unique<SessionAcceptor>(
      listening_of(endpoint, authenticate_), link_listening_of(endpoint), authenticate_,
      [this](SessionAcceptor& acceptor, AuthenticatedChannel authenticated) {
        run_session(std::move(authenticated), {.acceptor = &acceptor});
      },
      log);
}

SenderService::~SenderService() {
  {
    const std::scoped_lock lock(mutex_);
    stopping_ = true;
    ::shutdown(handshake_fd_.get(), SHUT_RDWR);
  }
  changed_.notify_all();
  signal_eventfd(stop_event_.get());
  drain(monotonic_ns());
  if (dialler_.joinable()) {
    dialler_.join();
  }
  acceptor_.reset();
}

std::string SenderService::describe() const {
  return acceptor_ ? "listening on " + acceptor_->describe() : "dialling " + format_host_port(dial_to_);
}

std::string SenderService::pull_unavailable_reason() const {
  std::string reasons;
  for (const LinkKind link : context_.allowed_links) {
    if (!traits(link).can_be_pulled) {
      continue;
    }
    const std::string why = acceptor_ ? acceptor_->unavailable_reason(link) : unavailable_reason(link);
    if (why.empty()) {
      return {};
    }
    reasons += (reasons.empty() ? "" : "; ") + why;
  }
  return reasons.empty() ? "not allowed by its --transport" : reasons;
}

std::uint16_t SenderService::port() const noexcept {
  return acceptor_ ? acceptor_->port() : std::uint16_t{0};
}

bool SenderService::drain(std::int64_t deadline_ns) {
  cut_at(deadline_ns);
  std::unique_lock lock(mutex_);
  const bool has_sessions = !sessions_.empty();
  while (!sessions_.empty() && monotonic_ns() < handshakes_end_ns()) {
    changed_.wait_until(lock, as_time_point(handshakes_end_ns()));
  }
  end_handshakes();
  changed_.wait(lock, [&] { return sessions_.empty(); });
  return !has_sessions || deadline_ns == INT64_MAX || monotonic_ns() < deadline_ns;
}

void SenderService::cut_at(std::int64_t deadline_ns) {
  std::int64_t soonest_ns = context_.stop_at_ns.load();
  while (deadline_ns < soonest_ns && !context_.stop_at_ns.compare_exchange_weak(soonest_ns, deadline_ns)) {
  }
  const std::scoped_lock lock(mutex_);
  for (const Running& running : sessions_) {
    running.session->wake();
  }
  changed_.notify_all();  // drain()'s deadline may be earlier now
}

void SenderService::interrupt(std::int64_t deadline_ns) {
  cut_at(deadline_ns);
  const std::scoped_lock lock(mutex_);
  handshakes_are_over_ = true;
  if (acceptor_) {
    acceptor_->end_waits();
  }
  for (const Running& running : sessions_) {
    if (!running.session->has_joined()) {
      running.channel->close();
    }
  }
}

std::int64_t SenderService::handshakes_end_ns() const noexcept {
  const std::int64_t stop_at_ns = context_.stop_at_ns.load();
  return stop_at_ns < INT64_MAX - final_message_timeout_ns ? stop_at_ns + final_message_timeout_ns : INT64_MAX;
}

/// Call with the mutex, after the cut: no new session begins.
void SenderService::end_handshakes() {
  if (sessions_.empty()) {
    return;
  }
  if (acceptor_) {
    acceptor_->end_waits();
  }
  for (const Running& running : sessions_) {
    running.channel->close();
  }
}

std::vector<SessionReport> SenderService::reports() const {
  const std::scoped_lock lock(mutex_);
  return history_.reports();
}

std::string SenderService::refusal() const {
  const std::scoped_lock lock(mutex_);
  return refusal_;
}

bool SenderService::is_dialling() const {
  const std::scoped_lock lock(mutex_);
  return is_dialling_;
}

DialFailure SenderService::last_dial_failure() const {
  const std::scoped_lock lock(mutex_);
  return last_dial_failure_;
}

void SenderService::run_session(AuthenticatedChannel authenticated, DataConnector data_connector) {
  MessageChannel& channel = *authenticated.channel;
  SenderSession session(context_, std::move(authenticated), data_connector);
  const std::optional<RunningIterator> place = register_session(session, channel);
  if (!place) {
    return;
  }
  const auto leave = [&](const SessionReport* report) {
    const std::scoped_lock lock(mutex_);
    if (report != nullptr) {
      history_.add(*report);  // may throw: the place is still valid then
    }
    sessions_.erase(*place);
    changed_.notify_all();
  };
  try {
    const SessionReport report = session.run();
    context_.log->line(report.logs_end ? LogLevel::info : LogLevel::detail,
                       session.label() + " (" + report.transport + "): " + report.ending);
    leave(&report);
  } catch (...) {
    leave(nullptr);
    if (is_over()) {
      // drain() or interrupt() has ended it; the channel's error, that the peer hung up, would mislead.
      context_.log->info("a viewer was still shaking hands at the end");
      return;
    }
    throw;
  }
}

/// Nullopt when no session may begin any more. Throws Error (lost_peer) when too many handshakes are running.
std::optional<SenderService::RunningIterator> SenderService::register_session(SenderSession& session,
                                                                              MessageChannel& channel) {
  const std::scoped_lock lock(mutex_);
  const std::int64_t now_ns = monotonic_ns();
  if (stopping_ || handshakes_are_over_ || now_ns >= context_.stop_at_ns.load()) {
    return std::nullopt;  // its handshake would only delay the end
  }
  const auto handshakes =
      std::ranges::count_if(sessions_, [](const Running& one) { return !one.session->has_joined(); });
  if (static_cast<std::size_t>(handshakes) >= max_handshakes) {
    end_stalled_handshakes();
    throw Error::lost_peer(std::to_string(handshakes) + " viewers shake hands already");
  }
  return sessions_.insert(sessions_.end(), {.session = &session, .channel = &channel, .since_ns = now_ns});
}

/// Call with the mutex.
void SenderService::end_stalled_handshakes() {
  constexpr std::int64_t grace_ns = ns_per_s;
  for (const Running& running : sessions_) {
    if (!running.session->has_joined() && monotonic_ns() - running.since_ns > grace_ns) {
      running.channel->close();
    }
  }
}

/// Whether a session that ends now ends because this side does.
bool SenderService::is_over() const {
  const std::scoped_lock lock(mutex_);
  return handshakes_are_over_ || monotonic_ns() >= handshakes_end_ns();
}

void SenderService::dial_loop() noexcept {
  set_thread_name("fw-dial");
  while (try_dial() && wait_before_retry() && !are_finished()) {
  }
  const std::scoped_lock lock(mutex_);
  is_dialling_ = false;
}

/// Returns false when there must be no further attempt.
bool SenderService::try_dial() noexcept {
  try {
    try {
      dial_once();
      const std::scoped_lock lock(mutex_);
      last_dial_failure_ = {};
      return true;
    } catch (const Error& error) {
      return handle_failure(error);
    } catch (const std::exception& error) {  // out of memory or threads: the next attempt may succeed
      return handle_failure(Error::failed(failure_text(error)));
    }
  } catch (const std::exception&) {  // out of memory for the error's message
    const std::scoped_lock lock(mutex_);
    handshake_fd_.reset();
    return true;
  }
}

/// Returns false when the peer refused, since it would refuse again. The log and the program may ask this service.
bool SenderService::handle_failure(const Error& error) {
  const bool is_refused = error.status() == ExitStatus::refused;
  bool is_new = false;
  {
    const std::scoped_lock lock(mutex_);
    handshake_fd_.reset();
    is_new = !is_refused && !stopping_ && last_dial_failure_.why != error.what();
    if (is_refused) {
      refusal_ = error.what();
      changed_.notify_all();
    } else if (is_new) {
      last_dial_failure_ = {.why = error.what(), .absence = absence_in(error)};
    }
  }
  if (is_new) {
    context_.log->info(error.what());
  }
  if (is_refused && on_refused_) {
    on_refused_();
  }
  return !is_refused;
}

void SenderService::dial_once() {
  constexpr std::int64_t timeout_ns = 3 * ns_per_s;  // for each attempt
  DialledSocket dialled = dial(dial_to_, monotonic_ns() + timeout_ns, DialMode::any, {.fd = stop_event_.get()},
                               context_.parameters.type_of_service);
  {
    const std::scoped_lock lock(mutex_);
    handshake_fd_ = duplicate(dialled.fd.get());
    if (stopping_) {
      return;
    }
  }
  const HostPort data_address = reached(dialled, dial_to_);
  AuthenticatedChannel authenticated = authenticate_dialler(std::move(dialled), authenticate_);
  {
    const std::scoped_lock lock(mutex_);
    handshake_fd_.reset();
  }
  run_session(std::move(authenticated), {.dial = &data_address});
}

/// Whether all streams are finished: a new session would get no frames.
bool SenderService::are_finished() const {
  return std::ranges::all_of(context_.streams, [](const Stream* stream) { return stream->is_finished(); });
}

/// Returns false when the service stops.
bool SenderService::wait_before_retry() {
  constexpr auto between_dials = std::chrono::milliseconds(250);
  std::unique_lock lock(mutex_);
  is_dialling_ = false;
  changed_.wait_for(lock, between_dials, [&] { return stopping_; });
  is_dialling_ = !stopping_;
  return !stopping_;
}

}  // namespace framewire
