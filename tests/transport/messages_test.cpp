#include "transport/session/messages.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/error.hpp"

namespace framewire {
namespace {

using nlohmann::json;

TEST(Messages, ComeBackAsTheyWent) {
  const StreamFormat format{packed_layout(PixelFormat::p010le, 3840, 2160),
                            {ColourMatrix::bt2020nc, ColourRange::limited, ColourTransfer::pq, ColourPrimaries::bt2020},
                            {4, 3},
                            {60000, 1001}};
  const EpochMessage epoch = read_epoch(to_json(EpochMessage{5, format, 24883200, 3}));
  EXPECT_EQ(epoch.number, 5U);
  EXPECT_EQ(epoch.format, format);
  EXPECT_EQ(epoch.slot_bytes, 24883200U);
  const OfferMessage offer =
      read_offer(to_json(OfferMessage{"00", {{"bars", 2, Delivery::every, "x"}}, {LinkKind::local, LinkKind::tcp}}));
  EXPECT_EQ(offer.streams.at(0).name, "bars");
  EXPECT_EQ(offer.streams.at(0).delivery, Delivery::every);
  EXPECT_EQ(offer.links.size(), 2U);
  const ChooseMessage choose = read_choose(to_json(ChooseMessage{2, LinkKind::local, Delivery::latest, "ab"}));
  EXPECT_EQ(choose.token, "ab");
  EXPECT_FALSE(offer.encrypt) << "not said is not the same as no";
  EXPECT_FALSE(choose.encrypt);
  for (const bool asks : {false, true}) {
    EXPECT_EQ(read_offer(to_json(OfferMessage{.session = "00", .streams = {}, .links = {}, .encrypt = asks})).encrypt,
              std::optional(asks));
  }
  EXPECT_TRUE(read_choose(to_json(ChooseMessage{.token = {}, .encrypt = true})).encrypt);
  const ByeMessage bye = read_bye(to_json(ByeMessage{"end", 3, 4, R"({"a":1})"}));
  EXPECT_EQ(bye.frames_received, 4U);
  EXPECT_EQ(bye.statistics, R"({"a":1})");
}

TEST(Messages, ByteStreamsHaveNoPicture) {
  const StreamFormat format{.layout = bytes_layout(65536), .colour = {}};
  EXPECT_EQ(read_epoch(to_json(EpochMessage{1, format, 65536, 3})).format, format);
}

TEST(Messages, ThatDataBeEncryptedIsTrueOrFalse) {
  json offer = to_json(OfferMessage{.session = "00", .streams = {}, .links = {}});
  json choose = to_json(ChooseMessage{.token = {}});
  for (const json& wrong : std::vector<json>{nullptr, "true", 1, json::array(), json::object()}) {
    offer["encrypt"] = wrong;
    choose["encrypt"] = wrong;
    EXPECT_THROW(read_offer(offer), Error) << wrong.dump();
    EXPECT_THROW(read_choose(choose), Error) << wrong.dump();
  }
}

TEST(Messages, RdmaAddressesAreFewAndShort) {
  const std::vector<std::string> addresses{"10.9.0.1", "2001:db8::1"};
  EXPECT_EQ(read_choose(to_json(ChooseMessage{.token = {}, .rdma_addresses = addresses})).rdma_addresses, addresses);
  EXPECT_EQ(read_connect(to_json(ConnectMessage{.token = {}, .rdma_addresses = addresses})).rdma_addresses, addresses);
  json connect = to_json(ConnectMessage{.token = {}});
  EXPECT_FALSE(connect.contains("rdma_addresses"));
  EXPECT_TRUE(read_connect(connect).rdma_addresses.empty()) << "of an older peer";
  for (const json& wrong : std::vector<json>{nullptr, "10.9.0.1", 1, json::object(), json::array({1}),
                                             json::array({std::string(46, '1')}), json(17, "10.9.0.1")}) {
    connect["rdma_addresses"] = wrong;
    EXPECT_THROW(read_connect(connect), Error) << wrong.dump();
  }
}

/// Every field in turn: missing, of another type, out of range. Each must be refused with an Error, whatever it is.
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

TEST(Messages, ARefusalCarriesItsSentence) {
  try {
    expect_type(refusal("no\nroom"), "offer");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), ExitStatus::refused);
    EXPECT_STREQ(error.what(), "no\\x0aroom");
  }
}

TEST(Messages, FieldsAndLinksOfANewerPeerArePassedOver) {
  json offer = to_json(OfferMessage{"00", {{"a", 0, Delivery::latest, ""}}, {LinkKind::tcp}});
  offer["links"].push_back("quantum");
  offer["mood"] = "good";
  EXPECT_EQ(read_offer(offer).links, std::vector<LinkKind>{LinkKind::tcp});
}

}  // namespace
}  // namespace framewire
