// A peer that uses verbs directly and follows no protocol.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "frame/frame_header.hpp"
#include "tests/base/eventually.hpp"
#include "transport/rdma/connection.hpp"

namespace framewire::test {

/// One end of a connection that follows no protocol.
class VerbsPeer {
 public:
  explicit VerbsPeer(std::unique_ptr<RdmaConnection> connection)
      : connection_(std::move(connection)),
        memory_(register_memory(connection_->protection_domain(), HostBlock::create_private("raw peer", 1 << 16),
                                IBV_ACCESS_LOCAL_WRITE)) {}

  [[nodiscard]] std::span<std::byte> memory() const { return memory_->bytes(); }
  [[nodiscard]] const std::shared_ptr<ibv_pd>& protection_domain() const { return connection_->protection_domain(); }

  /// Returns the completion status, or nothing after a timeout.
  std::optional<ibv_wc_status> write(std::uint64_t address, std::uint32_t key, std::size_t bytes) {
    return post(IBV_WR_RDMA_WRITE, address, key, bytes, 0);
  }
  std::optional<ibv_wc_status> announce(std::uint64_t address, std::uint32_t key, std::size_t bytes,
                                        std::uint32_t immediate) {
    return post(IBV_WR_RDMA_WRITE_WITH_IMM, address, key, bytes, immediate);
  }
  std::optional<ibv_wc_status> read(std::uint64_t address, std::uint32_t key, std::size_t bytes) {
    return post(IBV_WR_RDMA_READ, address, key, bytes, 0);
  }
  std::optional<ibv_wc_status> send(std::size_t bytes) { return post(IBV_WR_SEND, 0, 0, bytes, 0); }
  std::optional<ibv_wc_status> send_immediate(std::uint32_t immediate) {
    return post(IBV_WR_SEND_WITH_IMM, 0, 0, 0, immediate);
  }

 private:
  std::optional<ibv_wc_status> post(ibv_wr_opcode opcode, std::uint64_t address, std::uint32_t key, std::size_t bytes,
                                    std::uint32_t immediate) {
    ibv_sge part{.addr = reinterpret_cast<std::uint64_t>(memory().data()),
                 .length = static_cast<std::uint32_t>(bytes),
                 .lkey = memory_->mr->lkey};
    ibv_send_wr request{};
    request.opcode = opcode;
    request.send_flags = IBV_SEND_SIGNALED;
    request.sg_list = &part;
    request.num_sge = bytes > 0 ? 1 : 0;
    request.imm_data = htonl(immediate);
    request.wr.rdma.remote_addr = address;
    request.wr.rdma.rkey = key;
    ibv_send_wr* bad = nullptr;
    EXPECT_EQ(ibv_post_send(connection_->queue_pair(), &request, &bad), 0);
    ibv_wc completion{};
    const bool has_completed =
        eventually([&] { return ibv_poll_cq(connection_->send_completions(), 1, &completion) == 1; });
    return has_completed ? std::optional(completion.status) : std::nullopt;
  }

  std::unique_ptr<RdmaConnection> connection_;
  std::shared_ptr<const MemoryRegion> memory_;
};

inline FrameHeader header_of(std::uint32_t epoch, std::uint16_t slot, std::uint64_t bytes) {
  FrameHeader header;
  header.epoch = epoch;
  header.slot = slot;
  header.slice_bytes = bytes;
  header.layout = bytes_layout(bytes);
  return header;
}

}  // namespace framewire::test
