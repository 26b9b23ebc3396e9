#include "transport/source_inbox.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/file_descriptor.hpp"

namespace framewire {
namespace {

InputBatch input_of(std::vector<InputEvent> events) {
  return {.viewer = "0123456789abcdef", .epoch = 1, .events = std::move(events)};
}

/// Two sessions by their addresses.
class SourceInboxTest : public testing::Test {
 protected:
  SourceInboxTest() {
    inbox_.join(&one_, one_);
    inbox_.join(&other_, other_);
  }

  const SharedEvent one_ = make_shared_event();
  const SharedEvent other_ = make_shared_event();
  SourceInbox inbox_;
};

TEST_F(SourceInboxTest, RefusesInputThatNobodyTakes) {
  EXPECT_NE(inbox_.give_input(&one_, input_of({})).find("takes no input"), std::string::npos);
  inbox_.set_closing_reason("the reader has gone");
  EXPECT_EQ(inbox_.input_refusal(&one_), "the reader has gone");
  auto reader = inbox_.open_input();
  EXPECT_EQ(inbox_.give_input(&one_, input_of({{1, TextInput{"a"}}})), "");
  reader.reset();
  EXPECT_EQ(inbox_.give_input(&one_, input_of({})), "the reader has gone");
  EXPECT_EQ(inbox_.counts().events_received, 1U);
}

TEST_F(SourceInboxTest, EveryReaderGetsAllEvents) {
  int wakes = 0;
  const auto first = inbox_.open_input([&] { ++wakes; });
  const auto second = inbox_.open_input();
  const InputBatch batch = input_of({{1, KeyInput{.usage = 4, .is_pressed = true}}, {2, TextInput{"a"}}});
  const std::int64_t before_ns = monotonic_ns();
  EXPECT_EQ(inbox_.give_input(&one_, batch), "");
  EXPECT_EQ(wakes, 1);
  const auto taken = first->take();
  EXPECT_EQ(taken, batch);
  for (const InputEvent& event : taken->events) {
    EXPECT_GE(event.queued_ns, before_ns);
    EXPECT_LE(event.queued_ns, monotonic_ns());
  }
  EXPECT_EQ(second->take(), batch);
  EXPECT_FALSE(first->take());
  EXPECT_EQ(inbox_.counts().events_received, 2U);
}

TEST_F(SourceInboxTest, TheFirstViewerHasTheInputUntilItLeavesAndEverythingIsReleased) {
  const auto reader = inbox_.open_input();
  EXPECT_EQ(inbox_.give_input(&one_, input_of({{1, FocusInput{true}}, {2, KeyInput{.usage = 4, .is_pressed = true}}})),
            "");
  EXPECT_NE(inbox_.give_input(&other_, input_of({{3, TextInput{"b"}}})).find("another viewer"), std::string::npos);
  inbox_.leave(&other_);
  inbox_.join(&other_, other_);
  clear_eventfd(other_->get());
  EXPECT_NE(inbox_.input_refusal(&other_), "") << "the owner has not left";
  inbox_.leave(&one_);
  EXPECT_TRUE(clear_eventfd(other_->get())) << "another viewer may have the input now";
  EXPECT_EQ(inbox_.input_refusal(&other_), "");
  EXPECT_EQ(inbox_.give_input(&other_, input_of({{3, TextInput{"b"}}})), "");
  EXPECT_EQ(reader->take(), input_of({{1, FocusInput{true}},
                                      {2, KeyInput{.usage = 4, .is_pressed = true}},
                                      {2, KeyInput{.usage = 4}},
                                      {2, FocusInput{false}},
                                      {3, TextInput{"b"}}}));
}

TEST_F(SourceInboxTest, CountsWhatAFullQueueDrops) {
  const auto slow = inbox_.open_input();
  const auto quick = inbox_.open_input();
  for (std::size_t i = 0; i < InputQueue::capacity + 10; ++i) {
    EXPECT_EQ(inbox_.give_input(&one_, input_of({{1, TextInput{"a"}}})), "");
    EXPECT_TRUE(quick->take());
  }
  EXPECT_EQ(inbox_.counts().events_received, InputQueue::capacity + 10);
  EXPECT_EQ(inbox_.counts().events_dropped, 10U);
}

TEST_F(SourceInboxTest, CountsStatesThatAFullQueueDropsWhenTheOwnerLeaves) {
  const auto reader = inbox_.open_input();
  for (std::size_t i = 0; i < InputQueue::capacity; ++i) {
    inbox_.give_input(&one_, input_of({{1, TextInput{"a"}}}));
  }
  inbox_.give_input(&one_, input_of({{1, SizeInput{1, 1}}}));
  EXPECT_EQ(inbox_.counts().events_dropped, 0U);
  inbox_.leave(&one_);
  EXPECT_EQ(inbox_.counts().events_dropped, 1U);
  EXPECT_EQ(reader->dropped(), 1U);
}

TEST_F(SourceInboxTest, SessionsAreWokenWhenTheProgramBeginsToTakeWhatItRefused) {
  EXPECT_NE(inbox_.give_message(&one_, "{}").find("without --messages"), std::string::npos);
  inbox_.set_message_refusal("nobody asks");
  EXPECT_EQ(inbox_.give_message(&one_, "{}"), "nobody asks");
  EXPECT_EQ(inbox_.message_refusal(), "nobody asks");
  EXPECT_EQ(inbox_.counts().messages_dropped, 2U);
  EXPECT_EQ(inbox_.counts().messages_received, 0U);
  clear_eventfd(one_->get());
  inbox_.take_messages([] {});
  EXPECT_TRUE(clear_eventfd(one_->get()));
  EXPECT_EQ(inbox_.message_refusal(), "");
  const auto reader = inbox_.open_input();
  EXPECT_TRUE(clear_eventfd(one_->get()));
}

TEST_F(SourceInboxTest, MessagesOfEachViewerWaitInOrderAndBounded) {
  int wakes = 0;
  inbox_.take_messages([&] { ++wakes; });
  for (std::size_t i = 0; i < max_waiting_messages + 10; ++i) {
    EXPECT_EQ(inbox_.give_message(&one_, std::to_string(i)), "");
  }
  EXPECT_EQ(inbox_.give_message(&other_, "a"), "");
  EXPECT_EQ(inbox_.give_message(&other_, "b"), "");
  EXPECT_EQ(inbox_.counts().messages_received, max_waiting_messages + 12);
  EXPECT_EQ(inbox_.counts().messages_dropped, 10U) << "of the viewer that sends so many";
  EXPECT_EQ(wakes, static_cast<int>(max_waiting_messages + 2));
  std::vector<std::string> of_one;
  std::vector<std::string> of_other;
  std::size_t taken = 0;
  while (const auto message = inbox_.take_message()) {
    (message->viewer == 1 ? of_one : of_other).push_back(message->body);
    EXPECT_TRUE(++taken != 4 || of_other.size() == 2) << "they take turns";
  }
  EXPECT_EQ(of_other, (std::vector<std::string>{"a", "b"}));
  ASSERT_EQ(of_one.size(), max_waiting_messages);
  EXPECT_EQ(of_one.front(), "0");
  EXPECT_EQ(of_one.back(), std::to_string(max_waiting_messages - 1));
}

/// As long as messages may be.
TEST_F(SourceInboxTest, LongMessagesThatWaitAreBoundedInBytes) {
  constexpr std::size_t bytes = std::size_t{64} * 1024;
  constexpr std::size_t fit = max_waiting_message_bytes / bytes;
  static_assert(fit < max_waiting_messages);
  const auto message = [](std::size_t number) { return std::string(bytes - 1, 'a') + static_cast<char>('A' + number); };
  inbox_.take_messages([] {});
  for (std::size_t i = 0; i < fit + 2; ++i) {
    EXPECT_EQ(inbox_.give_message(&one_, message(i)), "");
    inbox_.broadcast(message(i));
    EXPECT_EQ(*inbox_.next_outgoing(&one_), message(i));
  }
  EXPECT_EQ(inbox_.counts().messages_dropped, 4U) << "the newest of one viewer, the oldest for the other one";
  EXPECT_EQ(*inbox_.next_outgoing(&other_), message(2));
  inbox_.give_message(&other_, message(7));
  inbox_.leave(&one_);
  inbox_.leave(&other_);
  EXPECT_EQ(inbox_.counts().messages_dropped, 5U) << "what viewers have left behind is bounded, too";
  std::string last;
  std::size_t taken = 0;
  for (auto one = inbox_.take_message(); one; one = inbox_.take_message(), ++taken) {
    last = one->body;
  }
  EXPECT_EQ(taken, fit);
  EXPECT_EQ(last, message(fit - 1));
}

TEST_F(SourceInboxTest, MessagesOfViewersThatHaveLeftStillComeAndStayBounded) {
  inbox_.take_messages([] {});
  constexpr std::size_t most = max_waiting_messages;
  for (std::size_t visit = 0; visit < 3; ++visit) {
    for (std::size_t i = 0; i < most; ++i) {
      inbox_.give_message(&one_, "{}");
    }
    inbox_.leave(&one_);
    inbox_.join(&one_, one_);
  }
  EXPECT_EQ(inbox_.counts().messages_dropped, 2 * most);
  inbox_.give_message(&other_, "{}");
  inbox_.leave(&other_);
  EXPECT_EQ(inbox_.counts().messages_dropped, 2 * most + 1);
  std::size_t taken = 0;
  for (auto message = inbox_.take_message(); message; message = inbox_.take_message(), ++taken) {
    EXPECT_EQ(message->viewer, 1U);
  }
  EXPECT_EQ(taken, most);
}

TEST_F(SourceInboxTest, MessagesGoToAllViewersAndASlowOneLosesTheOldest) {
  for (std::size_t i = 0; i < max_waiting_messages + 3; ++i) {
    inbox_.broadcast(std::to_string(i));
    EXPECT_EQ(*inbox_.next_outgoing(&one_), std::to_string(i));
  }
  EXPECT_FALSE(inbox_.next_outgoing(&one_));
  EXPECT_TRUE(clear_eventfd(one_->get()));
  EXPECT_EQ(*inbox_.next_outgoing(&other_), "3");
  EXPECT_EQ(inbox_.counts().messages_dropped, 3U);
  inbox_.leave(&other_);
  EXPECT_FALSE(inbox_.next_outgoing(&other_));
}

}  // namespace
}  // namespace framewire
