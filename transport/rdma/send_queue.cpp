#include "transport/rdma/send_queue.hpp"

#include <array>
#include <cassert>
#include <numeric>

namespace framewire {

namespace {

std::uint64_t payload_bytes(const ibv_send_wr& request) noexcept {
  const std::span parts(request.sg_list, static_cast<std::size_t>(request.num_sge));
  return std::accumulate(parts.begin(), parts.end(), std::uint64_t{0},
                         [](std::uint64_t sum, const ibv_sge& part) { return sum + part.length; });
}

}  // namespace

SendQueue::SendQueue(const RdmaConnection& connection)
    : connection_(connection), stall_(connection.peer_timeout_ns()), signalled_(connection.capabilities().send_depth) {}

bool SendQueue::post(std::span<ibv_send_wr> requests) noexcept {
  assert(requests.size() <= room());
  const std::uint32_t half = connection_.capabilities().send_depth / 2;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    ibv_send_wr& request = requests[i];
    request.next = i + 1 < requests.size() ? &requests[i + 1] : nullptr;
    request.wr_id = ++posted_;
    posted_bytes_ += payload_bytes(request);
    if (posted_ - last_signalled_ >= half) {
      request.send_flags |= IBV_SEND_SIGNALED;
    }
    if ((request.send_flags & IBV_SEND_SIGNALED) != 0) {
      last_signalled_ = posted_;
      signalled_.push({.end = posted_, .bytes_before = posted_bytes_});
    }
  }
  ibv_send_wr* bad = nullptr;
  return ibv_post_send(connection_.queue_pair(), requests.data(), &bad) == 0;
}

bool SendQueue::post_probe() noexcept {
  if (awaits_completion() || room() == 0) {
    return true;
  }
  std::array<ibv_send_wr, 1> request{};
  request[0].opcode = IBV_WR_RDMA_WRITE;
  request[0].send_flags = IBV_SEND_SIGNALED;
  return post(request);
}

bool SendQueue::send_first_message() noexcept {
  const bool has_to = !connection_.capabilities().has_immediate && connection_.is_dialler();
  return !has_to || post_probe();
}

std::optional<ibv_wc_status> SendQueue::poll() noexcept {
  std::optional<ibv_wc_status> fault;
  std::array<ibv_wc, 16> completions;
  for (;;) {
    const int count = ibv_poll_cq(connection_.send_completions(), completions.size(), completions.data());
    for (int i = 0; i < count; ++i) {
      const ibv_wc& completion = completions[static_cast<std::size_t>(i)];
      if (completion.status == IBV_WC_SUCCESS) {
        take_completed(completion.wr_id);
      } else if (!fault || *fault == IBV_WC_WR_FLUSH_ERR) {
        fault = completion.status;
      }
    }
    if (count < static_cast<int>(completions.size())) {
      return fault;
    }
  }
}

void SendQueue::take_completed(std::uint64_t number) noexcept {
  completed_ = number;
  while (awaits_completion() && signalled_.front().end <= completed_) {
    completed_bytes_ = signalled_.pop().bytes_before;
  }
}

std::string describe_stall(const std::string& peer) {
  return peer + " does not answer, nor does the RDMA device say so";
}

std::string describe_fault(ibv_wc_status status, const std::string& peer) {
  switch (status) {
    case IBV_WC_RETRY_EXC_ERR:
      return peer + "'s RDMA device does not answer";
    case IBV_WC_REM_ACCESS_ERR:
      return peer + " does not allow what was written or read (remote access error)";
    case IBV_WC_WR_FLUSH_ERR:
      return peer + "'s RDMA connection has ended";
    default:
      return "the RDMA connection with " + peer + " failed: " + ibv_wc_status_str(status);
  }
}

}  // namespace framewire
