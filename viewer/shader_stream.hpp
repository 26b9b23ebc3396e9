// A scene of gl: that the viewer draws itself, as a stream.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "frame/frame_layout.hpp"
#include "transport/source_inbox.hpp"
#include "viewer/viewed_stream.hpp"

namespace framewire {

/// It has no sender, no link and no thread: a ShaderLayer on the drawing thread makes its pictures when they are due.
/// This is what other threads know of them, and how the user's input gets there.
class ShaderStream final : public ViewedStream {
 public:
  /// Of the stream's only session, and of its only epoch.
  static constexpr std::uint64_t session_number = 1;
  static constexpr std::uint32_t epoch = 1;

  /// `source.drawn` has a value. `viewer_size`: drawn_size_for() the viewer, of a scene that says no size. The
  /// references outlive it. Throws Error.
  ShaderStream(const ViewerOptions& options, const ViewedSource& source, Size viewer_size, const Clock& clock,
               const Interruption& interruption, Log& log, Listeners listeners);

  [[nodiscard]] FrameQueue& queue() noexcept override { return queue_; }
  [[nodiscard]] const FrameQueue& queue() const noexcept override { return queue_; }
  [[nodiscard]] Recorder& recorder() noexcept override { return recorder_; }
  [[nodiscard]] const Recorder& recorder() const noexcept override { return recorder_; }
  [[nodiscard]] const ShaderSource* drawn() const noexcept override { return &source_; }
  bool send_input(const InputBatch& batch, std::uint64_t session) noexcept override;
  [[nodiscard]] SubscriberStatus status() const override { return status_; }
  [[nodiscard]] SubscriberCounts counts() const override;
  [[nodiscard]] bool has_failed() const override { return has_failed_; }
  [[nodiscard]] bool is_left_out() const noexcept override { return is_left_out_; }
  void stop() noexcept override {}
  void close(const std::string& /*statistics_json*/) override {}

  // ---- The drawing thread ----

  [[nodiscard]] const ShaderSource& source() const noexcept { return source_; }
  /// What is drawn: its size, colour and rate. Constant.
  [[nodiscard]] const StreamFormat& format() const noexcept { return *status_.format; }
  /// Takes the user's input while it exists. The stream outlives it.
  [[nodiscard]] std::unique_ptr<SourceInbox::Reader> open_input() { return inbox_.open_input(); }
  /// Whether the scene does not show it.
  void leave_out(bool is_left_out);
  /// A frame is drawn for a picture that was chosen then.
  void frame_begun(std::int64_t now_ns) noexcept;
  /// It cannot be drawn, for this reason. `is_final`: it will not be tried again, and the stream ends with `status`.
  void fail(const std::string& reason, bool is_final, ExitStatus status);
  /// It can be drawn.
  void recover();

 private:
  const ShaderSource source_;
  SubscriberStatus status_;  // constant
  Recorder recorder_;        // records nothing
  FrameQueue queue_;         // gets no frames
  SourceInbox inbox_;
  std::atomic<bool> has_failed_ = false;
  std::atomic<bool> is_left_out_ = false;
};

}  // namespace framewire
