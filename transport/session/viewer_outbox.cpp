#include "transport/session/viewer_outbox.hpp"

#include <exception>
#include <nlohmann/json.hpp>
#include <utility>

#include "transport/session/input_messages.hpp"
#include "transport/session/render_messages.hpp"
#include "transport/session/viewer_session.hpp"

namespace framewire {

void ViewerOutbox::begin(const std::shared_ptr<ViewerSession>& session, std::uint64_t session_number) {
  const std::scoped_lock lock(mutex_);
  session_ = session;
  session_number_ = session_number;
  input_ = {};
  messages_.clear();
  render_notes_ = FixedQueue<RenderNote>(max_renders);
  renders_ = FixedQueue<RenderRequest>(max_renders);
}

std::shared_ptr<ViewerSession> ViewerOutbox::open_session() const noexcept {
  auto session = session_.lock();
  return session && !session->has_bye() ? session : nullptr;
}

bool ViewerOutbox::send_input(const InputBatch& batch, std::uint64_t session_number) noexcept {
  try {
    // The reader at the other end would end the session for a batch that this one refuses.
    const InputBatch checked = read_input(to_json(batch));
    const std::scoped_lock lock(mutex_);
    const auto session = open_session();
    // A press for an earlier session would stay down in this one.
    if (!session || (session_number != 0 && session_number != session_number_)) {
      return false;
    }
    const bool is_whole = input_.push(checked) == 0;
    write_waiting(*session);
    return is_whole;
  } catch (const std::exception&) {
    return false;  // not valid, no memory, or the connection is gone, which the subscriber's thread will notice
  }
}

bool ViewerOutbox::send_message(const std::string& json) noexcept {
  try {
    auto body = checked_body(json);
    const std::size_t bytes = body ? body->size() : 0;
    const std::scoped_lock lock(mutex_);
    const auto session = open_session();
    if (!body || !session || !messages_.push(std::move(*body), bytes)) {
      return false;
    }
    write_waiting(*session);
    return true;
  } catch (const std::exception&) {
    return false;
  }
}

// ---- Frames to render ----

void ViewerOutbox::ask_render(const RenderRequest& request) noexcept {
  send_render({.kind = RenderNote::Kind::ask, .request = request});
}

void ViewerOutbox::revoke_render(std::uint64_t id) noexcept {
  send_render({.kind = RenderNote::Kind::revoke, .request = {.id = id}});
}

void ViewerOutbox::release_camera() noexcept {
  send_render({.kind = RenderNote::Kind::release_camera});
}

/// If too many wait, the sender does not read, and the oldest is of no use any more.
void ViewerOutbox::send_render(const RenderNote& note) noexcept {
  try {
    const std::scoped_lock lock(mutex_);
    const auto session = open_session();
    if (!session) {
      return;
    }
    if (render_notes_.full()) {
      render_notes_.drop();
    }
    render_notes_.push(note);
    write_waiting(*session);
  } catch (const std::exception&) {
    // No memory, or the connection is gone, which the subscriber's thread will notice.
  }
}

void ViewerOutbox::add_rendering(const RenderRequest& request) noexcept {
  const std::scoped_lock lock(mutex_);
  if (renders_.full()) {
    renders_.drop();
  }
  renders_.push(request);
}

std::optional<RenderRequest> ViewerOutbox::find_render(std::uint64_t id) const noexcept {
  const std::scoped_lock lock(mutex_);
  for (std::size_t i = 0; i < renders_.size(); ++i) {
    if (renders_.at(i).id == id) {
      return renders_.at(i);
    }
  }
  return std::nullopt;
}

void ViewerOutbox::flush() {
  const std::scoped_lock lock(mutex_);
  if (const auto session = open_session()) {
    write_waiting(*session);
  }
}

void ViewerOutbox::write_waiting(ViewerSession& session) {
  while (!session.has_backlog() && !render_notes_.empty()) {
    const RenderNote note = render_notes_.pop();
    switch (note.kind) {
      case RenderNote::Kind::ask:
        session.post(render(note.request));
        break;
      case RenderNote::Kind::revoke:
        session.post(framewire::revoke_render(note.request.id));
        break;
      case RenderNote::Kind::release_camera:
        session.post(framewire::release_camera());
        break;
    }
  }
  while (!session.has_backlog() && !input_.empty()) {
    session.post(input_message(*input_.take()));
  }
  while (!session.has_backlog() && !messages_.empty()) {
    session.post(program_message(messages_.pop()));
  }
}

void ViewerOutbox::add_incoming(std::string body) {
  const std::size_t bytes = body.size();
  const std::scoped_lock lock(mutex_);
  messages_dropped_ += incoming_.push_over_oldest(std::move(body), bytes);
}

std::optional<std::string> ViewerOutbox::take_incoming() {
  const std::scoped_lock lock(mutex_);
  if (incoming_.empty()) {
    return std::nullopt;
  }
  return incoming_.pop();
}

std::uint64_t ViewerOutbox::messages_dropped() const {
  const std::scoped_lock lock(mutex_);
  return messages_dropped_;
}

}  // namespace framewire
