// How a Subscriber's sessions end: the program has taken every frame, or wants no more, or something failed.
#include <sys/socket.h>

#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "base/wait.hpp"
#include "memory/out_of_memory.hpp"
#include "transport/session/subscriber_implementation.hpp"

namespace framewire {

void Subscriber::Implementation::finish_if_done() {
  const auto end = flows_.outcome();
  if (!end || status_.state == SubscriberState::finished || status_.state == SubscriberState::failed) {
    return;
  }
  const bool is_well = end->fault.empty();
  frames_lost_ += end->frames_lost;
  status_.state = is_well ? SubscriberState::finished : SubscriberState::failed;
  status_.message = is_well ? "the stream ended" : end->fault;
  status_.absence = PeerAbsence::none;
  status_.exit_status = is_well ? ExitStatus::ok : ExitStatus::lost_peer;
  tell_program();
  if (options_.on_finished) {
    signal_eventfd(thread_event_.get());
  }
}

/// For good: this machine would refuse it again. Returns what ends the session. The subscriber's thread.
Error Subscriber::Implementation::give_up_memory(const MemoryUnusable& error) {
  std::erase(preferences_.memory, error.memory());
  changes_memory_ = true;
  {
    const std::scoped_lock lock(mutex_);
    status_.memory_refusal = error.what();
  }
  return options_.reconnect ? Error::lost_peer(error.what()) : Error::failed(error.what());
}

/// Sets the status for an error. Call with the mutex. Returns true when there will be no further session. `line` is to
/// be logged then.
bool Subscriber::Implementation::give_up(const Error& error, bool had_session, std::string& line) {
  // A listening viewer always waits for the next sender.
  const bool is_refused = error.status() == ExitStatus::refused && !acceptor_;
  // An established session that failed, but was not lost, would fail again for the same reason: no memory for the ring,
  // or an unknown format.
  const bool cannot_go_on = had_session && error.status() == ExitStatus::failed && !acceptor_;
  const bool is_final = is_refused || cannot_go_on || (had_session && !options_.reconnect);
  if (had_session && flows_.frames_received() != frames_before_session_) {
    no_session_since_ns_ = monotonic_ns();  // only a session with frames restarts the timeout of --retry
  }
  const bool changes_memory = std::exchange(changes_memory_, false);
  if (changes_memory) {  // another session at once is no retry; there is one for each kind at most
    no_session_since_ns_ = monotonic_ns();
  }
  const bool timed_out =
      !changes_memory && options_.retry_ns >= 0 && monotonic_ns() - no_session_since_ns_ >= options_.retry_ns;
  status_.message = error.what();
  status_.absence = absence_in(error);
  status_.state = had_session || sessions_ > 0 ? SubscriberState::lost : SubscriberState::waiting;
  if (is_final || timed_out) {
    status_.state = SubscriberState::failed;
    status_.exit_status = error.status();
    status_.is_out_of_memory = dynamic_cast<const OutOfMemory*>(&error) != nullptr;
  }
  if (had_session && !is_refused && !cannot_go_on) {
    line = "lost the sender: " + status_.message;
  }
  tell_program();
  return is_final || timed_out;
}

/// After its bye the sender waits only for ours. close() says it when the program wants no more frames, or this thread
/// does when it has taken every one.
void Subscriber::Implementation::await_close_after_bye(const ViewerSession& session) {
  bool is_left = false;
  for (;;) {
    clear_eventfd(thread_event_.get());
    if (is_stopping()) {
      return;
    }
    bool is_finished = false;
    if (options_.on_finished && !is_left) {
      const std::scoped_lock lock(mutex_);
      finish_if_done();
      is_finished = status_.state == SubscriberState::finished;
    }
    if (is_finished) {
      options_.on_finished();
      send_bye("{}");
      is_left = true;
    }
    if (is_left) {
      wait_for(thread_event_.get(), POLLIN, INT64_MAX);  // the link may have ended
    } else {
      await_news(session);
    }
  }
}

/// To the current session's sender, unless it was said before.
void Subscriber::Implementation::send_bye(const std::string& statistics_json) {
  FrameFlows::Goodbye goodbye;
  {
    const std::scoped_lock lock(mutex_);
    if (!has_session_ || flows_.empty() || std::exchange(has_begun_bye_, true)) {
      return;
    }
    goodbye = flows_.begin_bye();
  }
  // Without the mutex: a sender that is stopped takes nothing for a second.
  goodbye.session->send_bye(usual_viewer_reason, goodbye.frames_received, statistics_json);
}

void Subscriber::Implementation::close(const std::string& statistics_json) {
  {
    const std::scoped_lock lock(mutex_);
    if (std::exchange(is_closing_, true)) {
      return;
    }
  }
  send_bye(statistics_json);  // before the other thread learns of the end, because it may hang up then
  {
    const std::scoped_lock lock(mutex_);
    stopping_ = true;
    ::shutdown(handshake_fd_.get(), SHUT_RDWR);
    client_service_.end();
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

}  // namespace framewire
