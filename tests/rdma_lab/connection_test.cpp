// How a connection sets up its queue pair, and which peers can write to its ring. Both are checked on the device.
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <string>
#include <thread>
#include <vector>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "tests/base/eventually.hpp"
#include "tests/contract/link_pairs.hpp"
#include "tests/rdma_lab/verbs_peer.hpp"
#include "transport/address.hpp"
#include "transport/rdma/addresses.hpp"
#include "transport/rdma/listener.hpp"
#include "transport/rdma/rdma_receiver.hpp"
#include "transport/rdma/wire.hpp"

namespace framewire::test {
namespace {

constexpr std::uint64_t slot_bytes = 10'000;
constexpr std::uint32_t ring_slots = 2;

/// For a peer timeout of 1 s: 4.096 us * 2^14 = 67 ms for each of seven transmissions is 470 ms, and a device may take
/// longer than that (docs/rdma.md).
TEST(AQueuePair, GivesAPeerUpInTimeAndWaitsForOneThatIsSlow) {
  SenderProtectionDomains protection_domains;
  const RdmaConnectionPair pair = rdma_connection_pair(protection_domains);
  for (const RdmaConnection* end : {pair.accepted.get(), pair.dialled.get()}) {
    ibv_qp_attr attributes{};
    ibv_qp_init_attr made{};
    ASSERT_EQ(
        ibv_query_qp(end->queue_pair(), &attributes,
                     IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MIN_RNR_TIMER | IBV_QP_STATE, &made),
        0);
    EXPECT_EQ(attributes.qp_state, IBV_QPS_RTS);
    EXPECT_EQ(attributes.timeout, 14);
    EXPECT_EQ(attributes.retry_cnt, 6);
    EXPECT_EQ(attributes.rnr_retry, 7);
    if (end->capabilities().has_immediate) {  // without immediates nothing ever waits for a missing receive
      EXPECT_EQ(attributes.min_rnr_timer, 12);
    }
    EXPECT_EQ(made.qp_type, IBV_QPT_RC);
    EXPECT_GE(made.cap.max_send_wr, end->capabilities().send_depth);
    EXPECT_GE(made.cap.max_recv_wr, end->capabilities().receive_depth);
    EXPECT_GE(made.cap.max_inline_data, end->capabilities().inline_bytes);
  }
}

/// Returns the error of a dial that never connected.
std::string dial_error(const sockaddr& to) {
  constexpr std::int64_t connecting_ns = 3 * ns_per_s;
  try {
    RdmaConnection::dial(
        to, "the other end", {}, [](std::span<const std::byte>) {},
        {.protection_domain_of = allocate_protection_domain}, monotonic_ns() + connecting_ns);
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), ExitStatus::lost_peer) << error.what();
    return error.what();
  }
  return "connected";
}

/// Dials a numeric address.
std::string dial_error(const std::string& address, std::uint16_t port) {
  return dial_error(*resolve({.host = address, .port = port}).front().get());
}

TEST(Dialling, WhereNoRouteLeads) {
  for (const char* nowhere : {"192.0.2.1", "2001:db8::1"}) {  // documentation addresses: RFC 5737, RFC 3849
    EXPECT_NE(dial_error(nowhere, 5290).find("no RDMA device here reaches the other end"), std::string::npos)
        << dial_error(nowhere, 5290);
  }
}

TEST(Dialling, WhatIsNoAddressOfIp) {
  sockaddr_storage unix_address{};
  unix_address.ss_family = AF_UNIX;
  EXPECT_NE(dial_error(reinterpret_cast<const sockaddr&>(unix_address)), "connected");
}

TEST(Dialling, WhereNobodyListens) {
  std::vector<sockaddr_storage> addresses = rdma_addresses();
  ASSERT_FALSE(addresses.empty());
  std::uint16_t port = 0;
  {
    addresses.resize(1);
    const RdmaListener gone(addresses, 0, [](auto&&...) {});
    port = gone.port();
  }
  EXPECT_EQ(dial_error(text_of(reinterpret_cast<const sockaddr*>(&addresses.front())), port),
            "nobody takes RDMA connections at the other end");
}

