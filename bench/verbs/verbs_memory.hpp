// The memory of one side of a verbs measurement, and the payload by which both sides check that the data has moved.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "bench/verbs/verbs_plan.hpp"
#include "transport/rdma/work_requests.hpp"

namespace framewire {

// ---- The payload of a message ----

/// All bytes have one value other than 0, except a stamp at the end: the last up to 8 bytes are the message's number
/// plus 1, low byte first, so that memory that was never written has no valid stamp.
inline constexpr std::size_t verbs_stamp_bytes = 8;

/// The value of a message's bytes. Consecutive messages have different values.
constexpr std::byte verbs_fill_byte(std::uint64_t number) noexcept {
  return static_cast<std::byte>(1 + number % 255);
}

void fill_verbs_payload(std::span<std::byte> message, std::byte with) noexcept;
void stamp_verbs_payload(std::span<std::byte> message, std::uint64_t number) noexcept;
[[nodiscard]] bool is_stamped(std::span<const std::byte> message, std::uint64_t number) noexcept;
/// Reads every byte before the stamp.
[[nodiscard]] bool is_filled(std::span<const std::byte> message, std::byte with) noexcept;

// ---- The memory ----

/// Message n is in slot n modulo slot_count(). Owned by one side of the measurement; any thread of it.
class VerbsMemory {
 public:
  /// Allocates and registers, with only the access that the operation needs on this side. Throws Error.
  VerbsMemory(const std::shared_ptr<ibv_pd>& protection_domain, const VerbsPlan& plan, VerbsSide side);

  [[nodiscard]] std::uint32_t slot_count() const noexcept { return slot_count_; }
  [[nodiscard]] std::span<std::byte> message(std::uint64_t number) const noexcept {
    return registration_->bytes().subspan(number % slot_count_ * stride_bytes_, message_bytes_);
  }
  /// The offset of a slot in the other side's memory, whose slots have the same size.
  [[nodiscard]] std::uint64_t offset_bytes(std::uint64_t slot) const noexcept { return slot * stride_bytes_; }
  [[nodiscard]] std::uint64_t address() const noexcept { return registration_->address; }
  [[nodiscard]] std::uint32_t local_key() const noexcept { return registration_->mr->lkey; }
  [[nodiscard]] std::uint32_t remote_key() const noexcept { return registration_->mr->rkey; }

 private:
  std::uint64_t message_bytes_;
  std::uint64_t stride_bytes_;
  std::uint32_t slot_count_;
  std::shared_ptr<const MemoryRegion> registration_;
};

/// The two slots of each side of a ping-pong.
inline constexpr std::uint32_t verbs_slot_in = 0;
inline constexpr std::uint32_t verbs_slot_out = 1;

}  // namespace framewire
