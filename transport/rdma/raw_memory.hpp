// The memory of one end of a raw measurement.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "transport/rdma/domain.hpp"
#include "transport/rdma/raw_plan.hpp"

namespace framewire {

/// Message n stands in slot n modulo slot_count(). Owned by its end; any thread of it.
class RawMemory {
 public:
  /// Allocates and registers: each end only for what the operation does there. Throws Error.
  RawMemory(const std::shared_ptr<ibv_pd>& domain, const RawPlan& plan, RawEnd end);

  [[nodiscard]] std::uint32_t slot_count() const noexcept { return slot_count_; }
  [[nodiscard]] std::span<std::byte> message(std::uint64_t number) const noexcept {
    return registration_->block->bytes().subspan(number % slot_count_ * stride_bytes_, message_bytes_);
  }
  /// Where a message of the other end stands, whose slots have the same size.
  [[nodiscard]] std::uint64_t offset_bytes(std::uint64_t slot) const noexcept { return slot * stride_bytes_; }
  [[nodiscard]] std::uint64_t address() const noexcept {
    return reinterpret_cast<std::uint64_t>(registration_->region->addr);
  }
  [[nodiscard]] std::uint32_t local_key() const noexcept { return registration_->region->lkey; }
  [[nodiscard]] std::uint32_t remote_key() const noexcept { return registration_->region->rkey; }

 private:
  std::uint64_t message_bytes_;
  std::uint64_t stride_bytes_;
  std::uint32_t slot_count_;
  std::shared_ptr<const Registration> registration_;
};

/// The two slots of either end of a ping-pong.
inline constexpr std::uint32_t raw_slot_in = 0;
inline constexpr std::uint32_t raw_slot_out = 1;

}  // namespace framewire
