#include "input/events.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/error.hpp"

namespace framewire {
namespace {

using nlohmann::json;

InputBatch one_of_each() {
  return {.viewer = "0123456789abcdef",
          .epoch = 7,
          .events = {
              {1, FocusInput{true}},
              {2, SizeInput{.width = 1920, .height = 1080}},
              {3, KeyInput{.usage = 4, .keysym = 0x61, .is_pressed = true, .modifiers = input_shift | input_num_lock}},
              {4, KeyInput{.usage = 4, .keysym = 0x61, .is_pressed = true, .is_repeat = true}},
              {5, TextInput{"Ä \u200f€"}},
              {6, PointerInput{.x = -1.5, .y = 2160, .dx = 0.25, .dy = -3}},
              {7, PointerInput{.dx = 1, .dy = 1, .is_locked = true}},
              {8, ButtonInput{.button = InputButton::forward, .is_pressed = true, .x = 1, .y = 2, .modifiers = 4}},
              {9, WheelInput{.dx = 0.5, .dy = -1, .x = 3, .y = 4, .modifiers = input_super}},
              {10, GamepadInput{.number = 15, .axes = {-1, 1, 0.5F, 0, -1, 1}, .buttons = 0x7fff}},
              {11, GamepadInput{.number = 15, .is_connected = false}},
          }};
}

std::string refusal(const json& message) {
  try {
    static_cast<void>(read_input(message));
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), ExitStatus::failed);
    return error.what();
  }
  return "";
}

TEST(InputEvents, ComeBackAsTheyWent) {
  const InputBatch batch = one_of_each();
  EXPECT_EQ(read_input(json::parse(to_json(batch).dump())), batch);
  EXPECT_EQ(read_input(to_json(InputBatch{.viewer = batch.viewer, .epoch = 0, .events = {}})).events.size(), 0U);
}

TEST(InputEvents, OfANewerViewerArePassedOver) {
  json message = to_json(one_of_each());
  message["events"][0]["more"] = 1;
  message["events"].push_back(json{{"type", "pen"}, {"pressure", 0.5}});
  message["mood"] = "good";
  EXPECT_EQ(read_input(message), one_of_each());
}

TEST(InputEvents, OfAnotherVersionAreRefused) {
  json message = to_json(one_of_each());
  message["version"] = 2;
  EXPECT_NE(refusal(message).find("another version"), std::string::npos);
}

struct WrongField {
  const char* type;
  const char* field;
  json value;
};

/// Each field of each type, with values that it does not take.
TEST(InputEvents, EveryValueIsChecked) {
  const std::vector<WrongField> wrongs = {
      {"key", "usage", 0x10000},     {"key", "usage", -1},
      {"key", "usage", 4.0},         {"key", "keysym", 0x20000000},
      {"key", "pressed", 1},         {"key", "repeat", "no"},
      {"key", "modifiers", 64},      {"key", "time_ns", -1},
      {"key", "time_ns", INT64_MAX}, {"text", "text", std::string(65, 'a')},
      {"text", "text", "a\n"},       {"text", "text", "\x7f"},
      {"text", "text", "\u009b"},    {"text", "text", "\xff"},
      {"text", "text", 7},           {"pointer", "x", NAN},
      {"pointer", "y", 1'000'001},   {"pointer", "dx", -INFINITY},
      {"pointer", "dy", "1"},        {"pointer", "locked", nullptr},
      {"button", "button", "thumb"}, {"button", "button", 0},
      {"button", "x", -1'000'001},   {"button", "modifiers", 255},
      {"wheel", "dx", true},         {"wheel", "dy", 1e300},
      {"gamepad", "number", 16},     {"gamepad", "connected", 0},
      {"gamepad", "axes", {0, 0}},   {"gamepad", "axes", {0, 0, 0, 0, 0, 1.5}},
      {"gamepad", "axes", "none"},   {"gamepad", "axes", {0, 0, 0, 0, 0, "0"}},
      {"gamepad", "buttons", 32768}, {"size", "width", 65537},
      {"size", "height", -1},        {"focus", "focused", "yes"},
  };
  for (const WrongField& wrong : wrongs) {
    json message = to_json(one_of_each());
    for (json& event : message["events"]) {
      if (event["type"] == wrong.type) {
        event[wrong.field] = wrong.value;
      }
    }
    const std::string why = refusal(message);
    EXPECT_NE(why.find(wrong.field), std::string::npos) << wrong.type << ' ' << wrong.field << ": " << why;
    EXPECT_NE(why.find(wrong.type), std::string::npos) << why;
  }
}

TEST(InputEvents, EveryFieldIsNeeded) {
  const json whole = to_json(one_of_each());
  for (std::size_t i = 0; i < whole["events"].size(); ++i) {
    for (const auto& [field, value] : whole["events"][i].items()) {
      json message = whole;
      message["events"][i].erase(field);
      EXPECT_NE(refusal(message).find(field), std::string::npos) << whole["events"][i] << " without " << field;
    }
  }
  for (const char* const field : {"version", "viewer", "epoch", "events"}) {
    json message = whole;
    message.erase(field);
    EXPECT_NE(refusal(message).find(field), std::string::npos) << field;
  }
}

TEST(InputEvents, ABatchIsBounded) {
  InputBatch batch = one_of_each();
  batch.events.assign(max_input_events, {1, TextInput{"a"}});
  EXPECT_EQ(refusal(to_json(batch)), "");
  batch.events.push_back(batch.events.front());
  EXPECT_NE(refusal(to_json(batch)).find("events"), std::string::npos);
  for (const char* const viewer :
       {"", "0123456789ABCDEF", "0123456789abcde", "0123456789abcdef0", "0123456789abcde\n"}) {
    EXPECT_NE(refusal(to_json(InputBatch{.viewer = viewer, .epoch = 0, .events = {}})).find("viewer"),
              std::string::npos)
        << viewer;
  }
  for (const json& message : {json(), json("text"), json::array({1}), json{{"version", 1}}}) {
    EXPECT_NE(refusal(message), "") << message;
  }
  json message = to_json(one_of_each());
  message["events"].push_back("event");
  EXPECT_NE(refusal(message), "");
}

TEST(InputEvents, ALineSaysAllOfOneEvent) {
  const InputBatch batch = one_of_each();
  const std::string line = input_line(batch, batch.events[2], "left");
  EXPECT_EQ(line.find('\n'), std::string::npos);
  const json read = json::parse(line);
  EXPECT_EQ(read, (json{{"type", "key"},
                        {"usage", 4},
                        {"keysym", 0x61},
                        {"pressed", true},
                        {"repeat", false},
                        {"modifiers", 34},
                        {"time_ns", 3},
                        {"version", 1},
                        {"viewer", "0123456789abcdef"},
                        {"epoch", 7},
                        {"stream", "left"}}));
  EXPECT_FALSE(json::parse(input_line(batch, batch.events[0])).contains("stream"));
  EXPECT_FALSE(json::parse(input_line(batch, batch.events[0])).contains("queued_ns")) << "it was in no queue";
  InputBatch queued = batch;
  queued.events[0].queued_ns = 12;
  EXPECT_EQ(json::parse(input_line(queued, queued.events[0])).at("queued_ns"), 12);
  EXPECT_EQ(to_json(queued), to_json(batch)) << "it is the sender's own";
}

}  // namespace
}  // namespace framewire
