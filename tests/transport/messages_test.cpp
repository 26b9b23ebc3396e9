#include "transport/session/messages.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "memory/host_block.hpp"
#include "transport/session/input_messages.hpp"
#include "transport/session/memory_choice.hpp"

namespace framewire {
namespace {

using nlohmann::json;

TEST(Messages, ComeBackAsTheyWent) {
  const StreamFormat format{packed_layout(PixelFormat::p010le, 3840, 2160),
                            {ColourMatrix::bt2020nc, ColourRange::limited, ColourTransfer::pq, ColourPrimaries::bt2020},
                            {4, 3},
                            {60000, 1001},
                            AlphaMode::straight,
                            ChromaLocation::topleft,
                            FieldOrder::bb};
  const EpochMessage epoch = read_epoch(to_json(EpochMessage{5, format, 24883200, 3}));
  EXPECT_EQ(epoch.number, 5U);
  EXPECT_EQ(epoch.format, format);
  EXPECT_EQ(epoch.slot_bytes, 24883200U);
  const OfferMessage offer =
      read_offer(to_json(OfferMessage{"00", {{"bars", 2, Delivery::every, "x"}}, {LinkKind::local, LinkKind::tcp}}));
  EXPECT_EQ(offer.streams.at(0).name, "bars");
  EXPECT_EQ(offer.streams.at(0).delivery, Delivery::every);
  EXPECT_EQ(offer.links.size(), 2U);
  EXPECT_EQ(offer.streams.at(0).source_file, "");
  EXPECT_EQ(read_offer(to_json(OfferMessage{"00", {{"bytes", 0, Delivery::every, "", false, "1f"}}, {}}))
                .streams.at(0)
                .source_file,
            "1f");
  const ChooseMessage choose = read_choose(to_json(ChooseMessage{2, LinkKind::local, Delivery::latest, "ab"}));
  EXPECT_EQ(choose.token, "ab");
  EXPECT_FALSE(offer.encrypt) << "not said is not the same as no";
  EXPECT_FALSE(choose.encrypt);
  for (const bool asks : {false, true}) {
    EXPECT_EQ(read_offer(to_json(OfferMessage{.session = "00", .streams = {}, .links = {}, .encrypt = asks})).encrypt,
              std::optional(asks));
  }
  EXPECT_TRUE(read_choose(to_json(ChooseMessage{.link = LinkKind::tcp, .token = {}, .encrypt = true})).encrypt);
  const ByeMessage bye = read_bye(to_json(ByeMessage{"end", 3, 4, R"({"a":1})"}));
  EXPECT_EQ(bye.frames_received, 4U);
  EXPECT_EQ(bye.statistics, R"({"a":1})");
}

TEST(Messages, TheLocalLinkOfAnEarlierReleaseIsPassedOver) {
  json offer = to_json(OfferMessage{.session = "00", .streams = {}, .links = {LinkKind::local, LinkKind::tcp}});
  EXPECT_EQ(offer["links"], (json{"local2", "tcp"})) << "which an earlier release passes over";
  EXPECT_EQ(read_offer(offer).links, (std::vector{LinkKind::local, LinkKind::tcp}));
  offer["links"] = {"local", "tcp"};
  EXPECT_EQ(read_offer(offer).links, std::vector{LinkKind::tcp});
}

TEST(Messages, ByteStreamsHaveNoPicture) {
  const StreamFormat format{.layout = bytes_layout(65536), .colour = {}};
  EXPECT_EQ(read_epoch(to_json(EpochMessage{1, format, 65536, 3})).format, format);
}

TEST(Messages, ThatDataBeEncryptedIsTrueOrFalse) {
  json offer = to_json(OfferMessage{.session = "00", .streams = {}, .links = {}});
  json choose = to_json(ChooseMessage{.link = LinkKind::tcp, .token = {}});
  for (const json& wrong : std::vector<json>{nullptr, "true", 1, json::array(), json::object()}) {
    offer["encrypt"] = wrong;
    choose["encrypt"] = wrong;
    EXPECT_THROW(read_offer(offer), Error) << wrong.dump();
    EXPECT_THROW(read_choose(choose), Error) << wrong.dump();
  }
}

/// Kinds of memory are small words. Host memory is left out, because an earlier release does not know the field.
TEST(Messages, MemoryIsHostMemoryUnlessItIsNamed) {
  const StreamFormat format{.layout = bytes_layout(64), .colour = {}};
  const EpochMessage plain{1, format, 64, 3};
  EXPECT_FALSE(to_json(plain).contains("memory"));
  EXPECT_EQ(read_epoch(to_json(plain)).memory, "host");
  json epoch =
      to_json(EpochMessage{.number = 1, .format = format, .slot_bytes = 64, .ring_slots = 3, .memory = "cuda"});
  EXPECT_EQ(read_epoch(epoch).memory, "cuda");
  json choose = to_json(ChooseMessage{.link = LinkKind::tcp, .token = {}, .memory = {"cuda", "host"}});
  EXPECT_EQ(read_choose(choose).memory, (std::vector<std::string>{"cuda", "host"}));
  EXPECT_EQ(memory_device_of(host_memory()), "");
  EXPECT_EQ(read_ready(to_json(ReadyMessage{.number = 1, .ring_slots = 3, .memory = "cuda"})).memory, "cuda");
  EXPECT_FALSE(read_ready(to_json(ReadyMessage{.number = 1, .ring_slots = 3})).takes_slices) << "as older viewers say";
  EXPECT_TRUE(read_ready(to_json(ReadyMessage{.number = 1, .ring_slots = 3, .takes_slices = true})).takes_slices);
  const json nonsense[] = {nullptr, 1, "", "Host", "a b", "\u001b[2J", std::string(17, 'a'), json::object()};
  for (const json& wrong : nonsense) {
    epoch["memory"] = wrong;
    EXPECT_THROW(read_epoch(epoch), Error) << wrong.dump();
    choose["memory"] = json::array({wrong});
    EXPECT_THROW(read_choose(choose), Error) << wrong.dump();
  }
  choose["memory"] = std::vector<std::string>(9, "cuda");
  EXPECT_THROW(read_choose(choose), Error) << "more kinds than any program has";
}

/// Viewers compare it with their own devices', and show it to nobody.
TEST(Messages, TheDeviceOfAMemoryIsAUuid) {
  const std::string uuid = "00112233445566778899aabbccddeeff";
  json offer =
      to_json(OfferMessage{.session = {},
                           .streams = {{.name = {}, .description = {}, .memory = "cuda", .memory_device = uuid}},
                           .links = {}});
  EXPECT_EQ(read_offer(offer).streams.at(0).memory_device, uuid);
  json& device = offer["streams"][0]["memory_device"];
  device = "00112233445566778899AABBCCDDEEFF";
  EXPECT_EQ(read_offer(offer).streams.at(0).memory_device, uuid) << "both are this device";
  const json nonsense[] = {nullptr,
                           1,
                           "",
                           "ab",
                           uuid + "00",
                           uuid.substr(1),
                           uuid.substr(2) + "0g",
                           uuid.substr(2) + "\u001b[",
                           json::object(),
                           json::array({uuid})};
  for (const json& wrong : nonsense) {
    device = wrong;
    EXPECT_THROW(read_offer(offer), Error) << wrong.dump();
  }
  offer["streams"][0].erase("memory_device");
  EXPECT_EQ(read_offer(offer).streams.at(0).memory_device, "");
}

/// A link's own fields bear its name in the message. Only the link itself understands them.
TEST(Messages, ALinksOwnFieldsArriveAsItWroteThem) {
  const LinkDescription listener = R"({"addresses":["10.9.0.1"],"port":5290})";
  const json choose = to_json(ChooseMessage{.link = LinkKind::rdma, .token = {}, .listener = listener});
  EXPECT_EQ(choose.at("rdma_port"), 5290);
  EXPECT_EQ(choose.at("rdma_addresses"), json::array({"10.9.0.1"}));
  EXPECT_EQ(read_choose(choose).listener, listener);
  const json connect = to_json(ConnectMessage{.link = LinkKind::rdma, .token = {}, .listener = listener});
  EXPECT_EQ(connect.at("rdma_port"), 5290);
  EXPECT_EQ(read_connect(connect, LinkKind::rdma).listener, listener);
  EXPECT_EQ(read_connect(connect, LinkKind::tcp).listener, "") << "another link has nothing to do with them";
  EXPECT_EQ(read_connect(to_json(ConnectMessage{.token = {}}), LinkKind::rdma).listener, "");
}

/// Makes each field in turn missing, of another type, and out of range. Reading must throw an Error each time.
TEST(Messages, EveryWrongFieldIsRefused) {
  const StreamFormat format{.layout = packed_layout(PixelFormat::rgba, 64, 48), .colour = {}};
  const json good = to_json(EpochMessage{1, format, 12288, 3});
  const std::vector<json> nonsense = {nullptr, "text", -1, 1.5, json::array(), json::object(), true, UINT64_MAX};
  for (const auto& [field, value] : good.items()) {
    json without = good;
    without.erase(field);
    EXPECT_THROW(read_epoch(without), Error) << field;
    for (const json& wrong : nonsense) {
      json changed = good;
      changed[field] = wrong;
      EXPECT_THROW(read_epoch(changed), Error) << field << " " << wrong.dump();
    }
  }
  for (const std::string field : {"pixel_format", "width", "height", "colour_range", "sample_aspect", "frame_rate"}) {
    json without = good;
    without["format"].erase(field);
    EXPECT_THROW(read_epoch(without), Error) << field;
    for (const json& wrong : nonsense) {
      json changed = good;
      changed["format"][field] = wrong;
      EXPECT_THROW(read_epoch(changed), Error) << field << " " << wrong.dump();
    }
  }
}

TEST(Messages, ARequestForACadenceComesBackAsItWent) {
  for (const std::int64_t period_ns : {std::int64_t{0}, std::int64_t{16'683'333}, INT64_MAX, INT64_MIN}) {
    for (const std::int64_t shift_ns : {std::int64_t{0}, std::int64_t{-3'000'000}, INT64_MAX, INT64_MIN}) {
      const CadenceRequest request{.period_ns = period_ns, .shift_ns = shift_ns};
      EXPECT_EQ(read_cadence(json::parse(to_json(request).dump())), request);
    }
  }
  EXPECT_EQ(to_json(CadenceRequest{})["type"], "cadence");
  EXPECT_EQ(read_no_cadence(no_cadence("another viewer has asked")), "another viewer has asked");
  EXPECT_EQ(no_cadence("")["type"], "no_cadence");
}

TEST(Messages, AWrongCadenceIsRefused) {
  const std::vector<json> nonsense = {nullptr,    "16683333",      1.5, true, json::array(), json::object(), 1e30,
                                      UINT64_MAX, json::array({1})};
  const json good = to_json(CadenceRequest{.period_ns = 16'683'333, .shift_ns = -1});
  for (const std::string field : {"type", "period_ns", "shift_ns"}) {
    json without = good;
    without.erase(field);
    EXPECT_THROW(read_cadence(without), Error) << field;
    for (const json& wrong : nonsense) {
      json changed = good;
      changed[field] = wrong;
      EXPECT_THROW(read_cadence(changed), Error) << field << " " << wrong.dump();
    }
  }
  EXPECT_THROW(read_cadence(to_json(ClockMessage{})), Error);
  EXPECT_THROW(read_cadence(no_cadence("no")), Error);
  EXPECT_THROW(read_no_cadence(good), Error);
  EXPECT_THROW(read_no_cadence({{"type", "no_cadence"}}), Error);
  for (const json& wrong : nonsense) {
    if (!wrong.is_string()) {
      EXPECT_THROW(read_no_cadence({{"type", "no_cadence"}, {"text", wrong}}), Error) << wrong.dump();
    }
  }
}

TEST(Messages, AnOfferHasSoManyStreamsAndNoMore) {
  OfferMessage offer{.session = "00", .streams = {}, .links = {LinkKind::tcp}};
  for (std::uint32_t number = 0; number < 64; ++number) {
    offer.streams.push_back({.name = std::to_string(number), .number = number, .description = {}});
  }
  EXPECT_EQ(read_offer(to_json(offer)).streams.size(), 64U);
  offer.streams.push_back({.name = "64", .number = 64, .description = {}});
  EXPECT_THROW(read_offer(to_json(offer)), Error);
}

/// Fields added later: an older peer does not send them, and a newer one may send values that are unknown here.
TEST(Messages, WhatAnOlderPeerDoesNotSayIsUnknown) {
  const std::vector<std::string> fields = {"alpha_mode", "chroma_location", "field_order"};
  const StreamFormat plain{.layout = packed_layout(PixelFormat::rgba, 64, 48), .colour = {}};
  const json good = to_json(EpochMessage{1, plain, 12288, 3});
  for (const std::string& field : fields) {
    EXPECT_FALSE(good["format"].contains(field)) << field;
    for (const json& wrong : std::vector<json>{nullptr, 1, true, json::array(), json::object()}) {
      json changed = good;
      changed["format"][field] = wrong;
      EXPECT_THROW(read_epoch(changed), Error) << field << " " << wrong.dump();
    }
    json newer = good;
    newer["format"][field] = "sideways";
    EXPECT_EQ(read_epoch(newer).format, plain) << field;
  }
  StreamFormat full = plain;
  full.alpha_mode = AlphaMode::premultiplied;
  full.chroma_location = ChromaLocation::center;
  full.field_order = FieldOrder::tt;
  const json said = to_json(EpochMessage{1, full, 12288, 3});
  EXPECT_EQ(said["format"]["alpha_mode"], "premultiplied");
  EXPECT_EQ(said["format"]["chroma_location"], "center");
  EXPECT_EQ(said["format"]["field_order"], "tt");
}

TEST(Messages, ARefusalCarriesItsMessage) {
  try {
    expect_type(refusal("no\nroom"), "offer");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), ExitStatus::refused);
    EXPECT_STREQ(error.what(), "no\\x0aroom");
  }
}

