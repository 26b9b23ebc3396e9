// One stream that the viewer receives.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "base/log.hpp"
#include "base/prefixed_log.hpp"
#include "command/interruption.hpp"
#include "transport/session/host_copies.hpp"
#include "viewer/frame_queue.hpp"
#include "viewer/options.hpp"
#include "viewer/recorder.hpp"
#include "viewer/silence.hpp"
#include "viewer/statistics.hpp"
#include "viewer/stream_facts.hpp"
#include "viewer/wake_event.hpp"

namespace framewire {

/// Receives the frames of a stream on a thread of its own, "fw-receive": follows sessions and formats, counts, has
/// frames recorded, and queues them for the drawing thread. What that thread does, or is blocked in, delays none of it.
class ViewedStream {
 public:
  /// Who draws its frames.
  struct Drawer {
    Quality quality = Quality::fast;   // of usual colours: warnings depend on it
    bool reads_device_memory = false;  // else frames there are copied to host memory
  };

  /// Called by any thread, without a mutex of the stream. They must not wait.
  struct Listeners {
    std::function<void()> on_news;     // for the drawing thread: frames, or other facts()
    std::function<void()> on_session;  // for the main thread: a session has begun
    std::function<void()> on_end;      // for the main thread: see ending(), and whether the queue is done
  };

  /// Starts connecting. `shows_name`: as show_name_in_log(). `sync`: the streams that it is shown together with; null:
  /// it is shown by itself. The references, and `sync`, outlive it. Throws Error.
  ViewedStream(const ViewerOptions& options, ViewedSource source, bool shows_name, const Drawer& drawer,
               const Clock& clock, const Interruption& interruption, SyncGroup* sync, Log& log, Listeners listeners);
  ViewedStream(const ViewedStream&) = delete;
  ViewedStream& operator=(const ViewedStream&) = delete;
  /// As stop().
  ~ViewedStream();

  [[nodiscard]] FrameQueue& queue() noexcept { return queue_; }
  [[nodiscard]] const FrameQueue& queue() const noexcept { return queue_; }
  [[nodiscard]] Statistics& statistics() noexcept { return statistics_; }
  [[nodiscard]] const Statistics& statistics() const noexcept { return statistics_; }
  [[nodiscard]] Recorder& recorder() noexcept { return recorder_; }
  [[nodiscard]] const Recorder& recorder() const noexcept { return recorder_; }
  /// The awaited sender: "box:5290". Constant.
  [[nodiscard]] const std::string& peer_text() const noexcept { return peer_text_; }

  /// Whether its name stands before what is logged about it. Any thread.
  void show_name_in_log(bool is_shown) noexcept { log_.show_prefix(is_shown); }

  // ---- The drawing thread ----

  /// The drawing thread can draw the format that was the newest when the status had this `epochs_begun`. The sender
  /// holds its frames back until then; but not for more than a second, for that thread may be blocked.
  void confirm_epoch(std::uint64_t epochs_begun) noexcept;

  /// Asks the sender to render its frames at other times (Subscriber::ask_cadence()).
  void ask_cadence(const CadenceRequest& request) noexcept { subscriber_.ask_cadence(request); }

  /// Asks the sender for frames (Subscriber).
  void ask_render(const RenderRequest& request) noexcept { subscriber_.ask_render(request); }
  void revoke_render(std::uint64_t id) noexcept { subscriber_.revoke_render(id); }
  void release_camera() noexcept { subscriber_.release_camera(); }
  [[nodiscard]] std::optional<RenderRequest> find_render(std::uint64_t id) const noexcept {
    return subscriber_.find_render(id);
  }

  // ---- Any thread ----

  /// What the user does (Subscriber::send_input()).
  bool send_input(const InputBatch& batch, std::uint64_t session_number) noexcept {
    return subscriber_.send_input(batch, session_number);
  }

