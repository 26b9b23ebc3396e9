#include "transport/rdma/read_back.hpp"

#include <chrono>
#include <thread>

#include "base/clock.hpp"
#include "base/file_descriptor.hpp"
#include "memory/host_block.hpp"
#include "transport/rdma/verbs.hpp"

namespace framewire {

namespace {

constexpr std::int64_t longest_read_ns = 2 * ns_per_s;

VerbsPtr<ibv_comp_channel> make_channel(ibv_context* device) {
  auto channel = own(ibv_create_comp_channel(device), "make an RDMA completion channel");
  set_non_blocking(channel->fd, true);
  return channel;
}

}  // namespace

ReadBack::ReadBack(const ConnectedQueuePair& connection)
    : landing_(register_memory(connection.protection_domain(), HostBlock::create_private("RDMA read back", 1),
                               IBV_ACCESS_LOCAL_WRITE)),
      channel_(make_channel(connection.queue_pair()->context)),
      pair_(connection.protection_domain().get(), connection.queue_pair(), LoopbackPair::Path::to_itself,
            channel_.get()) {
  if (!pair_.is_ready()) {
    throw Error::failed("the RDMA device cannot read back what it wrote: it has no queue pair to itself");
  }
}

std::uint64_t ReadBack::ask(const MemoryRegion& region, std::uint64_t offset_bytes) noexcept {
  address_ = region.address + offset_bytes;
  key_ = region.mr->rkey;
  ++asked_;
  advance();
  return asked_;
}

bool ReadBack::has_done(std::uint64_t number) noexcept {
  advance();
  return done_ >= number;
}

void ReadBack::advance() noexcept {
  if (fault_ == nullptr && posted_ > done_) {
    if (const auto status = pair_.poll(); status == IBV_WC_SUCCESS) {
      done_ = posted_;
    } else if (status) {
      fault_ = ibv_wc_status_str(*status);
    }
  }
  if (fault_ == nullptr && posted_ == done_ && asked_ > posted_) {
    post();
  }
}

void ReadBack::post() noexcept {
  ibv_sge part{.addr = landing_->address, .length = 1, .lkey = landing_->mr->lkey};
  ibv_send_wr request{};
  request.opcode = IBV_WR_RDMA_READ;
  request.send_flags = IBV_SEND_SIGNALED;
  request.sg_list = &part;
  request.num_sge = 1;
  request.wr.rdma.remote_addr = address_;
  request.wr.rdma.rkey = key_;
  posted_ = asked_;
  posted_ns_ = monotonic_ns();
  if (!pair_.post(request)) {
    fault_ = "the device took no request";
  }
}

const char* ReadBack::fault() noexcept {
  advance();
  if (fault_ == nullptr && posted_ > done_ && monotonic_ns() - posted_ns_ > longest_read_ns) {
    fault_ = "no answer within 2 s";
  }
  return fault_;
}

void ReadBack::settle() noexcept {
  constexpr auto poll_interval = std::chrono::microseconds(20);
  while (!has_done(asked_) && fault() == nullptr) {
    std::this_thread::sleep_for(poll_interval);
  }
}

bool ReadBack::request_notification() noexcept {
  if (!is_notification_requested_) {
    is_notification_requested_ = ibv_req_notify_cq(pair_.completions(), 0) == 0;
  }
  return is_notification_requested_;
}

void ReadBack::take_notifications() noexcept {
  ibv_cq* queue = nullptr;
  void* context = nullptr;
  while (ibv_get_cq_event(channel_.get(), &queue, &context) == 0) {
    ibv_ack_cq_events(queue, 1);
    is_notification_requested_ = false;
  }
}

}  // namespace framewire
