#include "transport/rdma/write_trial.hpp"

#include <algorithm>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "memory/fence_wait.hpp"
#include "transport/rdma/loopback_pair.hpp"

namespace framewire {

namespace {

constexpr std::int64_t transfer_timeout_ns = 2 * ns_per_s;
constexpr std::int64_t copy_timeout_ns = 2 * ns_per_s;
constexpr std::uint64_t most_trial_bytes = 65536;

/// Another one each time: what an earlier trial left somewhere must not pass for this one's.
void fill(std::span<std::byte> bytes) {
  const auto first = static_cast<std::uint64_t>(monotonic_ns());
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<std::byte>((first + i * 7) % 251);
  }
}

/// For messages.
std::string name_of(const MemoryRegion& memory_region) {
  return !memory_region.reached.empty() ? memory_region.reached
                                        : "memory of the kind " + std::string(memory_region.block->kind().name());
}

void require_going_on(const StopCheck& stop, const MemoryRegion& memory_region) {
  if (stop && stop()) {
    throw AllocationStopped::in_trial_of(name_of(memory_region));
  }
}

/// `opcode`: between `bytes` of `host` and the beginning of `memory`. False when the device refuses it, completes it
/// with an error, or does not complete it in time.
bool transfer(LoopbackPair& pair, ibv_wr_opcode opcode, const MemoryRegion& host, const MemoryRegion& memory,
              std::uint64_t bytes, const StopCheck& stop) {
  ibv_sge part{.addr = host.address, .length = static_cast<std::uint32_t>(bytes), .lkey = host.mr->lkey};
  ibv_send_wr request{};
  request.opcode = opcode;
  request.send_flags = IBV_SEND_SIGNALED;
  request.sg_list = &part;
  request.num_sge = 1;
  request.wr.rdma.remote_addr = memory.address;
  request.wr.rdma.rkey = memory.mr->rkey;
  const auto status = pair.complete(request, transfer_timeout_ns, stop);
  if (!status) {
    require_going_on(stop, memory);
  }
  return status == IBV_WC_SUCCESS;
}

/// False where the memory's device fails, or takes too long.
bool copy(const MemoryRegion& from, const std::shared_ptr<HostBlock>& into, std::uint64_t size_bytes,
          const StopCheck& stop) {
  const auto fence = from.block->copy_to_host(into, CopyRange::at(0, size_bytes), nullptr);
  const FenceState state = wait_until_finished(*fence, monotonic_ns() + copy_timeout_ns, stop);
  if (state == FenceState::pending) {
    require_going_on(stop, from);
  }
  return state == FenceState::done;
}

}  // namespace

std::string try_writing(const ConnectedQueuePair& connection, const MemoryRegion& memory_region,
                        const StopCheck& stop) {
  require_going_on(stop, memory_region);
  const std::uint64_t size_bytes = std::min(memory_region.block->size_bytes(), most_trial_bytes);
  const std::string memory = name_of(memory_region);
  const std::string device =
      "the RDMA device " + std::string(ibv_get_device_name(connection.queue_pair()->context->device));
  const auto pattern = HostBlock::create_private("a trial of RDMA", size_bytes);
  const auto seen = HostBlock::create_private("a trial of RDMA", size_bytes);
  fill(pattern->bytes().first(size_bytes));
  const auto from = register_memory(memory_region.protection_domain, pattern, 0);
  const auto back = register_memory(memory_region.protection_domain, seen, IBV_ACCESS_LOCAL_WRITE);
  LoopbackPair pair(memory_region.protection_domain.get(), connection.queue_pair(), LoopbackPair::Path::to_itself);
  if (!pair.is_ready()) {
    throw Error::failed(device + " cannot try " + memory + ": it has no queue pair to itself; take --memory host");
  }
  std::string why_not;
  if (!transfer(pair, IBV_WR_RDMA_WRITE, *from, memory_region, size_bytes, stop)) {
    why_not = "a trial could not write";
  } else if (memory_region.needs_read_back && !transfer(pair, IBV_WR_RDMA_READ, *back, memory_region, 1, stop)) {
    why_not = "a trial could not read back";
  }
  // From here on it is the memory's own device that may fail, whatever way leads there, also if it was not written to.
  try {
    if (why_not.empty() && !memory_region.needs_read_back) {  // as for frames
      memory_region.block->make_writes_visible();
    }
  } catch (const Error& error) {
    throw error.with_context("what " + device + " wrote to " + memory + " cannot be seen there");
  }
  try {
    if (!copy(memory_region, seen, size_bytes, stop)) {
      throw Error::failed("its device failed, or did not copy it within 2 s");
    }
  } catch (const AllocationStopped&) {
    throw;
  } catch (const Error& error) {
    throw error.with_context("a trial of " + memory + " could not be read");
  }
  if (why_not.empty() && !std::ranges::equal(seen->bytes().first(size_bytes), pattern->bytes().first(size_bytes))) {
    why_not = "what a trial wrote did not arrive";
  }
  if (!why_not.empty()) {
    require_going_on(stop, memory_region);  // before another way is tried
  }
  return why_not;
}

}  // namespace framewire