TEST(Messages, WhoGivesNoReasonIsQuotedWithoutOne) {
  for (const json& message : {refusal(""), no_link("")}) {
    try {
      throw_if_refused(message);
      throw_if_no_link(message);
      FAIL();
    } catch (const Error& error) {
      EXPECT_STREQ(error.what(), "the peer does not say why");
    }
  }
  EXPECT_EQ(read_no_cadence(no_cadence("")), "the peer does not say why");
}

/// A peer's texts must not control a terminal or begin a new line, wherever they are printed.
TEST(Messages, WordsOfAPeerArePrintable) {
  const std::string evil = "a\u009b2J\u202eb\nframewire-view: all well";
  const std::string shown = "a\\u009b2J\\u202eb\\x0aframewire-view: all well";
  const HelloMessage hello = read_hello(to_json(HelloMessage{.role = evil, .program = evil}));
  EXPECT_EQ(hello.role, shown);
  EXPECT_EQ(hello.program, shown);
  const OfferMessage offer = read_offer(to_json(OfferMessage{.session = "00",
                                                             .streams = {{evil, 1, Delivery::latest, evil}},
                                                             .links = {},
                                                             .unavailable_links = {{LinkKind::rdma, evil}}}));
  EXPECT_EQ(offer.streams.at(0).name, shown);
  EXPECT_EQ(offer.streams.at(0).description, shown);
  EXPECT_EQ(offer.unavailable_links.at(LinkKind::rdma), shown);
  EXPECT_EQ(read_choose(to_json(ChooseMessage{.link = LinkKind::tcp, .token = {}, .why = evil})).why, shown);
  EXPECT_EQ(read_bye(to_json(ByeMessage{.reason = evil, .statistics = {}})).reason, shown);
  EXPECT_EQ(read_no_link(no_link(evil)), shown);
  EXPECT_EQ(read_no_cadence(no_cadence(evil)), shown);
  try {
    read_offer({{"type", "offer"}, {"session", "00"}, {"streams", {{{"type", evil}}}}});
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("'" + shown + "'"), std::string::npos) << error.what();
  }
}

