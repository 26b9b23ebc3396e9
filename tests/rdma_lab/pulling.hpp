// Both ends of a connection in read mode.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/file_descriptor.hpp"
#include "frame/test_pattern.hpp"
#include "tests/base/eventually.hpp"
#include "tests/contract/link_pairs.hpp"
#include "transport/rdma/rdma_puller.hpp"
#include "transport/rdma/rdma_read_target.hpp"
#include "transport/stream.hpp"

namespace framewire::test {

inline constexpr std::int64_t at_once_ns = 1;  // between two reads

/// Both ends of one pull connection. The tests create the ends.
class Pulling : public testing::Test {
 protected:
  explicit Pulling(const RdmaPreferences& preferences = {}) {
    RdmaConnectionPair pair = rdma_connection_pair(protection_domains_, preferences, false);
    accepted_ = std::move(pair.accepted);
    dialled_ = std::move(pair.dialled);
  }

  void make_read_target() {
    read_target_ = std::make_unique<RdmaReadTarget>(std::move(accepted_), protection_domains_);
  }
  void make_puller(std::int64_t interval_ns = at_once_ns) {
    puller_ = std::make_unique<RdmaPuller>(std::move(dialled_), interval_ns, false);
  }

  std::optional<IncomingFrame> next_frame() {
    std::optional<IncomingFrame> frame;
    eventually([&] {
      puller_->maintain();
      return (frame = puller_->poll()).has_value() || puller_->state() != LinkState::open;
    });
    return frame;
  }

  /// Expects the link to fail with an error that contains `word`, and to hand no frame out.
  void expect_puller_ends(LinkState wanted, const std::string& word) {
    EXPECT_FALSE(next_frame());
    EXPECT_EQ(puller_->state(), wanted);
    EXPECT_NE(puller_->fault().find(word), std::string::npos) << puller_->fault();
  }

  SenderProtectionDomains protection_domains_{PoolReaders::viewers};
  std::unique_ptr<RdmaConnection> accepted_;
  std::unique_ptr<RdmaConnection> dialled_;
  std::unique_ptr<RdmaReadTarget> read_target_;
  std::unique_ptr<RdmaPuller> puller_;
};

/// A stream of stamped frames with a viewer in read mode.
class PullingAStream : public Pulling {
 protected:
  explicit PullingAStream(const RdmaPreferences& preferences = {}) : Pulling(preferences) {
    make_read_target();
    make_puller();
    EXPECT_TRUE(stream_.add_puller(wake_));
  }
  ~PullingAStream() override { stream_.remove_puller(wake_); }

  void begin_epoch(std::uint64_t bytes) {
    bytes_ = bytes;
    stream_.begin_epoch({.layout = bytes_layout(bytes), .colour = {}});
    const auto epoch = stream_.epoch_after(epoch_);
    ASSERT_TRUE(epoch);
    epoch_ = epoch->number;
    puller_->begin_epoch(epoch->number, epoch->pool->slot_bytes(), 2, read_target_->open(epoch->pool));
    read_target_->close_earlier();
    puller_->epoch_is_ready();
  }

  void publish() {
    auto slot = stream_.claim();
    ASSERT_TRUE(slot);
    write_test_lines(slot->bytes().first(bytes_), slot->next_sequence());
    stream_.publish(std::move(*slot),
                    {.user_tag = test_lines_tag, .has_test_pattern = true, .layout = bytes_layout(bytes_)});
  }

  void expect_whole(const IncomingFrame& frame) const {
    EXPECT_EQ(frame.payload.size(), frame.header.layout.size_bytes);
    EXPECT_FALSE(find_torn_line(frame.payload, frame.header.sequence)) << "frame " << frame.header.sequence;
  }

  SharedEvent wake_ = make_shared_event();
  Stream stream_{{.name = "pulled", .slots_per_viewer = 1, .max_viewers = 1, .allows_pull = true}};
  std::uint32_t epoch_ = 0;
  std::uint64_t bytes_ = 0;
};

}  // namespace framewire::test
