// Posting, polling and notifications.
#include <algorithm>
#include <cerrno>

#include "tests/sim/descriptors.hpp"
#include "tests/sim/verbs_calls.hpp"

namespace framewire::sim {

namespace {

QueuePairPointer pair_of(World& world, const ibv_qp* handle) {
  const auto found = Fabric::get().pairs.find(handle);
  if (found == Fabric::get().pairs.end()) {
    world.fail("a queue pair is used that is destroyed");
  }
  return found->second;
}

CompletionQueue& queue_of(World& world, const ibv_cq* handle) {
  const auto found = Fabric::get().queues.find(handle);
  if (found == Fabric::get().queues.end()) {
    world.fail("a completion queue is used that is destroyed");
  }
  return *found->second;
}

/// The errno of a request that the device refuses, or 0.
int refusal(const World& world, const QueuePair& pair, const ibv_send_wr& request, std::uint64_t size_bytes) {
  const DeviceTraits& traits = open_device(pair.context).device->traits;
  if (pair.state != IBV_QPS_RTS && pair.state != IBV_QPS_ERR) {
    return EINVAL;
  }
  if (pair.send_places == pair.limits.max_send_wr ||
      static_cast<std::uint32_t>(request.num_sge) > pair.limits.max_send_sge) {
    return ENOMEM;
  }
  if ((request.send_flags & IBV_SEND_INLINE) != 0 && size_bytes > pair.limits.max_inline_data) {
    return ENOMEM;
  }
  const bool has_immediate = request.opcode == IBV_WR_SEND_WITH_IMM || request.opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
  if (size_bytes > traits.max_message_bytes || (has_immediate && !traits.has_immediates)) {
    world.fail("a request that this device does not know, or that is longer than it takes");
  }
  if (request.opcode == IBV_WR_BIND_MW && traits.windows == WindowKind::refused_at_bind) {
    return EOPNOTSUPP;
  }
  return 0;
}

std::shared_ptr<Request> copy_of(const ibv_send_wr& wr) {
  auto request = std::make_shared<Request>();
  request->wr = wr;
  request->wr.next = nullptr;
  request->wr.sg_list = nullptr;
  if (wr.opcode == IBV_WR_BIND_MW) {
    wr.bind_mw.mw->rkey = wr.bind_mw.rkey;
    request->bound_key = wr.bind_mw.bind_info.mr->lkey;
    return request;
  }
  request->parts.assign(wr.sg_list, wr.sg_list + wr.num_sge);
  request->is_inline = (wr.send_flags & IBV_SEND_INLINE) != 0;
  for (const ibv_sge& part : request->parts) {
    request->size_bytes += part.length;
    if (request->is_inline) {
      request->inline_bytes.append(reinterpret_cast<const char*>(part.addr), part.length);
    }
  }
  return request;
}

}  // namespace

int post_send(ibv_qp* handle, ibv_send_wr* requests, ibv_send_wr** bad) {
  World& world = *World::current();
  world.point();
  const QueuePairPointer pair = pair_of(world, handle);
  int error_number = 0;
  for (ibv_send_wr* one = requests; one != nullptr && error_number == 0; one = one->next) {
    std::uint64_t size_bytes = 0;
    for (int i = 0; i < one->num_sge; ++i) {
      size_bytes += one->sg_list[i].length;
    }
    error_number = refusal(world, *pair, *one, size_bytes);
    if (error_number != 0) {
      *bad = one;
      break;
    }
    ++pair->send_places;
    pair->sends.push_back(copy_of(*one));
    world.trace("pair %u: post %d of %llu bytes, flags %u", pair->qp_num, static_cast<int>(one->opcode),
                static_cast<unsigned long long>(size_bytes), one->send_flags);
  }
  if (pair->state == IBV_QPS_ERR) {
    break_pair(world, pair);
  } else {
    advance(world, pair);
  }
  return error_number;
}

int post_receive(ibv_qp* handle, ibv_recv_wr* requests, ibv_recv_wr** bad) {
  World& world = *World::current();
  world.point();
  const QueuePairPointer pair = pair_of(world, handle);
  for (ibv_recv_wr* one = requests; one != nullptr; one = one->next) {
    if (pair->receive_places == pair->limits.max_recv_wr) {
      *bad = one;
      return ENOMEM;
    }
    ++pair->receive_places;
    pair->receives.push_back({one->wr_id, {one->sg_list, one->sg_list + one->num_sge}});
  }
  if (pair->state == IBV_QPS_ERR) {
    break_pair(world, pair);
  }
  return 0;
}

int poll_queue(ibv_cq* handle, int limit, ibv_wc* completions) {
  World& world = *World::current();
  world.point();
  CompletionQueue& queue = queue_of(world, handle);
  int count = 0;
  for (; count < limit && !queue.completions.empty(); ++count) {
    const Completion& first = queue.completions.front();
    completions[count] = first.wc;
    first.pair->send_places -= first.freed_sends;
    first.pair->receive_places -= first.is_receive ? 1 : 0;
    world.trace("pair %u: completion %llu, status %d", first.wc.qp_num, static_cast<unsigned long long>(first.wc.wr_id),
                static_cast<int>(first.wc.status));
    queue.completions.pop_front();
  }
  return count;
}

int request_notification(ibv_cq* handle, int) {
  World& world = *World::current();
  world.point();
  // Often much happens between a program's last poll and the arming: completions of that time bring no event.
  if (world.chance(25)) {
    const std::int64_t until_ns = world.now_ns() + soon(world, 200'000);
    world.block(
        "a device to be armed", [&] { return world.now_ns() >= until_ns; }, until_ns);
  }
  queue_of(world, handle).is_armed = true;
  return 0;
}

ibv_context_ops device_calls() {
  ibv_context_ops calls{};
  calls.alloc_mw = alloc_window;
  calls.dealloc_mw = dealloc_window;
  calls.poll_cq = poll_queue;
  calls.req_notify_cq = request_notification;
  calls.post_send = post_send;
  calls.post_recv = post_receive;
  return calls;
}

}  // namespace framewire::sim

using namespace framewire::sim;  // the functions below are libibverbs', and all speak of these types

extern "C" {

int ibv_get_cq_event(ibv_comp_channel* channel, ibv_cq** queue, void** context) {
  World& world = *World::current();
  world.point();
  auto& file = *static_cast<CompletionChannel*>(channel)->file;
  if (file.waiting.empty()) {
    if (!file.is_non_blocking) {
      world.fail("a blocking read of a completion channel");
    }
    return failed(EAGAIN);
  }
  CompletionQueue* const found = file.waiting.front();
  file.waiting.pop_front();
  ++found->unacknowledged;
  *queue = found;
  *context = found->cq_context;
  return 0;
}

void ibv_ack_cq_events(ibv_cq* handle, unsigned count) {
  World& world = *World::current();
  CompletionQueue& queue = queue_of(world, handle);
  if (count > queue.unacknowledged) {
    world.fail("more events of a completion queue are acknowledged than came");
  }
  queue.unacknowledged -= count;
}

}  // extern "C"
