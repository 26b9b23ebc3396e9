#include "bench/verbs/verbs_sends.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <array>

#include "base/error.hpp"

namespace framewire {

namespace {

constexpr std::size_t max_in_batch = 16;
/// Copying a longer message into its request takes longer than the device's read of the memory.
constexpr std::uint32_t max_inline_bytes = 220;
constexpr unsigned send_inline = IBV_SEND_INLINE;
constexpr unsigned send_signalled = IBV_SEND_SIGNALED;

}  // namespace

struct VerbsSends::Batch {
  std::array<ibv_send_wr, max_in_batch> requests;
  std::array<ibv_sge, max_in_batch> parts;
  std::size_t count = 0;
};

VerbsSends::VerbsSends(const ConnectedQueuePair& connection, const VerbsMemory& memory, const VerbsPlan& plan)
    : connection_(connection),
      memory_(memory),
      plan_(plan),
      notifies_by_send_(plan.operation == VerbsOperation::latency && !connection.capabilities().has_immediate),
      signal_every_(std::max<std::uint64_t>(plan.slots / 2, 1)),
      sends_(connection) {}

bool VerbsSends::post(std::uint64_t end, bool is_end) {
  const std::uint64_t first = sends_.posted();
  const std::uint64_t end_chunk = end * chunks_per_message();
  while (sends_.posted() < end_chunk && sends_.room() > 0) {
    Batch batch;
    const auto room = std::min<std::uint64_t>({end_chunk - sends_.posted(), sends_.room(), max_in_batch});
    while (batch.count < room) {
      const std::uint64_t chunk = sends_.posted() + batch.count;
      add_chunk(batch, chunk);
      const bool is_told = (chunk + 1) % (signal_every_ * chunks_per_message()) == 0;
      if ((is_told && plan_.operation != VerbsOperation::latency) || (is_end && chunk + 1 == end_chunk)) {
        batch.requests[batch.count - 1].send_flags |= send_signalled;
      }
    }
    if (!sends_.post(std::span(batch.requests).first(batch.count))) {
      lose(describe_fault(IBV_WC_WR_FLUSH_ERR, "the other end"));
    }
  }
  return sends_.posted() != first;
}

void VerbsSends::add_chunk(Batch& batch, std::uint64_t chunk) const noexcept {
  const std::uint64_t per_message = chunks_per_message();
  const std::uint64_t number = chunk / per_message;
  const std::uint64_t offset_bytes = chunk % per_message * peer_.chunk_bytes;
  const bool is_latency = plan_.operation == VerbsOperation::latency;
  const std::uint64_t slot_here = is_latency ? verbs_slot_out : number % plan_.slots;
  const std::uint64_t slot_there = is_latency ? verbs_slot_in : slot_here;
  ibv_sge& part = batch.parts[batch.count];
  part = {.addr = memory_.address() + memory_.offset_bytes(slot_here) + offset_bytes,
          .length = static_cast<std::uint32_t>(std::min(plan_.message_bytes - offset_bytes, peer_.chunk_bytes)),
          .lkey = memory_.local_key()};
  ibv_send_wr& request = batch.requests[batch.count++];
  request = {};
  request.sg_list = &part;
  request.num_sge = 1;
  request.opcode = IBV_WR_RDMA_WRITE;
  request.wr.rdma.remote_addr = peer_.address + memory_.offset_bytes(slot_there) + offset_bytes;
  request.wr.rdma.rkey = peer_.key;
  if (plan_.operation == VerbsOperation::send || notifies_by_send_) {
    request.opcode = IBV_WR_SEND;
  } else if (plan_.operation == VerbsOperation::read) {
    request.opcode = IBV_WR_RDMA_READ;
  } else if (plan_.operation != VerbsOperation::write && (chunk + 1) % per_message == 0) {
    request.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
    request.imm_data = htonl(static_cast<std::uint32_t>(number));
  }
  if (is_latency && part.length <= std::min(connection_.capabilities().inline_bytes, max_inline_bytes)) {
    request.send_flags = send_inline;
  }
}

void VerbsSends::lose(const std::string& why) const {
  throw Error::lost_peer(why + connection_.port_trouble());
}

bool VerbsSends::poll() {
  const std::uint64_t before = sends_.completed();
  if (const auto status = sends_.poll()) {
    lose(describe_fault(*status, "the other end"));
  }
  return sends_.completed() != before;
}

void VerbsSends::require_progress(std::int64_t now_ns) {
  if (sends_.is_stalled(now_ns)) {
    lose(describe_stall("the other end"));
  }
}

}  // namespace framewire
