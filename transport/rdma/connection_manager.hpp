// rdma_cm's part of a connection: address and route resolution, connecting, accepting, private data, the end.
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

#include "base/error.hpp"
#include "transport/rdma/options.hpp"
#include "transport/rdma/verbs.hpp"

namespace framewire {

/// The private data of the dialling side's first packet and of the accepting side's answer. Opaque here. rdma_cm leaves
/// 56 bytes at connect; an answer may be longer, but need not be.
inline constexpr std::uint8_t rdma_private_bytes = 56;
using RdmaPrivateData = std::array<std::byte, rdma_private_bytes>;

/// The peer of this very session rejected the connection, and said why.
class RdmaRejected : public Error {
 public:
  explicit RdmaRejected(const std::string& message) : Error(ExitStatus::lost_peer, message) {}
};

/// An incoming connection request. It has an rdma_cm id, but neither QP nor memory. The destructor rejects it when
/// nobody has answered it.
class RdmaConnectRequest {
 public:
  RdmaConnectRequest(std::shared_ptr<rdma_event_channel> events, VerbsPtr<rdma_cm_id> id) noexcept
      : events_(std::move(events)), id_(std::move(id)) {}
  RdmaConnectRequest(RdmaConnectRequest&&) noexcept = default;
  RdmaConnectRequest& operator=(RdmaConnectRequest&&) = delete;
  RdmaConnectRequest(const RdmaConnectRequest&) = delete;
  ~RdmaConnectRequest();

  /// The private data that accept() will send.
  void set_answer(const RdmaPrivateData& answer) noexcept { answer_ = answer; }
  [[nodiscard]] const RdmaPrivateData& answer() const noexcept { return answer_; }
  /// Rejects it with a reason. False when a connection has already taken the request.
  bool reject(const std::string& reason) noexcept;

 private:
  friend class RdmaConnectionManager;
  std::shared_ptr<rdma_event_channel> events_;  // the listener's; must outlive the id
  VerbsPtr<rdma_cm_id> id_;
  RdmaPrivateData answer_{};
};

/// One thread sets it up: either by resolve() and connect(), or by take(), accept() and await_established(). The id
/// gets its QP between the two steps. Afterwards disconnect() and take_end() may run on any thread. Functions that
/// throw throw Error: lost_peer (no device here, no route, no listener there, no answer until the deadline, rejected)
/// or failed.
class RdmaConnectionManager {
 public:
  /// `peer` names the other side in error messages.
  RdmaConnectionManager(std::string peer, const RdmaOptions& options);
  ~RdmaConnectionManager();
  RdmaConnectionManager(const RdmaConnectionManager&) = delete;
  RdmaConnectionManager& operator=(const RdmaConnectionManager&) = delete;

  void resolve(const sockaddr& to, std::int64_t deadline_ns);
  /// Returns the event that the connection is established, with the other side's private data.
  VerbsPtr<rdma_cm_event> connect(const RdmaPrivateData& hello, std::int64_t deadline_ns);

  void take(RdmaConnectRequest& request);
  void accept(const RdmaPrivateData& answer);
  void await_established(std::int64_t deadline_ns);
  /// Rejects the request that take() took.
  void reject(const std::string& reason) noexcept;

  /// Has a device after resolve() or take().
  [[nodiscard]] rdma_cm_id& id() const noexcept { return *id_; }
  [[nodiscard]] std::string port_trouble() const;

  [[nodiscard]] int event_descriptor() const noexcept { return events_->fd; }
  std::optional<std::string> take_end() noexcept;
  void disconnect() noexcept;

 private:
  [[nodiscard]] std::string silence_hint() const;
  VerbsPtr<rdma_cm_event> await(rdma_cm_event_type wanted, std::int64_t deadline_ns);
  void set_ack_timeout() noexcept;
  void set_type_of_service();

  const std::string peer_;
  const int cancel_fd_;
  const std::int64_t peer_timeout_ns_;
  const std::optional<std::uint8_t> type_of_service_;
  VerbsPtr<rdma_event_channel> events_;
  VerbsPtr<rdma_cm_id> id_;
  std::atomic<bool> is_disconnected_ = false;
};

}  // namespace framewire
