#include "transport/rdma/raw_receives.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <array>

#include "transport/rdma/send_queue.hpp"

namespace framewire {

namespace {

constexpr std::size_t most_at_once = 16;

}  // namespace

RawReceives::RawReceives(const RdmaConnection& connection, const RawMemory& memory) noexcept
    : connection_(connection), memory_(memory) {}

std::uint64_t RawReceives::chunks_per_message() const noexcept {
  return shape_.has_buffers ? (shape_.message_bytes + shape_.chunk_bytes - 1) / shape_.chunk_bytes : 1;
}

std::uint64_t RawReceives::bytes_of(std::uint64_t chunk) const noexcept {
  const std::uint64_t offset_bytes = chunk % chunks_per_message() * shape_.chunk_bytes;
  return std::min(shape_.message_bytes - offset_bytes, shape_.chunk_bytes);
}

void RawReceives::begin(const Shape& shape) {
  shape_ = shape;
  const std::uint64_t receive_depth = connection_.grants().receive_depth;
  depth_ = shape.has_buffers ? std::min(receive_depth, shape.slots * chunks_per_message()) : receive_depth;
  post_again();
}

void RawReceives::post_again() {
  while (posted_ - taken_ < depth_) {
    std::array<ibv_recv_wr, most_at_once> requests;
    std::array<ibv_sge, most_at_once> parts;
    const std::size_t count = std::min<std::uint64_t>(depth_ - (posted_ - taken_), most_at_once);
    for (std::size_t i = 0; i < count; ++i, ++posted_) {
      requests[i] = {};
      requests[i].wr_id = posted_;
      requests[i].next = i + 1 < count ? &requests[i + 1] : nullptr;
      if (shape_.has_buffers) {
        const std::uint64_t slot = posted_ / chunks_per_message() % shape_.slots;
        const std::uint64_t offset_bytes = posted_ % chunks_per_message() * shape_.chunk_bytes;
        parts[i] = {.addr = memory_.address() + memory_.offset_bytes(slot) + offset_bytes,
                    .length = static_cast<std::uint32_t>(bytes_of(posted_)),
                    .lkey = memory_.local_key()};
        requests[i].sg_list = &parts[i];
        requests[i].num_sge = 1;
      }
    }
    ibv_recv_wr* bad = nullptr;
    if (const int error_number = ibv_post_recv(connection_.queue_pair(), requests.data(), &bad); error_number != 0) {
      throw Error::from_errno("post RDMA receives", error_number);
    }
  }
}

bool RawReceives::poll() {
  std::array<ibv_wc, most_at_once> completions;
  const int count = ibv_poll_cq(connection_.receive_completions(), completions.size(), completions.data());
  for (int i = 0; i < count; ++i) {
    take(completions[static_cast<std::size_t>(i)]);
  }
  return count > 0;
}

void RawReceives::take(const ibv_wc& completion) {
  if (completion.status != IBV_WC_SUCCESS) {
    throw Error::lost_peer(describe_fault(completion.status, "the other end"));
  }
  const bool has_immediate = (completion.wc_flags & IBV_WC_WITH_IMM) != 0;
  const bool is_right = shape_.has_buffers
                            ? !has_immediate && completion.byte_len == bytes_of(taken_)
                            : has_immediate && ntohl(completion.imm_data) == static_cast<std::uint32_t>(taken_);
  if (!is_right) {
    throw Error::failed("the other end sent a message that was not to come next");
  }
  ++taken_;
}

}  // namespace framewire
