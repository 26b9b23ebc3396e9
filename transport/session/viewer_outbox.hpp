// What a viewer's program sends to the source and gets from it, besides frames: input events, messages of its own, and
// which frames are to be rendered.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "base/fixed_queue.hpp"
#include "frame/camera.hpp"
#include "input/events.hpp"
#include "input/input_queue.hpp"
#include "transport/message_queue.hpp"

namespace framewire {

class ViewerSession;

/// Writes to the control channel at once, on the thread that sends: the subscriber's thread may be busy with a frame.
/// What the channel does not take waits here, bounded, for flush(). Between sessions there is nothing. Any thread.
class ViewerOutbox {
 public:
  /// A session begins, with its SubscriberStatus::session_number: what waited for an earlier one is dropped.
  void begin(const std::shared_ptr<ViewerSession>& session, std::uint64_t session_number);
  /// As Subscriber::send_input() and send_message().
  bool send_input(const InputBatch& batch, std::uint64_t session_number) noexcept;
  bool send_message(const std::string& json) noexcept;
  void ask_render(const RenderRequest& request) noexcept;
  void revoke_render(std::uint64_t id) noexcept;
  void release_camera() noexcept;
  /// The subscriber's thread: the channel may take more. Throws Error when the connection is gone.
  void flush();

  /// The subscriber's thread: a message of the sender.
  void add_incoming(std::string body);
  std::optional<std::string> take_incoming();
  /// The subscriber's thread: what the sender is rendering.
  void add_rendering(const RenderRequest& request) noexcept;
  [[nodiscard]] std::optional<RenderRequest> find_render(std::uint64_t id) const noexcept;
  /// Of incoming ones, because nobody took them.
  [[nodiscard]] std::uint64_t messages_dropped() const;

 private:
  /// What the sender is told of the frames that it is to render.
  struct RenderNote {
    enum class Kind { ask, revoke, release_camera };
    Kind kind{};
    RenderRequest request{};  // of Kind::ask; its id of Kind::revoke
  };
  static constexpr std::size_t max_renders = 16;

  void send_render(const RenderNote& note) noexcept;
  [[nodiscard]] std::shared_ptr<ViewerSession> open_session() const noexcept;
  void write_waiting(ViewerSession& session);

  mutable std::mutex mutex_;
  std::weak_ptr<ViewerSession> session_;
  std::uint64_t session_number_ = 0;
  InputQueue input_;
  MessageQueue<std::string> messages_;
  FixedQueue<RenderNote> render_notes_{max_renders};
  FixedQueue<RenderRequest> renders_{max_renders};  // that the sender has named
  MessageQueue<std::string> incoming_;
  std::uint64_t messages_dropped_ = 0;
};

}  // namespace framewire
