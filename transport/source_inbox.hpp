// What viewers send to the program that makes a stream's frames: input events, and messages of the programs' own, which
// go both ways.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "input/events.hpp"
#include "input/input_queue.hpp"
#include "transport/event_list.hpp"
#include "transport/message_queue.hpp"

namespace framewire {

/// A message of a viewer.
struct ViewerMessage {
  std::uint64_t viewer = 0;  // the number of its session: the stream's sessions count from 1
  std::string body;          // a JSON object
};

/// Between the sessions of a stream and those who take its input and its messages: the source, or the program. Input
/// has one owner at a time, the first viewer that sends some; when it leaves, all that it has pressed is released. All
/// queues are bounded, those of messages as a MessageQueue for each viewer and way, and no call waits. Any thread.
class SourceInbox {
 public:
  struct Counts {
    std::uint64_t events_received = 0;  // of the owners
    std::uint64_t events_dropped = 0;   // by a full queue, for each reader
    std::uint64_t messages_received = 0;
    std::uint64_t messages_sent = 0;     // by the program; each goes to all viewers
    std::uint64_t messages_dropped = 0;  // by full queues, either way, or because nobody takes them

    /// Names every field, so that the compiler asks for a new one.
    Counts& operator+=(const Counts& more) noexcept {
      auto& [received, dropped, messages, sent, lost] = *this;
      const auto& [more_received, more_dropped, more_messages, more_sent, more_lost] = more;
      received += more_received;
      dropped += more_dropped;
      messages += more_messages;
      sent += more_sent;
      lost += more_lost;
      return *this;
    }
  };

  /// Takes the stream's input while it exists: every reader gets all events, from a queue of its own. The inbox
  /// outlives it. One thread at a time.
  class Reader {
   public:
    ~Reader() { inbox_.close(*this); }
    Reader(const Reader&) = delete;
    Reader& operator=(const Reader&) = delete;
    /// The oldest events that it has not taken, of one viewer and epoch.
    [[nodiscard]] std::optional<InputBatch> take();
    /// Events that its full queue has dropped.
    [[nodiscard]] std::uint64_t dropped() const;

   private:
    friend class SourceInbox;
    Reader(SourceInbox& inbox, std::function<void()> wake) : inbox_(inbox), wake_(std::move(wake)) {}
    SourceInbox& inbox_;
    std::function<void()> wake_;
    InputQueue queue_;
    std::uint64_t dropped_ = 0;
  };

  // ---- The source's side ----

  /// From now on viewers may send input. `wake` is called when some has come, by the session's thread: it must neither
  /// wait nor call the inbox.
  [[nodiscard]] std::unique_ptr<Reader> open_input(std::function<void()> wake = {});
  /// Why viewers may send no input once there is no reader any more; without this call, because there was none.
  void set_closing_reason(std::string why);
  /// From now on viewers may send messages; `wake` as above. An empty one: not any more.
  void take_messages(std::function<void()> wake);
  /// Why viewers may send no messages while nobody takes them; without this call, because there is no --messages.
  void set_message_refusal(std::string why);
  /// Of each viewer in turn, its oldest.
  [[nodiscard]] std::optional<ViewerMessage> take_message();
  /// Sends a JSON object to all viewers, at most max_message_body_bytes. A viewer that does not take its messages loses
  /// the oldest. Returns how many were lost for this one.
  std::uint64_t broadcast(std::string body);
  [[nodiscard]] Counts counts() const;

  // ---- The sessions' side; `session` identifies one ----

  /// Its `wake_event` is signalled when it has a message to send, or a refusal may have ended, until leave().
  void join(const void* session, SharedEvent wake_event);
  void leave(const void* session) noexcept;
  /// Its viewer's events. Returns why they are refused, or nothing.
  std::string give_input(const void* session, const InputBatch& batch);
  /// Its viewer's message. Returns why it is refused, or nothing; when too many of this viewer wait, it is dropped.
  std::string give_message(const void* session, std::string body);
  /// Why give_message() would refuse one now.
  [[nodiscard]] std::string message_refusal() const;
  /// Why give_input() would refuse its events now.
  [[nodiscard]] std::string input_refusal(const void* session) const;
  /// The next message for its viewer, or null.
  [[nodiscard]] std::shared_ptr<const std::string> next_outgoing(const void* session);

 private:
  struct Session {
    const void* id = nullptr;
    std::uint64_t number = 0;
    SharedEvent wake_event{};
    MessageQueue<std::shared_ptr<const std::string>> outgoing;
    MessageQueue<ViewerMessage> incoming;
  };

  void close(const Reader& reader) noexcept;
  void leave_behind(MessageQueue<ViewerMessage>& messages) noexcept;
  [[nodiscard]] std::string refusal_of(const void* session) const;
  void wake_sessions(EventList& sessions) const noexcept;
  [[nodiscard]] Session* find(const void* session) noexcept;

  mutable std::mutex mutex_;
  std::vector<Reader*> readers_;
  std::string closing_reason_;
  std::string message_refusal_ = "this sender takes no messages: it runs without --messages";
  const void* owner_ = nullptr;
  std::function<void()> wake_for_messages_;
  std::vector<Session> sessions_;
  MessageQueue<ViewerMessage> left_behind_;  // of sessions that have left
  std::size_t turn_ = 0;                     // of take_message(): an index of sessions_, or behind them
  std::uint64_t sessions_joined_ = 0;
  Counts counts_;
};

}  // namespace framewire
