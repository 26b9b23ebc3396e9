// The functions of libibverbs and librdmacm that the rdma link calls, by libraries that are loaded at the first call: a
// program that uses no RDMA needs neither. Without them there are no devices.
#include <dlfcn.h>
#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#include <cerrno>
#include <type_traits>

// verbs.h replaces some functions by macros.
#undef ibv_query_port
#undef ibv_reg_mr
#undef ibv_get_device_list

namespace {

void* verbs() noexcept {
  static void* const library = ::dlopen("libibverbs.so.1", RTLD_NOW | RTLD_LOCAL);
  return library;
}

void* rdmacm() noexcept {
  static void* const library = ::dlopen("librdmacm.so.1", RTLD_NOW | RTLD_LOCAL);
  return library;
}

template <typename Function>
Function* find(void* library, const char* name) noexcept {
  return library != nullptr ? reinterpret_cast<Function*>(::dlsym(library, name)) : nullptr;
}

/// What a function returns that is not there: its failure, with errno.
template <typename Result>
Result absent() noexcept {
  errno = ENOSYS;
  if constexpr (std::is_same_v<Result, const char*>) {
    return "unknown";
  } else if constexpr (std::is_pointer_v<Result>) {
    return nullptr;
  } else if constexpr (std::is_signed_v<Result>) {
    return -1;
  } else if constexpr (!std::is_void_v<Result>) {
    return Result{};
  }
}

}  // namespace

