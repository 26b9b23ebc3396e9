// Creating and destroying the objects of libibverbs. A wrong order of destroying, which a device refuses, ends the
// seed: the program would leave the object behind.
#include <algorithm>
#include <cerrno>
#include <memory>

#include "tests/sim/descriptors.hpp"
#include "tests/sim/verbs_calls.hpp"

namespace framewire::sim {

namespace {

/// A null pointer, with errno.
std::nullptr_t refused(int error_number) noexcept {
  errno = error_number;
  return nullptr;
}

ProtectionDomain& domain_of(ibv_pd* handle) {
  return static_cast<ProtectionDomain&>(*handle);
}

/// The world, after its other threads may have run. Null outside of a world, which has no devices.
World* begin_call() {
  World* const world = World::current();
  if (world != nullptr) {
    world->point();
  }
  return world;
}

Region* register_region(ibv_pd* handle, void* address, std::size_t length, unsigned access) {
  World* const world = begin_call();
  if (world->fails("ibv_reg_mr")) {
    return refused(ENOMEM);
  }
  if ((access & (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_MW_BIND)) != 0 && (access & IBV_ACCESS_LOCAL_WRITE) == 0) {
    return refused(EINVAL);
  }
  auto* const region = new Region{};
  region->context = handle->context;
  region->pd = handle;
  region->addr = address;
  region->length = length;
  region->access = access;
  region->lkey = region->rkey = Fabric::get().new_key(*world);
  Fabric::get().regions[region->lkey] = region;
  ++domain_of(handle).users;
  return region;
}

void unbind(Window& window) {
  if (window.region != nullptr) {
    --window.region->windows;
    --const_cast<QueuePair*>(window.pair)->windows;
    window.region = nullptr;
    std::erase_if(Fabric::get().windows, [&](const auto& one) { return one.second == &window; });
  }
}

template <typename Event>
void take_out(std::deque<Event>& waiting, const Event& event) {
  std::erase(waiting, event);
}

}  // namespace

ibv_mw* alloc_window(ibv_pd* handle, ibv_mw_type type) {
  World* const world = begin_call();
  const WindowKind kind = open_device(handle->context).device->traits.windows;
  if (kind == WindowKind::none || kind == WindowKind::refused_at_allocation || type != IBV_MW_TYPE_2) {
    return refused(EOPNOTSUPP);
  }
  if (world->fails("ibv_alloc_mw")) {
    return refused(ENOMEM);
  }
  auto* const window = new Window{};
  window->context = handle->context;
  window->pd = handle;
  window->type = type;
  window->rkey = Fabric::get().new_key(*world);
  Fabric::get().allocated_windows.insert(window);
  ++domain_of(handle).users;
  return window;
}

int dealloc_window(ibv_mw* handle) {
  begin_call();
  auto* const window = static_cast<Window*>(handle);
  unbind(*window);
  Fabric::get().allocated_windows.erase(window);
  --domain_of(window->pd).users;
  delete window;
  return 0;
}

void set_state(World& world, const QueuePairPointer& pair, ibv_qp_state state) {
  if (pair->state == IBV_QPS_ERR) {
    return;
  }
  if (state == IBV_QPS_ERR) {
    break_pair(world, pair);
    return;
  }
  pair->state = state;
  advance(world, pair);
}

}  // namespace framewire::sim

using namespace framewire::sim;  // the functions below are libibverbs', and all speak of these types

#undef ibv_reg_mr

