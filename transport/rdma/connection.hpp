// One reliable connected queue pair, from its dialling or accepting to its end.
#pragma once

#include <sys/socket.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/log.hpp"
#include "transport/rdma/device_events.hpp"
#include "transport/rdma/domain.hpp"
#include "transport/rdma/verbs.hpp"

namespace framewire {

/// What the dialling side says with its first packet, and the accepting one with its answer: opaque here. rdma_cm
/// leaves 56 bytes at connect; an answer may be longer, and need not be.
inline constexpr std::uint8_t rdma_private_bytes = 56;
using RdmaPrivateData = std::array<std::byte, rdma_private_bytes>;

/// Which protection domain a connection over this device gets.
using DomainOf = std::function<std::shared_ptr<ibv_pd>(ibv_context* device)>;

/// What is asked of the device, where it has it. Less stands for a poorer one.
struct RdmaWishes {
  std::uint32_t queue_depth = 512;
  std::uint32_t inline_bytes = 512;
  std::uint64_t chunk_bytes = std::uint64_t{1} << 20;  // from 1 MiB on longer writes gain nothing
  bool immediates = true;
  bool windows = true;
};

struct RdmaOptions {
  DomainOf domain_of;
  std::int64_t peer_timeout_ns = 1'000'000'000;  // a peer whose device does not answer for so long is lost
  RdmaWishes wishes{};
  // Registered memory for each request that can be under way, made before the other side hears that it is connected:
  // what cannot be had is a reason not to connect.
  std::uint64_t staging_bytes_per_request = 0;
  // A socket whose end, at either side, also ends the connecting: the session's control channel. It outlives that.
  int lifeline = -1;
  // Receives without memory, for immediates: all are posted at once. Without them the owner posts its own, before the
  // peer may send.
  bool receives_immediates = true;
  // Which of the device's completion vectors, that is of its interrupts, tells of completions: modulo how many it has.
  std::uint32_t completion_vector = 0;
  // What a person should hear of the device while the connection lasts. Any thread; none: nobody listens.
  std::function<void(LogLevel level, const std::string& text)> say{};
};

/// What the device gave, which may be less than was asked for.
struct RdmaGrants {
  std::uint32_t send_depth = 0;     // work requests that may be posted and not completed
  std::uint32_t receive_depth = 0;  // immediates that may come in before the next one is taken
  std::uint32_t inline_bytes = 0;
  std::uint64_t chunk_bytes = 0;  // the longest single write
  bool has_immediate = true;      // RDMA WRITE WITH IMMEDIATE: not on iWARP
  bool has_windows = false;       // type 2B memory windows
};

/// Somebody wants to connect: no more than a name so far, without a queue pair or any memory. Destroyed unanswered it
/// is rejected.
class RdmaRequest {
 public:
  RdmaRequest(std::shared_ptr<rdma_event_channel> events, Verbs<rdma_cm_id> id) noexcept
      : events_(std::move(events)), id_(std::move(id)) {}
  RdmaRequest(RdmaRequest&&) noexcept = default;
  RdmaRequest& operator=(RdmaRequest&&) = delete;
  RdmaRequest(const RdmaRequest&) = delete;
  ~RdmaRequest();

  /// What accept() will say.
  void set_answer(const RdmaPrivateData& answer) noexcept { answer_ = answer; }

 private:
  friend class RdmaConnection;
  std::shared_ptr<rdma_event_channel> events_;  // the listener's, which an id outlives at its peril
  Verbs<rdma_cm_id> id_;
  RdmaPrivateData answer_{};
};

/// Set up by one thread. Afterwards the queues are the owner's to guard; disconnect() and take_end() may run beside.
class RdmaConnection {
 public:
  /// Connects to an RDMA listener at an address, which `name` names for people. `check_answer` gets what it answered,
  /// and throws when it is not who it should be. Throws Error: lost_peer (no device here, no route, nobody there, no
  /// answer until the deadline), refused (the other side rejects the connection), failed (the device lacks something).
  static std::unique_ptr<RdmaConnection> dial(const sockaddr& to, const std::string& name, const RdmaPrivateData& hello,
                                              const std::function<void(std::span<const std::byte>)>& check_answer,
                                              const RdmaOptions& options, std::int64_t deadline_ns);

  /// Answers a request. Throws Error as above.
  static std::unique_ptr<RdmaConnection> accept(RdmaRequest request, const RdmaOptions& options,
                                                std::int64_t deadline_ns);

  RdmaConnection(const RdmaConnection&) = delete;
  RdmaConnection& operator=(const RdmaConnection&) = delete;
  ~RdmaConnection();

