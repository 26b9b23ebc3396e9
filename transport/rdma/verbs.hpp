// unique_ptrs for the objects of libibverbs and librdmacm, and errors of their calls.
#pragma once

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#include <cerrno>
#include <memory>
#include <string_view>

#include "base/error.hpp"

namespace framewire {

struct VerbsDeleter {
  void operator()(ibv_pd* protection_domain) const noexcept { ibv_dealloc_pd(protection_domain); }
  void operator()(ibv_cq* queue) const noexcept { ibv_destroy_cq(queue); }
  void operator()(ibv_mr* mr) const noexcept { ibv_dereg_mr(mr); }
  void operator()(ibv_mw* window) const noexcept { ibv_dealloc_mw(window); }
  void operator()(ibv_comp_channel* channel) const noexcept { ibv_destroy_comp_channel(channel); }
  void operator()(rdma_event_channel* channel) const noexcept { rdma_destroy_event_channel(channel); }
  void operator()(rdma_cm_event* event) const noexcept { rdma_ack_cm_event(event); }
  /// Destroys its QP, too. All its events must be acknowledged first: the library waits for that.
  void operator()(rdma_cm_id* id) const noexcept {
    if (id->qp != nullptr) {
      rdma_destroy_qp(id);
    }
    rdma_destroy_id(id);
  }
};

/// Destroy in reverse order of creation.
template <typename Object>
using VerbsPtr = std::unique_ptr<Object, VerbsDeleter>;

/// Takes the result of a call. Throws Error (failed), "cannot <doing>: …" by errno, when it is null.
template <typename Object>
VerbsPtr<Object> own(Object* object, std::string_view doing) {
  if (object == nullptr) {
    throw Error::from_errno(doing, errno);
  }
  return VerbsPtr<Object>(object);
}

/// For calls that return 0, or -1 with errno (librdmacm), or errno itself (libibverbs). Throws Error (failed).
inline void check_call(int result, std::string_view doing) {
  if (result != 0) {
    throw Error::from_errno(doing, result > 0 ? result : errno);
  }
}

/// A new id of a reliable connection on that channel; null, with errno, when rdma_cm refuses.
inline VerbsPtr<rdma_cm_id> make_id(rdma_event_channel* events) noexcept {
  rdma_cm_id* id = nullptr;
  return VerbsPtr<rdma_cm_id>(rdma_create_id(events, &id, nullptr, RDMA_PS_TCP) == 0 ? id : nullptr);
}

}  // namespace framewire
