// Every call to verbs and to the connection manager that a session makes fails once: what is said, and what is left.
#include <gtest/gtest.h>

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "frame/stamp.hpp"
#include "tests/base/eventually.hpp"
#include "tests/rdma_lab/accepting_end.hpp"
#include "tests/rdma_lab/failing_verbs.hpp"
#include "transport/rdma/rdma_receiver.hpp"
#include "transport/rdma/rdma_sender.hpp"

namespace framewire::test {
namespace {

constexpr std::uint64_t slot_bytes = 10'000;
constexpr std::uint32_t ring_slots = 2;
constexpr std::uint64_t usual_frames = 3;

struct Life {
  FailingCall failing{};
  std::uint64_t frames = usual_frames;
  bool relaxed_ordering = false;
};

/// What came of a session's whole life.
struct Outcome {
  std::uint64_t arrived = 0;        // frames, whole
  std::vector<std::string> faults;  // what its ends said
  std::string note;                 // of the link
  std::optional<RdmaGrants> grants;
};

/// Sends so many frames from one pool, and gives each back.
void stream(RdmaSender& sender, RdmaReceiver& receiver, std::uint64_t frames, Outcome& outcome) {
  const auto pool = std::make_shared<Pool>(1, slot_bytes, static_cast<std::uint32_t>(frames));
  sender.begin_epoch(pool);
  sender.epoch_ready(1, ring_slots, receiver.begin_epoch(1, slot_bytes, ring_slots, {}));
  const auto both_live = [&] { return sender.state() == LinkState::open && receiver.state() == LinkState::open; };
  for (std::uint64_t sequence = 0; sequence < frames; ++sequence) {
    const auto slot = pool->claim();
    ASSERT_TRUE(slot);
    stamp(pool->slot(*slot), sequence);
    OutgoingFrame frame{.payload = pool->slot(*slot), .pool_slot = {1, *slot}};
    frame.header.sequence = sequence;
    frame.header.epoch = 1;
    frame.header.layout = bytes_layout(slot_bytes);
    frame.header.slice_bytes = slot_bytes;
    std::array<PoolSlot, 8> let_go;
    ASSERT_TRUE(eventually([&] {
      sender.collect(let_go);
      return !both_live() || sender.offer(frame) == Offer::accepted;
    }));
    ASSERT_TRUE(eventually([&] {
      sender.collect(let_go);
      if (const auto arrived = receiver.poll()) {
        outcome.arrived += find_torn_line(arrived->payload, sequence) ? 0U : 1U;
        receiver.give_back(arrived->header);
        return true;
      }
      receiver.arm();
      return !both_live();
    }));
  }
}

void live(const Life& life, Outcome& outcome) {
  SenderDomains domains;
  AcceptingEnd accepting(domains);
  const sockaddr_storage address = accepting.address();
  try {
    auto dialled = RdmaConnection::dial(
        reinterpret_cast<const sockaddr&>(address), "this machine", {}, [](std::span<const std::byte>) {},
        {.domain_of = make_domain}, monotonic_ns() + connecting_ns);
    outcome.grants = dialled->grants();
    RdmaSender sender(accepting.take(), domains);
    RdmaReceiver receiver(std::move(dialled), life.relaxed_ordering);
    outcome.note = receiver.note();
    stream(sender, receiver, life.frames, outcome);
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
  EXPECT_EQ(outcome.arrived, usual_frames);
  EXPECT_EQ(outcome.faults, std::vector<std::string>());
}

TEST(ASession, LeavesNothingBehind) {
  expect_whole(live());
  EXPECT_GT(calls_so_far()["ibv_post_send"], 0) << "what the headers call by a table is seen, too";
}

/// One that fails ends in words, or is got over: never in a frame that is lost in silence, in a crash or in an object
/// that is left behind.
void expect_survival(const FailingCall& failing) {
  SCOPED_TRACE(testing::Message() << failing.name << " number " << failing.nth << ", " << failing.error_number);
  const Outcome outcome = live({.failing = failing});
  if (outcome.faults.empty()) {
    EXPECT_EQ(outcome.arrived, usual_frames);
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
    // Of those that are made for every frame the first and some later ones stand for all.
    const int step = count > 12 ? count / 4 : 1;
    for (int nth = 0; nth < count; nth += step) {
      for (const int error_number : {ENOMEM, ENODEV}) {
        expect_survival({.name = name, .nth = nth, .error_number = error_number});
        came += has_failed() ? 1 : 0;
      }
    }
    EXPECT_GE(came, 2) << name << " never failed";
  }
  expect_whole(live());  // and the next session is as if nothing had been
}

/// Whoever dials hears why the other side did not accept.
TEST(ASession, TellsTheDiallerWhatTheListenerCouldNotHave) {
  const Outcome good = live();
  const auto last = [calls = calls_so_far()](const char* name) {
    return calls.at(name) - 1;
  };  // the listener comes second
  const int of_dialler = static_cast<int>(good.grants->receive_depth);
  for (const auto& [name, nth] :
       {std::pair("rdma_create_event_channel", last("rdma_create_event_channel")), std::pair("rdma_migrate_id", 0),
        std::pair("rdma_accept", 0), std::pair("ibv_create_cq", last("ibv_create_cq")),
        std::pair("ibv_post_recv", of_dialler + 1)}) {
    SCOPED_TRACE(name);
    const Outcome outcome = live({.failing = {.name = name, .nth = nth, .error_number = ENOMEM}});
    ASSERT_FALSE(outcome.faults.empty());
    EXPECT_TRUE(has_failed());
    EXPECT_NE(outcome.faults.front().find("rejected the RDMA connection"), std::string::npos) << outcome.faults.front();
    EXPECT_NE(outcome.faults.front().find("Cannot allocate memory"), std::string::npos) << outcome.faults.front();
  }
}

/// The pool, and the ring with its cells: once, whatever number of frames goes through them.
TEST(ASession, RegistersItsMemoryOnce) {
  expect_whole(live());
  const int for_few = calls_so_far().at("ibv_reg_mr");
  EXPECT_EQ(live({.frames = 60}).arrived, 60U);
  EXPECT_EQ(calls_so_far().at("ibv_reg_mr"), for_few);
}

/// For the payload, whose order nobody relies on; the cells keep theirs.
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

class APoorDevice : public testing::Test {
 protected:
  ~APoorDevice() override {
    set_device_lie(nullptr);
    set_port_lie(nullptr);
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
  EXPECT_EQ(outcome.grants->send_depth, 9U);
  EXPECT_EQ(outcome.grants->receive_depth, 9U);
}

/// A frame is then written in several pieces.
TEST_F(APoorDevice, TakesShortMessagesOnly) {
  set_port_lie([](ibv_port_attr& attributes) { attributes.max_msg_sz = 4096; });
  const Outcome outcome = live();
  expect_whole(outcome);
  EXPECT_EQ(outcome.grants->chunk_bytes, 4096U);
}

TEST_F(APoorDevice, HasNoInlineData) {
  set_most_inline_bytes(0);
  const Outcome outcome = live();
  expect_whole(outcome);
  EXPECT_EQ(outcome.grants->inline_bytes, 0U);
}

TEST_F(APoorDevice, HasLittleInlineData) {
  set_most_inline_bytes(100);
  const Outcome outcome = live();
  expect_whole(outcome);
  EXPECT_GE(outcome.grants->inline_bytes, 64U);
}

TEST_F(APoorDevice, HasNoWindows) {
  set_device_lie(
      [](ibv_device_attr& attributes) { attributes.device_cap_flags &= ~unsigned{IBV_DEVICE_MEM_WINDOW_TYPE_2B}; });
  const Outcome outcome = live();
  expect_whole(outcome);
  EXPECT_EQ(outcome.note, " ring=registration");
}

}  // namespace
}  // namespace framewire::test
