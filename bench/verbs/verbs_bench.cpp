#include "bench/verbs/verbs_bench.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "base/clock.hpp"
#include "base/error.hpp"

namespace framewire {

namespace {

/// The timeout for an answer, and the time for each byte in both directions: 2 MB/s, a fraction of Soft-RoCE between
/// emulated machines.
constexpr std::int64_t pong_timeout_ns = 10 * ns_per_s;
constexpr std::int64_t pong_ns_per_byte = 1000;

}  // namespace

VerbsBench::VerbsBench(std::unique_ptr<ConnectedQueuePair> connection, const VerbsPlan& plan, VerbsSide side)
    : plan_(plan),
      side_(side),
      connection_(std::move(connection)),
      memory_(connection_->protection_domain(), plan_, side),
      receives_({.queue_pair = connection_->queue_pair(),
                 .completions = connection_->receive_completions(),
                 .depth = connection_->capabilities().receive_depth}),
      sends_(*connection_, memory_, plan_),
      chunk_bytes_(connection_->capabilities().chunk_bytes) {
  if (plan_.operation == VerbsOperation::write_imm && !connection_->capabilities().has_immediate) {
    throw Error::failed("this RDMA device has no write with immediate; leave write_imm out");
  }
}

VerbsBench::~VerbsBench() {
  connection_->disconnect();  // the device no longer uses the memory when it is freed
}

VerbsRemoteMemory VerbsBench::remote_memory() const noexcept {
  return {.address = memory_.address(), .key = memory_.remote_key(), .chunk_bytes = chunk_bytes_};
}

void VerbsBench::begin(const VerbsRemoteMemory& peer) {
  chunk_bytes_ = std::min(chunk_bytes_, peer.chunk_bytes);
  sends_.begin({.address = peer.address, .key = peer.key, .chunk_bytes = chunk_bytes_});
  const bool is_latency = plan_.operation == VerbsOperation::latency;
  if (is_latency || (side_ == VerbsSide::server && !is_passive(plan_.operation, side_))) {
    receives_.begin({.has_buffers = plan_.operation == VerbsOperation::send ||
                                    (is_latency && !connection_->capabilities().has_immediate),
                     .message_bytes = plan_.message_bytes,
                     .chunk_bytes = chunk_bytes_,
                     .slots = is_latency ? 1 : memory_.slot_count(),
                     .address = memory_.address(),
                     .stride_bytes = memory_.offset_bytes(1),
                     .key = memory_.local_key()});
  }
}

// ---- Payloads ----

void VerbsBench::prepare(std::uint64_t number, bool is_last) const noexcept {
  const bool is_latency = plan_.operation == VerbsOperation::latency;
  const auto message = memory_.message(is_latency ? verbs_slot_out : number);
  if (plan_.operation == VerbsOperation::read) {
    if (plan_.touches_payload || is_last) {
      fill_verbs_payload(plan_.touches_payload ? message : message.last(std::min(message.size(), verbs_stamp_bytes)),
                         std::byte{0});
    }
    return;
  }
  if (plan_.touches_payload) {
    fill_verbs_payload(message, verbs_fill_byte(number));
  }
  if (plan_.touches_payload || is_last || is_latency) {
    stamp_verbs_payload(message, number);
  }
}

/// Checks that a message has arrived: by its stamp, or by all bytes.
void VerbsBench::check(std::uint64_t number, bool is_whole) const {
  const bool is_latency = plan_.operation == VerbsOperation::latency;
  const bool is_read = plan_.operation == VerbsOperation::read;
  const std::uint64_t slot = is_latency ? verbs_slot_out : number % plan_.slots;
  const auto message = memory_.message(is_latency ? verbs_slot_in : number);
  const std::byte fill = verbs_fill_byte(plan_.touches_payload && !is_read ? number : slot);
  if (!is_stamped(message, is_read ? slot : number) || (is_whole && !is_filled(message, fill))) {
    throw Error::failed("message " + std::to_string(number) +
                        " differs from what was sent; this measurement is not valid");
  }
}

/// Checks the last message. With touches_payload every message has a stamp; then it also checks the earlier messages in
/// the slots that the server could not check (writes).
void VerbsBench::check_last(std::uint64_t count) const {
  const bool is_silent = plan_.operation == VerbsOperation::write || plan_.operation == VerbsOperation::write_imm;
  const std::uint64_t checked = plan_.touches_payload && is_silent ? plan_.slots : 1;
  for (std::uint64_t number = count - std::min(count, checked); number < count; ++number) {
    check(number, true);
  }
}

// ---- The client ----

VerbsResult VerbsBench::drive(const VerbsControl& control) {
  VerbsWait wait(*connection_, plan_.wait, control);
  VerbsResult result;
  const std::int64_t begin_ns = monotonic_ns();
  const std::int64_t cpu_begin_ns = process_cpu_ns();
  result.count = plan_.operation == VerbsOperation::latency ? ping(wait, result.latency) : stream(wait);
  result.elapsed_ns = monotonic_ns() - begin_ns;
  result.cpu_ns = process_cpu_ns() - cpu_begin_ns;
  if (plan_.operation == VerbsOperation::read || plan_.operation == VerbsOperation::latency) {
    check_last(result.count);
  }
  return result;
}

bool VerbsBench::is_last(std::uint64_t number, std::int64_t begin_ns, std::int64_t now_ns) const noexcept {
  return (plan_.count != 0 && number + 1 >= plan_.count) ||
         (plan_.duration_ns != 0 && now_ns - begin_ns >= plan_.duration_ns);
}

/// Keeps plan_.slots messages in flight.
std::uint64_t VerbsBench::stream(VerbsWait& wait) {
  const std::int64_t begin_ns = monotonic_ns();
  const bool is_read_and_checked = plan_.operation == VerbsOperation::read && plan_.touches_payload;
  std::uint64_t begun = 0;
  std::uint64_t done = 0;
  for (bool is_over = false; !is_over || done < begun;) {
    const std::int64_t now_ns = monotonic_ns();
    wait.poll_control_if_due(now_ns);
    bool has_moved = false;
    while (!is_over && begun - done < plan_.slots) {
      is_over = is_last(begun, begin_ns, now_ns);
      prepare(begun, is_over);
      ++begun;
      if (plan_.message_bytes >= chunk_bytes_) {
        has_moved |= sends_.post(begun, is_over);  // the device sends while the next one is prepared
      }
    }
    has_moved |= sends_.post(begun, is_over);
    has_moved |= sends_.poll();
    sends_.require_progress(now_ns);
    for (; done < sends_.completed(); ++done) {
      if (is_read_and_checked) {
        check(done, true);
      }
    }
    if (has_moved) {
      wait.found(now_ns);
    } else {
      wait.idle(now_ns);
    }
  }
  return begun;
}

std::uint64_t VerbsBench::ping(VerbsWait& wait, Histogram& latency) {
  const std::int64_t begin_ns = monotonic_ns();
  for (std::uint64_t number = 0;; ++number) {
    const std::int64_t due_ns = begin_ns + static_cast<std::int64_t>(number) * plan_.period_ns;
    while (plan_.period_ns != 0 && monotonic_ns() < due_ns) {
      wait.sleep(due_ns);
    }
    const std::int64_t sent_ns = monotonic_ns();
    const bool is_over = is_last(number, begin_ns, sent_ns);
    post_ping(number, is_over, wait);
    await_pong(number, sent_ns, wait);
    latency.add((monotonic_ns() - sent_ns) / 2);
    check(number, plan_.touches_payload);
    receives_.post_again(number + 1);
    if (is_over) {
      return number + 1;
    }
  }
}

/// The answer shows that the message before has arrived. Its completion is only needed to have room.
void VerbsBench::post_ping(std::uint64_t number, bool is_last, VerbsWait& wait) {
  prepare(number, is_last);
  for (sends_.post(number + 1, false); sends_.posted() <= number; sends_.post(number + 1, false)) {
    if (!sends_.poll()) {
      const std::int64_t now_ns = monotonic_ns();
      sends_.require_progress(now_ns);
      wait.poll_control_if_due(now_ns);
      wait.idle(now_ns);
    }
  }
}

/// Needs its own timeout: the requests are not signalled, so require_progress() cannot detect a request that the device
/// has lost.
void VerbsBench::await_pong(std::uint64_t number, std::int64_t sent_ns, VerbsWait& wait) {
  const std::int64_t limit_ns = pong_timeout_ns + static_cast<std::int64_t>(plan_.message_bytes) * pong_ns_per_byte;
  for (;;) {
    receives_.poll();
    receives_.post_again(number);
    const std::int64_t now_ns = monotonic_ns();
    if (receives_.messages() > number) {
      wait.found(now_ns);
      return;
    }
    if (now_ns - sent_ns > limit_ns) {
      throw Error::lost_peer("message " + std::to_string(number) + " of " + std::to_string(plan_.message_bytes) +
                             " bytes was not answered within " + std::to_string(limit_ns / ns_per_s) + " s");
    }
    sends_.poll();
    wait.poll_control_if_due(now_ns);
    wait.idle(now_ns);
  }
}

// ---- The server ----

VerbsResult VerbsBench::answer(const VerbsControl& control) {
  VerbsWait wait(*connection_, plan_.wait, control);
  VerbsResult result;
  const std::int64_t cpu_begin_ns = process_cpu_ns();
  if (is_passive(plan_.operation, side_)) {
    const std::int64_t begin_ns = monotonic_ns();
    while (!wait.total()) {
      wait.sleep(INT64_MAX);
    }
    result.count = *wait.total();
    result.elapsed_ns = monotonic_ns() - begin_ns;
  } else {
    take_messages(wait, result);
  }
  result.cpu_ns = process_cpu_ns() - cpu_begin_ns;
  if (plan_.operation != VerbsOperation::read && result.count > 0) {
    check_last(result.count);
  }
  return result;
}

void VerbsBench::take_messages(VerbsWait& wait, VerbsResult& result) {
  const std::int64_t begin_ns = monotonic_ns();
  std::int64_t last_ns = begin_ns;
  VerbsDrainTimeout last_messages;
  while (!wait.total() || result.count < *wait.total()) {
    const bool has_moved = receives_.poll();
    const std::int64_t now_ns = monotonic_ns();
    wait.poll_control_if_due(now_ns);
    const bool are_overdue = last_messages.are_overdue(wait.total().has_value(), has_moved, now_ns);
    if (has_moved) {
      wait.found(now_ns);
      last_ns = now_ns;
      for (; result.count < receives_.messages(); ++result.count) {
        take(result.count, wait);
      }
      receives_.post_again(first_unchecked(result.count));
    } else if (are_overdue) {
      throw Error::lost_peer("only " + std::to_string(result.count) + " of " + std::to_string(*wait.total()) +
                             " messages came");
    } else {
      sends_.poll();
      wait.idle(now_ns);
    }
  }
  result.elapsed_ns = last_ns - begin_ns;
}

/// The first message that is not yet checked. Messages that are sent without touches_payload are not checked, except
/// the last one, which no message follows: their receives are free at once.
std::uint64_t VerbsBench::first_unchecked(std::uint64_t counted) const noexcept {
  const bool are_checked = plan_.touches_payload || plan_.operation == VerbsOperation::latency;
  return are_checked ? counted : receives_.messages() + 1;
}

void VerbsBench::take(std::uint64_t number, VerbsWait& wait) {
  if (plan_.operation == VerbsOperation::latency) {
    check(number, plan_.touches_payload);
    receives_.post_again(number + 1);  // the answer makes the client send the next message
    post_ping(number, false, wait);
  } else if (plan_.operation == VerbsOperation::send && plan_.touches_payload) {
    check(number, true);
  }
}

}  // namespace framewire
