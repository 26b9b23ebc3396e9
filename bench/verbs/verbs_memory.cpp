#include "bench/verbs/verbs_memory.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>

#include "base/text.hpp"

namespace framewire {

// ---- The payload of a message ----

namespace {

std::array<std::byte, verbs_stamp_bytes> stamp_of(std::uint64_t number) noexcept {
  std::array<std::byte, verbs_stamp_bytes> stamp;
  for (std::size_t i = 0; i < stamp.size(); ++i) {
    stamp[i] = static_cast<std::byte>((number + 1) >> (8 * i) & 0xff);
  }
  return stamp;
}

std::size_t stamp_size(std::span<const std::byte> message) noexcept {
  return std::min(message.size(), verbs_stamp_bytes);
}

}  // namespace

void fill_verbs_payload(std::span<std::byte> message, std::byte with) noexcept {
  std::memset(message.data(), std::to_integer<int>(with), message.size());
}

void stamp_verbs_payload(std::span<std::byte> message, std::uint64_t number) noexcept {
  const auto stamp = stamp_of(number);
  std::memcpy(message.last(stamp_size(message)).data(), stamp.data(), stamp_size(message));
}

bool is_stamped(std::span<const std::byte> message, std::uint64_t number) noexcept {
  const auto stamp = stamp_of(number);
  return std::memcmp(message.last(stamp_size(message)).data(), stamp.data(), stamp_size(message)) == 0;
}

bool is_filled(std::span<const std::byte> message, std::byte with) noexcept {
  const auto body = message.first(message.size() - stamp_size(message));
  // Each byte equals the next one, and the first is the expected one.
  return body.empty() || (body.front() == with && std::memcmp(body.data(), body.data() + 1, body.size() - 1) == 0);
}

// ---- The memory ----

namespace {

constexpr std::uint64_t cache_line_bytes = 64;

std::uint32_t slots_for(const VerbsPlan& plan, VerbsSide side) noexcept {
  if (plan.operation == VerbsOperation::latency) {
    return 2;
  }
  if (plan.operation == VerbsOperation::send && side == VerbsSide::server) {
    // There are no credits: a message without a posted receive is sent again, much later.
    constexpr std::uint64_t buffer_bytes = std::uint64_t{16} << 20;
    constexpr std::uint64_t max_buffers = 512;
    return static_cast<std::uint32_t>(
        std::max<std::uint64_t>(std::min(buffer_bytes / plan.message_bytes, max_buffers), plan.slots));
  }
  return plan.slots;
}

unsigned access_for(VerbsOperation operation, VerbsSide side) noexcept {
  constexpr unsigned local_write = IBV_ACCESS_LOCAL_WRITE;
  constexpr unsigned remote_write = IBV_ACCESS_REMOTE_WRITE;
  constexpr unsigned remote_read = IBV_ACCESS_REMOTE_READ;
  switch (operation) {
    case VerbsOperation::send:
      return side == VerbsSide::server ? local_write : 0U;
    case VerbsOperation::write:
    case VerbsOperation::write_imm:
      return side == VerbsSide::server ? local_write | remote_write : 0U;
    case VerbsOperation::read:
      // iWARP implements a READ by a remote write into the reader's memory.
      return side == VerbsSide::server ? remote_read : local_write | remote_write;
    case VerbsOperation::latency:
      break;
  }
  return local_write | remote_write;
}

}  // namespace

VerbsMemory::VerbsMemory(const std::shared_ptr<ibv_pd>& protection_domain, const VerbsPlan& plan, VerbsSide side)
    : message_bytes_(plan.message_bytes),
      stride_bytes_((plan.message_bytes + cache_line_bytes - 1) / cache_line_bytes * cache_line_bytes),
      slot_count_(slots_for(plan, side)) {
  const std::string name = std::to_string(slot_count_) + " messages of " + format_bytes(message_bytes_);
  registration_ = register_memory(protection_domain, HostBlock::create_private(name, stride_bytes_ * slot_count_),
                                  access_for(plan.operation, side));
  const bool is_latency = plan.operation == VerbsOperation::latency;
  const bool is_source = is_latency || (side == VerbsSide::client) != (plan.operation == VerbsOperation::read);
  for (std::uint32_t slot = is_latency ? verbs_slot_out : 0; is_source && slot < slot_count_; ++slot) {
    fill_verbs_payload(message(slot), verbs_fill_byte(slot));
    stamp_verbs_payload(message(slot), slot);
  }
}

}  // namespace framewire
