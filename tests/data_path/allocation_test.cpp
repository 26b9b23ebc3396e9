// Once a stream runs, its data path allocates nothing: neither the threads of the source and the viewer, nor those of
// the sessions and links between them.
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/wait.hpp"
#include "tests/contract/link_pairs.hpp"
#include "tests/data_path/heap_watch.hpp"
#include "tests/data_path/streaming.hpp"

namespace framewire::test {
namespace {

// ---- The watch itself ----

/// Called through a pointer that the compiler cannot see through: it may remove an unused allocation.
template <typename Function>
Function opaque(Function function) {
  Function volatile hidden = function;
  return hidden;
}

std::uint64_t allocations_of(void (*function)()) {
  begin_heap_watch();
  opaque(function)();
  const HeapUse use = end_heap_watch();
  EXPECT_EQ(use.by_thread.size(), use.allocations > 0 ? 1U : 0U) << use.description;
  return use.allocations;
}

// NOLINTBEGIN(cppcoreguidelines-no-malloc): the test is about these functions
TEST(HeapWatch, SeesEveryWayToAllocate) {
  EXPECT_EQ(allocations_of([] {}), 0U);
  EXPECT_EQ(allocations_of([] { std::free(opaque(std::malloc)(100)); }), 1U);
  EXPECT_EQ(allocations_of([] { std::free(opaque(std::calloc)(10, 10)); }), 1U);
  EXPECT_EQ(allocations_of([] { std::free(opaque(std::realloc)(opaque(std::malloc)(10), 1000)); }), 2U);
  EXPECT_EQ(allocations_of([] { std::free(opaque(std::aligned_alloc)(64, 128)); }), 1U);
  EXPECT_EQ(allocations_of([] {
              void* memory = nullptr;
              EXPECT_EQ(opaque(::posix_memalign)(&memory, 64, 100), 0);
              std::free(memory);
            }),
            1U);
  EXPECT_EQ(allocations_of([] { ::operator delete(::operator new(100)); }), 1U);
  EXPECT_EQ(allocations_of([] {
              constexpr std::align_val_t alignment{256};
              ::operator delete(::operator new(256, alignment), alignment);
            }),
            1U);
  EXPECT_EQ(allocations_of([] { std::free(opaque(::strdup)("the C library's own")); }), 1U);
  EXPECT_EQ(allocations_of([] { std::make_shared<std::array<char, 100>>(); }), 1U);
}

TEST(HeapWatch, SeesOtherThreadsAndNamesThem) {
  FileDescriptor go = make_eventfd();
  FileDescriptor done = make_eventfd();
  const auto readable = [](const FileDescriptor& event) {
    return wait_for(event.get(), POLLIN, monotonic_ns() + 20 * ns_per_s);
  };
  std::thread other([&] {
    set_thread_name("spendthrift");
    EXPECT_TRUE(readable(go));
    std::free(opaque(std::malloc)(12345));
    signal_eventfd(done.get());
  });
  begin_heap_watch();
  signal_eventfd(go.get());
  const bool is_done = readable(done);
  const HeapUse use = end_heap_watch();
  other.join();
  EXPECT_TRUE(is_done);
  EXPECT_EQ(use.allocations, 1U);
  EXPECT_EQ(use.by_thread.at("spendthrift"), 1U);
  EXPECT_NE(use.description.find("at first 12345 bytes"), std::string::npos) << use.description;
}

// NOLINTEND(cppcoreguidelines-no-malloc)

// ---- Whole sessions ----

struct Flow {
  std::string name;
  std::uint64_t message_bytes = 0;
  WaitMode wait = WaitMode::adaptive;
  Delivery delivery = Delivery::every;
  bool one_in_flight = false;
  std::uint32_t viewers = 1;
  std::uint16_t slices = 1;
};

std::ostream& operator<<(std::ostream& out, const Flow& flow) {
  return out << flow.name;
}

std::vector<Flow> flows() {
  constexpr std::uint64_t chunk_bytes = 1 << 20;     // of the rdma link's writes
  constexpr std::uint64_t frame_bytes = 33'177'600;  // 4K, rgba
  std::vector<Flow> flows;
  for (const auto& [size, bytes] : std::map<std::string, std::uint64_t>{
           {"Small", 64}, {"Middle", 5000}, {"Chunks", chunk_bytes + 1}, {"Frames", frame_bytes}}) {
    flows.push_back({.name = size + "Spinning", .message_bytes = bytes, .wait = WaitMode::spin});
    flows.push_back({.name = size + "Asleep", .message_bytes = bytes, .wait = WaitMode::block});
    flows.push_back(
        {.name = size + "AsleepInTurn", .message_bytes = bytes, .wait = WaitMode::block, .one_in_flight = true});
  }
  flows.push_back({.name = "SmallAdaptive", .message_bytes = 64});
  flows.push_back({.name = "SmallLatest", .message_bytes = 64, .wait = WaitMode::block, .delivery = Delivery::latest});
  flows.push_back({.name = "MiddleToThree", .message_bytes = 5000, .wait = WaitMode::block, .viewers = 3});
  flows.push_back(
      {.name = "SlicesToTwo", .message_bytes = 100'000, .wait = WaitMode::block, .viewers = 2, .slices = 8});
  return flows;
}

/// A few thousand small messages, or as many large ones as take a few seconds; one second's worth through an emulated
/// device. Always more than there are slots.
std::uint64_t messages_of(LinkKind link, const Flow& flow) {
  if (link != LinkKind::rdma || !is_emulated()) {
    return std::clamp<std::uint64_t>(1'000'000'000 / flow.message_bytes, 10, 10'000);
  }
  return std::clamp<std::uint64_t>(20'000'000 / flow.message_bytes, 5, flow.one_in_flight ? 300 : 2000);
}

/// Leaves out the acceptor thread: it wakes once a second and is not part of any stream.
std::uint64_t allocations_for_the_stream(const HeapUse& use) {
  const auto acceptor = use.by_thread.find("fw-accept");
  return use.allocations - (acceptor == use.by_thread.end() ? 0 : acceptor->second);
}

class AllocatesNothing : public testing::TestWithParam<std::tuple<LinkKind, Flow>> {};

TEST_P(AllocatesNothing, OnceItRuns) {
  const LinkKind link = std::get<0>(GetParam());
  const Flow& flow = std::get<1>(GetParam());
  const std::uint64_t messages = messages_of(link, flow);
  const std::uint64_t warm_up = std::min<std::uint64_t>(messages, 200);
  Streaming streaming({.link = link,
                       .slot_bytes = flow.message_bytes,
                       .viewers = flow.viewers,
                       .delivery = flow.delivery,
                       .one_in_flight = flow.one_in_flight,
                       .wait = flow.wait,
                       .slices = flow.slices},
                      [bytes = flow.message_bytes](std::span<std::byte>, std::uint64_t) { return bytes; });
  std::uint64_t received = 0;
  const auto take = [&](std::uint64_t count) {
    for (const std::uint64_t end = received + count; received < end; ++received) {
      for (std::size_t viewer = 0; viewer < flow.viewers; ++viewer) {
        const auto frame = streaming.receive(viewer);
        if (!frame || frame->payload().size() != flow.message_bytes) {
          return;
        }
      }
    }
  };
  take(warm_up);
  for (std::size_t viewer = 0; viewer < flow.viewers; ++viewer) {
    ASSERT_FALSE(streaming.is_over(viewer)) << streaming.viewer(viewer).status().message;
  }
  // On a busy machine a thread may finish its set-up long after the first frames. An allocation of the data path itself
  // repeats in every try.
  HeapUse use;
  std::uint64_t watched = 0;
  for (int tries = 0; tries == 0 || (tries < 3 && allocations_for_the_stream(use) > 0); ++tries) {
    begin_heap_watch();
    take(messages);
    use = end_heap_watch();
    watched += messages;
  }
  ASSERT_EQ(received, warm_up + watched) << streaming.viewer().status().message;
  EXPECT_EQ(streaming.viewer().status().transport, name(link));
  EXPECT_EQ(allocations_for_the_stream(use), 0U) << use.description;
  // The number of waits depends on the scheduler: each of a few messages may arrive before the viewer polls.
  if (flow.one_in_flight && messages >= 1000) {
    EXPECT_GT(streaming.waits(), 0U) << "the viewer has never slept";
  }
}

std::string name_of(const testing::TestParamInfo<AllocatesNothing::ParamType>& info) {
  return std::string(name(std::get<0>(info.param))) + "_" + std::get<1>(info.param).name;
}

INSTANTIATE_TEST_SUITE_P(Sessions, AllocatesNothing,
                         testing::Combine(testing::ValuesIn(links_here()), testing::ValuesIn(flows())), name_of);

// ---- Links alone, of every kind that the contract suite knows ----

class LinkAllocatesNothing : public testing::TestWithParam<LinkMaker> {
 protected:
  static constexpr std::uint64_t slot_bytes = 100'000;
  static constexpr std::uint32_t ring_slots = 3;

  LinkAllocatesNothing() {
    pair_.sender->begin_epoch(pool_);
    const auto access = pair_.receiver->begin_epoch(1, slot_bytes, ring_slots, {});
    pair_.sender->epoch_ready(1, ring_slots, access);
  }

  void poll_released() {
    std::array<PoolSlot, 8> released;
    const std::size_t count = pair_.sender->poll_released(released);
    for (const PoolSlot& slot : std::span(released).first(count)) {
      pool_->release(slot.index);
    }
  }

  /// Offers and receives frames until `end` have arrived. False on a timeout.
  bool move_until(std::uint64_t end) {
    const std::int64_t deadline_ns = monotonic_ns() + 20 * ns_per_s;
    while (received_ < end && monotonic_ns() < deadline_ns) {
      poll_released();
      if (const auto index = pool_->claim()) {
        try_send(*index);
      }
      pair_.receiver->drive();
      while (auto frame = pair_.receiver->poll()) {
        ++received_;
        pair_.receiver->return_credit(frame->header);
      }
      pair_.sender->arm();
      pair_.receiver->arm();
      if (wait_for(pair_.sender->descriptor(), POLLIN, monotonic_ns())) {
        pair_.sender->on_readable();
      }
      pair_.let_pass();
    }
    return received_ >= end;
  }

  void try_send(std::uint16_t index) {
    const std::uint64_t bytes = 1 + (sent_ * 977) % slot_bytes;
    OutgoingFrame frame{.payload = pool_->payload(index, bytes), .pool_slot = {1, index}};
    frame.header.sequence = sent_;
    frame.header.epoch = 1;
    frame.header.layout = bytes_layout(bytes);
    frame.header.slice_bytes = bytes;
    if (pair_.sender->try_send(frame) == SendResult::accepted) {
      ++sent_;
    } else {
      pool_->release(index);
    }
    if (const auto waker = pair_.sender->take_waker()) {
      waker->wake();
    }
  }

  std::shared_ptr<Pool> pool_ = std::make_shared<Pool>(1, slot_bytes, 8);
  LinkPair pair_ = GetParam().make();
  std::uint64_t sent_ = 0;
  std::uint64_t received_ = 0;
};

TEST_P(LinkAllocatesNothing, OnceItRuns) {
  ASSERT_TRUE(move_until(50));
  begin_heap_watch();
  const bool is_through = move_until(550);
  const HeapUse use = end_heap_watch();
  EXPECT_TRUE(is_through) << received_;
  EXPECT_EQ(use.allocations, 0U) << use.description;
}

/// Without the fake wire, which is a list of events for tests, and without TLS: OpenSSL allocates for every record, and
/// framewire cannot change that (docs/decisions/0016).
std::vector<LinkMaker> real_links() {
  std::vector<LinkMaker> makers = link_makers();
  std::erase_if(makers,
                [](const LinkMaker& maker) { return maker.name == "fake" || maker.name.starts_with("tcp_tls"); });
  return makers;
}

INSTANTIATE_TEST_SUITE_P(Links, LinkAllocatesNothing, testing::ValuesIn(real_links()),
                         [](const auto& link) { return link.param.name; });

}  // namespace
}  // namespace framewire::test
