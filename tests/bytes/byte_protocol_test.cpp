#include "bytes/byte_protocol.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "bytes/digest.hpp"

namespace framewire {
namespace {

TEST(ChunkTag, ComesBack) {
  for (const ChunkTag& tag : {ChunkTag{}, ChunkTag{.is_end = true}, ChunkTag{.check = 0U},
                              ChunkTag{.check = UINT32_MAX}, ChunkTag{.is_end = true, .check = 0x12345678U}}) {
    EXPECT_EQ(decode_chunk_tag(encode(tag)), tag);
  }
}

TEST(ChunkTag, StandsAsDocumented) {
  EXPECT_EQ(encode({.is_end = true}), 1U);
  EXPECT_EQ(encode({.check = 0xabcd0123U}), 0xabcd012300000002U);
}

TEST(ChunkTag, WhatIsNotKnownIsNoTag) {
  for (int bit = 2; bit < 32; ++bit) {
    EXPECT_FALSE(decode_chunk_tag(std::uint64_t{1} << bit)) << bit;
  }
  EXPECT_FALSE(decode_chunk_tag(std::uint64_t{7} << 32)) << "a check that is not there";
}

TEST(EndRecord, ComesBack) {
  const EndRecord back = end_record_from(to_json_text(EndRecord{.bytes = UINT64_MAX, .digest = 0x1fU, .error = "why"}));
  EXPECT_EQ(back.bytes, UINT64_MAX);
  EXPECT_EQ(back.digest, 0x1fU);
  EXPECT_EQ(back.error, "why");
  EXPECT_FALSE(end_record_from(to_json_text(EndRecord{})).digest);
}

TEST(EndRecord, IsNeverTooLong) {
  for (const char c : {'\x01', 'e', '"', '\\', '\xff'}) {
    EXPECT_LE(to_json_text(EndRecord{.bytes = UINT64_MAX, .digest = 1U, .error = std::string(100'000, c)}).size(),
              longest_end_record_bytes);
  }
}

TEST(Receipt, ComesBack) {
  const Receipt back =
      receipt_from(to_json_text(Receipt{.bytes = 7, .digest = 9, .is_durable = true, .sink_seconds = 0.5}));
  EXPECT_EQ(back.bytes, 7U);
  EXPECT_EQ(back.digest, 9U);
  EXPECT_TRUE(back.is_durable);
  EXPECT_EQ(back.error, "");
  EXPECT_EQ(back.sink_seconds, 0.5);
}

std::string complaint(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "none";
}

TEST(FinalReport, OfTheWrongKindAreNamed) {
  const std::vector<std::pair<std::string, std::string>> cases{
      {"", "no JSON object"},
      {"[1]", "no JSON object"},
      {"{", "no JSON object"},
      {"{}", "'bytes'"},
      {R"({"bytes":-1,"digest":null,"error":null})", "'bytes'"},
      {R"({"bytes":1.5,"digest":null,"error":null})", "'bytes'"},
      {R"({"bytes":1,"error":null})", "'digest'"},
      {R"({"bytes":1,"digest":"12","error":null})", "'digest'"},
      {R"({"bytes":1,"digest":"000000000000000g","error":null})", "'digest'"},
      {R"({"bytes":1,"digest":null})", "'error'"},
      {R"({"bytes":1,"digest":null,"error":5})", "'error'"},
  };
  for (const auto& [text, wanted] : cases) {
    EXPECT_NE(complaint([&, said = text] { end_record_from(said); }).find(wanted), std::string::npos) << text;
    EXPECT_NE(complaint([&, said = text] { receipt_from(said); }).find(wanted), std::string::npos) << text;
  }
  const std::string no_seconds =
      R"({"bytes":1,"digest":null,"error":null,"durable":false,"reader_left":false,"sink_seconds":-1})";
  EXPECT_NE(complaint([&] { receipt_from(no_seconds); }).find("'sink_seconds'"), std::string::npos);
  EXPECT_NE(complaint([] { receipt_from(R"({"bytes":1,"digest":null,"error":null,"durable":1})"); }).find("'durable'"),
            std::string::npos);
}

TEST(FinalReport, TextOfAPeerDoesNoHarmOnATerminal) {
  const EndRecord record = end_record_from(R"({"bytes":1,"digest":null,"error":"\u001b[2J"})");
  EXPECT_EQ(record.error.find('\x1b'), std::string::npos);
  EXPECT_FALSE(end_record_from(R"({"bytes":1,"digest":null,"error":""})").error.empty())
      << "it is an error all the same";
}

TEST(RunningDigest, IsThatOfTheWholeHoweverItIsCut) {
  const std::string text = "framewire carries bytes as well";
  const auto bytes = std::as_bytes(std::span(text));
  RunningDigest whole;
  whole.add(bytes);
  RunningDigest cut;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    EXPECT_NE(cut.value(), whole.value());
    cut.add(bytes.subspan(i, 1));
  }
  EXPECT_EQ(cut.value(), whole.value());
  EXPECT_EQ(cut.value(), XXH3_64bits(text.data(), text.size()));
}

}  // namespace
}  // namespace framewire
