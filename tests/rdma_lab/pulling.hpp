// Both ends of a connection in read mode.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "tests/base/eventually.hpp"
#include "tests/contract/link_pairs.hpp"
#include "transport/rdma/rdma_exposure.hpp"
#include "transport/rdma/rdma_puller.hpp"

namespace framewire::test {

inline constexpr std::int64_t at_once_ns = 1;  // from one look to the next

/// Both ends of one pull connection, whose ends are made by the tests.
class Pulling : public testing::Test {
 protected:
  explicit Pulling(const RdmaWishes& wishes = {}) {
    RdmaConnectionPair pair = rdma_connection_pair(domains_, wishes, false);
    accepted_ = std::move(pair.accepted);
    dialled_ = std::move(pair.dialled);
  }

  void make_exposure() { exposure_ = std::make_unique<RdmaExposure>(std::move(accepted_), domains_); }
  void make_puller(std::int64_t interval_ns = at_once_ns) {
    puller_ = std::make_unique<RdmaPuller>(std::move(dialled_), interval_ns, false);
  }

  std::optional<IncomingFrame> next_frame() {
    std::optional<IncomingFrame> frame;
    eventually([&] { return (frame = puller_->poll()).has_value() || puller_->state() != LinkState::open; });
    return frame;
  }

  /// The link ends by itself, with a sentence that has `word` in it, and hands no frame out.
  void expect_puller_ends(LinkState wanted, const std::string& word) {
    EXPECT_FALSE(next_frame());
    EXPECT_EQ(puller_->state(), wanted);
    EXPECT_NE(puller_->fault().find(word), std::string::npos) << puller_->fault();
  }

  SenderDomains domains_{PoolReaders::viewers};
  std::unique_ptr<RdmaConnection> accepted_;
  std::unique_ptr<RdmaConnection> dialled_;
  std::unique_ptr<RdmaExposure> exposure_;
  std::unique_ptr<RdmaPuller> puller_;
};

}  // namespace framewire::test
