// The two sides of a row of messages over a FramePort: fragments with numbers, and credits that bound what is on its
// way. A frame that is lost is counted, and not sent again.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "base/histogram.hpp"
#include "bench/xdp/frame_port.hpp"
#include "memory/host_block.hpp"

namespace framewire {

/// The most frames that can be on their way: half of the memory of an XDP socket.
inline constexpr std::uint32_t max_frame_slots = 1024;

/// Before the payload of each frame; frame_rows.cpp has it.
struct RowFrameHeader;

/// What both sides know of a row of frames.
struct FrameRowPlan {
  std::uint64_t message_bytes = 0;
  std::size_t frame_bytes = 0;   // the payload that both ports' frames have room for
  std::uint32_t slots = 0;       // messages on their way
  std::uint32_t batch = 0;       // frames that are handed to the kernel together, and credits that return together
  std::int64_t period_ns = 0;    // from one message to the next; 0: without a pause
  bool is_latency = false;       // one message at a time; its credit is the answer
  bool touches_payload = false;  // the sender stamps every message, and the receiver checks every byte
};

/// Both sides call it about ten times a second. Returns whether the other side has told, beside the frames, that the
/// row is over. Throws when it must end.
using PollFrameRow = std::function<bool()>;

struct FramesReceived {
  std::uint64_t messages = 0;  // whole ones
  std::uint64_t frames_lost = 0;
  std::int64_t ready_ns = 0;  // when the sender was told last that it may begin
  std::int64_t begin_ns = 0;  // when the first message was begun, by the sender's clock
  std::int64_t last_ns = 0;   // when the last one had arrived
  std::int64_t cpu_ns = 0;
  Histogram latency{};  // one way; valid if both sides have one clock
};

/// One thread.
class FrameReceiver {
 public:
  /// The port and the plan outlive this. Throws Error when there is no memory.
  FrameReceiver(FramePort& port, const FrameRowPlan& plan);

  /// Receives until the sender's last frame. Throws Error for a frame that the plan does not allow and for a message
  /// that has changed on its way, and what `poll` throws.
  FramesReceived receive(const PollFrameRow& poll);

 private:
  /// A message of which frames have come.
  struct Assembly {
    std::uint64_t message = UINT64_MAX;  // its number; none at first
    std::uint64_t frames = 0;
    std::vector<bool> has_come;  // each of them
  };
  void take(const RowFrameHeader& header, std::span<const std::byte> payload);
  void take_data(const RowFrameHeader& header, std::span<const std::byte> payload);
  void complete(const RowFrameHeader& header, std::span<const std::byte> message);
  void send_credit(std::uint16_t kind);

  FramePort& port_;
  const FrameRowPlan& plan_;
  const std::uint64_t frames_per_message_;
  std::vector<Assembly> assemblies_;  // of messages whose frames overtake each other
  std::shared_ptr<HostBlock> block_;  // of the assemblies
  FramesReceived result_;
  std::uint64_t next_frame_ = 0;  // behind the last one that has come
  std::uint64_t frames_received_ = 0;
  std::uint64_t credited_ = 0;  // frames, so far
  bool is_over_ = false;
};

struct FramesSent {
  std::uint64_t messages = 0;
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;  // when the last credit had come
  std::int64_t cpu_ns = 0;
  Histogram round_trip_halves{};  // of is_latency
};

/// One thread.
class FrameSender {
 public:
  FrameSender(FramePort& port, const FrameRowPlan& plan);

  /// Asks until the receiver answers. Then begins, sends messages until `is_over(sent, elapsed_ns)`, waits for their
  /// credits, and tells the receiver that it is over.
  /// Throws Error (lost_peer) when no credit or answer comes, and what `poll` and `is_over` throw.
  FramesSent send(const std::function<bool(std::uint64_t, std::int64_t)>& is_over, const PollFrameRow& poll);

 private:
  void send_message(std::uint64_t number, const PollFrameRow& poll);
  void await_receiver(const PollFrameRow& poll);
  /// Returns whether all came without being asked for.
  bool await_credits(std::uint64_t frames, const PollFrameRow& poll);
  void look(const PollFrameRow& poll);
  void take_credits();
  std::span<std::byte> next_place(const PollFrameRow& poll);
  void flush();
  void tell_end(const PollFrameRow& poll);
  bool send_short(std::uint16_t kind);

  FramePort& port_;
  const FrameRowPlan& plan_;
  const std::uint64_t frames_per_message_;
  const std::uint64_t most_frames_on_their_way_;
  std::shared_ptr<HostBlock> block_;
  std::uint64_t frames_sent_ = 0;
  std::uint64_t frames_credited_ = 0;
  std::uint32_t frames_queued_ = 0;
  bool was_answered_ = false;
  bool end_was_answered_ = false;
  std::int64_t next_poll_ns_ = 0;
};

}  // namespace framewire
