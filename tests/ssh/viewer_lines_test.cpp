// What a sender hears of its viewer, and when it ends because of that. Time is what the tests say.
#include "ssh/viewer_lines.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/pipe.hpp"

namespace framewire {
namespace {

using Json = nlohmann::json;

constexpr std::int64_t start_ns = 1000 * ns_per_s;

class ViewerLinesTest : public testing::Test {
 protected:
  void say(const std::string& text) const {
    ASSERT_EQ(::write(viewer_.out(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }
  void give_plan() {
    viewer_.send(to_json(SenderPlan{.words = {"pattern"}}));
    ASSERT_TRUE(lines_.follow(start_ns));
    ASSERT_TRUE(lines_.take_plan());
  }
  /// The types of the messages that the viewer has heard since the last call.
  std::string heard() {
    std::string types;
    viewer_.receive();
    for (Json message; viewer_.next(message);) {
      types += message["type"].get<std::string>() + " ";
    }
    return types;
  }
  std::string error_at(std::int64_t now_ns, ExitStatus status) {
    try {
      while (lines_.next_ns() <= now_ns) {
        lines_.follow(now_ns);
      }
    } catch (const Error& error) {
      EXPECT_EQ(error.status(), status) << error.what();
      return error.what();
    }
    return {};
  }

  PipeEnds orders_ = make_pipe();
  PipeEnds answers_ = make_pipe();
  JsonLines viewer_{std::move(answers_.reads), std::move(orders_.writes), true};
  ViewerLines lines_{JsonLines(std::move(orders_.reads), std::move(answers_.writes)), "", start_ns};
};

TEST_F(ViewerLinesTest, SaysHelloAndTakesOnePlan) {
  EXPECT_TRUE(lines_.follow(start_ns));
  EXPECT_FALSE(lines_.take_plan());
  EXPECT_EQ(heard(), "hello ");
  give_plan();
  EXPECT_FALSE(lines_.take_plan());
  viewer_.send(to_json(SenderPlan{.words = {"another"}}));
  EXPECT_TRUE(lines_.follow(start_ns));
  EXPECT_FALSE(lines_.take_plan());
  lines_.announce(5290);
  EXPECT_EQ(heard(), "listening ");
  viewer_.close_out();
  EXPECT_FALSE(lines_.follow(start_ns));
}

TEST_F(ViewerLinesTest, SaysThatItIsAlive) {
  give_plan();
  heard();
  for (const std::int64_t ms : {0, 2999, 3000, 3001, 5999, 6000}) {
    EXPECT_TRUE(lines_.follow(start_ns + ms * ns_per_ms));
  }
  EXPECT_EQ(heard(), "alive alive ");
}

/// As behind a jump host that has lost the viewer's host: nothing comes, and nothing ends.
TEST_F(ViewerLinesTest, EndsWhenTheViewerHasBeenSilentForTwentySeconds) {
  give_plan();
  for (int s = 1; s <= 60; ++s) {
    viewer_.send({{"type", "alive"}});
    ASSERT_TRUE(lines_.follow(start_ns + s * ns_per_s));
  }
  const std::int64_t heard_ns = start_ns + 60 * ns_per_s;
  EXPECT_EQ(error_at(heard_ns + 20 * ns_per_s - 1, ExitStatus::lost_peer), "");
  EXPECT_EQ(lines_.next_ns(), heard_ns + 20 * ns_per_s) << "it has to be looked at then";
  EXPECT_EQ(error_at(heard_ns + 20 * ns_per_s, ExitStatus::lost_peer),
            "the viewer has said nothing for 20 s, so this sender ends; was the viewer stopped, or the network lost?");
}

/// Also if a startup file of the shell has read the plan.
TEST_F(ViewerLinesTest, WaitsForItsPlanForTwentySeconds) {
  EXPECT_EQ(error_at(start_ns + 20 * ns_per_s - 1, ExitStatus::lost_peer), "");
  EXPECT_NE(error_at(start_ns + 20 * ns_per_s, ExitStatus::lost_peer), "");
}

/// A sender that was stopped itself, or did not get its turn, finds that the viewer has spoken.
TEST_F(ViewerLinesTest, ReadsBeforeItJudges) {
  give_plan();
  viewer_.send({{"type", "alive"}});
  EXPECT_TRUE(lines_.follow(start_ns + 3600 * ns_per_s));
  EXPECT_EQ(error_at(start_ns + 3620 * ns_per_s - 1, ExitStatus::lost_peer), "");
  EXPECT_NE(error_at(start_ns + 3620 * ns_per_s, ExitStatus::lost_peer), "");
}

/// Of a viewer that says very much it handles a part, and asks to be called again at once.
TEST_F(ViewerLinesTest, HandlesAFewMessagesAtATime) {
  give_plan();
  std::string many;
  for (int i = 0; i < 2 * most_messages_at_once; ++i) {
    many += "{\"type\":\"more\"}\n";
  }
  say(many);
  for (const std::int64_t next_ns : {start_ns, start_ns, start_ns + sign_of_life_ns}) {
    EXPECT_TRUE(lines_.follow(start_ns));
    EXPECT_EQ(lines_.next_ns(), next_ns);
  }
}

TEST_F(ViewerLinesTest, RefusesWhatItDoesNotUnderstand) {
  viewer_.send({{"type", "plan"}, {"protocol", 1U}});
  EXPECT_EQ(error_at(start_ns + ns_per_s * 3, ExitStatus::failed),
            "the viewer is of another version of framewire; install the same one on both hosts");
}

TEST_F(ViewerLinesTest, RefusesNoiseBehindThePlan) {
  give_plan();
  say("noise\n");
  EXPECT_NE(error_at(start_ns + ns_per_s * 3, ExitStatus::failed).find("did not arrive here as it was said"),
            std::string::npos);
}

}  // namespace
}  // namespace framewire