/// For example perftest listens on the port.
TEST(Dialling, WhereAnotherProgramRejects) {
  std::vector<sockaddr_storage> addresses = rdma_addresses();
  ASSERT_FALSE(addresses.empty());
  const VerbsPtr<rdma_event_channel> events(rdma_create_event_channel());
  const VerbsPtr<rdma_cm_id> listener = make_id(events.get());
  ASSERT_EQ(rdma_bind_addr(listener.get(), reinterpret_cast<sockaddr*>(&addresses.front())), 0);
  ASSERT_EQ(rdma_listen(listener.get(), 1), 0);
  std::thread other([&] {
    rdma_cm_event* event = nullptr;
    if (rdma_get_cm_event(events.get(), &event) == 0) {
      const VerbsPtr<rdma_cm_id> id(event->id);
      const VerbsPtr<rdma_cm_event> owned(event);
      rdma_reject(id.get(), "no", 2);
    }
  });
  EXPECT_EQ(dial_error(text_of(reinterpret_cast<const sockaddr*>(&addresses.front())),
                       ntohs(rdma_get_src_port(listener.get()))),
            "the other end did not take the RDMA connection: what listens there is no framewire, or has just ended");
  other.join();
}

/// Two viewers in one process, with their rings in one protection domain, and a sender for each.
class TwoRings : public testing::Test {
 protected:
  struct Session {
    std::unique_ptr<VerbsPeer> sender;
    std::unique_ptr<RdmaReceiver> viewer;
    RingAccess ring;
  };

  Session begin(const RdmaPreferences& preferences) {
    const auto one_domain = [this](ibv_context* device) {
      if (!protection_domain_) {
        protection_domain_ = allocate_protection_domain(device);
      }
      return protection_domain_;
    };
    RdmaConnectionPair pair = rdma_connection_pair(protection_domains_, preferences, true, one_domain);
    has_windows_ = pair.dialled->capabilities().has_windows;
    Session session{.sender = std::make_unique<VerbsPeer>(std::move(pair.accepted)),
                    .viewer = std::make_unique<RdmaReceiver>(std::move(pair.dialled), false),
                    .ring = {}};
    session.ring = *ring_access_from(session.viewer->begin_epoch(1, slot_bytes, ring_slots, {}));
    return session;
  }

  SenderProtectionDomains protection_domains_;
  std::shared_ptr<ibv_pd> protection_domain_;
  bool has_windows_ = false;
};

/// The key of a memory region is valid for every connection of its protection domain. The key of a type 2B window is
/// valid only for the connection that bound it. So the sender gets the window's key.
TEST_F(TwoRings, AWindowIsOpenToItsOwnSenderOnly) {
  const Session own = begin({});
  if (!has_windows_) {
    GTEST_SKIP() << "this device has no memory windows of type 2B";
  }
  EXPECT_EQ(own.viewer->note(), " ring=window");
  EXPECT_EQ(own.sender->write(own.ring.payload_address, own.ring.payload_key, 100), IBV_WC_SUCCESS);
  for (const auto& [address, key] : {std::pair(own.ring.payload_address, own.ring.payload_key),
                                     std::pair(own.ring.cells_address, own.ring.cells_key)}) {
    const Session other = begin({});
    EXPECT_EQ(other.sender->write(address, key, 100), IBV_WC_REM_ACCESS_ERR);
  }
  EXPECT_EQ(own.sender->write(own.ring.cells_address, own.ring.cells_key, 100), IBV_WC_SUCCESS) << "still";
}

/// The same setup without windows, to prove that the test above can fail.
TEST_F(TwoRings, ARegistrationIsOpenToAllOfItsDomain) {
  const Session own = begin({.windows = false});
  const Session other = begin({.windows = false});
  EXPECT_EQ(own.viewer->note(), " ring=registration");
  EXPECT_EQ(other.sender->write(own.ring.payload_address, own.ring.payload_key, 100), IBV_WC_SUCCESS);
}

/// An immediate carries only the low 14 bits of the epoch. Epochs beyond 2^14 must still be told apart.
TEST_F(TwoRings, EpochsGoOnBeyondWhatAnImmediateCarries) {
  Session own = begin({});
  constexpr std::uint32_t last = (1U << Immediate::epoch_bits) - 1;
  for (const std::uint32_t epoch : {last, last + 1, last + 2, 2 * last + 2}) {
    own.ring = *ring_access_from(own.viewer->begin_epoch(epoch, slot_bytes, ring_slots, {}));
    const std::size_t bytes = encode(header_of(epoch, 0, 10), own.sender->memory());
    ASSERT_EQ(own.sender->announce(own.ring.cells_address, own.ring.cells_key, bytes, encode({.epoch = epoch})),
              IBV_WC_SUCCESS);
    std::optional<IncomingFrame> frame;
    ASSERT_TRUE(eventually([&] { return (frame = own.viewer->poll()).has_value(); })) << own.viewer->fault();
    EXPECT_EQ(frame->header.epoch, epoch);
    own.viewer->return_credit(frame->header);
  }
}

}  // namespace
}  // namespace framewire::test
