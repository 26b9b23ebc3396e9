// The frames of a subscriber's sessions, in the order in which the program gets them.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "transport/session/subscriber.hpp"
#include "transport/session/viewer_session.hpp"

namespace framewire {

/// One flow per session, the current one last. An earlier flow stays until its last complete frame is taken, or until
/// there are two of them. Guarded by the subscriber's mutex, except the counts, which any thread may read.
class FrameFlows {
 public:
  /// Call before add(). A program that takes no frames must not keep the rings and descriptors of many sessions: if
  /// there is an earlier flow already, it is dropped, and its frames are lost. Returns its session, to be destroyed
  /// without the mutex, or null. Any thread.
  [[nodiscard]] std::shared_ptr<ViewerSession> drop_surplus() noexcept;

  /// Returns the session's number, from 1.
  std::uint64_t add(std::shared_ptr<ViewerSession> session) {
    must_drop_lost_flow_ = false;
    flows_.push_back({.session = std::move(session), .number = ++flows_begun_});
    return flows_begun_;
  }

  /// Call before each session, once the sender is connected again. If the last session was lost and held registered
  /// memory (LinkTraits::holds_registered_memory), waits at most one second until next() has dropped its flow; `wake`
  /// makes the program call next(). The link then lives only until the program has destroyed its last frame, and its
  /// registered memory becomes free for the next session. The subscriber's thread; takes the mutex. Do not call it
  /// earlier: destroying a Soft-RoCE connection while its network is down prevents all later connections.
  void release_lost(std::mutex& mutex, const std::function<void()>& wake);

  /// The next frame in order, or nullopt. Counts it. Sequence numbers must increase within a session, and must not jump
  /// far ahead; a session that breaks this is rejected.
  std::optional<ReceivedFrame> next();

  /// The result of a session that ended with a bye; `fault` is empty on success.
  struct Outcome {
    std::uint64_t frames_lost = 0;  // sent but not received, and not counted by FrameFlows::frames_lost()
    std::string fault{};
  };
  /// The result of the current session, when no more of its frames will come.
  [[nodiscard]] std::optional<Outcome> outcome() const;
  /// Call when the last session is over: if it was rejected, drops its link and its remaining frames.
  void drop_rejected() noexcept;

  [[nodiscard]] bool empty() const noexcept { return flows_.empty(); }
  /// The link that next() reads; null when there is none, or when no more frames are taken from it.
  [[nodiscard]] std::shared_ptr<ReceiverLink> link() const;
  /// What is to be told the current session's sender, by send_bye() and without the mutex. Must not be called when
  /// empty().
  struct Goodbye {
    std::shared_ptr<ViewerSession> session;
    std::uint64_t frames_received = 0;
  };
  Goodbye begin_bye() noexcept;
  /// Waits until the sender has received the bye, if one was begun; see ViewerSession::finish(). Call when neither the
  /// program nor the subscriber's thread uses the flows any more.
  void finish() noexcept;

  [[nodiscard]] std::uint64_t frames_received() const noexcept { return frames_received_.load(); }
  [[nodiscard]] std::uint64_t bytes_received() const noexcept { return bytes_received_.load(); }
  [[nodiscard]] std::uint64_t frames_skipped() const noexcept { return frames_skipped_.load(); }
  /// Frames that the program did not take: of dropped flows, and those that a sender has withdrawn. Without those that
  /// outcome() tells. Guarded like the flows.
  [[nodiscard]] std::uint64_t frames_lost() const noexcept;
  /// Frames discarded by links that pull. Guarded like the flows.
  [[nodiscard]] std::uint64_t frames_discarded() const noexcept;

 private:
  struct Flow {
    std::shared_ptr<ViewerSession> session;
    std::uint64_t number = 0;
    std::uint64_t frames_received = 0;
    std::optional<std::uint64_t> last_sequence{};  // of a frame that is complete or given up
    std::uint64_t last_received = 0;               // the same, of a complete one; with frames_received
    bool is_exhausted = false;                     // after a bye: the link has ended and has no more frames
  };

  static std::optional<IncomingFrame> poll(Flow& flow) noexcept;
  static bool follows(const Flow& flow, const FrameHeader& header);
  static bool is_given_up(Flow& flow, const ReceivedFrame& received) noexcept;
  void count(Flow& flow, const FrameHeader& header) noexcept;
  void drop(const std::deque<Flow>::const_iterator& flow) noexcept;
  void maintain_newest(std::mutex& mutex) const;
  static bool holds_registered_memory(const Flow& flow);
  /// That its sender has sent, by its bye.
  static bool has_all_frames(const Flow& flow) noexcept;

  std::deque<Flow> flows_;
  std::uint64_t flows_begun_ = 0;
  bool must_drop_lost_flow_ = false;
  std::condition_variable flow_dropped_;
  bool bye_begun_ = false;
  std::uint64_t discarded_before_ = 0;  // by removed flows
  std::atomic<std::uint64_t> frames_received_ = 0;
  std::atomic<std::uint64_t> bytes_received_ = 0;
  std::atomic<std::uint64_t> frames_skipped_ = 0;
  std::uint64_t frames_lost_ = 0;  // of removed flows
};

}  // namespace framewire