  [[nodiscard]] StreamFacts facts() const;
  /// Messages of the programs' own; see Subscriber.
  bool send_message(const std::string& json) noexcept { return subscriber_.send_message(json); }
  std::optional<std::string> take_message() { return subscriber_.take_message(); }
  /// The stream's name at its sender; empty before the first session if the user has named none.
  [[nodiscard]] std::string stream_name() const;
  /// As it is now; facts() may be a moment behind.
  [[nodiscard]] SubscriberStatus status() const { return subscriber_.status(); }
  /// Where it awaits its sender; 0 if it dials. Constant.
  [[nodiscard]] std::uint16_t port() const noexcept { return subscriber_.port(); }
  /// With its sender, if the viewer starts that on another host; else null. Constant.
  [[nodiscard]] const std::shared_ptr<Rendezvous>& rendezvous() const noexcept { return rendezvous_; }
  /// Changes with facts(); cheap enough to compare for each frame.
  [[nodiscard]] std::uint64_t facts_version() const noexcept { return facts_version_.load(); }
  [[nodiscard]] SubscriberCounts counts() const { return subscriber_.counts(); }
  [[nodiscard]] Subscriber::ClockOffset clock_offset() const noexcept { return subscriber_.clock_offset(); }
  /// Whether frames stay away; nothing if none is due, as after the last one.
  [[nodiscard]] std::optional<Silence> silence() const;
  /// Whether as many frames have come as --frames asked for.
  [[nodiscard]] bool has_all_frames() const noexcept;
  /// Set when no frame will come for another reason than the sender's bye: the exit status.
  [[nodiscard]] std::optional<ExitStatus> ending() const;
  /// Whether no frame waits and none will come.
  [[nodiscard]] bool is_over() const { return queue_.is_done() || ending(); }
  /// Sets StreamFacts::trouble.
  void set_trouble(const std::string& trouble);
  /// No frame will come: sets ending().
  void end(ExitStatus status);

  // ---- The main thread ----

  /// Receives no more frames.
  void stop() noexcept;
  /// After stop(): sends bye with the counts as they are now; what is still being recorded is missing there.
  /// Any thread; the second call waits for the first.
  void close(const std::string& statistics_json) {
    const std::scoped_lock lock(closing_);
    subscriber_.close(statistics_json);
  }

 private:
  void run() noexcept;
  bool take_frame();
  [[nodiscard]] bool must_copy(const ReceivedFrame& frame) const noexcept;
  void sleep();
  void follow_status();
  void follow_epoch(const ReceivedFrame& frame);
  void say_status(const SubscriberStatus& before, const SubscriberStatus& now);
  void say_other_memory(const SubscriberStatus& now);
  void say_format_warnings(const StreamFormat& format);
  void say_ring_shortage();
  void confirm_late(std::int64_t now_ns) noexcept;

  const ViewerOptions& options_;
  const std::string peer_text_;
  const std::string wanted_stream_;  // empty: the sender's first
  const bool is_named_by_sender_;    // peer_text_ names the sender alone
  const std::shared_ptr<Rendezvous> rendezvous_;
  const Drawer drawer_;
  const Clock& clock_;
  PrefixedLog log_;
  const Listeners listeners_;
  Statistics statistics_;
  Recorder recorder_;
  Subscriber subscriber_;
  WakeEvent room_;  // the queue has room again
  FrameQueue queue_;

  // fw-receive's
  StreamFacts newest_;
  HostCopies host_copies_;
  std::uint64_t status_version_ = 0;
  std::pair<std::uint64_t, std::uint32_t> epoch_{};  // session and epoch of the newest frame
  std::vector<std::string> said_format_warnings_;    // format_warnings() already printed
  bool has_said_ring_shortage_ = false;
  std::uint32_t looks_at_full_queue_ = 0;  // since the newest frame was pushed
  std::int64_t epoch_begun_ns_ = 0;        // when the newest epoch was announced

  std::atomic<std::uint64_t> facts_version_ = 1;
  std::atomic<std::int64_t> heard_ns_ = 0;  // see Silence::since_ns
  std::mutex closing_;
  std::mutex confirming_;
  std::atomic<std::uint64_t> confirmed_epoch_ = 0;  // written under confirming_
  std::atomic<bool> is_stopping_ = false;

  mutable std::mutex mutex_;  // guards what follows
  StreamFacts facts_;
  std::optional<ExitStatus> ending_;

  std::thread thread_;
};

}  // namespace framewire
