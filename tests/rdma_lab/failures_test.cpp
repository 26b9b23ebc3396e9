// Every verbs and connection manager call of a session fails once. Tests check the error message and leaked objects.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "frame/test_pattern.hpp"
#include "tests/base/eventually.hpp"
#include "tests/contract/link_pairs.hpp"
#include "tests/rdma_lab/accepting_side.hpp"
#include "tests/rdma_lab/failing_verbs.hpp"
#include "transport/rdma/rdma_receiver.hpp"
#include "transport/rdma/rdma_sender.hpp"

namespace framewire::test {
namespace {

constexpr std::uint64_t slot_bytes = 10'000;
constexpr std::uint32_t ring_slots = 2;
constexpr std::uint64_t default_frames = 3;

struct Life {
  FailingCall failing{};
  std::uint64_t frames = default_frames;
  bool relaxed_ordering = false;
  std::optional<std::uint8_t> type_of_service{};
  /// Runs while both ends still exist. `maintain` does what the sessions' threads do.
  std::function<void(const std::function<void()>& maintain)> after_stream{};
  bool ends_by_itself = false;
};

/// The result of a whole session.
struct Outcome {
  std::uint64_t arrived = 0;        // intact frames
  std::vector<std::string> faults;  // error messages of both ends
  bool is_receivers = false;        // whether the last fault is the receiver's
  std::string note;                 // the link's note
  std::optional<RdmaCapabilities> capabilities;
};

/// Sends `frames` frames from one pool, and returns each.
void stream(RdmaSender& sender, RdmaReceiver& receiver, std::uint64_t frames, Outcome& outcome) {
  const auto pool = std::make_shared<Pool>(1, slot_bytes, static_cast<std::uint32_t>(frames));
  sender.begin_epoch(pool);
  sender.epoch_ready(1, ring_slots, receiver.begin_epoch(1, slot_bytes, ring_slots, {}));
  const auto both_live = [&] {
    sender.maintain();
    receiver.maintain();
    return sender.state() == LinkState::open && receiver.state() == LinkState::open;
  };
  for (std::uint64_t sequence = 0; sequence < frames; ++sequence) {
    const auto slot = pool->claim();
    ASSERT_TRUE(slot);
    write_test_lines(pool->slot(*slot), sequence);
    OutgoingFrame frame{.payload = pool->payload(*slot, pool->slot_bytes()), .pool_slot = {1, *slot}};
    frame.header.sequence = sequence;
    frame.header.epoch = 1;
    frame.header.layout = bytes_layout(slot_bytes);
    frame.header.slice_bytes = slot_bytes;
    std::array<PoolSlot, 8> released;
    ASSERT_TRUE(eventually([&] {
      sender.poll_released(released);
      return !both_live() || sender.try_send(frame) == SendResult::accepted;
    }));
    ASSERT_TRUE(eventually([&] {
      sender.poll_released(released);
      if (const auto arrived = receiver.poll()) {
        outcome.arrived += find_torn_line(arrived->payload, sequence) ? 0U : 1U;
        receiver.return_credit(arrived->header);
        return true;
      }
      receiver.arm();
      return !both_live();
    }));
  }
}

void live(const Life& life, Outcome& outcome) {
  SenderProtectionDomains protection_domains;
  AcceptingSide accepting(protection_domains);
  const sockaddr_storage address = accepting.address();
  try {
    auto dialled = RdmaConnection::dial(
        reinterpret_cast<const sockaddr&>(address), "this machine", {}, [](std::span<const std::byte>) {},
        {.protection_domain_of = allocate_protection_domain, .type_of_service = life.type_of_service},
        monotonic_ns() + connecting_ns);
    outcome.capabilities = dialled->capabilities();
    RdmaSender sender(accepting.take(), protection_domains);
    RdmaReceiver receiver(std::move(dialled), life.relaxed_ordering);
    stream(sender, receiver, life.frames, outcome);
    outcome.note = receiver.note();
    const auto maintain = [&] {
      sender.maintain();
      receiver.maintain();
    };
    if (life.after_stream) {
      life.after_stream(maintain);
    }
    if (life.ends_by_itself) {
      eventually([&] {
        maintain();
        return sender.state() != LinkState::open || receiver.state() != LinkState::open;
      });
    }
    outcome.is_receivers = receiver.state() != LinkState::open;
    for (const std::string& fault : {sender.fault(), receiver.fault()}) {
      if (!fault.empty()) {
        outcome.faults.push_back(fault);
      }
    }
  } catch (const Error& error) {
    outcome.faults.emplace_back(error.what());
  }
  if (const auto fault = accepting.fault()) {
    outcome.faults.emplace_back(fault->what());
  }
}

Outcome live(const Life& life = {}) {
  begin_calls(life.failing);
  Outcome outcome;
  try {
    live(life, outcome);
  } catch (const Error& error) {
    outcome.faults.emplace_back(error.what());
  }
  EXPECT_EQ(living_objects(), (std::map<std::string, int>{})) << "something is left behind";
  return outcome;
}

void expect_whole(const Outcome& outcome) {
  EXPECT_EQ(outcome.arrived, default_frames);
  EXPECT_EQ(outcome.faults, std::vector<std::string>());
}

TEST(ASession, LeavesNothingBehind) {
  expect_whole(live());
  EXPECT_GT(calls_so_far()["ibv_post_send"], 0) << "what the headers call by a table is seen, too";
}

/// A failed call either ends the session with an error message or is recovered from. No frame is lost silently, no
/// object leaks, and nothing crashes.
void expect_survival(const FailingCall& failing) {
  SCOPED_TRACE(testing::Message() << failing.name << " number " << failing.nth << ", " << failing.error_number);
  const Outcome outcome = live({.failing = failing});
  if (outcome.faults.empty()) {
    EXPECT_EQ(outcome.arrived, default_frames);
  }
  for (const std::string& fault : outcome.faults) {
    EXPECT_FALSE(fault.empty());
    EXPECT_EQ(fault.find('\n'), std::string::npos) << fault;
  }
}

TEST(ASession, SurvivesEveryCallThatFails) {
  live();
  for (const auto& [name, count] : calls_so_far()) {
    int came = 0;
    // For calls made per frame, the first one and a few later ones are enough.
    const int step = count > 12 ? count / 4 : 1;
    for (int nth = 0; nth < count; nth += step) {
      for (const int error_number : {ENOMEM, ENODEV}) {
        expect_survival({.name = name, .nth = nth, .error_number = error_number});
        came += has_failed() ? 1 : 0;
      }
    }
    EXPECT_GE(came, 2) << name << " never failed";
  }
  expect_whole(live());  // the next session works normally
}

/// The dialling end reports why the listening end did not accept.
TEST(ASession, TellsTheDiallerWhatTheListenerCouldNotHave) {
  const Outcome good = live();
  const auto last = [calls = calls_so_far()](const char* name) {
    return calls.at(name) - 1;
  };  // the listener makes its call last
  constexpr std::uint32_t receives_in_post = 64;
  const int of_dialler = static_cast<int>((good.capabilities->receive_depth + receives_in_post - 1) / receives_in_post);
  for (const auto& [name, nth] :
       {std::pair("rdma_create_event_channel", last("rdma_create_event_channel")), std::pair("rdma_migrate_id", 0),
        std::pair("rdma_accept", 0), std::pair("ibv_create_cq", 3),  // later ones belong to the test of windows

        std::pair("ibv_post_recv", of_dialler + 1)}) {
    SCOPED_TRACE(name);
    const Outcome outcome = live({.failing = {.name = name, .nth = nth, .error_number = ENOMEM}});
    ASSERT_FALSE(outcome.faults.empty());
    EXPECT_TRUE(has_failed());
    EXPECT_NE(outcome.faults.front().find("rejected the RDMA connection"), std::string::npos) << outcome.faults.front();
    EXPECT_NE(outcome.faults.front().find("Cannot allocate memory"), std::string::npos) << outcome.faults.front();
  }
}

/// The pool, and the ring with its cells, are registered once, however many frames follow.
TEST(ASession, RegistersItsMemoryOnce) {
  expect_whole(live());
  const int for_few = calls_so_far().at("ibv_reg_mr");
  EXPECT_EQ(live({.frames = 60}).arrived, 60U);
  EXPECT_EQ(calls_so_far().at("ibv_reg_mr"), for_few);
}

/// Asks the device: RoCE puts the type of service into the traffic class of its packets.
TEST(ASession, HasTheTypeOfServiceThatItIsToHave) {
  expect_whole(live());
  EXPECT_EQ(std::ranges::count(set_options(), int{RDMA_OPTION_ID_TOS}, &std::pair<int, int>::first), 0);
  for (const std::uint8_t wanted : {std::uint8_t{0}, std::uint8_t{104}}) {
    SenderProtectionDomains protection_domains;
    begin_calls({});
    const auto pair = rdma_connection_pair(protection_domains, {}, true, allocate_protection_domain, wanted);
    EXPECT_EQ(std::ranges::count(set_options(), std::pair(int{RDMA_OPTION_ID_TOS}, int{wanted})), 2);
    for (const RdmaConnection* end : {pair.accepted.get(), pair.dialled.get()}) {
      ibv_qp_attr attributes{};
      ibv_qp_init_attr made{};
      ASSERT_EQ(ibv_query_qp(end->queue_pair(), &attributes, IBV_QP_AV, &made), 0);
      EXPECT_EQ(attributes.ah_attr.grh.traffic_class, wanted);
    }
  }
}

/// A requested type of service is never dropped silently.
TEST(ASession, SaysThatATypeOfServiceCannotBeHad) {
  const Outcome outcome =
      live({.failing = {.name = "rdma_set_option", .nth = 0, .error_number = EINVAL}, .type_of_service = 104});
  ASSERT_FALSE(outcome.faults.empty());
  EXPECT_NE(outcome.faults.front().find("type of service 104"), std::string::npos) << outcome.faults.front();
}

/// Only the payload is relaxed, since nothing depends on its order. Cells stay ordered.
TEST(ASession, RelaxesTheOrderOfThePayloadAlone) {
  const auto relaxed = [] {
    const std::vector<unsigned> access = registered_access();
    return std::ranges::count_if(access,
                                 [](unsigned one) { return (one & unsigned{IBV_ACCESS_RELAXED_ORDERING}) != 0; });
  };
  expect_whole(live());
  EXPECT_EQ(relaxed(), 0);
  expect_whole(live({.relaxed_ordering = true}));
  EXPECT_EQ(relaxed(), 1);
}

/// A device may refuse relaxed ordering.
TEST(ASession, DoesWithoutRelaxedOrderWhereThatIsRefused) {
  expect_whole(live({.relaxed_ordering = true}));
  const std::vector<unsigned> access = registered_access();
  const auto relaxed =
      std::ranges::find_if(access, [](unsigned one) { return (one & unsigned{IBV_ACCESS_RELAXED_ORDERING}) != 0; });
  ASSERT_NE(relaxed, access.end());
  const int nth = static_cast<int>(relaxed - access.begin());
  expect_whole(live({.failing = {.name = "ibv_reg_mr", .nth = nth, .error_number = EINVAL}, .relaxed_ordering = true}));
  EXPECT_TRUE(has_failed());
  EXPECT_EQ(registered_access().size(), access.size() + 1);
}

/// 40 writes and the announcement.
TEST(ASession, PostsAFrameOfManyChunksInOneCall) {
  set_port_lie([](ibv_port_attr& attributes) { attributes.max_msg_sz = 250; });
  const Outcome outcome = live();
  set_port_lie(nullptr);
  expect_whole(outcome);
  EXPECT_EQ(longest_post(), slot_bytes / 250 + 1);
}

/// The two queues of an end share one vector. The next session of the same sender gets another one.
TEST(ASession, SpreadsItsCompletionsOverTheDevicesVectors) {
  set_completion_vectors(4);
  SenderProtectionDomains protection_domains;
  begin_calls({});
  for (const int expected : {0, 1, 2, 3, 0}) {
    begin_calls({});
    const RdmaConnectionPair pair = rdma_connection_pair(protection_domains);
    std::vector<int> asked = asked_vectors();
    EXPECT_EQ(asked, (std::vector<int>{0, 0, expected, expected}));
  }
  set_completion_vectors(0);
}

/// The frame is handed over first. The new receive is posted afterwards, but before the frame's credit goes out.
TEST(ASession, PostsReceivesAfterAFrameWasHandedOver) {
  begin_calls({});
  SenderProtectionDomains protection_domains;
  RdmaConnectionPair pair = rdma_connection_pair(protection_domains);
  RdmaSender sender(std::move(pair.accepted), protection_domains);
  RdmaReceiver receiver(std::move(pair.dialled), false);
  const auto pool = std::make_shared<Pool>(1, slot_bytes, 1);
  sender.begin_epoch(pool);
  sender.epoch_ready(1, ring_slots, receiver.begin_epoch(1, slot_bytes, ring_slots, {}));
  OutgoingFrame frame{.payload = pool->payload(0, 10), .pool_slot = {1, 0}};
  frame.header.epoch = 1;
  frame.header.layout = bytes_layout(10);
  frame.header.slice_bytes = 10;
  const int prepared = calls_so_far().at("ibv_post_recv");
  ASSERT_EQ(sender.try_send(frame), SendResult::accepted);
  std::optional<IncomingFrame> arrived;
  ASSERT_TRUE(eventually([&] { return (arrived = receiver.poll()).has_value(); }));
  EXPECT_EQ(calls_so_far().at("ibv_post_recv"), prepared);
  receiver.return_credit(arrived->header);
  EXPECT_EQ(calls_so_far().at("ibv_post_recv"), prepared + 1);
}

/// An event of one connection reaches that connection, whichever connection reads it.
TEST(ASession, EndsWhenTheDeviceReportsAFault) {
  for (const std::size_t nth : {0U, 1U}) {
    const Outcome outcome =
        live({.after_stream = [nth](auto&&) { report_event(IBV_EVENT_QP_FATAL, nth); }, .ends_by_itself = true});
    EXPECT_EQ(outcome.arrived, default_frames);
    ASSERT_EQ(outcome.faults.size(), 1U);
    EXPECT_NE(outcome.faults[0].find("reports: local work queue catastrophic error"), std::string::npos)
        << outcome.faults[0];
    EXPECT_EQ(outcome.is_receivers, nth == 0) << "the dialler's queue pair is the first";
  }
}

/// These are events of the whole device: a port that went down may come back.
TEST(ASession, OutlivesWhatTheDeviceOnlyMentions) {
  bool is_heard = false;
  const Outcome outcome = live({.after_stream = [&](const std::function<void()>& maintain) {
    report_event(IBV_EVENT_PORT_ERR);
    is_heard = eventually([&] {
      maintain();
      return reported_events() == 0;
    });
  }});
  EXPECT_TRUE(is_heard);
  expect_whole(outcome);
}

class APoorDevice : public testing::Test {
 protected:
  ~APoorDevice() override {
    set_device_lie(nullptr);
    set_port_lie(nullptr);
    set_window_fault({});
    set_most_inline_bytes(std::numeric_limits<std::uint32_t>::max());
  }
};

TEST_F(APoorDevice, HasShortQueues) {
  set_device_lie([](ibv_device_attr& attributes) {
    attributes.max_qp_wr = 10;
    attributes.max_cqe = 9;
  });
  const Outcome outcome = live();
  expect_whole(outcome);
  EXPECT_EQ(outcome.capabilities->send_depth, 9U);
  EXPECT_EQ(outcome.capabilities->receive_depth, 9U);
}

/// A frame is then written in several chunks.
TEST_F(APoorDevice, TakesShortMessagesOnly) {
  set_port_lie([](ibv_port_attr& attributes) { attributes.max_msg_sz = 4096; });
  const Outcome outcome = live();
  expect_whole(outcome);
  EXPECT_EQ(outcome.capabilities->chunk_bytes, 4096U);
}

TEST_F(APoorDevice, HasNoInlineData) {
  set_most_inline_bytes(0);
  const Outcome outcome = live();
  expect_whole(outcome);
  EXPECT_EQ(outcome.capabilities->inline_bytes, 0U);
}

TEST_F(APoorDevice, HasLittleInlineData) {
  set_most_inline_bytes(100);
  const Outcome outcome = live();
  expect_whole(outcome);
  EXPECT_GE(outcome.capabilities->inline_bytes, 64U);
}

TEST_F(APoorDevice, HasNoWindows) {
  set_device_lie(
      [](ibv_device_attr& attributes) { attributes.device_cap_flags &= ~unsigned{IBV_DEVICE_MEM_WINDOW_TYPE_2B}; });
  const Outcome outcome = live();
  expect_whole(outcome);
  EXPECT_EQ(outcome.note, " ring=registration");
}

/// The window trial decides, whatever the capability bits say.
TEST_F(APoorDevice, HasNoWindowsForAllItSays) {
  expect_whole(live());
  EXPECT_EQ(live().note, " ring=window");
  for (const WindowFault& fault :
       {WindowFault{.has_none = true}, WindowFault{.is_refused = true}, WindowFault{.fails_late = true}}) {
    SCOPED_TRACE(testing::Message() << fault.has_none << fault.is_refused << fault.fails_late);
    set_window_fault(fault);
    const Outcome outcome = live();
    expect_whole(outcome);
    EXPECT_EQ(outcome.note, " ring=registration");
  }
}

/// A window of one page works, one for this ring's payload does not.
TEST_F(APoorDevice, HasWindowsForSmallRingsOnly) {
  for (const WindowFault& fault :
       {WindowFault{.is_refused = true, .above_bytes = 4096}, WindowFault{.fails_late = true, .above_bytes = 4096}}) {
    SCOPED_TRACE(testing::Message() << fault.is_refused << fault.fails_late);
    set_window_fault(fault);
    const Outcome outcome = live();
    expect_whole(outcome);
    EXPECT_EQ(outcome.note, " ring=registration");
  }
}

}  // namespace
}  // namespace framewire::test
