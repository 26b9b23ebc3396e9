// The connection manager's part of a connection: addresses and routes, connecting, accepting, private data, the end.
#pragma once

#include <sys/socket.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "transport/rdma/options.hpp"
#include "transport/rdma/verbs.hpp"

namespace framewire {

/// What the dialling side says with its first packet, and the accepting one with its answer: opaque here. rdma_cm
/// leaves 56 bytes at connect; an answer may be longer, and need not be.
inline constexpr std::uint8_t rdma_private_bytes = 56;
using RdmaPrivateData = std::array<std::byte, rdma_private_bytes>;

/// Somebody wants to connect: no more than a name so far, without a queue pair or any memory. Destroyed unanswered it
/// is rejected.
class RdmaConnectRequest {
 public:
  RdmaConnectRequest(std::shared_ptr<rdma_event_channel> events, VerbsPtr<rdma_cm_id> id) noexcept
      : events_(std::move(events)), id_(std::move(id)) {}
  RdmaConnectRequest(RdmaConnectRequest&&) noexcept = default;
  RdmaConnectRequest& operator=(RdmaConnectRequest&&) = delete;
  RdmaConnectRequest(const RdmaConnectRequest&) = delete;
  ~RdmaConnectRequest();

  /// What accept() will say.
  void set_answer(const RdmaPrivateData& answer) noexcept { answer_ = answer; }
  [[nodiscard]] const RdmaPrivateData& answer() const noexcept { return answer_; }
  /// Rejects it with a reason. False where somebody has taken it.
  bool reject(const std::string& reason) noexcept;

 private:
  friend class RdmaConnectionManager;
  std::shared_ptr<rdma_event_channel> events_;  // the listener's, which an id outlives at its peril
  VerbsPtr<rdma_cm_id> id_;
  RdmaPrivateData answer_{};
};

/// Set up by one thread, either by resolve() and connect(), or by take(), accept() and await_established(); between the
/// two the id gets its queue pair. Afterwards disconnect() and take_end() may be called beside other threads. All that
/// may throw throws Error: lost_peer (no device here, no route, nobody there, no answer until the deadline, rejected),
/// failed.
class RdmaConnectionManager {
 public:
  /// `peer` stands in sentences.
  RdmaConnectionManager(std::string peer, const RdmaOptions& options);
  ~RdmaConnectionManager();
  RdmaConnectionManager(const RdmaConnectionManager&) = delete;
  RdmaConnectionManager& operator=(const RdmaConnectionManager&) = delete;

  void resolve(const sockaddr& to, std::int64_t deadline_ns);
  /// Returns the event that the connection stands, with what the other side answered.
  VerbsPtr<rdma_cm_event> connect(const RdmaPrivateData& hello, std::int64_t deadline_ns);

  void take(RdmaConnectRequest& request);
  void accept(const RdmaPrivateData& answer);
  void await_established(std::int64_t deadline_ns);
  /// Rejects what was taken.
  void reject(const std::string& reason) noexcept;

  /// With a device, once it is resolved or taken.
  [[nodiscard]] rdma_cm_id& id() const noexcept { return *id_; }
  [[nodiscard]] std::string port_trouble() const;

  [[nodiscard]] int event_descriptor() const noexcept { return events_->fd; }
  std::optional<std::string> take_end() noexcept;
  void disconnect() noexcept;

 private:
  [[nodiscard]] std::string why_silent() const;
  VerbsPtr<rdma_cm_event> await(rdma_cm_event_type wanted, std::int64_t deadline_ns);
  void set_ack_timeout() noexcept;
  void set_type_of_service();

  const std::string peer_;
  const int lifeline_;
  const std::int64_t peer_timeout_ns_;
  const std::optional<std::uint8_t> type_of_service_;
  VerbsPtr<rdma_event_channel> events_;
  VerbsPtr<rdma_cm_id> id_;
  std::atomic<bool> is_disconnected_ = false;
};

}  // namespace framewire