extern "C" {

ibv_pd* ibv_alloc_pd(ibv_context* context) {
  World* const world = begin_call();
  if (world->fails("ibv_alloc_pd")) {
    return refused(ENOMEM);
  }
  auto* const domain = new ProtectionDomain{};
  domain->context = context;
  ++open_device(context).protection_domains;
  return domain;
}

int ibv_dealloc_pd(ibv_pd* handle) {
  World* const world = begin_call();
  if (domain_of(handle).users > 0) {
    world->fail("a protection domain is destroyed that has " + std::to_string(domain_of(handle).users) + " objects");
  }
  --open_device(handle->context).protection_domains;
  delete &domain_of(handle);
  return 0;
}

ibv_mr* ibv_reg_mr(ibv_pd* domain, void* address, std::size_t length, int access) {
  return register_region(domain, address, length, static_cast<unsigned>(access));
}

ibv_mr* ibv_reg_mr_iova2(ibv_pd* domain, void* address, std::size_t length, std::uint64_t, unsigned access) {
  return register_region(domain, address, length, access);
}

int ibv_dereg_mr(ibv_mr* handle) {
  World* const world = begin_call();
  auto* const region = static_cast<Region*>(handle);
  if (region->windows > 0) {
    world->fail("memory is deregistered over which a window is open");
  }
  Fabric::get().regions.erase(region->lkey);
  --domain_of(region->pd).users;
  delete region;
  return 0;
}

ibv_comp_channel* ibv_create_comp_channel(ibv_context* context) {
  World* const world = begin_call();
  if (world->fails("ibv_create_comp_channel")) {
    return refused(EMFILE);
  }
  auto* const channel = new CompletionChannel{};
  channel->context = context;
  channel->file = std::make_shared<EventFile<CompletionQueue*>>();
  channel->fd = descriptors().add(channel->file);
  ++open_device(context).channels;
  return channel;
}

int ibv_destroy_comp_channel(ibv_comp_channel* handle) {
  World* const world = begin_call();
  auto* const channel = static_cast<CompletionChannel*>(handle);
  if (channel->queues > 0) {
    world->fail("a completion channel is destroyed before its queues");
  }
  descriptors().close(*world, channel->fd);
  --open_device(channel->context).channels;
  delete channel;
  return 0;
}

ibv_cq* ibv_create_cq(ibv_context* context, int depth, void* owner, ibv_comp_channel* channel, int vector) {
  World* const world = begin_call();
  if (world->fails("ibv_create_cq")) {
    return refused(ENOMEM);
  }
  if (depth < 1 || vector < 0 || vector >= context->num_comp_vectors) {
    return refused(EINVAL);
  }
  auto queue = std::make_shared<CompletionQueue>();
  queue->context = context;
  queue->channel = channel;
  queue->cq_context = owner;
  queue->cqe = depth;
  if (channel != nullptr) {
    ++static_cast<CompletionChannel*>(channel)->queues;
  }
  ++open_device(context).queues;
  Fabric::get().queues[queue.get()] = queue;
  return queue.get();
}

int ibv_destroy_cq(ibv_cq* handle) {
  World* const world = begin_call();
  const auto queue = Fabric::get().queues.at(handle);
  if (queue->users > 0) {
    world->fail("a completion queue is destroyed before its queue pair");
  }
  if (auto* const channel = static_cast<CompletionChannel*>(queue->channel); channel != nullptr) {
    take_out(channel->file->waiting, queue.get());
    world->block("the acknowledgement of a completion queue's events", [&] { return queue->unacknowledged == 0; });
    --channel->queues;
  }
  --open_device(queue->context).queues;
  Fabric::get().queues.erase(handle);
  return 0;
}

ibv_qp* ibv_create_qp(ibv_pd* domain, ibv_qp_init_attr* wanted) {
  World* const world = begin_call();
  const DeviceTraits& traits = open_device(domain->context).device->traits;
  if (world->fails("ibv_create_qp")) {
    return refused(ENOMEM);
  }
  const ibv_qp_cap& limits = wanted->cap;
  if (limits.max_send_wr > traits.max_work_requests || limits.max_recv_wr > traits.max_work_requests ||
      limits.max_inline_data > traits.max_inline_bytes || limits.max_send_sge == 0) {
    return refused(EINVAL);
  }
  auto pair = std::make_shared<QueuePair>();
  pair->context = domain->context;
  pair->qp_context = wanted->qp_context;
  pair->pd = domain;
  pair->send_cq = wanted->send_cq;
  pair->recv_cq = wanted->recv_cq;
  pair->qp_type = wanted->qp_type;
  pair->signals_all = wanted->sq_sig_all != 0;
  pair->limits = limits;
  pair->qp_num = Fabric::get().next_pair_number++;
  ++pair->sends_to().users;
  ++pair->receives_to().users;
  ++domain_of(domain).users;
  Fabric::get().pairs[pair.get()] = pair;
  return pair.get();
}

int ibv_destroy_qp(ibv_qp* handle) {
  World* const world = begin_call();
  const QueuePairPointer pair = Fabric::get().pairs.at(handle);
  if (pair->windows > 0) {
    world->fail("a queue pair is destroyed before the windows that are bound to it");
  }
  pair->is_destroyed = true;
  OpenDevice& open = open_device(pair->context);
  std::erase_if(open.async->waiting, [&](const ibv_async_event& one) { return one.element.qp == handle; });
  world->block("the acknowledgement of a queue pair's events", [&] { return open.unacknowledged[handle] == 0; });
  open.unacknowledged.erase(handle);
  for (CompletionQueue* const queue : {&pair->sends_to(), &pair->receives_to()}) {
    std::erase_if(queue->completions, [&](const Completion& one) { return one.pair == pair.get(); });
    --queue->users;
  }
  --domain_of(pair->pd).users;
  Fabric::get().pairs.erase(handle);
  return 0;
}

int ibv_query_qp(ibv_qp*, ibv_qp_attr* attributes, int, ibv_qp_init_attr*) {
  *attributes = {};
  attributes->path_mtu = IBV_MTU_1024;
  attributes->port_num = 1;
  return 0;
}

int ibv_modify_qp(ibv_qp* handle, ibv_qp_attr* attributes, int mask) {
  World* const world = begin_call();
  const QueuePairPointer pair = Fabric::get().pairs.at(handle);
  const DeviceTraits& traits = open_device(pair->context).device->traits;
  if (!traits.has_immediates || world->fails("ibv_modify_qp")) {
    return EINVAL;  // iWARP leaves a queue pair's states to its connection manager
  }
  if ((mask & IBV_QP_MIN_RNR_TIMER) != 0) {
    pair->min_rnr_timer = attributes->min_rnr_timer;
  }
  if ((mask & IBV_QP_DEST_QPN) != 0 && attributes->dest_qp_num == pair->qp_num) {
    pair->peer = pair;
  }
  if ((mask & IBV_QP_STATE) != 0) {
    set_state(*world, pair, attributes->qp_state);
  }
  return 0;
}

}  // extern "C"
