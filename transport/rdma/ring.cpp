#include "transport/rdma/ring.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "transport/rdma/memory_window.hpp"
#include "transport/rdma/wire.hpp"

namespace framewire {

RdmaRing::RdmaRing(const std::shared_ptr<ibv_pd>& protection_domain, std::uint32_t epoch, std::uint64_t slot_bytes,
                   std::uint32_t slots, const WindowTrial& can_bind, bool relaxed_ordering, const StopCheck& stop,
                   const MemoryKind& memory, const ClosedWays& closed_ways)
    : is_lent(slots, true),
      assemblies(slots),
      epoch_(epoch),
      slot_bytes_(slot_bytes),
      stride_bytes_(slot_stride_bytes(slot_bytes)),
      cells_per_slot_(cells_per_slot_for(slots)),
      relaxed_ordering_(relaxed_ordering) {
  const std::string name = std::to_string(slots) + " ring slots";
  payload_ = memory.allocate_private(name, stride_bytes_ * slots, stop);
  cells_ = HostBlock::create_private(name, cell_stride_bytes * cells_per_slot_ * slots, stop);
  // A device's memory takes no windows: ibv_reg_dmabuf_mr knows no IBV_ACCESS_MW_BIND.
  if (can_bind && payload_->host() != nullptr) {
    register_all(protection_domain, IBV_ACCESS_MW_BIND, {});
    if (make_windows(protection_domain, can_bind)) {
      return;
    }
    // Only one MR at a time: the limit of locked memory may allow no second one.
    payload_window_.memory_region.reset();
    cells_window_.memory_region.reset();
  }
  register_all(protection_domain, IBV_ACCESS_REMOTE_WRITE, closed_ways);
  for (Window* window : {&payload_window_, &cells_window_}) {
    window->key = window->memory_region->mr->rkey;
  }
}

void RdmaRing::register_again(const ClosedWays& closed_ways) {
  const auto protection_domain = payload_region().protection_domain;
  payload_window_.memory_region.reset();
  payload_window_.memory_region =
      register_memory(protection_domain, payload_, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE, closed_ways);
  payload_window_.key = payload_region().mr->rkey;
}

void RdmaRing::register_all(const std::shared_ptr<ibv_pd>& protection_domain, unsigned opening,
                            const ClosedWays& closed_ways) {
  // The payload may arrive in any order on the bus: only its completion counts. So may the cells, but they are few. In
  // the memory of another device nobody promises that the payload comes before its completion then.
  const bool is_relaxed = relaxed_ordering_ && payload_->host() != nullptr;
  constexpr unsigned relaxed = IBV_ACCESS_RELAXED_ORDERING;
  const unsigned access = static_cast<unsigned>(IBV_ACCESS_LOCAL_WRITE) | opening;
  payload_window_.memory_region =
      register_memory(protection_domain, payload_, access | (is_relaxed ? relaxed : 0U), closed_ways);
  cells_window_.memory_region = register_memory(protection_domain, cells_, access);
}

/// Creates both windows or none.
bool RdmaRing::make_windows(const std::shared_ptr<ibv_pd>& protection_domain, const WindowTrial& can_bind) {
  if (!can_bind(*payload_window_.memory_region)) {
    return false;
  }
  const std::array windows{&payload_window_, &cells_window_};
  const bool are_made = std::ranges::all_of(windows, [&](Window* one) {
    one->window.reset(ibv_alloc_mw(protection_domain.get(), IBV_MW_TYPE_2));
    one->key = one->window ? ibv_inc_rkey(one->window->rkey) : 0;
    return one->window != nullptr;
  });
  if (!are_made) {
    close_windows();
  }
  return are_made;
}

std::span<const std::byte> RdmaRing::cell(std::uint16_t slot, std::uint16_t slice) const noexcept {
  const std::uint64_t index = std::uint64_t{slot} * cells_per_slot_ + slice;
  return cells_window_.memory_region->bytes().subspan(index * cell_stride_bytes, cell_stride_bytes);
}

std::vector<ibv_send_wr> RdmaRing::bind_requests() const {
  std::vector<ibv_send_wr> requests;
  for (const Window* window : {&payload_window_, &cells_window_}) {
    if (!window->window) {
      continue;
    }
    requests.push_back(bind_request(*window->window, *window->memory_region));
  }
  return requests;
}

bool RdmaRing::close_windows() noexcept {
  const bool had_windows = has_windows();
  payload_window_.window.reset();
  cells_window_.window.reset();
  return had_windows;
}

RingAccess RdmaRing::access() const noexcept {
  return {.payload_address = payload_window_.memory_region->address,
          .payload_key = payload_window_.key,
          .cells_address = cells_window_.memory_region->address,
          .cells_key = cells_window_.key,
          .cells_per_slot = cells_per_slot_,
          .receive_depth = 0,
          .cells_take_payload = payload_->host() != nullptr};
}

}  // namespace framewire
