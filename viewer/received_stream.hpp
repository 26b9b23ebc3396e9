// One stream that the viewer receives.
#pragma once

#include <atomic>
#include <cstdint>
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
#include "transport/session/frame_copies.hpp"
#include "viewer/viewed_stream.hpp"
#include "viewer/wake_event.hpp"

namespace framewire {

/// Receives the frames of a stream on a thread of its own, "fw-receive": follows sessions and formats, counts, has
/// frames recorded, and queues them for the drawing thread. What that thread does, or is blocked in, delays none of it.
class ReceivedStream final : public ViewedStream {
 public:
  /// Who draws its frames.
  struct Drawer {
    Quality quality = Quality::fast;   // of usual colours: warnings depend on it
    bool reads_device_memory = false;  // else frames there are copied to host memory
  };

  /// Starts connecting. `shows_name`: as show_name_in_log(). `sync`: the streams that it is shown together with; null:
  /// it is shown by itself. The references, and `sync`, outlive it. Throws Error.
  ReceivedStream(const ViewerOptions& options, ViewedSource source, bool shows_name, const Drawer& drawer,
                 const Clock& clock, const Interruption& interruption, SyncGroup* sync, Log& log, Listeners listeners);
  ~ReceivedStream() override;

  [[nodiscard]] FrameQueue& queue() noexcept override { return queue_; }
  [[nodiscard]] const FrameQueue& queue() const noexcept override { return queue_; }
  [[nodiscard]] Recorder& recorder() noexcept override { return recorder_; }
  [[nodiscard]] const Recorder& recorder() const noexcept override { return recorder_; }
  void show_name_in_log(bool is_shown) noexcept override { log_.show_prefix(is_shown); }

  void confirm_epoch(std::uint64_t epochs_begun) noexcept override;
  void copy_to_host() noexcept override { copies_all_ = true; }
  void ask_cadence(const CadenceRequest& request) noexcept override { subscriber_.ask_cadence(request); }
  void ask_render(const RenderRequest& request) noexcept override { subscriber_.ask_render(request); }
  void revoke_render(std::uint64_t id) noexcept override { subscriber_.revoke_render(id); }
  void release_camera() noexcept override { subscriber_.release_camera(); }
  [[nodiscard]] std::optional<RenderRequest> find_render(std::uint64_t id) const noexcept override {
    return subscriber_.find_render(id);
  }

  bool send_input(const InputBatch& batch, std::uint64_t session_number) noexcept override {
    return subscriber_.send_input(batch, session_number);
  }
  bool send_message(const std::string& json) noexcept override { return subscriber_.send_message(json); }
  std::optional<std::string> take_message() override { return subscriber_.take_message(); }
  [[nodiscard]] std::string stream_name() const override;
  [[nodiscard]] SubscriberStatus status() const override { return subscriber_.status(); }
  [[nodiscard]] std::uint16_t port() const noexcept override { return subscriber_.port(); }
  [[nodiscard]] std::shared_ptr<Rendezvous> rendezvous() const noexcept override { return rendezvous_; }
  [[nodiscard]] SubscriberCounts counts() const override { return subscriber_.counts(); }
  [[nodiscard]] Subscriber::ClockOffset clock_offset() const noexcept override { return subscriber_.clock_offset(); }
  [[nodiscard]] std::optional<Silence> silence() const override;

  void stop() noexcept override;
  void close(const std::string& statistics_json) override {
    const std::scoped_lock lock(closing_);
    subscriber_.close(statistics_json);
  }

 private:
  void run() noexcept;
  bool take_frame();
  [[nodiscard]] const MemoryKind& wanted_memory(const ReceivedFrame& frame) const noexcept;
  void sleep();
  void follow_status();
  void follow_epoch(const ReceivedFrame& frame);
  void say_status(const SubscriberStatus& before, const SubscriberStatus& now);
  void say_memory_notes();
  void say_other_memory(const SubscriberStatus& now);
  void say_format_warnings(const StreamFormat& format);
  void say_ring_shortage();
  void confirm_late(std::int64_t now_ns) noexcept;

  const std::string wanted_stream_;  // empty: the sender's first
  const bool is_named_by_sender_;    // peer_text_ names the sender alone
  const std::shared_ptr<Rendezvous> rendezvous_;
  const Drawer drawer_;
  const Clock& clock_;
  PrefixedLog log_;
  Recorder recorder_;
  Subscriber subscriber_;
  WakeEvent room_;  // the queue has room again
  FrameQueue queue_;

  // fw-receive's
  StreamFacts newest_;
  FrameCopies copies_;
  std::uint64_t status_version_ = 0;
  std::pair<std::uint64_t, std::uint32_t> epoch_{};  // session and epoch of the newest frame
  std::vector<std::string> said_format_warnings_;    // format_warnings() already printed
  bool has_said_ring_shortage_ = false;
  std::uint32_t looks_at_full_queue_ = 0;  // since the newest frame was pushed
  std::int64_t epoch_begun_ns_ = 0;        // when the newest epoch was announced

  std::atomic<std::int64_t> heard_ns_ = 0;  // see Silence::since_ns
  std::mutex closing_;
  std::mutex confirming_;
  std::atomic<std::uint64_t> confirmed_epoch_ = 0;  // written under confirming_
  std::atomic<bool> copies_all_ = false;            // that lie in the memory of a device
  std::atomic<bool> is_stopping_ = false;

  std::thread thread_;
};

}  // namespace framewire
