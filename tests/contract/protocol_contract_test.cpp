// The contract of the control messages, as docs/wire.md has it: each message comes back as it went; a field that may be
// absent may be absent; values at each limit are taken, and those just beyond it, of another type, or missing are
// refused by an error that names the field. Unknown fields are ignored. Add new messages here.
#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "transport/control/message_channel.hpp"
#include "transport/session/input_messages.hpp"
#include "transport/session/messages.hpp"
#include "transport/session/render_messages.hpp"

namespace framewire::test {
namespace {

using nlohmann::json;

struct Field {
  std::string path;  // as nlohmann::json_pointer; the last part names the field
  bool is_required = true;
  std::vector<json> fine{};
  std::vector<json> wrong{};
  bool ignores_nonsense = false;  // a value that makes no sense counts as absent
  bool is_always_said = false;    // though it may be absent
};

struct Message {
  std::string name;
  json good;                                        // with every field
  std::function<json(const json&)> read_and_write;  // reads it, and writes what was read
  std::vector<Field> fields;

  /// In the lists of tests, in place of its bytes.
  friend std::ostream& operator<<(std::ostream& out, const Message& message) { return out << message.name; }
};

constexpr std::uint64_t most_u8 = UINT8_MAX;
constexpr std::uint64_t most_u32 = UINT32_MAX;

std::string text_of(std::size_t bytes) {
  std::string text(bytes, 'x');
  return text;
}

Field text(const std::string& path, bool is_required = true) {
  return {path, is_required, {"", "word", text_of(4096)}, {text_of(4097)}};
}

Field number(const std::string& path, std::uint64_t least, std::uint64_t most) {
  Field field{path, true, {least, most}, {-1, 1.5, most + 1}};
  if (most == UINT64_MAX) {
    field.wrong.pop_back();
  }
  if (least > 0) {
    field.wrong.emplace_back(least - 1);
  }
  return field;
}

Field time(const std::string& path) {
  return {path, true, {INT64_MIN, -1, 0, INT64_MAX}, {1.5, std::uint64_t{INT64_MAX} + 1}};
}

Field flag(const std::string& path) {
  return {path, false, {false}, {0, 1, "true"}};
}

Field said(Field field) {
  field.is_always_said = true;
  return field;
}

Field memory(const std::string& path) {
  return {path, false, {"host", "cuda", "a", "abcdefghijklmno0"}, {"", "Host", "a b", "abcdefghijklmno01"}};
}

Field fraction(const std::string& path) {
  return {path,
          true,
          {{0, 1}, {most_u32, most_u32}},
          {json::array({1}), json::array({1, 2, 3}), json::array({1, 0}), json::array({-1, 1}), json::array({1, -1}),
           json::array({most_u32 + 1, 1}), json::array({1, most_u32 + 1}), json::array({"1", 1}), json::array({1, "1"}),
           json::array()}};
}

Field name_of_many(const std::string& path) {
  return {path, false, {"unspecified", "of a newer release"}, {text_of(4097)}};
}

/// Through what a reader makes of it, and back.
template <typename Read>
std::function<json(const json&)> through(const Read& read) {
  return [read](const json& message) { return to_json(read(message)); };
}

Message hello() {
  return {"hello",
          {{"type", "hello"}, {"role", "viewer"}, {"program", "some program 1.0"}, {"versions", {1, 7}}},
          through(read_hello),
          {text("/role"),
           text("/program"),
           {"/versions",
            true,
            {json::array(), json(std::vector<int>(64, 1)), json::array({most_u32})},
            {json(std::vector<int>(65, 1)), json::array({"1"}), json::array({-1}), json::array({most_u32 + 1})}}}};
}

Message offer() {
  const json stream{{"type", "stream"},
                    {"name", "bars"},
                    {"number", 3},
                    {"delivery", "every"},
                    {"description", "a format"},
                    {"allows_pull", true},
                    {"source_file", "1f"},
                    {"memory", "cuda"},
                    {"memory_device", std::string(32, 'a')}};
  return {"offer",
          {{"type", "offer"},
           {"session", text_of(32)},
           {"streams", json::array({stream})},
           {"links", json::array({"local2", "rdma", "tcp"})},
           {"why_no_rdma", "it has no device"},
           {"encrypt", true}},
          through(read_offer),
          {text("/session"),
           {"/streams",
            true,
            {json::array(), json(std::vector<json>(64, stream))},
            {json(std::vector<json>(65, stream)), json::array({1}), json::array({json::array()})}},
           text("/streams/0/name"),
           number("/streams/0/number", 0, most_u32),
           {"/streams/0/delivery", true, {"latest"}, {"sometimes", ""}},
           said(text("/streams/0/description", false)),
           said(flag("/streams/0/allows_pull")),
           text("/streams/0/source_file", false),
           memory("/streams/0/memory"),
           {"/streams/0/memory_device",
            false,
            {std::string(32, '0'), std::string(32, 'f')},
            {std::string(31, '0'), std::string(33, '0'), std::string(32, 'g'), "", 5}},
           {"/links",
            true,
            {json::array(), json(std::vector<std::string>(16, "tcp")), json::array({"of a newer release", 5})},
            {json(std::vector<std::string>(17, "tcp"))}},
           text("/why_no_rdma", false),
           flag("/encrypt")}};
}

Message choose() {
  return {"choose",
          {{"type", "choose"},
           {"stream", 3},
           {"link", "rdma"},
           {"delivery", "latest"},
           {"token", text_of(64)},
           {"rdma_port", 5290},
           {"rdma_addresses", json::array({"10.9.0.1"})},
           {"pulls", true},
           {"encrypt", true},
           {"memory", json::array({"cuda", "vulkan"})},
           {"why", "it brought no frame"}},
          through(read_choose),
          {number("/stream", 0, most_u32),
           {"/link", true, {"tcp"}, {"", "of a newer release", "local"}},
           {"/delivery", true, {"every"}, {"sometimes", ""}},
           text("/token", false),
           flag("/pulls"),
           flag("/encrypt"),
           {"/memory",
            false,
            {json::array(), json(std::vector<std::string>(8, "cuda"))},
            {json(std::vector<std::string>(9, "cuda")), json::array({1}), json::array({"Cuda"})}},
           text("/why", false)}};
}

Message connect() {
  return {
      "connect",
      {{"type", "connect"}, {"token", text_of(64)}, {"rdma_port", 5290}, {"rdma_addresses", json::array({"10.9.0.1"})}},
      [](const json& message) { return to_json(read_connect(message, LinkKind::rdma)); },
      {text("/token", false)}};
}

Message epoch() {
  const json format{{"type", "format"},
                    {"pixel_format", "yuv420p"},
                    {"width", 640},
                    {"height", 480},
                    {"size_bytes", 460'800},
                    {"colour_matrix", 1},
                    {"colour_range", 1},
                    {"colour_transfer", 1},
                    {"colour_primaries", 1},
                    {"sample_aspect", {4, 3}},
                    {"frame_rate", {60'000, 1001}},
                    {"alpha_mode", "straight"},
                    {"chroma_location", "topleft"},
                    {"field_order", "bb"}};
  return {"epoch",
          {{"type", "epoch"},
           {"number", 5},
           {"format", format},
           {"slot_bytes", 460'800},
           {"ring_slots", 3},
           {"pool", {{"key", 7}}},
           {"memory", "cuda"}},
          through(read_epoch),
          {number("/number", 0, most_u32),
           number("/slot_bytes", 1, std::uint64_t{1} << 32),
           number("/ring_slots", 1, 1024),
           {"/pool", false, {json::object()}, {1, "text", json::array()}},
           memory("/memory"),
           {"/format", true, {}, {1, "text", json::array()}},
           {"/format/pixel_format", true, {"rgba"}, {"", "of a newer release"}},
           number("/format/width", 1, 32'768),
           number("/format/height", 1, 32'768),
           number("/format/colour_matrix", 0, most_u8),
           number("/format/colour_range", 0, most_u8),
           number("/format/colour_transfer", 0, most_u8),
           number("/format/colour_primaries", 0, most_u8),
           fraction("/format/sample_aspect"),
           fraction("/format/frame_rate"),
           name_of_many("/format/alpha_mode"),
           name_of_many("/format/chroma_location"),
           name_of_many("/format/field_order")}};
}

Message ready() {
  return {"ready",
          {{"type", "ready"},
           {"number", 5},
           {"ring_slots", 3},
           {"access", {{"key", 7}}},
           {"memory", "cuda"},
           {"slices", true}},
          through(read_ready),
          {number("/number", 0, most_u32),
           number("/ring_slots", 0, most_u32),
           {"/access", false, {json::object()}, {1, "text", json::array()}},
           memory("/memory"),
           {"/slices", false, {false}, {}, true}}};
}

Message clock() {
  return {
      "clock",
      {{"type", "clock"}, {"viewer_ns", 5}, {"sender_ns", 7}},
      through(read_clock),
      {time("/viewer_ns"), {"/sender_ns", true, {0, (std::int64_t{1} << 62) - 1}, {-1, std::int64_t{1} << 62, 1.5}}}};
}

Message cadence() {
  return {"cadence",
          {{"type", "cadence"}, {"period_ns", 16'666'667}, {"shift_ns", -5}},
          through(read_cadence),
          {time("/period_ns"), time("/shift_ns")}};
}

Message bye() {
  return {"bye",
          {{"type", "bye"},
           {"reason", "done"},
           {"frames_sent", 5},
           {"frames_received", 4},
           {"statistics", {{"frames_shown", 3}}}},
          through(read_bye),
          {text("/reason"),
           number("/frames_sent", 0, UINT64_MAX),
           number("/frames_received", 0, UINT64_MAX),
           {"/statistics", false, {json::object()}, {}, true}}};
}

Message render_request() {
  return {"render",
          {{"type", "render"},
           {"id", 7},
           {"camera", {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 4.5}},
           {"field_of_view_rad", 0.5},
           {"time_ns", -3}},
          [](const json& message) { return render(read_render_request(message)); },
          {number("/id", 1, UINT64_MAX),
           {"/camera",
            true,
            {json(std::vector<double>(12, 1e9)), json(std::vector<double>(12, -1e9))},
            {json(std::vector<double>(12, 1.001e9)), json(std::vector<double>(11, 1)), json(std::vector<double>(13, 1)),
             json(std::vector<std::string>(12, "1"))}},
           {"/field_of_view_rad", true, {0.001, 3.09}, {0, -0.5, 3.2, "1"}},
           time("/time_ns")}};
}

Message no_render_message() {
  return {"no_render",
          {{"type", "no_render"}, {"id", 7}, {"reason", "owned"}, {"text", "another viewer has it"}},
          [](const json& message) { return no_render(read_no_render(message)); },
          {number("/id", 0, UINT64_MAX), {"/text", true, {"word", text_of(1000)}, {text_of(4097)}}}};
}

Message revoke() {
  return {"revoke",
          {{"type", "revoke"}, {"id", 7}},
          [](const json& message) { return revoke_render(read_revoke(message)); },
          {number("/id", 0, UINT64_MAX)}};
}

Message program() {
  return {"message",
          {{"type", "message"}, {"body", {{"a", 1}}}},
          [](const json& message) { return program_message(read_program_message(message)); },
          {{"/body",
            true,
            {json::object(), {{"a", text_of(max_message_body_bytes - 8)}}},
            {1, "text", json::array(), {{"a", text_of(max_message_body_bytes - 7)}}}}}};
}

/// no_link, no_cadence, no_input and no_message have a reason alone.
Message reason(const std::string& name, json (*write)(const std::string&), std::string (*read)(const json&)) {
  return {name,
          {{"type", name}, {"text", "because"}},
          [write, read](const json& message) { return write(read(message)); },
          {{"/text", true, {"word", text_of(1000)}, {text_of(4097)}}}};
}

std::vector<Message> messages() {
  return {hello(),
          offer(),
          choose(),
          connect(),
          epoch(),
          ready(),
          clock(),
          cadence(),
          bye(),
          render_request(),
          no_render_message(),
          revoke(),
          program(),
          reason("no_link", no_link, read_no_link),
          reason("no_cadence", no_cadence, read_no_cadence),
          reason("no_input", no_input, read_no_input),
          reason("no_message", no_message, read_no_message)};
}

class Protocol : public testing::TestWithParam<Message> {
 protected:
  /// As it arrives: numbers without a sign are of a type of their own.
  static json read_and_write(const json& message) { return GetParam().read_and_write(json::parse(message.dump())); }
  static json with(const std::string& path, const json& value) {
    json message = GetParam().good;
    message[json::json_pointer(path)] = value;
    return message;
  }
  static json without(const std::string& path) {
    json message = GetParam().good;
    const json::json_pointer pointer(path);
    message[pointer.parent_pointer()].erase(pointer.back());
    return message;
  }
  static void expect_taken(const json& message, const std::string& what) {
    try {
      read_and_write(message);
    } catch (const Error& error) {
      ADD_FAILURE() << what << ": " << error.what();
    }
  }
  static void expect_refused(const json& message, const std::string& what) {
    try {
      read_and_write(message);
      ADD_FAILURE() << what << " is taken";
    } catch (const Error& error) {
      EXPECT_EQ(error.status(), ExitStatus::failed) << what;
    }
  }
};

TEST_P(Protocol, ComesBackAsItWent) {
  EXPECT_EQ(read_and_write(GetParam().good), GetParam().good);
}

TEST_P(Protocol, MayHaveFieldsOfANewerRelease) {
  json message = GetParam().good;
  message["of_a_newer_release"] = {1, {{"a", "b"}}};
  EXPECT_EQ(read_and_write(message), GetParam().good);
}

TEST_P(Protocol, HasTheFieldsThatItMustHave) {
  for (const Field& field : GetParam().fields) {
    if (field.is_required) {
      expect_refused(without(field.path), "without " + field.path);
    } else {
      expect_taken(without(field.path), "without " + field.path);
      EXPECT_TRUE(field.is_always_said || read_and_write(without(field.path)) == without(field.path))
          << field.path << ": what is not said stays so";
    }
  }
}

TEST_P(Protocol, TakesWhatIsWithinItsLimitsAndNothingElse) {
  for (const Field& field : GetParam().fields) {
    for (const json& value : field.fine) {
      expect_taken(with(field.path, value), field.path + " " + value.dump().substr(0, 50));
    }
    for (const json& value : field.wrong) {
      expect_refused(with(field.path, value), field.path + " " + value.dump().substr(0, 50));
    }
  }
}

TEST_P(Protocol, TakesNoValuesOfOtherTypes) {
  const std::vector<json> kinds{nullptr, true, 1, 1.5, "text", json::array(), json::object()};
  for (const Field& field : GetParam().fields) {
    const json& good = GetParam().good[json::json_pointer(field.path)];
    for (const json& value : kinds) {
      const bool is_same_kind = value.type() == good.type() || (value.is_number() && good.is_number());
      if (field.ignores_nonsense) {
        expect_taken(with(field.path, value), field.path + " " + value.dump());
      } else if (!is_same_kind) {
        expect_refused(with(field.path, value), field.path + " " + value.dump());
      }
    }
  }
}

TEST_P(Protocol, IsNoOtherMessage) {
  if (GetParam().name == "render") {
    return;  // its reader is for two messages, and who calls it has looked at the type
  }
  json message = GetParam().good;
  message["type"] = "another";
  expect_refused(message, "another message");
  try {
    read_and_write(json{{"type", "refused"}, {"text", "no"}});
    ADD_FAILURE() << "a refusal is taken";
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), ExitStatus::refused) << error.what();
  }
}

INSTANTIATE_TEST_SUITE_P(Messages, Protocol, testing::ValuesIn(messages()),
                         [](const auto& message) { return message.param.name; });

// ---- Bodies of programs' messages, before they are sent ----

TEST(ProtocolOfPrograms, HasLimitsOfSizeAndDepth) {
  const auto body_of = [](std::size_t bytes) { return json{{"a", text_of(bytes - 8)}}.dump(); };
  EXPECT_TRUE(checked_body(body_of(max_message_body_bytes)));
  EXPECT_FALSE(checked_body(body_of(max_message_body_bytes + 1)));
  const auto nested = [](int levels) {
    std::string text = "{}";
    for (int i = 1; i < levels; ++i) {
      text = R"({"a":)" + text + "}";
    }
    return text;
  };
  EXPECT_TRUE(checked_body(nested(message_depth_limit - 1)));
  EXPECT_FALSE(checked_body(nested(message_depth_limit)));
  EXPECT_FALSE(checked_body("[]"));
  EXPECT_FALSE(checked_body("{"));
  EXPECT_FALSE(checked_body(std::string("{}\0", 3)));
}

}  // namespace
}  // namespace framewire::test
