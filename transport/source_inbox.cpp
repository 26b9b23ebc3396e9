#include "transport/source_inbox.hpp"

#include <algorithm>
#include <exception>
#include <utility>

#include "base/clock.hpp"

namespace framewire {

// ---- The source's side ----

std::optional<InputBatch> SourceInbox::Reader::take() {
  const std::scoped_lock lock(inbox_.mutex_);
  return queue_.take();
}

std::uint64_t SourceInbox::Reader::dropped() const {
  const std::scoped_lock lock(inbox_.mutex_);
  return dropped_;
}

std::unique_ptr<SourceInbox::Reader> SourceInbox::open_input(std::function<void()> wake) {
  std::unique_ptr<Reader> reader(new Reader(*this, std::move(wake)));
  EventList sessions;
  const std::scoped_lock lock(mutex_);
  readers_.push_back(reader.get());
  wake_sessions(sessions);
  return reader;
}

void SourceInbox::close(const Reader& reader) noexcept {
  const std::scoped_lock lock(mutex_);
  std::erase(readers_, &reader);
}

void SourceInbox::set_closing_reason(std::string why) {
  const std::scoped_lock lock(mutex_);
  closing_reason_ = std::move(why);
}

void SourceInbox::take_messages(std::function<void()> wake) {
  EventList sessions;
  const std::scoped_lock lock(mutex_);
  wake_for_messages_ = std::move(wake);
  wake_sessions(sessions);
}

void SourceInbox::set_message_refusal(std::string why) {
  const std::scoped_lock lock(mutex_);
  message_refusal_ = std::move(why);
}

/// They may have told their viewers that nobody takes what they send.
void SourceInbox::wake_sessions(EventList& sessions) const noexcept {
  for (const Session& one : sessions_) {
    sessions.add(one.wake_event);
  }
}

std::optional<ViewerMessage> SourceInbox::take_message() {
  const std::scoped_lock lock(mutex_);
  for (std::size_t tried = 0; tried <= sessions_.size(); ++tried) {
    turn_ = turn_ <= sessions_.size() ? turn_ : 0;
    MessageQueue<ViewerMessage>& waiting = turn_ < sessions_.size() ? sessions_[turn_].incoming : left_behind_;
    ++turn_;
    if (!waiting.empty()) {
      return waiting.pop();
    }
  }
  return std::nullopt;
}

std::uint64_t SourceInbox::broadcast(std::string body) {
  const auto message = std::make_shared<const std::string>(std::move(body));
  EventList sessions;
  const std::scoped_lock lock(mutex_);
  ++counts_.messages_sent;
  std::uint64_t dropped = 0;
  for (Session& session : sessions_) {
    dropped += session.outgoing.push_over_oldest(message, message->size());
    sessions.add(session.wake_event);
  }
  counts_.messages_dropped += dropped;
  return dropped;
}

SourceInbox::Counts SourceInbox::counts() const {
  const std::scoped_lock lock(mutex_);
  return counts_;
}

// ---- The sessions' side ----

SourceInbox::Session* SourceInbox::find(const void* session) noexcept {
  const auto found = std::ranges::find(sessions_, session, &Session::id);
  return found != sessions_.end() ? &*found : nullptr;
}

void SourceInbox::join(const void* session, SharedEvent wake_event) {
  const std::scoped_lock lock(mutex_);
  sessions_.push_back({.id = session,
                       .number = ++sessions_joined_,
                       .wake_event = std::move(wake_event),
                       .outgoing = {},
                       .incoming = {}});
}

void SourceInbox::leave(const void* session) noexcept {
  EventList sessions;
  const std::scoped_lock lock(mutex_);
  if (Session* const leaving = find(session)) {
    leave_behind(leaving->incoming);
  }
  std::erase_if(sessions_, [&](const Session& one) { return one.id == session; });
  if (owner_ != session) {
    return;
  }
  owner_ = nullptr;
  for (Reader* const reader : readers_) {
    try {
      const std::uint64_t dropped = reader->queue_.release_all();
      reader->dropped_ += dropped;
      counts_.events_dropped += dropped;
    } catch (const std::exception&) {
      // Out of memory: this reader misses releases.
    }
    if (reader->wake_) {
      reader->wake_();
    }
  }
  wake_sessions(sessions);
}

/// The program still gets them.
void SourceInbox::leave_behind(MessageQueue<ViewerMessage>& messages) noexcept {
  try {
    while (!messages.empty()) {
      ViewerMessage message = messages.pop();
      const std::size_t bytes = message.body.size();
      counts_.messages_dropped += left_behind_.push(std::move(message), bytes) ? 0U : 1U;
    }
  } catch (const std::exception&) {
    counts_.messages_dropped += 1 + messages.size();  // out of memory
  }
}

std::string SourceInbox::refusal_of(const void* session) const {
  if (readers_.empty()) {
    return closing_reason_.empty()
               ? "this source takes no input: it is no gl: scene, and its sender runs without --events"
               : closing_reason_;
  }
  return owner_ != nullptr && owner_ != session ? "another viewer has the input of this stream, until it leaves" : "";
}

std::string SourceInbox::input_refusal(const void* session) const {
  const std::scoped_lock lock(mutex_);
  return refusal_of(session);
}

std::string SourceInbox::give_input(const void* session, const InputBatch& batch) {
  const std::scoped_lock lock(mutex_);
  if (std::string refusal = refusal_of(session); !refusal.empty()) {
    return refusal;
  }
  owner_ = session;
  counts_.events_received += batch.events.size();
  InputBatch queued = batch;
  for (InputEvent& event : queued.events) {
    event.queued_ns = monotonic_ns();
  }
  for (Reader* const reader : readers_) {
    const std::uint64_t dropped = reader->queue_.push(queued);
    reader->dropped_ += dropped;
    counts_.events_dropped += dropped;
    if (reader->wake_) {
      reader->wake_();
    }
  }
  return {};
}

std::string SourceInbox::give_message(const void* session, std::string body) {
  const std::scoped_lock lock(mutex_);
  if (!wake_for_messages_) {
    ++counts_.messages_dropped;
    return message_refusal_;
  }
  ++counts_.messages_received;
  Session* const sender = find(session);
  const std::size_t bytes = body.size();
  if (sender == nullptr || !sender->incoming.push({.viewer = sender->number, .body = std::move(body)}, bytes)) {
    ++counts_.messages_dropped;
    return {};
  }
  wake_for_messages_();
  return {};
}

std::string SourceInbox::message_refusal() const {
  const std::scoped_lock lock(mutex_);
  return wake_for_messages_ ? std::string() : message_refusal_;
}

std::shared_ptr<const std::string> SourceInbox::next_outgoing(const void* session) {
  const std::scoped_lock lock(mutex_);
  Session* const receiver = find(session);
  return receiver == nullptr || receiver->outgoing.empty() ? nullptr : receiver->outgoing.pop();
}

}  // namespace framewire
