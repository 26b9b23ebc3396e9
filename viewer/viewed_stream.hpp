// One stream that the viewer shows.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "base/clock.hpp"
#include "base/log.hpp"
#include "command/interruption.hpp"
#include "viewer/frame_queue.hpp"
#include "viewer/local_source.hpp"
#include "viewer/options.hpp"
#include "viewer/recorder.hpp"
#include "viewer/silence.hpp"
#include "viewer/statistics.hpp"
#include "viewer/stream_facts.hpp"

namespace framewire {

/// What the threads of the viewer know of a stream, wherever its pictures come from: ReceivedStream has them of a
/// sender, and ShaderStream has none, for the drawing thread makes them.
class ViewedStream {
 public:
  /// Called by any thread, without a mutex of the stream. They must not wait.
  struct Listeners {
    std::function<void()> on_news;     // for the drawing thread: frames, or other facts()
    std::function<void()> on_session;  // for the main thread: a session has begun
    std::function<void()> on_end;      // for the main thread: see ending(), and whether the queue is done
  };

  ViewedStream(const ViewedStream&) = delete;
  ViewedStream& operator=(const ViewedStream&) = delete;
  /// As stop().
  virtual ~ViewedStream() = default;

  [[nodiscard]] virtual FrameQueue& queue() noexcept = 0;
  [[nodiscard]] virtual const FrameQueue& queue() const noexcept = 0;
  [[nodiscard]] Statistics& statistics() noexcept { return statistics_; }
  [[nodiscard]] const Statistics& statistics() const noexcept { return statistics_; }
  [[nodiscard]] virtual Recorder& recorder() noexcept = 0;
  [[nodiscard]] virtual const Recorder& recorder() const noexcept = 0;
  /// The awaited sender: "box:5290"; or what is drawn: "gl:orbit". Constant.
  [[nodiscard]] const std::string& peer_text() const noexcept { return peer_text_; }
  /// What the drawing thread makes the pictures of; null: they come from a sender. Constant.
  [[nodiscard]] virtual const ShaderSource* drawn() const noexcept { return nullptr; }

  /// Whether its name stands before what is logged about it. Any thread.
  virtual void show_name_in_log(bool /*is_shown*/) noexcept {}

  // ---- The drawing thread ----

  /// The drawing thread can draw the format that was the newest when the status had this `epochs_begun`. The sender
  /// holds its frames back until then; but not for more than a second, for that thread may be blocked.
  virtual void confirm_epoch(std::uint64_t /*epochs_begun*/) noexcept {}
  /// OpenGL refuses the memory of the device where the frames are: from now on they are to come in host memory.
  virtual void copy_to_host() noexcept {}

  /// Asks the sender to render its frames at other times (Subscriber::ask_cadence()).
  virtual void ask_cadence(const CadenceRequest& /*request*/) noexcept {}

  /// Asks the sender for frames (Subscriber).
  virtual void ask_render(const RenderRequest& /*request*/) noexcept {}
  virtual void revoke_render(std::uint64_t /*id*/) noexcept {}
  virtual void release_camera() noexcept {}
  [[nodiscard]] virtual std::optional<RenderRequest> find_render(std::uint64_t /*id*/) const noexcept {
    return std::nullopt;
  }

  // ---- Any thread ----

  /// What the user does (Subscriber::send_input()).
  virtual bool send_input(const InputBatch& batch, std::uint64_t session_number) noexcept = 0;

  [[nodiscard]] StreamFacts facts() const;
  /// Messages of the programs' own; see Subscriber.
  virtual bool send_message(const std::string& /*json*/) noexcept { return false; }
  virtual std::optional<std::string> take_message() { return std::nullopt; }
  /// The stream's name at its sender; empty before the first session if the user has named none.
  [[nodiscard]] virtual std::string stream_name() const { return {}; }
  /// As it is now; facts() may be a moment behind.
  [[nodiscard]] virtual SubscriberStatus status() const = 0;
  /// Where it awaits its sender; 0 if it dials. Constant.
  [[nodiscard]] virtual std::uint16_t port() const noexcept { return 0; }
  /// With its sender, if the viewer starts that on another host; else null. Constant.
  [[nodiscard]] virtual std::shared_ptr<Rendezvous> rendezvous() const noexcept { return nullptr; }
  /// Changes with facts(); cheap enough to compare for each frame.
  [[nodiscard]] std::uint64_t facts_version() const noexcept { return facts_version_.load(); }
  [[nodiscard]] virtual SubscriberCounts counts() const = 0;
  [[nodiscard]] virtual Subscriber::ClockOffset clock_offset() const noexcept { return {}; }
  /// Whether frames stay away; nothing if none is due, as after the last one.
  [[nodiscard]] virtual std::optional<Silence> silence() const { return std::nullopt; }
  /// Whether as many frames have come as --frames asked for.
  [[nodiscard]] bool has_all_frames() const noexcept;
  /// Whether what the viewer draws itself cannot be drawn at present.
  [[nodiscard]] virtual bool has_failed() const { return false; }
  /// Whether its pictures are not drawn, because the scene does not show them.
  [[nodiscard]] virtual bool is_left_out() const noexcept { return false; }
  /// Set when no frame will come for another reason than the sender's bye: the exit status.
  [[nodiscard]] std::optional<ExitStatus> ending() const;
  /// Whether no frame waits and none will come.
  [[nodiscard]] bool is_over() const { return queue().is_done() || ending(); }
  /// Sets StreamFacts::trouble.
  void set_trouble(const std::string& trouble);
  /// No frame will come: sets ending().
  void end(ExitStatus status);

  // ---- The main thread ----

  /// Receives no more frames.
  virtual void stop() noexcept = 0;
  /// After stop(): sends bye with the counts as they are now; what is still being recorded is missing there.
  /// Any thread; the second call waits for the first.
  virtual void close(const std::string& statistics_json) = 0;

 protected:
  /// `options` outlives it. `facts`: at the beginning.
  ViewedStream(const ViewerOptions& options, StreamFacts facts, Listeners listeners);

  /// Silence of a stream whose newest frame came then, unless it is known why.
  [[nodiscard]] std::optional<Silence> silence_since(std::int64_t heard_ns) const;
  /// From now on facts() are these, but for the trouble. Tells the drawing thread.
  void set_facts(const StreamFacts& facts);
  [[nodiscard]] const ViewerOptions& options() const noexcept { return options_; }
  [[nodiscard]] const Listeners& listeners() const noexcept { return listeners_; }

 private:
  const ViewerOptions& options_;
  const std::string peer_text_;
  const Listeners listeners_;
  Statistics statistics_;
  std::atomic<std::uint64_t> facts_version_ = 1;

  mutable std::mutex mutex_;  // guards what follows
  StreamFacts facts_;
  std::optional<ExitStatus> ending_;
};

}  // namespace framewire
