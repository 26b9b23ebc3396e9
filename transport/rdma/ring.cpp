#include "transport/rdma/ring.hpp"

#include <string>

#include "transport/rdma/cell.hpp"

namespace framewire {

RdmaRing::RdmaRing(const std::shared_ptr<ibv_pd>& domain, std::uint32_t epoch, std::uint64_t slot_bytes,
                   std::uint32_t slots, bool has_windows, bool relaxed_ordering, const StopCheck& stop)
    : is_lent(slots, true),
      next_slice(slots, 0),
      epoch_(epoch),
      slot_bytes_(slot_bytes),
      stride_bytes_(slot_stride_bytes(slot_bytes)),
      cells_per_slot_(cells_per_slot_for(slots)) {
  // The payload may arrive in any order that suits the bus: what counts is the completion behind it. The cells may too,
  // but they are few.
  constexpr unsigned relaxed = IBV_ACCESS_RELAXED_ORDERING;
  const unsigned ordering = relaxed_ordering ? relaxed : 0U;
  const std::string name = std::to_string(slots) + " ring slots";
  payload_window_ =
      make_window(domain, HostBlock::create_private(name, stride_bytes_ * slots, stop), has_windows, ordering);
  cells_window_ = make_window(
      domain, HostBlock::create_private(name, cell_stride_bytes * cells_per_slot_ * slots, stop), has_windows, 0);
}

RdmaRing::Window RdmaRing::make_window(const std::shared_ptr<ibv_pd>& domain,
                                       const std::shared_ptr<const HostBlock>& block, bool has_windows,
                                       unsigned access) {
  const auto opening = static_cast<unsigned>(has_windows ? IBV_ACCESS_MW_BIND : IBV_ACCESS_REMOTE_WRITE);
  Window window;
  window.registration = register_block(domain, block, static_cast<unsigned>(IBV_ACCESS_LOCAL_WRITE) | opening | access);
  if (has_windows) {
    window.window = own(ibv_alloc_mw(domain.get(), IBV_MW_TYPE_2), "make an RDMA memory window");
    window.key = ibv_inc_rkey(window.window->rkey);
  } else {
    window.key = window.registration->region->rkey;
  }
  return window;
}

std::span<const std::byte> RdmaRing::cell(std::uint16_t slot, std::uint16_t slice) const noexcept {
  const std::uint64_t index = std::uint64_t{slot} * cells_per_slot_ + slice;
  return cells_window_.registration->block->bytes().subspan(index * cell_stride_bytes, cell_stride_bytes);
}

std::vector<ibv_send_wr> RdmaRing::bind_requests() const {
  std::vector<ibv_send_wr> requests;
  for (const Window* window : {&payload_window_, &cells_window_}) {
    if (!window->window) {
      continue;
    }
    ibv_send_wr request{};
    request.opcode = IBV_WR_BIND_MW;
    request.send_flags = IBV_SEND_SIGNALED;
    request.bind_mw.mw = window->window.get();
    request.bind_mw.rkey = window->key;
    request.bind_mw.bind_info = {.mr = window->registration->region.get(),
                                 .addr = reinterpret_cast<std::uint64_t>(window->registration->region->addr),
                                 .length = window->registration->region->length,
                                 .mw_access_flags = IBV_ACCESS_REMOTE_WRITE};
    requests.push_back(request);
  }
  return requests;
}

bool RdmaRing::close_windows() noexcept {
  const bool has_windows = payload_window_.window != nullptr;
  payload_window_.window.reset();
  cells_window_.window.reset();
  return has_windows;
}

RingAccess RdmaRing::access() const noexcept {
  return {.payload_address = reinterpret_cast<std::uint64_t>(payload_window_.registration->region->addr),
          .payload_key = payload_window_.key,
          .cells_address = reinterpret_cast<std::uint64_t>(cells_window_.registration->region->addr),
          .cells_key = cells_window_.key,
          .cells_per_slot = cells_per_slot_,
          .receive_depth = 0};
}

}  // namespace framewire
