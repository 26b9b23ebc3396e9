#include "bench/warm_up.hpp"

#include <cstdint>
#include <utility>
#include <vector>

#include "bench/frame_tags.hpp"
#include "transport/pool.hpp"

namespace framewire {

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

/// Links let go of a slot when the kernel or the device has its bytes.
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
  // The ring has as many slots: that the last of these short ones may go shows that the long one has been taken. One at
  // a time the claims below show it.
  const std::uint32_t short_ones = stream.options().one_in_flight ? 0 : plan.slots;
  for (std::uint32_t i = 0; is_there && i < short_ones; ++i) {
    is_there = publish_one(stream, plan, 1);
  }
  return is_there && wait_until_all_went(stream, plan);
}

}  // namespace framewire