TEST(Messages, ABodyIsAnObjectOfBoundedSizeAndDepth) {
  EXPECT_EQ(checked_body(" {\"a\" : [1, 2.5, \"\u00df\"]}\r"), "{\"a\":[1,2.5,\"\u00df\"]}");
  for (const std::string wrong : {"", "7", "[]", "{", "{}{}", "{\"a\":\xff}", "{\"a\":1e999}"}) {
    EXPECT_FALSE(checked_body(wrong)) << wrong;
  }
  EXPECT_FALSE(checked_body(std::string("{}\0", 3)));
  const auto nested = [](std::size_t levels) {
    return "{\"a\":" + std::string(levels - 1, '[') + std::string(levels - 1, ']') + "}";
  };
  EXPECT_TRUE(checked_body(nested(31)));
  EXPECT_FALSE(checked_body(nested(32))) << "the message would be too deep";
  const auto of_length = [](std::size_t bytes) { return "{\"a\":\"" + std::string(bytes - 8, 'x') + "\"}"; };
  EXPECT_TRUE(checked_body(of_length(max_message_body_bytes)));
  EXPECT_FALSE(checked_body(of_length(max_message_body_bytes + 1)));
  const std::string body = *checked_body(of_length(max_message_body_bytes));
  EXPECT_EQ(read_program_message(program_message(body)), body);
}

