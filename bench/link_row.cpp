#include "bench/link_row.hpp"

#include <cstring>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "memory/host_block.hpp"
#include "transport/pool.hpp"

namespace framewire {

// ---- Sending a link's row ----

namespace {

struct Published {
  std::uint64_t count = 0;
  Histogram round_trip_halves{};  // of "latency"
};

/// Publishes messages until the plan is complete. With one message in flight, the next slot becomes free when the
/// receiver has returned the last message: that is a round trip.
Published publish_messages(Stream& stream, const RowPlan& plan, std::int64_t begin_ns) {
  // A device that need not fill its slots need not copy them either.
  const FrameInfo info{.user_tag = tag_of(plan.wait) | (plan.touches_payload ? bench_tag_touch : 0),
                       .layout = {},
                       .is_on_device = !plan.touches_payload && !stream.options().memory->is_host()};
  const std::int64_t period_ns = plan.period_ns();
  const bool measures_latency = plan.operation == "latency";
  Published done;
  std::optional<ClaimedSlot> slot;
  const auto take_slot = [&] {
    if (auto free = stream.claim()) {
      slot.emplace(std::move(*free));
    }
    return slot.has_value();
  };
  while (!plan.is_over(done.count, monotonic_ns() - begin_ns)) {
    if (period_ns > 0 && !stream.sleep_until(begin_ns + static_cast<std::int64_t>(done.count) * period_ns)) {
      break;
    }
    if (!slot && !take_slot()) {
      break;
    }
    if (plan.touches_payload) {
      std::memset(slot->bytes().data(), static_cast<int>(done.count & 0xff), slot->bytes().size());
    }
    const std::int64_t handed_over_ns = monotonic_ns();
    stream.publish(std::move(*slot), info);
    slot.reset();
    ++done.count;
    if (measures_latency && take_slot()) {
      done.round_trip_halves.add((monotonic_ns() - handed_over_ns) / 2);
    }
  }
  return done;
}

}  // namespace

StreamOptions stream_options_of(const RowPlan& plan, const MemoryKind& memory) {
  return {.name = "bench",
          .delivery = Delivery::every,
          .slots_per_viewer = plan.slots,
          .max_viewers = 1,
          .ends_with_viewers = true,
          .one_in_flight = plan.operation == "latency",
          .wait = plan.wait,
          .memory = &memory};
}

std::vector<const MemoryKind*> kinds_besides_host(const MemoryKind& memory) {
  return memory.is_host() ? std::vector<const MemoryKind*>() : std::vector{&memory};
}

SideResult send_messages(Stream& stream, const RowPlan& plan) {
  const std::int64_t begin_ns = monotonic_ns();
  const std::int64_t cpu_begin_ns = process_cpu_ns();
  const Published done = publish_messages(stream, plan, begin_ns);
  return {.count = done.count,
          .seconds = static_cast<double>(monotonic_ns() - begin_ns) / 1e9,
          .cpu_seconds = static_cast<double>(process_cpu_ns() - cpu_begin_ns) / 1e9,
          .latency_us = latency_of(done.round_trip_halves),
          .transport = plan.transport};
}

// ---- The warm-up of a link's row ----

namespace {

bool publish_one(Stream& stream, const RowPlan& plan, std::uint64_t size_bytes) {
  auto slot = stream.claim();
  if (!slot) {
    return false;
  }
  stream.publish(std::move(*slot),
                 {.user_tag = tag_of(plan.wait) | bench_tag_warm_up, .layout = bytes_layout(size_bytes)});
  return true;
}

/// Waits until all slots are free: a link releases a slot when the kernel or the device has its bytes.
bool wait_until_all_went(Stream& stream, const RowPlan& plan) {
  std::vector<ClaimedSlot> all;
  const std::uint32_t slots = pool_slots_for(1, plan.slots);
  all.reserve(slots);
  while (all.size() < slots) {
    auto slot = stream.claim();
    if (!slot) {
      return false;
    }
    all.push_back(std::move(*slot));
  }
  return true;
}

}  // namespace

bool warm_up(Stream& stream, const RowPlan& plan) {
  bool is_there = publish_one(stream, plan, plan.message_bytes);
  // The ring has plan.slots slots. When the last of these short messages can be sent, the receiver has taken the long
  // one. With one message in flight, the claims below show the same.
  const std::uint32_t short_ones = stream.options().one_in_flight ? 0 : plan.slots;
  for (std::uint32_t i = 0; is_there && i < short_ones; ++i) {
    is_there = publish_one(stream, plan, 1);
  }
  return is_there && wait_until_all_went(stream, plan);
}

// ---- Measuring a link's row on the receiving side ----

std::span<const std::byte> RowMeter::bytes_of(ReceivedFrame& frame) {
  copies_.copy(frame, host_memory(), {});
  return frame.payload();
}

void RowMeter::take(ReceivedFrame& frame) {
  const FrameHeader& header = frame.header();
  if ((header.user_tag & bench_tag_result) != 0) {
    const auto text = bytes_of(frame);
    sender_result_ = side_result_from_json(std::string(reinterpret_cast<const char*>(text.data()), text.size()));
    return;
  }
  if (span_.count() == 0) {
    clock_ = subscriber_.clock_offset();
    wait_ = wait_mode_of(header.user_tag);
  }
  if ((header.user_tag & bench_tag_warm_up) != 0) {
    cpu_at_begin_ns_ = process_cpu_ns();
    return;
  }
  span_.take(header.times.begun_ns, frame.received_ns(), clock_.offset_ns);
  latency_.add(frame.received_ns() + clock_.offset_ns - header.times.completed_ns);
  if ((header.user_tag & bench_tag_touch) != 0) {
    sum_ += sum_of(bytes_of(frame));
  }
  bytes_ += header.layout.size_bytes;
}

/// Returns how the session ended, if it has. Otherwise waits in the mode that the sender asked for.
std::optional<SubscriberStatus> RowMeter::wait_for_more(std::uint64_t& seen_version) {
  // Copying the status takes longer than receiving a small message.
  if (const std::uint64_t version = subscriber_.status_version(); version != seen_version) {
    seen_version = version;
    SubscriberStatus status = subscriber_.status();
    if (status.state != SubscriberState::waiting && status.state != SubscriberState::connected) {
      return status;
    }
  }
  // WaitMode::spin never sleeps, so it needs no deadline and no clock.
  subscriber_.wait(wait_ == WaitMode::spin ? 0 : monotonic_ns() + ns_per_s / 4, wait_);
  return std::nullopt;
}

SideResult RowMeter::result() const {
  return {.count = span_.count(),
          .seconds = span_.seconds(clock_.uncertainty_ns),
          .cpu_seconds = static_cast<double>(process_cpu_ns() - cpu_at_begin_ns_) / 1e9,
          .latency_us = latency_of(latency_),
          .latency_uncertainty_us = static_cast<double>(clock_.uncertainty_ns) / 1e3,
          .transport = subscriber_.status().transport,
          .memory = subscriber_.status().memory};
}

}  // namespace framewire
