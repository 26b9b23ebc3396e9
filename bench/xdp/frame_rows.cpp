#include "bench/xdp/frame_rows.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <span>
#include <string>
#include <utility>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/wait.hpp"

namespace framewire {

/// Both ends are this program, so the order of the wire is this machine's.
struct RowFrameHeader {
  std::uint16_t kind = 0;
  std::uint16_t reserved = 0;
  std::uint32_t payload_bytes = 0;
  std::uint64_t frame = 0;   // data: its number; credit: of the next one that is expected; probe, end: sent so far
  std::int64_t sent_ns = 0;  // data: when its message was begun, by the sender's clock
};
static_assert(sizeof(RowFrameHeader) == 24);

namespace {

constexpr std::uint16_t data_kind = 0;
constexpr std::uint16_t credit_kind = 1;
constexpr std::uint16_t probe_kind = 2;  // asks for a credit: one, or the last frames before it, may be lost
constexpr std::uint16_t end_kind = 3;    // the last frame of a row; answered by end_kind
/// Room for messages that are not whole yet.
constexpr std::uint64_t assembly_bytes = std::uint64_t{16} << 20;
constexpr std::uint64_t most_assemblies = 64;
constexpr std::int64_t probe_after_ns = 50 * ns_per_ms;
constexpr std::int64_t lost_after_ns = 5 * ns_per_s;
constexpr std::int64_t poll_interval_ns = 100 * ns_per_ms;
constexpr int frames_between_looks = 64;  // at the clock

/// Of a frame, for its part of a message.
std::uint64_t room_bytes(const FrameRowPlan& plan) noexcept {
  return plan.frame_bytes - sizeof(RowFrameHeader);
}

std::uint64_t frames_of(const FrameRowPlan& plan) noexcept {
  return (plan.message_bytes + room_bytes(plan) - 1) / room_bytes(plan);
}

// ---- Stamps: a message repeats eight bytes that follow from its number ----

using Stamp = std::array<std::byte, 8>;

Stamp stamp_of(std::uint64_t number) noexcept {
  constexpr std::uint64_t odd = 0x9e3779b97f4a7c15;  // so that neighbours differ in many bits
  return std::bit_cast<Stamp>((number + 1) * odd);
}

void write_stamp(std::uint64_t number, std::span<std::byte> message) noexcept {
  const Stamp stamp = stamp_of(number);
  for (std::size_t at = 0; at < message.size(); at += stamp.size()) {
    std::memcpy(message.data() + at, stamp.data(), std::min(stamp.size(), message.size() - at));
  }
}

bool has_stamp(std::uint64_t number, std::span<const std::byte> message) noexcept {
  const Stamp stamp = stamp_of(number);
  const std::size_t first = std::min(stamp.size(), message.size());
  return std::memcmp(message.data(), stamp.data(), first) == 0 &&
         std::memcmp(message.data(), message.data() + first, message.size() - first) == 0;
}

Error no_answer() {
  return Error::lost_peer("the other end has answered no frame for " + std::to_string(lost_after_ns / ns_per_s) +
                          " s; are both interfaces on one Ethernet?");
}

void go_on(const PollFrameRow& poll) {
  if (poll()) {
    throw Error::lost_peer("the other end has ended the row early");
  }
}

}  // namespace

// ---- The receiver ----

FrameReceiver::FrameReceiver(FramePort& port, const FrameRowPlan& plan)
    : port_(port),
      plan_(plan),
      frames_per_message_(frames_of(plan)),
      assemblies_(
          static_cast<std::size_t>(std::clamp<std::uint64_t>(assembly_bytes / plan.message_bytes, 1, most_assemblies))),
      block_(HostBlock::create_private("messages", assemblies_.size() * plan.message_bytes)) {}

FramesReceived FrameReceiver::receive(const PollFrameRow& poll) {
  const std::int64_t cpu_begin_ns = process_cpu_ns();
  std::int64_t next_poll_ns = 0;
  result_.ready_ns = monotonic_ns();
  for (int since_look = 0; !is_over_;) {
    const auto frame = port_.receive();
    const bool has_come = frame.size() >= sizeof(RowFrameHeader);
    if (has_come) {
      RowFrameHeader header;
      std::memcpy(&header, frame.data(), sizeof header);
      take(header, frame.subspan(sizeof header));
      if (++since_look < frames_between_looks) {
        continue;
      }
    } else if (next_frame_ != credited_) {
      send_credit(credit_kind);  // nothing more has arrived
    }
    since_look = 0;
    if (const std::int64_t now_ns = monotonic_ns(); now_ns >= next_poll_ns) {
      poll();
      next_poll_ns = now_ns + poll_interval_ns;
    }
    if (!has_come) {
      port_.wait(next_poll_ns);
    }
  }
  result_.cpu_ns = process_cpu_ns() - cpu_begin_ns;
  return result_;
}

void FrameReceiver::take(const RowFrameHeader& header, std::span<const std::byte> payload) {
  switch (header.kind) {
    case data_kind:
      next_frame_ = std::max(next_frame_, header.frame + 1);
      take_data(header, payload);
      if (next_frame_ - credited_ >= plan_.batch) {
        send_credit(credit_kind);
      }
      return;
    case probe_kind:
      next_frame_ = std::max(next_frame_, header.frame);
      send_credit(credit_kind);
      result_.ready_ns = next_frame_ == 0 ? monotonic_ns() : result_.ready_ns;
      return;
    case end_kind:
      is_over_ = true;
      next_frame_ = std::max(next_frame_, header.frame);
      result_.frames_lost = next_frame_ - std::min(next_frame_, frames_received_);
      return send_credit(end_kind);
    default:
      throw Error::failed("a frame of kind " + std::to_string(header.kind) + " came, which is unknown");
  }
}

/// Frames may overtake each other: a sender that moves to another processor has queues on both.
void FrameReceiver::take_data(const RowFrameHeader& header, std::span<const std::byte> payload) {
  const std::uint64_t message = header.frame / frames_per_message_;
  const std::uint64_t offset = header.frame % frames_per_message_ * room_bytes(plan_);
  const std::uint64_t expected = std::min(room_bytes(plan_), plan_.message_bytes - offset);
  if (header.payload_bytes != expected || payload.size() < expected) {
    throw Error::failed("a frame of " + std::to_string(header.payload_bytes) + " bytes came instead of " +
                        std::to_string(expected));
  }
  const std::size_t index = message % assemblies_.size();
  Assembly& assembly = assemblies_[index];
  const bool is_first = assembly.message == UINT64_MAX;
  if (!is_first && message < assembly.message) {
    return;  // so late that its place is another's; it counts as lost
  }
  if (assembly.message != message) {
    assembly.message = message;
    assembly.frames = 0;
    assembly.has_come.assign(frames_per_message_, false);
  }
  const std::size_t fragment = header.frame % frames_per_message_;
  if (assembly.has_come[fragment]) {
    return;  // a network may deliver a frame twice
  }
  assembly.has_come[fragment] = true;
  const auto memory = block_->bytes().subspan(index * plan_.message_bytes, plan_.message_bytes);
  std::memcpy(memory.data() + offset, payload.data(), expected);
  ++frames_received_;
  if (++assembly.frames == frames_per_message_) {
    complete(header, memory);
  }
}

void FrameReceiver::complete(const RowFrameHeader& header, std::span<const std::byte> message) {
  const std::uint64_t number = header.frame / frames_per_message_;
  if (plan_.touches_payload && !has_stamp(number, message)) {
    throw Error::failed("message " + std::to_string(number) + " has changed on its way");
  }
  result_.last_ns = monotonic_ns();
  result_.begin_ns = result_.messages == 0 ? header.sent_ns : result_.begin_ns;
  result_.latency.add(result_.last_ns - header.sent_ns);
  ++result_.messages;
}

void FrameReceiver::send_credit(std::uint16_t kind) {
  const auto place = port_.next_to_fill();
  if (place.empty()) {
    return;  // the sender asks for it
  }
  const RowFrameHeader header{.kind = kind, .frame = next_frame_};
  std::memcpy(place.data(), &header, sizeof header);
  port_.queue(sizeof header);
  port_.send_queued();
  credited_ = next_frame_;
}

// ---- The sender ----

FrameSender::FrameSender(FramePort& port, const FrameRowPlan& plan)
    : port_(port),
      plan_(plan),
      frames_per_message_(frames_of(plan)),
      most_frames_on_their_way_(std::min<std::uint64_t>(max_frame_slots, plan.slots * frames_per_message_)),
      block_(HostBlock::create("messages", plan.message_bytes)) {}

FramesSent FrameSender::send(const std::function<bool(std::uint64_t, std::int64_t)>& is_over,
                             const PollFrameRow& poll) {
  await_receiver(poll);
  FramesSent sent{.begin_ns = monotonic_ns()};
  const std::int64_t cpu_begin_ns = process_cpu_ns();
  for (std::int64_t now_ns = sent.begin_ns; !is_over(sent.messages, now_ns - sent.begin_ns); ++sent.messages) {
    if (plan_.period_ns > 0) {
      wait_until({}, sent.begin_ns + static_cast<std::int64_t>(sent.messages) * plan_.period_ns);
      now_ns = monotonic_ns();
    }
    send_message(sent.messages, poll);
    if (plan_.is_latency) {
      const bool came_by_itself = await_credits(frames_sent_, poll);
      const std::int64_t before_ns = std::exchange(now_ns, monotonic_ns());
      if (came_by_itself) {  // else a frame was lost, and this is no round trip
        sent.round_trip_halves.add((now_ns - before_ns) / 2);
      }
    } else {
      now_ns = monotonic_ns();
    }
  }
  await_credits(frames_sent_, poll);
  sent.end_ns = monotonic_ns();
  sent.cpu_ns = process_cpu_ns() - cpu_begin_ns;
  tell_end(poll);
  return sent;
}

void FrameSender::tell_end(const PollFrameRow& poll) {
  const std::int64_t give_up_ns = monotonic_ns() + lost_after_ns;
  while (!end_was_answered_) {
    send_short(end_kind);
    port_.wait(monotonic_ns() + probe_after_ns);
    take_credits();
    if (!end_was_answered_ && poll()) {
      return;  // its answer was lost
    }
    if (monotonic_ns() >= give_up_ns) {
      throw no_answer();
    }
  }
}

void FrameSender::send_message(std::uint64_t number, const PollFrameRow& poll) {
  const auto message = block_->bytes().first(plan_.message_bytes);
  if (plan_.touches_payload) {
    write_stamp(number, message);
  }
  const std::int64_t now_ns = monotonic_ns();
  for (std::uint64_t offset = 0; offset < message.size(); ++frames_sent_) {
    if (frames_sent_ - frames_credited_ >= most_frames_on_their_way_) {
      await_credits(frames_sent_ - most_frames_on_their_way_ / 2, poll);
    }
    const auto place = next_place(poll);
    const std::uint64_t bytes = std::min<std::uint64_t>(room_bytes(plan_), message.size() - offset);
    const RowFrameHeader header{.kind = data_kind,
                                .payload_bytes = static_cast<std::uint32_t>(bytes),
                                .frame = frames_sent_,
                                .sent_ns = now_ns};
    std::memcpy(place.data(), &header, sizeof header);
    std::memcpy(place.data() + sizeof header, message.data() + offset, bytes);
    port_.queue(sizeof header + bytes);
    offset += bytes;
    if (++frames_queued_ >= plan_.batch) {
      flush();
    }
  }
}

/// Memory for a frame. Waits while all are on their way.
std::span<std::byte> FrameSender::next_place(const PollFrameRow& poll) {
  for (;;) {
    if (const auto place = port_.next_to_fill(); !place.empty()) {
      return place;
    }
    flush();
    look(poll);
  }
}

void FrameSender::look(const PollFrameRow& poll) {
  if (const std::int64_t now_ns = monotonic_ns(); now_ns >= next_poll_ns_) {
    next_poll_ns_ = now_ns + poll_interval_ns;
    go_on(poll);
  }
}

/// An interface may come up only now: attaching a program resets some cards.
void FrameSender::await_receiver(const PollFrameRow& poll) {
  for (const std::int64_t give_up_ns = monotonic_ns() + lost_after_ns; !was_answered_; look(poll)) {
    if (monotonic_ns() >= give_up_ns) {
      throw no_answer();
    }
    send_short(probe_kind);
    port_.wait(monotonic_ns() + probe_after_ns);
    take_credits();
  }
}

void FrameSender::flush() {
  port_.send_queued();
  frames_queued_ = 0;
}

/// Until so many frames are credited in all.
bool FrameSender::await_credits(std::uint64_t frames, const PollFrameRow& poll) {
  bool came_by_itself = true;
  flush();
  take_credits();
  std::int64_t heard_ns = monotonic_ns();
  while (frames_credited_ < frames) {
    const std::uint64_t before = frames_credited_;
    port_.wait(monotonic_ns() + probe_after_ns);
    take_credits();
    look(poll);
    if (frames_credited_ != before) {
      heard_ns = monotonic_ns();
      continue;
    }
    came_by_itself = false;
    send_short(probe_kind);
    if (monotonic_ns() - heard_ns > lost_after_ns) {
      throw no_answer();
    }
  }
  return came_by_itself;
}

void FrameSender::take_credits() {
  for (;;) {
    const auto frame = port_.receive();
    if (frame.size() < sizeof(RowFrameHeader)) {
      return;
    }
    RowFrameHeader header;
    std::memcpy(&header, frame.data(), sizeof header);
    was_answered_ = true;
    end_was_answered_ = end_was_answered_ || header.kind == end_kind;
    frames_credited_ = std::max(frames_credited_, std::min(header.frame, frames_sent_));
  }
}

bool FrameSender::send_short(std::uint16_t kind) {
  const auto place = port_.next_to_fill();
  if (place.empty()) {
    return false;
  }
  const RowFrameHeader header{.kind = kind, .frame = frames_sent_};
  std::memcpy(place.data(), &header, sizeof header);
  port_.queue(sizeof header);
  port_.send_queued();
  return true;
}

}  // namespace framewire