TEST(Messages, ALineMayNameItsStream) {
  const auto read = [](const std::string& line) {
    const auto message = read_message_line(line);
    return message ? message->stream + "|" + message->body : "none";
  };
  EXPECT_EQ(read(R"({"stream":"left","body":{"a":1}})"), R"(left|{"a":1})");
  EXPECT_EQ(read(R"({"stream":"left","body":{},"more":1})"), R"(|{"body":{},"more":1,"stream":"left"})");
  EXPECT_EQ(read(R"({"stream":"","body":{}})"), R"(|{"body":{},"stream":""})");
  EXPECT_EQ(read(R"({"stream":"left"})"), R"(|{"stream":"left"})");
  EXPECT_EQ(read("[1]"), "none");
  EXPECT_EQ(message_line("{}", "left", 3), R"({"body":{},"stream":"left","viewer":3})");
  EXPECT_EQ(message_line("{}", ""), R"({"body":{}})");
}

TEST(Messages, ALineHasNoControlForATerminal) {
  const json body{{"a", "\x1b\x7f\u0085\u009b\u202eß"}};
  const std::string line = message_line(body.dump(), "\u009b");
  EXPECT_EQ(line, R"({"body":{"a":"\u001b\u007f\u0085\u009b\u202e\u00df"},"stream":"\u009b"})");
  EXPECT_EQ(json::parse(line).at("body"), body);
}

TEST(Messages, InputThatIsTakenNowNeedsNoWords) {
  EXPECT_EQ(read_no_input(no_input("")), "");
  EXPECT_EQ(read_no_input(no_input("a\nb")), "a\\x0ab");
  EXPECT_EQ(read_no_message(no_message("")), "");
}

TEST(Messages, FieldsAndLinksOfANewerPeerArePassedOver) {
  json offer = to_json(OfferMessage{"00", {{"a", 0, Delivery::latest, ""}}, {LinkKind::tcp}});
  offer["links"].push_back("quantum");
  offer["mood"] = "good";
  EXPECT_EQ(read_offer(offer).links, std::vector<LinkKind>{LinkKind::tcp});
}

}  // namespace
}  // namespace framewire