// FORWARD(LIBRARY, RESULT, NAME, PARAMETERS, ARGUMENTS)
#define FORWARD(library, result, name, parameters, arguments)           \
  result name parameters {                                              \
    using Function = result parameters;                                 \
    static Function* const function = find<Function>(library(), #name); \
    return function != nullptr ? function arguments : absent<result>(); \
  }

extern "C" {

FORWARD(verbs, void, ibv_ack_async_event, (ibv_async_event * event), (event))
FORWARD(verbs, void, ibv_ack_cq_events, (ibv_cq * cq, unsigned int nevents), (cq, nevents))
FORWARD(verbs, ibv_pd*, ibv_alloc_pd, (ibv_context * context), (context))
FORWARD(verbs, int, ibv_close_device, (ibv_context * context), (context))
FORWARD(verbs, ibv_comp_channel*, ibv_create_comp_channel, (ibv_context * context), (context))
FORWARD(verbs, ibv_cq*, ibv_create_cq,
        (ibv_context * context, int cqe, void* cq_context, ibv_comp_channel* channel, int comp_vector),
        (context, cqe, cq_context, channel, comp_vector))
FORWARD(verbs, ibv_qp*, ibv_create_qp, (ibv_pd * pd, ibv_qp_init_attr* qp_init_attr), (pd, qp_init_attr))
FORWARD(verbs, int, ibv_dealloc_pd, (ibv_pd * pd), (pd))
FORWARD(verbs, int, ibv_dereg_mr, (ibv_mr * mr), (mr))
FORWARD(verbs, int, ibv_destroy_comp_channel, (ibv_comp_channel * channel), (channel))
FORWARD(verbs, int, ibv_destroy_cq, (ibv_cq * cq), (cq))
FORWARD(verbs, int, ibv_destroy_qp, (ibv_qp * qp), (qp))
FORWARD(verbs, const char*, ibv_event_type_str, (ibv_event_type event), (event))
FORWARD(verbs, void, ibv_free_device_list, (ibv_device * *list), (list))
FORWARD(verbs, int, ibv_get_async_event, (ibv_context * context, ibv_async_event* event), (context, event))
FORWARD(verbs, int, ibv_get_cq_event, (ibv_comp_channel * channel, ibv_cq** cq, void** cq_context),
        (channel, cq, cq_context))
FORWARD(verbs, ibv_device**, ibv_get_device_list, (int* num_devices), (num_devices))
FORWARD(verbs, const char*, ibv_get_device_name, (ibv_device * device), (device))
FORWARD(verbs, int, ibv_modify_qp, (ibv_qp * qp, ibv_qp_attr* attr, int attr_mask), (qp, attr, attr_mask))
FORWARD(verbs, ibv_context*, ibv_open_device, (ibv_device * device), (device))
FORWARD(verbs, int, ibv_query_device, (ibv_context * context, ibv_device_attr* device_attr), (context, device_attr))
FORWARD(verbs, int, ibv_query_gid, (ibv_context * context, uint8_t port_num, int index, ibv_gid* gid),
        (context, port_num, index, gid))
FORWARD(verbs, ssize_t, _ibv_query_gid_table,
        (ibv_context * context, ibv_gid_entry* entries, size_t max_entries, uint32_t flags, size_t entry_size),
        (context, entries, max_entries, flags, entry_size))
FORWARD(verbs, int, ibv_query_port, (ibv_context * context, uint8_t port_num, _compat_ibv_port_attr* port_attr),
        (context, port_num, port_attr))
FORWARD(verbs, int, ibv_query_qp, (ibv_qp * qp, ibv_qp_attr* attr, int attr_mask, ibv_qp_init_attr* init_attr),
        (qp, attr, attr_mask, init_attr))
FORWARD(verbs, ibv_mr*, ibv_reg_dmabuf_mr,
        (ibv_pd * pd, uint64_t offset, size_t length, uint64_t iova, int fd, int access),
        (pd, offset, length, iova, fd, access))
FORWARD(verbs, ibv_mr*, ibv_reg_mr_iova2, (ibv_pd * pd, void* addr, size_t length, uint64_t iova, unsigned int access),
        (pd, addr, length, iova, access))
FORWARD(verbs, const char*, ibv_wc_status_str, (ibv_wc_status status), (status))
FORWARD(rdmacm, int, rdma_accept, (rdma_cm_id * id, rdma_conn_param* conn_param), (id, conn_param))
FORWARD(rdmacm, int, rdma_ack_cm_event, (rdma_cm_event * event), (event))
FORWARD(rdmacm, int, rdma_bind_addr, (rdma_cm_id * id, sockaddr* addr), (id, addr))
FORWARD(rdmacm, int, rdma_connect, (rdma_cm_id * id, rdma_conn_param* conn_param), (id, conn_param))
FORWARD(rdmacm, rdma_event_channel*, rdma_create_event_channel, (), ())
FORWARD(rdmacm, int, rdma_create_id, (rdma_event_channel * channel, rdma_cm_id** id, void* context, rdma_port_space ps),
        (channel, id, context, ps))
FORWARD(rdmacm, int, rdma_create_qp, (rdma_cm_id * id, ibv_pd* pd, ibv_qp_init_attr* qp_init_attr),
        (id, pd, qp_init_attr))
FORWARD(rdmacm, void, rdma_destroy_event_channel, (rdma_event_channel * channel), (channel))
FORWARD(rdmacm, int, rdma_destroy_id, (rdma_cm_id * id), (id))
FORWARD(rdmacm, void, rdma_destroy_qp, (rdma_cm_id * id), (id))
FORWARD(rdmacm, int, rdma_disconnect, (rdma_cm_id * id), (id))
FORWARD(rdmacm, const char*, rdma_event_str, (rdma_cm_event_type event), (event))
FORWARD(rdmacm, int, rdma_get_cm_event, (rdma_event_channel * channel, rdma_cm_event** event), (channel, event))
FORWARD(rdmacm, __be16, rdma_get_src_port, (rdma_cm_id * id), (id))
FORWARD(rdmacm, int, rdma_listen, (rdma_cm_id * id, int backlog), (id, backlog))
FORWARD(rdmacm, int, rdma_migrate_id, (rdma_cm_id * id, rdma_event_channel* channel), (id, channel))
FORWARD(rdmacm, int, rdma_reject, (rdma_cm_id * id, const void* private_data, uint8_t private_data_len),
        (id, private_data, private_data_len))
FORWARD(rdmacm, int, rdma_resolve_addr, (rdma_cm_id * id, sockaddr* src_addr, sockaddr* dst_addr, int timeout_ms),
        (id, src_addr, dst_addr, timeout_ms))
FORWARD(rdmacm, int, rdma_resolve_route, (rdma_cm_id * id, int timeout_ms), (id, timeout_ms))
FORWARD(rdmacm, int, rdma_set_option, (rdma_cm_id * id, int level, int optname, void* optval, size_t optlen),
        (id, level, optname, optval, optlen))

}  // extern "C"
