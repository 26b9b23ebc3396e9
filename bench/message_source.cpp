#include "bench/message_source.hpp"

#include <cstring>
#include <utility>

#include "base/clock.hpp"
#include "bench/convention.hpp"

namespace framewire {

namespace {

/// Publishes messages until the plan is fulfilled; returns how many.
std::uint64_t publish_messages(Stream& stream, const RowPlan& plan, std::int64_t begin_ns) {
  const FrameInfo info{.user_tag = tag_of(plan.wait) | (plan.touches_payload ? bench_tag_touch : 0), .layout = {}};
  const std::int64_t period_ns = plan.rate_per_s > 0 ? static_cast<std::int64_t>(1e9 / plan.rate_per_s) : 0;
  std::uint64_t count = 0;
  for (; !plan.is_over(count, monotonic_ns() - begin_ns); ++count) {
    if (period_ns > 0 && !stream.sleep_until(begin_ns + static_cast<std::int64_t>(count) * period_ns)) {
      break;
    }
    auto slot = stream.claim();
    if (!slot) {
      break;
    }
    if (plan.touches_payload) {
      std::memset(slot->bytes().data(), static_cast<int>(count & 0xff), slot->bytes().size());
    }
    stream.publish(std::move(*slot), info);
  }
  return count;
}

}  // namespace

StreamOptions stream_options_of(const RowPlan& plan) {
  return {.name = "bench",
          .delivery = Delivery::every,
          .slots_per_viewer = plan.slots,
          .max_viewers = 1,
          .ends_with_viewers = true,
          .one_at_a_time = plan.operation == "latency",
          .wait = plan.wait};
}

EndResult send_messages(Stream& stream, const RowPlan& plan) {
  const std::int64_t begin_ns = monotonic_ns();
  const std::int64_t cpu_begin_ns = process_cpu_ns();
  const std::uint64_t count = publish_messages(stream, plan, begin_ns);
  return {.count = count,
          .seconds = static_cast<double>(monotonic_ns() - begin_ns) / 1e9,
          .cpu_seconds = static_cast<double>(process_cpu_ns() - cpu_begin_ns) / 1e9,
          .latency_us = {},
          .transport = plan.transport};
}

}  // namespace framewire
