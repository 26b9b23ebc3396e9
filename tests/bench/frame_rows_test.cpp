// Rows of frames over a cable in memory that loses, reorders and changes frames, as no cable of the kernel does at
// will.
#include "bench/xdp/frame_rows.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <future>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "base/error.hpp"

namespace framewire {
namespace {

using Frame = std::vector<std::byte>;

/// Frames on their way to one port. Any thread.
class Wire {
 public:
  void put(Frame frame) {
    const std::scoped_lock lock(mutex_);
    frames_.push_back(std::move(frame));
    changed_.notify_all();
  }
  /// In front of the one that was put last.
  void overtake(Frame frame) {
    const std::scoped_lock lock(mutex_);
    frames_.insert(frames_.end() - (frames_.empty() ? 0 : 1), std::move(frame));
    changed_.notify_all();
  }
  Frame take() {
    const std::scoped_lock lock(mutex_);
    if (frames_.empty()) {
      return {};
    }
    Frame frame = std::move(frames_.front());
    frames_.pop_front();
    return frame;
  }
  void wait(std::int64_t deadline_ns) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::nanoseconds(deadline_ns - monotonic_ns()), [&] { return !frames_.empty(); });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Frame> frames_;
};

class MemoryPort final : public FramePort {
 public:
  static constexpr std::size_t frame_bytes = 100;
  /// What becomes of the frame with this number: puts it, or does not.
  using Fate = std::function<void(Wire&, Frame, std::uint64_t)>;

  MemoryPort(Wire& in, Wire& out, Fate fate) : in_(in), out_(out), fate_(std::move(fate)) {}

  [[nodiscard]] std::size_t payload_bytes() const noexcept override { return frame_bytes; }
  std::span<std::byte> next_to_fill() noexcept override {
    filled_.resize(frame_bytes);
    return filled_;
  }
  void queue(std::size_t bytes) noexcept override {
    filled_.resize(bytes);
    queued_.push_back(filled_);
  }
  void send_queued() override {
    for (Frame& frame : std::exchange(queued_, {})) {
      fate_(out_, std::move(frame), sent_++);
    }
  }
  std::span<const std::byte> receive() override {
    arrived_ = in_.take();
    return arrived_;
  }
  void wait(std::int64_t deadline_ns) override { in_.wait(deadline_ns); }

