// The calls of libibverbs that its headers make through a device's table of functions.
#pragma once

#include "tests/sim/verbs_model.hpp"

namespace framewire::sim {

ibv_context_ops device_calls();

// Called on a device's table, in verbs_objects.cpp and verbs_queues.cpp.
ibv_mw* alloc_window(ibv_pd* handle, ibv_mw_type type);
int dealloc_window(ibv_mw* handle);
int post_send(ibv_qp* handle, ibv_send_wr* requests, ibv_send_wr** bad);
int post_receive(ibv_qp* handle, ibv_recv_wr* requests, ibv_recv_wr** bad);
int poll_queue(ibv_cq* handle, int limit, ibv_wc* completions);
int request_notification(ibv_cq* handle, int only_solicited);

/// The state that rdma_cm brings a queue pair to.
void set_state(World& world, const QueuePairPointer& pair, ibv_qp_state state);

}  // namespace framewire::sim
