#include "bench/xdp/frame_rows.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <span>
#include <string>

#include "base/clock.hpp"
#include "base/error.hpp"

namespace framewire {

namespace {

/// Before the payload of each frame. Both ends are this program, so the order of the wire is this machine's.
struct WireHeader {
  std::uint16_t kind = 0;
  std::uint16_t reserved = 0;
  std::uint32_t payload_bytes = 0;
  std::uint64_t frame = 0;    // data: its number; credit: of the next one that is expected; probe, end: sent so far
  std::int64_t sent_ns = 0;   // data: when its message was begun, by the sender's clock
};
static_assert(sizeof(WireHeader) == 24);

constexpr std::uint16_t data_kind = 0;
constexpr std::uint16_t credit_kind = 1;
constexpr std::uint16_t probe_kind = 2;  // asks for a credit: one, or the last frames before it, may be lost
constexpr std::uint16_t end_kind = 3;    // the last frame of a row; answered by end_kind
constexpr std::uint64_t most_frames = 1024;  // on their way: half of the memory of an XDP socket
constexpr std::int64_t probe_after_ns = 50 * ns_per_ms;
constexpr std::int64_t lost_after_ns = 5 * ns_per_s;
constexpr std::int64_t poll_interval_ns = 100 * ns_per_ms;

std::uint64_t room_bytes(const FramePort& port) noexcept {
  return port.payload_bytes() - sizeof(WireHeader);
}

std::uint64_t frames_of(const FramePort& port, std::uint64_t message_bytes) noexcept {
  return std::max<std::uint64_t>(1, (message_bytes + room_bytes(port) - 1) / room_bytes(port));
}

}  // namespace

struct FrameReceiver::Header : WireHeader {};

// ---- The receiver ----

FrameReceiver::FrameReceiver(FramePort& port, const FrameRowPlan& plan)
    : port_(port),
      plan_(plan),
      frames_per_message_(frames_of(port, plan.message_bytes)),
      block_(HostBlock::create_private("a message", plan.message_bytes)) {}

FramesReceived FrameReceiver::receive(const PollFrameRow& poll) {
  const std::int64_t cpu_begin_ns = process_cpu_ns();
  std::int64_t next_poll_ns = 0;
  while (!is_over_) {
    const auto frame = port_.receive();
    if (frame.size() >= sizeof(Header)) {
      Header header;
      std::memcpy(static_cast<void*>(&header), frame.data(), sizeof header);
      take(header, frame.subspan(sizeof header));
      continue;
    }
    if (next_frame_ != credited_) {
      send_credit(credit_kind);  // nothing more has arrived
    }
    if (const std::int64_t now_ns = monotonic_ns(); now_ns >= next_poll_ns) {
      poll();
      next_poll_ns = now_ns + poll_interval_ns;
    }
    port_.wait(next_poll_ns);
  }
  result_.cpu_ns = process_cpu_ns() - cpu_begin_ns;
  result_.latency_us = latency_of(latency_);
  return result_;
}

void FrameReceiver::take(const Header& header, std::span<const std::byte> payload) {
  switch (header.kind) {
    case data_kind:
      if (header.frame < next_frame_) {
        return;  // it came late, and is counted as lost
      }
      pass(header.frame);
      break;
    case probe_kind:
      pass(header.frame);
      return send_credit(credit_kind);
    case end_kind:
      pass(header.frame);
      is_over_ = true;
      return send_credit(end_kind);
    default:
      throw Error::failed("a frame of kind " + std::to_string(header.kind) + " came, which is unknown");
  }
  const std::uint64_t offset = header.frame % frames_per_message_ * room_bytes(port_);
  const std::uint64_t expected = std::min(room_bytes(port_), plan_.message_bytes - offset);
  if (header.payload_bytes != expected || payload.size() < expected) {
    throw Error::failed("a frame of " + std::to_string(header.payload_bytes) + " bytes came instead of " +
                        std::to_string(expected));
  }
  std::memcpy(block_->bytes().data() + offset, payload.data(), expected);
  ++next_frame_;
  ++of_this_message_;
  if (next_frame_ % frames_per_message_ == 0) {
    complete(header);
  }
  if (next_frame_ - credited_ >= plan_.batch) {
    send_credit(credit_kind);
  }
}

/// The frames before this one do not come any more.
void FrameReceiver::pass(std::uint64_t next_frame) {
  if (next_frame <= next_frame_) {
    return;
  }
  result_.frames_lost += next_frame - next_frame_;
  next_frame_ = next_frame;
  of_this_message_ = 0;  // the message that is under way lacks a frame, or has not begun
}

void FrameReceiver::complete(const Header& header) {
  const bool is_whole = of_this_message_ == frames_per_message_;
  of_this_message_ = 0;
  if (!is_whole) {
    return;
  }
  if (plan_.touches_payload) {
    const auto bytes = block_->bytes().first(plan_.message_bytes);
    sum_ = std::accumulate(bytes.begin(), bytes.end(), sum_,
                           [](std::uint64_t sum, std::byte byte) { return sum + std::to_integer<std::uint64_t>(byte); });
  }
  result_.last_ns = monotonic_ns();
  result_.begin_ns = result_.messages == 0 ? header.sent_ns : result_.begin_ns;
  latency_.add(result_.last_ns - header.sent_ns);
  ++result_.messages;
}

void FrameReceiver::send_credit(std::uint16_t kind) {
  const auto place = port_.next_to_fill();
  if (place.empty()) {
    return;  // the sender asks for it
  }
  const WireHeader header{.kind = kind, .frame = next_frame_};
  std::memcpy(place.data(), &header, sizeof header);
  port_.queue(sizeof header);
  port_.send_queued();
  credited_ = next_frame_;
}

// ---- The sender ----

FrameSender::FrameSender(FramePort& port, const FrameRowPlan& plan)
    : port_(port),
      plan_(plan),
      frames_per_message_(frames_of(port, plan.message_bytes)),
      most_frames_on_their_way_(std::min(most_frames, plan.slots * frames_per_message_)),
      block_(HostBlock::create("messages", plan.message_bytes)) {}

FramesSent FrameSender::send(const std::function<bool(std::uint64_t, std::int64_t)>& is_over,
                             const PollFrameRow& poll) {
  FramesSent sent{.begin_ns = monotonic_ns()};
  Histogram round_trip_halves;
  const std::int64_t cpu_begin_ns = process_cpu_ns();
  for (std::int64_t now_ns = sent.begin_ns; !is_over(sent.messages, now_ns - sent.begin_ns); ++sent.messages) {
    send_message(sent.messages, poll);
    if (plan_.is_latency) {
      await_credits(frames_sent_, poll);
      const std::int64_t before_ns = std::exchange(now_ns, monotonic_ns());
      round_trip_halves.add((now_ns - before_ns) / 2);
    } else {
      now_ns = monotonic_ns();
    }
  }
  await_credits(frames_sent_, poll);
  sent.end_ns = monotonic_ns();
  sent.cpu_ns = process_cpu_ns() - cpu_begin_ns;
  sent.latency_us = latency_of(round_trip_halves);
  for (const std::int64_t give_up_ns = sent.end_ns + lost_after_ns; !end_was_answered_ && monotonic_ns() < give_up_ns;) {
    send_short(end_kind);
    port_.wait(monotonic_ns() + probe_after_ns);
    take_credits();
  }
  return sent;
}

void FrameSender::send_message(std::uint64_t number, const PollFrameRow& poll) {
  const auto message = block_->bytes().first(plan_.message_bytes);
  if (plan_.touches_payload) {
    std::memset(message.data(), static_cast<int>(number & 0xff), message.size());
  }
  const std::int64_t now_ns = monotonic_ns();
  for (std::uint64_t offset = 0; offset < message.size(); ++frames_sent_) {
    if (frames_sent_ - frames_credited_ >= most_frames_on_their_way_) {
      await_credits(frames_sent_ - most_frames_on_their_way_ / 2, poll);
    }
    auto place = port_.next_to_fill();
    while (place.empty()) {
      port_.send_queued();
      frames_queued_ = 0;
      poll();
      place = port_.next_to_fill();
    }
    const std::uint64_t bytes = std::min<std::uint64_t>(room_bytes(port_), message.size() - offset);
    const WireHeader header{.kind = data_kind,
                            .payload_bytes = static_cast<std::uint32_t>(bytes),
                            .frame = frames_sent_,
                            .sent_ns = now_ns};
    std::memcpy(place.data(), &header, sizeof header);
    std::memcpy(place.data() + sizeof header, message.data() + offset, bytes);
    port_.queue(sizeof header + bytes);
    offset += bytes;
    if (++frames_queued_ >= plan_.batch) {
      port_.send_queued();
      frames_queued_ = 0;
    }
  }
}

/// Until so many frames are credited in all.
void FrameSender::await_credits(std::uint64_t frames, const PollFrameRow& poll) {
  port_.send_queued();
  frames_queued_ = 0;
  take_credits();
  std::int64_t heard_ns = monotonic_ns();
  while (frames_credited_ < frames) {
    const std::uint64_t before = frames_credited_;
    port_.wait(monotonic_ns() + probe_after_ns);
    take_credits();
    if (frames_credited_ != before) {
      heard_ns = monotonic_ns();
      continue;
    }
    poll();
    send_short(probe_kind);
    if (monotonic_ns() - heard_ns > lost_after_ns) {
      throw Error::lost_peer("the other end has taken no frame for " + std::to_string(lost_after_ns / ns_per_s) + " s");
    }
  }
}

void FrameSender::take_credits() {
  for (;;) {
    const auto frame = port_.receive();
    if (frame.size() < sizeof(WireHeader)) {
      return;
    }
    WireHeader header;
    std::memcpy(&header, frame.data(), sizeof header);
    end_was_answered_ = end_was_answered_ || header.kind == end_kind;
    frames_credited_ = std::max(frames_credited_, std::min(header.frame, frames_sent_));
  }
}

bool FrameSender::send_short(std::uint16_t kind) {
  const auto place = port_.next_to_fill();
  if (place.empty()) {
    return false;
  }
  const WireHeader header{.kind = kind, .frame = frames_sent_};
  std::memcpy(place.data(), &header, sizeof header);
  port_.queue(sizeof header);
  port_.send_queued();
  return true;
}

}  // namespace framewire