 private:
  Wire& in_;
  Wire& out_;
  const Fate fate_;
  Frame filled_, arrived_;
  std::vector<Frame> queued_;
  std::uint64_t sent_ = 0;
};

// The wire's header, as docs/bench-wire.md has it.
constexpr std::byte data_kind{0};
constexpr std::byte end_kind{3};
std::uint64_t number_of(const Frame& frame) {
  std::uint64_t number = 0;
  std::memcpy(&number, frame.data() + 8, sizeof number);
  return number;
}

void arrive(Wire& wire, Frame frame, std::uint64_t) {
  wire.put(std::move(frame));
}

struct Outcome {
  FramesSent sent;
  FramesReceived received;
};

/// A row of `count` messages. The fate is that of the sender's frames.
Outcome run(const FrameRowPlan& plan, std::uint64_t count, const MemoryPort::Fate& fate,
            const MemoryPort::Fate& fate_of_credits = arrive) {
  Wire forth;
  Wire back;
  MemoryPort senders(back, forth, fate);
  MemoryPort receivers(forth, back, fate_of_credits);
  std::atomic<bool> is_given_up = false;
  auto received = std::async(std::launch::async, [&] {
    return FrameReceiver(receivers, plan).receive([&] {
      if (is_given_up) {
        throw Error::failed("given up");
      }
      return false;
    });
  });
  Outcome outcome;
  try {
    outcome.sent = FrameSender(senders, plan)
                       .send([&](std::uint64_t sent, std::int64_t) { return sent == count; },
                             [&] { return received.wait_for(std::chrono::seconds(0)) == std::future_status::ready; });
  } catch (const Error&) {
    is_given_up = true;
    received.get();
    throw;
  }
  outcome.received = received.get();
  return outcome;
}

FrameRowPlan plan_of(std::uint64_t message_bytes, std::uint32_t slots = 16, std::uint32_t batch = 4) {
  return {.message_bytes = message_bytes,
          .frame_bytes = MemoryPort::frame_bytes,
          .slots = slots,
          .batch = batch,
          .touches_payload = true};
}

TEST(FrameRows, EveryMessageOfEverySizeArrives) {
  for (const std::uint64_t bytes : {1U, 7U, 8U, 75U, 76U, 77U, 152U, 153U, 5000U}) {
    for (const std::uint32_t batch : {1U, 32U}) {
      const Outcome outcome = run(plan_of(bytes, 16, batch), 200, arrive);
      EXPECT_EQ(outcome.sent.messages, 200U) << bytes;
      EXPECT_EQ(outcome.received.messages, 200U) << bytes;
      EXPECT_EQ(outcome.received.frames_lost, 0U) << bytes;
      EXPECT_GE(outcome.received.last_ns, outcome.received.begin_ns);
    }
  }
}

TEST(FrameRows, LatencyIsOfOneMessageAtATime) {
  FrameRowPlan plan = plan_of(200);
  plan.is_latency = true;
  const Outcome outcome = run(plan, 50, arrive);
  EXPECT_EQ(outcome.sent.round_trip_halves.count(), 50U);
  EXPECT_EQ(outcome.received.latency.count(), 50U);
}

TEST(FrameRows, NoMoreFramesAreOnTheirWayThanTheSlotsAllow) {
  constexpr std::uint64_t slots = 8;
  std::atomic<std::uint64_t> credited = 0;
  std::atomic<std::uint64_t> most = 0;
  const auto go = [&](Wire& wire, Frame frame, std::uint64_t) {
    if (frame.front() == data_kind) {
      most = std::max(most.load(), number_of(frame) + 1 - credited);
    }
    wire.put(std::move(frame));
  };
  // Counted before the sender can read it, which so never has more frames on their way than are counted here.
  const auto credit = [&](Wire& wire, Frame frame, std::uint64_t) {
    credited = std::max(credited.load(), number_of(frame));
    wire.put(std::move(frame));
  };
  run(plan_of(64, slots, 1), 500, go, credit);
  EXPECT_LE(most, slots);
  EXPECT_GT(most, 0U);
}

TEST(FrameRows, FramesThatAreLostAreCountedAndTheirMessagesAreNot) {
  const auto lose = [](Wire& wire, Frame frame, std::uint64_t number) {
    if (number % 10 != 3) {
      wire.put(std::move(frame));
    }
  };
  const Outcome outcome = run(plan_of(152), 100, lose);  // two frames each
  EXPECT_EQ(outcome.sent.messages, 100U);
  EXPECT_GE(outcome.received.frames_lost, 20U);
  EXPECT_LE(outcome.received.messages, 100U - outcome.received.frames_lost / 2);
  EXPECT_GE(outcome.received.messages, 100U - outcome.received.frames_lost);
}

TEST(FrameRows, LostCreditsAreAskedForAgain) {
  const auto lose = [](Wire& wire, Frame frame, std::uint64_t number) {
    if (number % 3 == 0) {
      wire.put(std::move(frame));
    }
  };
  const Outcome outcome = run(plan_of(64, 2, 1), 9, arrive, lose);
  EXPECT_EQ(outcome.received.messages, 9U);
  EXPECT_EQ(outcome.received.frames_lost, 0U);
}

TEST(FrameRows, AnEndWhoseAnswerIsLostIsAnEnd) {
  const auto only_credits = [](Wire& wire, Frame frame, std::uint64_t) {
    if (frame.front() != end_kind) {
      wire.put(std::move(frame));
    }
  };
  EXPECT_EQ(run(plan_of(64), 20, arrive, only_credits).received.messages, 20U);
}

TEST(FrameRows, FramesMayOvertakeEachOther) {
  const auto overtake = [](Wire& wire, Frame frame, std::uint64_t number) {
    number % 3 == 1 ? wire.overtake(std::move(frame)) : wire.put(std::move(frame));
  };
  const Outcome outcome = run(plan_of(152), 300, overtake);
  EXPECT_EQ(outcome.received.messages, 300U);
  EXPECT_EQ(outcome.received.frames_lost, 0U);
}

TEST(FrameRows, AFrameThatComesTwiceCountsOnce) {
  const auto twice = [](Wire& wire, const Frame& frame, std::uint64_t) {
    wire.put(frame);
    wire.put(frame);
  };
  const Outcome outcome = run(plan_of(152), 100, twice);
  EXPECT_EQ(outcome.received.messages, 100U);
  EXPECT_EQ(outcome.received.frames_lost, 0U);
}

TEST(FrameRows, NothingIsSentBeforeTheReceiverAnswers) {
  std::atomic<int> questions = 0;
  const auto late = [&](Wire& wire, Frame frame, std::uint64_t number) {
    if (number < 3) {
      EXPECT_NE(frame.front(), data_kind) << number;
      ++questions;
    } else {
      wire.put(std::move(frame));
    }
  };
  const Outcome outcome = run(plan_of(64), 20, late);
  EXPECT_EQ(questions, 3);
  EXPECT_EQ(outcome.received.messages, 20U);
  EXPECT_EQ(outcome.received.frames_lost, 0U);
}

TEST(FrameRows, ALostFrameMakesNoRoundTrip) {
  FrameRowPlan plan = plan_of(64);
  plan.is_latency = true;
  const auto lose = [](Wire& wire, Frame frame, std::uint64_t number) {
    if (number != 5) {
      wire.put(std::move(frame));
    }
  };
  const Outcome outcome = run(plan, 20, lose);
  EXPECT_EQ(outcome.sent.messages, 20U);
  EXPECT_EQ(outcome.received.frames_lost, 1U);
  EXPECT_EQ(outcome.sent.round_trip_halves.count(), 19U);
}

TEST(FrameRows, AChangedByteIsNoticed) {
  for (const std::size_t at : {MemoryPort::frame_bytes - 1, std::size_t{24}}) {
    const auto change = [&](Wire& wire, Frame frame, std::uint64_t number) {
      if (number == 7) {
        frame.at(at) ^= std::byte{1};
      }
      wire.put(std::move(frame));
    };
    EXPECT_THROW(run(plan_of(760), 20, change), Error);
  }
}

TEST(FrameRows, FramesThatThePlanDoesNotAllowEndTheRow) {
  for (const std::size_t at : {std::size_t{0}, std::size_t{4}}) {  // the kind, and the size
    const auto change = [&](Wire& wire, Frame frame, std::uint64_t number) {
      if (number == 2) {
        frame.at(at) ^= std::byte{8};
      }
      wire.put(std::move(frame));
    };
    EXPECT_THROW(run(plan_of(64), 20, change), Error);
  }
  const auto shorten = [](Wire& wire, Frame frame, std::uint64_t number) {
    frame.resize(number == 2 ? frame.size() - 1 : frame.size());
    wire.put(std::move(frame));
  };
  EXPECT_THROW(run(plan_of(64), 20, shorten), Error);
}

}  // namespace
}  // namespace framewire
