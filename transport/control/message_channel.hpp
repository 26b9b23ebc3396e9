// Messages of the control channel: a 32-bit little-endian length, then a JSON object with a "type".
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "transport/byte_stream.hpp"

namespace framewire {

/// The longest message that is accepted before and after the peer is authenticated, and how deep its arrays and objects
/// may nest.
inline constexpr std::uint32_t message_limit_before_bytes = 64 * 1024;
inline constexpr std::uint32_t message_limit_bytes = 1024 * 1024;
inline constexpr int message_depth_limit = 32;
/// Whether the arrays and objects of this JSON nest deeper. Parsing deep nesting costs far more than reading the text.
bool nests_deeper(std::string_view text, int levels) noexcept;
/// A peer with more unsent bytes than this counts as lost.
inline constexpr std::size_t outbound_limit_bytes = std::size_t{4} * 1024 * 1024;
/// With more unsent bytes than this, do not read further requests: their answers would only wait, too.
inline constexpr std::size_t outbound_backlog_bytes = std::size_t{64} * 1024;
/// A session takes no more messages than these at once. A peer may never stop sending, and the session must also notice
/// its own end.
inline constexpr int max_messages_at_once = 256;

/// Owned by a session. One thread receives; any thread sends. Errors: lost_peer (the connection ended or broke, or the
/// deadline passed), failed (the peer sent bytes that are not a message).
class MessageChannel {
 public:
  /// `peer` names the other side in error messages.
  MessageChannel(std::unique_ptr<ByteStream> stream, std::string peer, std::uint32_t limit_bytes = message_limit_bytes);

  /// Sends, and waits until the kernel has accepted all bytes. Throws Error.
  void send(const nlohmann::json& message, std::int64_t deadline_ns);
  /// The same, with a deadline in ten seconds.
  void send(const nlohmann::json& message);

  /// Queues without waiting, for threads that must not wait for a slow peer; flush() sends it. Throws Error when the
  /// connection is gone or outbound_limit_bytes already wait.
  void post(const nlohmann::json& message);
  /// Writes what the socket takes without waiting. Returns true when the queue is empty. Throws Error when the
  /// connection is gone.
  bool flush();
  /// While true, also poll fd() for POLLOUT.
  [[nodiscard]] bool wants_write() const;
  /// While true (more than outbound_backlog_bytes wait), answer nothing more, and poll fd() for POLLOUT alone.
  [[nodiscard]] bool has_backlog() const;
  /// Memory of the outbound queue: at most twice outbound_limit_bytes. For tests.
  [[nodiscard]] std::size_t outbound_memory_bytes() const;

  /// The next message. Throws Error.
  nlohmann::json receive(std::int64_t deadline_ns);
  /// The next message; nothing if the deadline passes first. Throws Error, but not for the deadline.
  std::optional<nlohmann::json> receive_before(std::int64_t deadline_ns);
  /// The next message if it is complete; keeps an incomplete one for the next call. Throws Error.
  std::optional<nlohmann::json> try_receive();
  /// Gives `take` the messages that are there, until it returns false; max_messages_at_once at most. Throws Error.
  void receive_arrived(const std::function<bool(const nlohmann::json&)>& take);

  /// Poll it for reading only when has_buffered() is false.
  [[nodiscard]] int fd() const noexcept { return stream_->fd(); }
  [[nodiscard]] bool has_buffered() const noexcept { return stream_->has_buffered(); }

  /// Any thread; wakes a receiver.
  void close() noexcept { stream_->close(); }

  /// Sends the queue, shuts down writing, and waits for the peer to close, so that the last message arrives.
  void finish(std::int64_t deadline_ns) noexcept;

  void set_limit_bytes(std::uint32_t limit_bytes) noexcept { limit_bytes_ = limit_bytes; }
  [[nodiscard]] const std::string& peer() const noexcept { return peer_; }

 private:
  void start_body();
  [[nodiscard]] nlohmann::json finish_body();
  void append(const nlohmann::json& message);
  void drop_sent() noexcept;
  bool write_outbound(short& wait_events);

  std::unique_ptr<ByteStream> stream_;
  std::string peer_;
  std::uint32_t limit_bytes_;

  // Incoming; used by the receiving thread.
  short read_wait_events_ = 0;
  std::array<std::byte, 4> length_{};
  std::size_t length_filled_ = 0;
  std::vector<std::byte> body_;
  std::size_t body_filled_ = 0;

  mutable std::mutex out_mutex_;
  std::vector<std::byte> outbound_;
  std::size_t outbound_sent_ = 0;
};

}  // namespace framewire
