#include "bench/verbs/verbs_receives.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <array>

#include "base/error.hpp"
#include "transport/rdma/work_requests.hpp"

namespace framewire {

namespace {

constexpr std::size_t max_at_once = 16;

}  // namespace

std::uint64_t VerbsReceives::chunks_per_message() const noexcept {
  return shape_.has_buffers ? (shape_.message_bytes + shape_.chunk_bytes - 1) / shape_.chunk_bytes : 1;
}

std::uint64_t VerbsReceives::bytes_of(std::uint64_t chunk) const noexcept {
  const std::uint64_t offset_bytes = chunk % chunks_per_message() * shape_.chunk_bytes;
  return std::min(shape_.message_bytes - offset_bytes, shape_.chunk_bytes);
}

void VerbsReceives::begin(const Shape& shape) {
  shape_ = shape;
  depth_ = shape.has_buffers ? std::min<std::uint64_t>(queue_.depth, shape.slots * chunks_per_message()) : queue_.depth;
  post_again(0);
}

void VerbsReceives::post_again(std::uint64_t first_unchecked) {
  const std::uint64_t end = taken_ + depth_;
  post(shape_.has_buffers ? std::min(end, (first_unchecked + shape_.slots) * chunks_per_message()) : end);
}

void VerbsReceives::post(std::uint64_t end) {
  while (posted_ < end) {
    std::array<ibv_recv_wr, max_at_once> requests;
    std::array<ibv_sge, max_at_once> parts;
    const std::size_t count = std::min<std::uint64_t>(end - posted_, max_at_once);
    for (std::size_t i = 0; i < count; ++i, ++posted_) {
      requests[i] = {};
      requests[i].wr_id = posted_;
      requests[i].next = i + 1 < count ? &requests[i + 1] : nullptr;
      if (shape_.has_buffers) {
        const std::uint64_t slot = posted_ / chunks_per_message() % shape_.slots;
        const std::uint64_t offset_bytes = posted_ % chunks_per_message() * shape_.chunk_bytes;
        parts[i] = {.addr = shape_.address + slot * shape_.stride_bytes + offset_bytes,
                    .length = static_cast<std::uint32_t>(bytes_of(posted_)),
                    .lkey = shape_.key};
        requests[i].sg_list = &parts[i];
        requests[i].num_sge = 1;
      }
    }
    ibv_recv_wr* bad = nullptr;
    if (const int error_number = ibv_post_recv(queue_.queue_pair, requests.data(), &bad); error_number != 0) {
      throw Error::from_errno("post RDMA receives", error_number);
    }
  }
}

bool VerbsReceives::poll() {
  std::array<ibv_wc, max_at_once> completions;
  const int count = ibv_poll_cq(queue_.completions, completions.size(), completions.data());
  for (int i = 0; i < count; ++i) {
    take(completions[static_cast<std::size_t>(i)]);
  }
  return count > 0;
}

void VerbsReceives::take(const ibv_wc& completion) {
  if (completion.status != IBV_WC_SUCCESS) {
    throw Error::lost_peer(describe_fault(completion.status, "the other end"));
  }
  const bool has_immediate = (completion.wc_flags & IBV_WC_WITH_IMM) != 0;
  const bool is_right = shape_.has_buffers
                            ? !has_immediate && completion.byte_len == bytes_of(taken_)
                            : has_immediate && ntohl(completion.imm_data) == static_cast<std::uint32_t>(taken_);
  if (!is_right) {
    throw Error::failed("the other end sent a message out of order");
  }
  ++taken_;
}

}  // namespace framewire
