// The frames of a subscriber's sessions, in the order in which the program takes them.
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

/// One flow per session, the current one last: an earlier one stays until its last whole frame was taken. Guarded by
/// the subscriber's mutex, but for the counts, which any thread may read.
class FrameFlows {
 public:
  /// Returns its number, from 1.
  std::uint64_t add(std::shared_ptr<ViewerSession> session) {
    releases_lost_ = false;
    flows_.push_back({.session = std::move(session), .number = ++flows_begun_});
    return flows_begun_;
  }

  /// Before the next session: the last one is lost, and its link goes with the last frame, and with it the memory that
  /// the next one may need, where that is RDMA's. Takes the mutex. Waits for the program, which `wake` makes call
  /// next(), but not for one that stands still. Not sooner: Soft-RoCE that has to say goodbye over a network that is
  /// down connects to nobody any more.
  void release_lost(std::mutex& mutex, const std::function<void()>& wake);

  /// The next frame in order, or nothing now. Counts it. Frames of a session do not go back, nor leap far ahead: one
  /// whose do is disowned.
  std::optional<ReceivedFrame> next();

  /// How a session ended by a bye: the fault is empty where that was well.
  struct End {
    std::uint64_t frames_lost = 0;  // of those it sent
    std::string fault{};
  };
  /// Of the session that the program is at, once no more of its frames will come.
  [[nodiscard]] std::optional<End> end() const;
  /// The last session is over: where it is disowned its link goes, whatever of its frames stands there.
  void drop_rejected() noexcept;

  [[nodiscard]] bool empty() const noexcept { return flows_.empty(); }
  /// The link of the flow that next() is at; none when empty, or where nothing is taken from it any more.
  [[nodiscard]] std::shared_ptr<ReceiverLink> link() const;
  /// Tells the sender of the current session goodbye, with what was received of it. Not when empty.
  void send_bye(const std::string& reason, const std::string& statistics_json) noexcept;
  /// Behind the goodbye, if there was one: see ViewerSession. When the program and the subscriber's thread take no
  /// more.
  void finish() noexcept;

  [[nodiscard]] std::uint64_t frames_received() const noexcept { return frames_received_.load(); }
  [[nodiscard]] std::uint64_t bytes_received() const noexcept { return bytes_received_.load(); }
  [[nodiscard]] std::uint64_t frames_skipped() const noexcept { return frames_skipped_.load(); }
  /// By links that pull; guarded as the flows are.
  [[nodiscard]] std::uint64_t frames_discarded() const noexcept;

 private:
  struct Flow {
    std::shared_ptr<ViewerSession> session;
    std::uint64_t number = 0;
    std::uint64_t frames_received = 0;
    std::optional<std::uint64_t> last_sequence{};  // of a whole frame
    bool is_exhausted = false;                     // behind a bye: its link had ended, and had no more
  };

  static std::optional<IncomingFrame> poll(Flow& flow) noexcept;
  void count(Flow& flow, const FrameHeader& header) noexcept;
  void drop(const std::deque<Flow>::const_iterator& flow) noexcept;
  static bool holds_registered_memory(const Flow& flow);

  std::deque<Flow> flows_;
  std::uint64_t flows_begun_ = 0;
  bool releases_lost_ = false;
  std::condition_variable went_;
  bool bye_sent_ = false;
  std::uint64_t discarded_before_ = 0;  // by flows that are over
  std::atomic<std::uint64_t> frames_received_ = 0;
  std::atomic<std::uint64_t> bytes_received_ = 0;
  std::atomic<std::uint64_t> frames_skipped_ = 0;
};

}  // namespace framewire
