// How data moves between queue pairs: in order, in pieces, at random later times.
#include <algorithm>
#include <cstring>

#include "tests/sim/verbs_model.hpp"

namespace framewire::sim {

namespace {

constexpr std::int64_t ns_per_us = 1000;
constexpr std::size_t max_reads = 16;  // RDMA_MAX_INIT_DEPTH would allow more
constexpr int for_ever = 7;
constexpr std::int64_t short_rnr_ns = 640 * ns_per_us;     // timer 12
constexpr std::int64_t long_rnr_ns = 655'360 * ns_per_us;  // timer 0, which rdma_cm sets

using RequestPointer = std::shared_ptr<Request>;

void move_later(World& world, const QueuePairPointer& pair, const RequestPointer& request, std::int64_t after_ns);

/// Ends the send queue's first request that is not done, and with it the queue pair.
void fail(World& world, const QueuePairPointer& pair, ibv_wc_status status) {
  while (!pair->sends.empty()) {
    const RequestPointer request = pair->sends.front();
    pair->sends.pop_front();
    ++pair->unsignalled;
    const bool is_cause = request->state != Request::State::done && request->state != Request::State::acknowledged;
    if (is_cause || (request->wr.send_flags & IBV_SEND_SIGNALED) != 0) {
      ibv_wc wc{};
      wc.wr_id = request->wr.wr_id;
      wc.status = is_cause ? status : IBV_WC_SUCCESS;
      wc.qp_num = pair->qp_num;
      push(world, pair->sends_to(), {wc, pair.get(), std::exchange(pair->unsignalled, 0U), false});
    }
    if (is_cause) {
      break;
    }
  }
  break_pair(world, pair);
}

/// The pair that a request goes to, if its device answers.
QueuePairPointer answering_peer(const QueuePairPointer& pair) {
  QueuePairPointer peer = pair->peer.lock();
  const bool answers = peer != nullptr && !peer->is_broken() && peer->state != IBV_QPS_INIT &&
                       (pair->wire == nullptr || !pair->wire->is_cut);
  return answers ? peer : nullptr;
}

/// Nothing acknowledges: repeats, and gives up in time. A device may take up to four times its timeout.
void stay_silent(World& world, const QueuePairPointer& pair, const RequestPointer& request) {
  const std::int64_t now_ns = world.now_ns();
  if (request->silent_since_ns == 0) {
    request->silent_since_ns = now_ns;
  }
  const std::int64_t limit_ns =
      pair->ack_timeout_ns * (pair->retries + 1) * static_cast<std::int64_t>(1 + world.below(4));
  if (now_ns - request->silent_since_ns >= limit_ns) {
    if (request->state == Request::State::done) {
      request->state = Request::State::moving;  // it has no acknowledgement
    }
    fail(world, pair, IBV_WC_RETRY_EXC_ERR);
    return;
  }
  move_later(world, pair, request, std::max<std::int64_t>(pair->ack_timeout_ns, 1));
}

void acknowledge(World& world, const QueuePairPointer& pair, const RequestPointer& request) {
  if (pair->is_broken()) {
    return;
  }
  request->state = Request::State::acknowledged;
  while (!pair->sends.empty() && pair->sends.front()->state == Request::State::acknowledged) {
    const RequestPointer first = pair->sends.front();
    pair->sends.pop_front();
    ++pair->unsignalled;
    if ((first->wr.send_flags & IBV_SEND_SIGNALED) != 0 || pair->signals_all) {
      ibv_wc wc{};
      wc.wr_id = first->wr.wr_id;
      wc.qp_num = pair->qp_num;
      push(world, pair->sends_to(), {wc, pair.get(), std::exchange(pair->unsignalled, 0U), false});
    }
  }
  advance(world, pair);
}

void finish(World& world, const QueuePairPointer& pair, const RequestPointer& request) {
  request->state = Request::State::done;
  const std::int64_t latency_ns = pair->wire == nullptr ? 0 : pair->wire->latency_ns;
  world.call_at(world.now_ns() + latency_ns + soon(world, 20 * ns_per_us), [&world, pair, request] {
    const bool is_local = request->wr.opcode == IBV_WR_BIND_MW;
    if (!is_local && !pair->is_broken() && answering_peer(pair) == nullptr) {
      stay_silent(world, pair, request);
    } else {
      acknowledge(world, pair, request);
    }
  });
  advance(world, pair);
}

void bind(World& world, const QueuePairPointer& pair, const RequestPointer& request) {
  const auto& wanted = request->wr.bind_mw;
  const Fabric& fabric = Fabric::get();
  const auto found = fabric.regions.find(request->bound_key);
  // The program may have destroyed either before the device came to this request.
  const bool is_there = fabric.allocated_windows.contains(wanted.mw) && found != fabric.regions.end();
  if (!is_there || open_device(pair->context).device->traits.windows == WindowKind::fails_late) {
    return fail(world, pair, IBV_WC_MW_BIND_ERR);
  }
  auto& window = static_cast<Window&>(*wanted.mw);
  Region& region = *found->second;
  const auto begin = reinterpret_cast<std::uint64_t>(region.addr);
  const bool is_right = window.pd == pair->pd && region.pd == pair->pd && window.region == nullptr &&
                        (region.access & IBV_ACCESS_MW_BIND) != 0 && (region.access & IBV_ACCESS_LOCAL_WRITE) != 0 &&
                        wanted.bind_info.addr >= begin &&
                        wanted.bind_info.addr + wanted.bind_info.length <= begin + region.length;
  if (!is_right) {
    world.fail("a window is bound to memory that does not allow it");
  }
  window.region = &region;
  window.pair = pair.get();
  window.address = wanted.bind_info.addr;
  window.length = wanted.bind_info.length;
  window.access = wanted.bind_info.mw_access_flags;
  ++region.windows;
  ++pair->windows;
  Fabric::get().windows[wanted.rkey] = &window;
  finish(world, pair, request);
}

/// The bytes of a request at its own side, from the part that is not moved yet: at most one part.
std::byte* own_memory(World& world, const QueuePair& pair, Request& request) {
  if (request.is_inline) {
    return reinterpret_cast<std::byte*>(request.inline_bytes.data()) + request.moved_bytes;
  }
  const unsigned access = request.is_read() ? static_cast<unsigned>(IBV_ACCESS_LOCAL_WRITE) : 0U;
  const bool is_iwarp = !open_device(pair.context).device->traits.has_immediates;
  const unsigned needed = request.is_read() && is_iwarp ? access | IBV_ACCESS_REMOTE_WRITE : access;
  return local_memory(world, pair, request.parts.front(), needed) + request.moved_bytes;
}

/// Copies the next piece of a write or read. False: the other side does not allow it.
bool copy_piece(World& world, const QueuePair& pair, const QueuePair& peer, Request& request) {
  const std::uint64_t left = request.size_bytes - request.moved_bytes;
  if (left == 0) {
    return true;  // an empty request names no memory
  }
  const unsigned access = request.is_read() ? IBV_ACCESS_REMOTE_READ : IBV_ACCESS_REMOTE_WRITE;
  std::byte* const there =
      remote_memory(peer, request.wr.wr.rdma.rkey, request.wr.wr.rdma.remote_addr, request.size_bytes, access);
  if (there == nullptr) {
    return false;
  }
  const std::uint64_t piece = world.chance(50) ? left : 1 + world.below(left);
  std::byte* const here = own_memory(world, pair, request);
  std::byte* const from = request.is_read() ? there + request.moved_bytes : here;
  std::byte* const to = request.is_read() ? here : there + request.moved_bytes;
  std::memcpy(to, from, piece);
  request.moved_bytes += piece;
  return true;
}

/// Gives a message or an immediate to a receive of the peer. False: none is posted.
bool deliver(World& world, const QueuePair& pair, QueuePair& peer, Request& request) {
  if (peer.receives.empty()) {
    return false;
  }
  const Receive receive = peer.receives.front();
  peer.receives.pop_front();
  ibv_wc wc{};
  wc.wr_id = receive.id;
  wc.opcode = request.wr.opcode == IBV_WR_RDMA_WRITE_WITH_IMM ? IBV_WC_RECV_RDMA_WITH_IMM : IBV_WC_RECV;
  wc.byte_len = static_cast<std::uint32_t>(request.size_bytes);
  wc.qp_num = peer.qp_num;
  if (request.wr.opcode != IBV_WR_SEND) {
    wc.wc_flags = IBV_WC_WITH_IMM;
    wc.imm_data = request.wr.imm_data;
  }
  const bool is_message = request.wr.opcode != IBV_WR_RDMA_WRITE_WITH_IMM;
  if (is_message && request.size_bytes > 0) {
    if (receive.parts.empty() || receive.parts.front().length < request.size_bytes) {
      world.fail("a message is longer than its receive");
    }
    std::byte* const to = local_memory(world, peer, receive.parts.front(), IBV_ACCESS_LOCAL_WRITE);
    std::memcpy(to, own_memory(world, pair, request), request.size_bytes);
  }
  push(world, peer.receives_to(), {wc, &peer, 0, true});
  return true;
}

void wait_for_receive(World& world, const QueuePairPointer& pair, const QueuePair& peer,
                      const RequestPointer& request) {
  ++Fabric::get().receivers_not_ready;
  world.trace("pair %u: the receiver is not ready", pair->qp_num);
  if (pair->rnr_retries != for_ever && ++request->rnr_tries > pair->rnr_retries) {
    return fail(world, pair, IBV_WC_RNR_RETRY_EXC_ERR);
  }
  move_later(world, pair, request, peer.min_rnr_timer == 0 ? long_rnr_ns : short_rnr_ns);
}

void refuse(World& world, const QueuePairPointer& pair, const QueuePairPointer& peer) {
  ibv_async_event event{};
  event.event_type = IBV_EVENT_QP_ACCESS_ERR;
  event.element.qp = peer.get();
  report(world, peer->context, event);
  break_pair(world, peer);
  fail(world, pair, IBV_WC_REM_ACCESS_ERR);
}

void move(World& world, const QueuePairPointer& pair, const RequestPointer& request) {
  if (pair->is_broken()) {
    return;
  }
  if (request->wr.opcode == IBV_WR_BIND_MW) {
    return bind(world, pair, request);
  }
  const QueuePairPointer peer = answering_peer(pair);
  if (peer == nullptr) {
    return stay_silent(world, pair, request);
  }
  request->silent_since_ns = 0;
  if (request->state == Request::State::done) {
    return acknowledge(world, pair, request);
  }
  const bool is_message = request->wr.opcode == IBV_WR_SEND || request->wr.opcode == IBV_WR_SEND_WITH_IMM;
  if (!is_message) {
    if (!copy_piece(world, *pair, *peer, *request)) {
      return refuse(world, pair, peer);
    }
    if (request->moved_bytes < request->size_bytes) {
      return move_later(world, pair, request, soon(world, 10 * ns_per_us));
    }
  }
  if (request->needs_receive() && !deliver(world, *pair, *peer, *request)) {
    return wait_for_receive(world, pair, *peer, request);
  }
  finish(world, pair, request);
}

void move_later(World& world, const QueuePairPointer& pair, const RequestPointer& request, std::int64_t after_ns) {
  world.call_at(world.now_ns() + after_ns, [&world, pair, request] { move(world, pair, request); });
}

void flush(World& world, const QueuePairPointer& pair) {
  pair->will_flush = false;
  if (pair->is_destroyed) {
    return;
  }
  ibv_wc wc{};
  wc.status = IBV_WC_WR_FLUSH_ERR;
  wc.qp_num = pair->qp_num;
  for (; !pair->sends.empty(); pair->sends.pop_front()) {
    wc.wr_id = pair->sends.front()->wr.wr_id;
    push(world, pair->sends_to(), {wc, pair.get(), 1 + std::exchange(pair->unsignalled, 0U), false});
  }
  for (; !pair->receives.empty(); pair->receives.pop_front()) {
    wc.wr_id = pair->receives.front().id;
    push(world, pair->receives_to(), {wc, pair.get(), 0, true});
  }
}

}  // namespace

bool Request::needs_receive() const {
  return wr.opcode == IBV_WR_SEND || wr.opcode == IBV_WR_SEND_WITH_IMM || wr.opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
}

std::int64_t soon(World& world, std::int64_t limit_ns) {
  return 1 + static_cast<std::int64_t>(world.below(static_cast<std::uint64_t>(limit_ns)));
}

void advance(World& world, const QueuePairPointer& pair) {
  if (pair->is_broken() || pair->state != IBV_QPS_RTS) {
    return;
  }
  std::size_t reads = 0;  // in flight
  for (const RequestPointer& request : pair->sends) {
    if (request->state == Request::State::done || request->state == Request::State::acknowledged) {
      // A read that is done has landed, and still counts for a fence until it completes.
      reads += request->is_read() && request->state == Request::State::done ? 1U : 0U;
      continue;
    }
    if (request->state == Request::State::queued) {
      const bool waits = (reads > 0 && (request->wr.send_flags & IBV_SEND_FENCE) != 0) || reads >= max_reads;
      if (waits) {
        return;
      }
      request->state = Request::State::moving;
      move_later(world, pair, request,
                 soon(world, 5 * ns_per_us) + (pair->wire == nullptr ? 0 : pair->wire->latency_ns));
    }
    if (!request->is_read()) {
      return;  // writes and messages arrive in order; reads are under way together
    }
    ++reads;
  }
}

void break_pair(World& world, const QueuePairPointer& pair) {
  pair->state = IBV_QPS_ERR;
  if (!pair->will_flush) {
    pair->will_flush = true;
    world.call_at(world.now_ns() + soon(world, 20 * ns_per_us), [&world, pair] { flush(world, pair); });
  }
}

void push(World& world, CompletionQueue& queue, const Completion& completion) {
  if (queue.completions.size() == static_cast<std::size_t>(queue.cqe)) {
    world.fail("a completion queue overruns");
  }
  queue.completions.push_back(completion);
  if (!std::exchange(queue.is_armed, false) || queue.channel == nullptr) {
    return;
  }
  // The interrupt comes after the entry.
  const std::weak_ptr<EventFile<CompletionQueue*>> file = static_cast<CompletionChannel*>(queue.channel)->file;
  const std::weak_ptr<CompletionQueue> weak = Fabric::get().queues.at(&queue);
  world.call_at(world.now_ns() + soon(world, 20 * ns_per_us), [file, weak] {
    const auto open = file.lock();
    if (const auto living = weak.lock(); open != nullptr && living != nullptr) {
      open->waiting.push_back(living.get());
    }
  });
}

void report(World& world, ibv_context* context, const ibv_async_event& event) {
  const std::weak_ptr<EventFile<ibv_async_event>> file = open_device(context).async;
  const QueuePairPointer pair =
      event.event_type == IBV_EVENT_QP_ACCESS_ERR ? Fabric::get().pairs.at(event.element.qp) : nullptr;
  world.call_at(world.now_ns() + soon(world, 50 * ns_per_us), [file, event, pair] {
    if (const auto open = file.lock(); open != nullptr && (pair == nullptr || !pair->is_destroyed)) {
      open->waiting.push_back(event);
    }
  });
}

}  // namespace framewire::sim
