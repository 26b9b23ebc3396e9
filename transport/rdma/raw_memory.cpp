#include "transport/rdma/raw_memory.hpp"

#include <algorithm>
#include <string>

#include "base/text.hpp"
#include "transport/rdma/raw_message.hpp"

namespace framewire {

namespace {

constexpr std::uint64_t cache_line_bytes = 64;

std::uint32_t slots_for(const RawPlan& plan, RawEnd end) noexcept {
  if (plan.operation == RawOperation::latency) {
    return 2;
  }
  if (plan.operation == RawOperation::send && end == RawEnd::server) {
    // There are no credits: whatever comes without a buffer comes again, much later.
    constexpr std::uint64_t buffer_bytes = std::uint64_t{16} << 20;
    constexpr std::uint64_t most_buffers = 512;
    return static_cast<std::uint32_t>(
        std::max<std::uint64_t>(std::min(buffer_bytes / plan.message_bytes, most_buffers), plan.slots));
  }
  return plan.slots;
}

unsigned access_for(RawOperation operation, RawEnd end) noexcept {
  constexpr unsigned local_write = IBV_ACCESS_LOCAL_WRITE;
  constexpr unsigned remote_write = IBV_ACCESS_REMOTE_WRITE;
  constexpr unsigned remote_read = IBV_ACCESS_REMOTE_READ;
  switch (operation) {
    case RawOperation::send:
      return end == RawEnd::server ? local_write : 0U;
    case RawOperation::write:
    case RawOperation::write_imm:
      return end == RawEnd::server ? local_write | remote_write : 0U;
    case RawOperation::read:
      // Over iWARP the answer to a read is a write by the other side.
      return end == RawEnd::server ? remote_read : local_write | remote_write;
    case RawOperation::latency:
      break;
  }
  return local_write | remote_write;
}

}  // namespace

RawMemory::RawMemory(const std::shared_ptr<ibv_pd>& domain, const RawPlan& plan, RawEnd end)
    : message_bytes_(plan.message_bytes),
      stride_bytes_((plan.message_bytes + cache_line_bytes - 1) / cache_line_bytes * cache_line_bytes),
      slot_count_(slots_for(plan, end)) {
  const std::string name = std::to_string(slot_count_) + " messages of " + format_bytes(message_bytes_);
  registration_ = register_block(domain, HostBlock::create_private(name, stride_bytes_ * slot_count_),
                                 access_for(plan.operation, end));
  const bool is_latency = plan.operation == RawOperation::latency;
  const bool is_source = is_latency || (end == RawEnd::client) != (plan.operation == RawOperation::read);
  for (std::uint32_t slot = is_latency ? raw_slot_out : 0; is_source && slot < slot_count_; ++slot) {
    fill_raw_message(message(slot), raw_fill_byte(slot));
    stamp_raw_message(message(slot), slot);
  }
}

}  // namespace framewire