  [[nodiscard]] ibv_qp* queue_pair() const noexcept { return id_->qp; }
  [[nodiscard]] const std::shared_ptr<ibv_pd>& domain() const noexcept { return domain_; }
  [[nodiscard]] ibv_cq* send_completions() const noexcept { return send_completions_.get(); }
  [[nodiscard]] ibv_cq* receive_completions() const noexcept { return receive_completions_.get(); }
  /// For the end of a sentence about a connection that was lost: that this end's own port is not active, if it is not.
  /// The device is asked; any thread.
  [[nodiscard]] std::string port_trouble() const;
  [[nodiscard]] std::int64_t peer_timeout_ns() const noexcept { return options_.peer_timeout_ns; }
  [[nodiscard]] const RdmaGrants& grants() const noexcept { return grants_; }
  /// As the options asked; none where they did not.
  [[nodiscard]] const std::shared_ptr<const Registration>& staging() const noexcept { return staging_; }
  /// Whether this end dialled.
  [[nodiscard]] bool is_dialler() const noexcept { return is_dialler_; }

  /// The immediate that a completed receive brought; nothing when it brought something else. Under the owner's lock, as
  /// hold_receive(), which notes that its place may be given to the next one, and post_held_receives(), which does that
  /// for all of them in few calls; false when the queue pair is in error.
  [[nodiscard]] std::optional<std::uint32_t> immediate_of(const ibv_wc& completion) const noexcept;
  void hold_receive(const ibv_wc& completion) noexcept {
    held_receives_.push_back(static_cast<std::uint32_t>(completion.wr_id));
  }
  bool post_held_receives() noexcept;

  /// Asks that completion_descriptor() becomes readable at the next completion of either queue; what has completed
  /// before is not told of. Costs nothing while the last request still stands. False when the device is gone. Under the
  /// owner's lock, as take_notifications(), which reads the descriptor empty.
  bool request_notification() noexcept;
  void take_notifications() noexcept;
  [[nodiscard]] int completion_descriptor() const noexcept { return channel_->fd; }

  /// Readable when the connection manager has something to say; take_end() says why the connection has ended, if it
  /// has.
  [[nodiscard]] int event_descriptor() const noexcept { return events_->fd; }
  std::optional<std::string> take_end() noexcept;

  /// Readable when the device has something to say, of this connection or of another one; take_device_events() says
  /// what concerns this one, or the device as a whole. One thread.
  [[nodiscard]] int device_event_descriptor() const noexcept { return id_->verbs->async_fd; }
  std::vector<DeviceEvent> take_device_events() { return device_events_.take(*id_->verbs); }
  /// A line for a person. Any thread.
  void say(LogLevel level, const std::string& text) const {
    if (options_.say) {
      options_.say(level, text);
    }
  }
  [[nodiscard]] std::string device_name() const { return ibv_get_device_name(id_->verbs->device); }

  /// Tells the other side, and ends every request that is still posted. Any thread; a second call does nothing.
  void disconnect() noexcept;

 private:
  explicit RdmaConnection(RdmaOptions options);

  [[nodiscard]] std::string why_silent() const;
  Verbs<rdma_cm_event> await(rdma_cm_event_type wanted, std::int64_t deadline_ns);
  void resolve(const sockaddr& to, std::int64_t deadline_ns);
  void make_queue_pair();
  void make_queues(const ibv_device_attr& attributes);
  void prepare_immediates();
  void set_ack_timeout() noexcept;
  void shorten_waits_for_the_unready() noexcept;

  const RdmaOptions options_;
  std::string peer_;            // for people
  DeviceEvents device_events_;  // outlives the queues, to which it is known
  Verbs<rdma_event_channel> events_;
  Verbs<rdma_cm_id> id_;
  std::shared_ptr<ibv_pd> domain_;
  std::shared_ptr<const Registration> staging_;
  std::shared_ptr<const Registration> notices_;  // where the immediates of devices that have none come in, as messages
  Verbs<ibv_comp_channel> channel_;
  Verbs<ibv_cq> send_completions_;
  Verbs<ibv_cq> receive_completions_;
  RdmaGrants grants_;
  std::vector<std::uint32_t> held_receives_;  // places; never more than there are
  bool is_dialler_ = false;
  std::atomic<bool> is_disconnected_ = false;

  /// A completion queue's notifications.
  struct Notified {
    ibv_cq* queue = nullptr;
    bool is_requested = false;
    unsigned unacknowledged = 0;
  };
  std::array<Notified, 2> notified_;
};

}  // namespace framewire
