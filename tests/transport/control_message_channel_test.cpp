#include "transport/control/message_channel.hpp"

#include <nlohmann/json.hpp>
#include <random>
#include <thread>

#include "tests/transport/control_support.hpp"

namespace framewire {
namespace {

using nlohmann::json;
using test::error_of;
using test::expect_error;
using test::send_text;
using test::socket_pair;
using test::soon_ns;

std::string framed(std::string_view body) {
  std::string text;
  for (unsigned shift = 0; shift < 32; shift += 8) {
    text += static_cast<char>(body.size() >> shift & 0xff);
  }
  return text.append(body);
}

MessageChannel channel_over(FileDescriptor fd, std::uint32_t limit_bytes = message_limit_bytes) {
  return {std::make_unique<FdStream>(std::move(fd)), "peer:1", limit_bytes};
}

/// The error of a channel that receives these bytes and then the end of the connection; nothing without an error.
std::optional<Error> error_of_bytes(std::string_view bytes, std::uint32_t limit_bytes = message_limit_bytes) {
  auto [ours, theirs] = socket_pair();
  MessageChannel channel = channel_over(std::move(ours), limit_bytes);
  std::thread writer([fd = theirs.get(), bytes] {
    ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    ::shutdown(fd, SHUT_WR);
  });
  auto error = error_of([&] { channel.receive(soon_ns()); });
  channel.close();
  writer.join();
  return error;
}

TEST(MessageChannel, CarriesMessagesBothWays) {
  auto [one, two] = socket_pair();
  MessageChannel a = channel_over(std::move(one));
  MessageChannel b = channel_over(std::move(two));
  a.send({{"type", "hello"}, {"versions", {1, 2}}});
  a.send({{"type", "second"}, {"text", "größer"}});
  EXPECT_EQ(b.receive(soon_ns()), json({{"type", "hello"}, {"versions", {1, 2}}}));
  EXPECT_EQ(b.receive(soon_ns())["text"], "größer");
  b.send({{"type", "back"}});
  EXPECT_EQ(a.receive(soon_ns())["type"], "back");
  EXPECT_EQ(a.try_receive(), std::nullopt);
}

TEST(MessageChannel, WireFormatIsLittleEndianLengthAndText) {
  auto [ours, theirs] = socket_pair();
  channel_over(std::move(ours)).send({{"type", "x"}});
  char text[64] = {};
  const ssize_t got = ::recv(theirs.get(), text, sizeof text, 0);
  EXPECT_EQ(std::string(text, static_cast<std::size_t>(got)), framed(R"({"type":"x"})"));
}

TEST(MessageChannel, KeepsPartsUntilTheyAreWhole) {
  auto [ours, theirs] = socket_pair();
  MessageChannel channel = channel_over(std::move(ours));
  const std::string whole = framed(R"({"type":"x","n":7})");
  for (const char letter : whole.substr(0, whole.size() - 1)) {
    send_text(theirs.get(), {&letter, 1});
    EXPECT_EQ(channel.try_receive(), std::nullopt);
  }
  send_text(theirs.get(), whole.substr(whole.size() - 1));
  EXPECT_EQ(channel.try_receive()->at("n"), 7);
}

TEST(MessageChannel, IsLostWhenCutAtEveryByte) {
  const std::string whole = framed(R"({"type":"x"})");
  expect_error(error_of_bytes(""), ExitStatus::lost_peer, "peer:1 closed the connection");
  for (std::size_t cut = 1; cut < whole.size(); ++cut) {
    expect_error(error_of_bytes(whole.substr(0, cut)), ExitStatus::lost_peer, "in the middle of a message");
  }
  EXPECT_FALSE(error_of_bytes(whole));
}

TEST(MessageChannel, RefusesOversizeBeforeTakingIt) {
  const std::string largest = R"({"type":"x","pad":")" + std::string(message_limit_before_bytes - 21, 'p') + R"("})";
  ASSERT_EQ(largest.size(), message_limit_before_bytes);
  EXPECT_FALSE(error_of_bytes(framed(largest), message_limit_before_bytes));
  expect_error(error_of_bytes(std::string("\x01\x00\x01\x00", 4), message_limit_before_bytes), ExitStatus::failed,
               "sent a message of 65537 bytes, more than the 65536 allowed");
  expect_error(error_of_bytes("\xff\xff\xff\xff"), ExitStatus::failed, "4294967295 bytes");
  // The peer speaks another protocol: the channel reads its text as a length.
  expect_error(error_of_bytes("HTTP/1.1 400 Bad Request"), ExitStatus::failed, "it is no framewire");
}

struct BadMessage {
  std::string body;
  const char* words;
};

TEST(MessageChannel, RefusesWhatIsNoMessage) {
  const std::vector<BadMessage> cases = {
      {"", "is not JSON"},
      {"{", "is not JSON"},
      {"{\"type\":\"x\"", "is not JSON"},
      {"{\"type\":\"x\"} ,", "is not JSON"},
      {"{\"type\":\"\xff\"}", "is not JSON"},
      {"{\"type\":1e999999}", "is not JSON"},
      {std::string("{\"type\":\"x\"}\0", 13), "is not JSON"},
      {"[]", "is not a JSON object"},
      {"null", "is not a JSON object"},
      {"\"type\"", "is not a JSON object"},
      {"{}", "has no type"},
      {"{\"Type\":\"x\"}", "has no type"},
      {"{\"type\":7}", "has no type"},
      {"{\"type\":null}", "has no type"},
      {std::string(100'000, '['), "nests deeper"},
      {"{\"type\":\"x\",\"a\":" + std::string(32, '[') + std::string(32, ']') + "}", "nests deeper"},
  };
  for (const BadMessage& one : cases) {
    SCOPED_TRACE(one.body.substr(0, 40));
    expect_error(error_of_bytes(framed(one.body)), ExitStatus::failed, one.words);
  }
}

TEST(MessageChannel, DepthIsCountedOutsideOfStrings) {
  EXPECT_FALSE(error_of_bytes(framed("{\"type\":\"x\",\"a\":" + std::string(31, '[') + std::string(31, ']') + "}")));
  EXPECT_FALSE(error_of_bytes(framed("{\"type\":\"" + std::string(100, '[') + "\"}")));
  EXPECT_FALSE(error_of_bytes(framed("{\"type\":\"\\\"" + std::string(100, '[') + "\"}")));
  expect_error(error_of_bytes(framed("{\"type\":\"\\\\\",\"a\":" + std::string(100, '['))), ExitStatus::failed,
               "nests deeper");
}

TEST(MessageChannel, SurvivesRandomBytes) {
  constexpr unsigned seed = 20240601;
  std::mt19937 random(seed);
  for (int round = 0; round < 2000; ++round) {
    std::string body = R"({"type":"x","list":[1,2,{"a":"b"}],"n":-1.5e3})";
    const auto changes = random() % 4 + 1;
    for (unsigned i = 0; i < changes; ++i) {
      body[random() % body.size()] = static_cast<char>(random());
    }
    auto [ours, theirs] = socket_pair();
    MessageChannel channel = channel_over(std::move(ours));
    send_text(theirs.get(), framed(body));
    const auto error = error_of([&] { EXPECT_TRUE(channel.receive(soon_ns()).at("type").is_string()); });
    EXPECT_TRUE(!error || error->status() == ExitStatus::failed);
  }
}

TEST(MessageChannel, NamesAreSentEvenWhenTheyAreNotUtf8) {
  auto [one, two] = socket_pair();
  MessageChannel a = channel_over(std::move(one));
  MessageChannel b = channel_over(std::move(two));
  a.send({{"type", "x"}, {"file", "caf\xe9.mkv"}});
  EXPECT_EQ(b.receive(soon_ns())["file"], "caf\xef\xbf\xbd.mkv");
}

TEST(MessageChannel, ReceiveGivesUpAtItsDeadline) {
  auto [ours, theirs] = socket_pair();
  MessageChannel channel = channel_over(std::move(ours));
  expect_error(error_of([&] { channel.receive(monotonic_ns() + ns_per_ms); }), ExitStatus::lost_peer,
               "did not answer in time");
}

TEST(MessageChannel, APeerThatDoesNotReadHoldsNobodyUp) {
  auto [ours, theirs] = socket_pair();
  MessageChannel channel = channel_over(std::move(ours));
  const json message = {{"type", "x"}, {"pad", std::string(500'000, 'p')}};
  int posted = 0;
  const auto error = error_of([&] {
    for (; posted < 100; ++posted) {
      channel.post(message);
    }
  });
  expect_error(error, ExitStatus::lost_peer, "does not read its control channel");
  EXPECT_GE(posted, 8);
  EXPECT_TRUE(channel.wants_write());
  EXPECT_FALSE(channel.flush());
  expect_error(error_of([&] { channel_over(FileDescriptor(::dup(channel.fd()))).send(message, monotonic_ns()); }),
               ExitStatus::lost_peer, "does not read");
  MessageChannel reader = channel_over(std::move(theirs));
  for (int i = 0; i < posted; ++i) {
    std::optional<json> got;
    while (!(got = reader.try_receive())) {
      channel.flush();
    }
    EXPECT_EQ(*got, message);
  }
  EXPECT_TRUE(channel.flush());
  EXPECT_FALSE(channel.wants_write());
}

TEST(MessageChannel, APeerThatIsAlwaysALittleBehindCostsNoMoreMemory) {
  auto [ours, theirs] = socket_pair();
  MessageChannel channel = channel_over(std::move(ours));
  MessageChannel reader = channel_over(std::move(theirs));
  const json message = {{"type", "x"}, {"pad", std::string(100'000, 'p')}};
  constexpr int behind = 20;     // 2 MB: more than any socket holds
  constexpr int messages = 120;  // 12 MB: more than the bound
  for (int i = 0; i < messages; ++i) {
    channel.post(message);
    while (i >= behind && !reader.try_receive()) {
      channel.flush();
    }
    ASSERT_TRUE(i < behind || channel.wants_write()) << "else this shows nothing";
    ASSERT_LE(channel.outbound_memory_bytes(), 2 * outbound_limit_bytes) << i;
  }
  EXPECT_TRUE(channel.has_backlog());
  for (int i = 0; i < behind; ++i) {
    while (!reader.try_receive()) {
      channel.flush();
    }
  }
  EXPECT_FALSE(channel.has_backlog());
  EXPECT_FALSE(channel.wants_write());
  EXPECT_LE(channel.outbound_memory_bytes(), outbound_backlog_bytes) << "and given back";
}

TEST(MessageChannel, SendingToAPeerThatLeftIsAnErrorAndNoSignal) {
  auto [ours, theirs] = socket_pair();
  MessageChannel channel = channel_over(std::move(ours));
  theirs.reset();
  expect_error(error_of([&] { channel.send({{"type", "x"}}, soon_ns()); }), ExitStatus::lost_peer, "peer:1 is gone");
}

TEST(MessageChannel, CloseWakesAReceiver) {
  auto [ours, theirs] = socket_pair();
  MessageChannel channel = channel_over(std::move(ours));
  std::thread closer([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    channel.close();
  });
  expect_error(error_of([&] { channel.receive(soon_ns()); }), ExitStatus::lost_peer, "closed the connection");
  closer.join();
}

TEST(MessageChannel, FinishDeliversTheLastMessage) {
  auto [one, two] = socket_pair();
  MessageChannel a = channel_over(std::move(one));
  MessageChannel b = channel_over(std::move(two));
  b.send({{"type", "never read"}});
  a.post({{"type", "bye"}, {"pad", std::string(900'000, 'p')}});
  std::thread finisher([&] { a.finish(soon_ns()); });
  EXPECT_EQ(b.receive(soon_ns())["type"], "bye");
  expect_error(error_of([&] { b.receive(soon_ns()); }), ExitStatus::lost_peer, "closed the connection");
  b.close();
  finisher.join();
}

/// The bytes of a peer that sends one message again and again, and never stops.
class EndlessStream final : public ByteStream {
 public:
  IoResult read_now(std::span<std::byte> into) noexcept override {
    for (std::byte& byte : into) {
      byte = static_cast<std::byte>(message_[at_++ % message_.size()]);
    }
    return {.status = IoStatus::moved, .bytes = into.size()};
  }
  IoResult write_now(std::span<const std::byte> from) noexcept override {
    return {.status = IoStatus::moved, .bytes = from.size()};
  }
  [[nodiscard]] int fd() const noexcept override { return -1; }
  [[nodiscard]] bool has_buffered() const noexcept override { return true; }
  void end_writing() noexcept override {}
  void close() noexcept override {}
  [[nodiscard]] std::string fault() const override { return {}; }

 private:
  const std::string message_ = framed(R"({"type":"x"})");
  std::size_t at_ = 0;
};

TEST(MessageChannel, APeerThatNeverStopsTalkingIsHeardOnlySoMuchAtOnce) {
  MessageChannel channel(std::make_unique<EndlessStream>(), "peer:1");
  for (const int round : {1, 2}) {
    int heard = 0;
    channel.receive_arrived([&](const json& message) {
      EXPECT_EQ(message.at("type"), "x");
      return ++heard <= max_messages_at_once;
    });
    EXPECT_EQ(heard, max_messages_at_once) << "in round " << round;
  }
}

TEST(MessageChannel, MessagesThatHaveArrivedComeUntilTheCallerHasEnough) {
  auto [one, two] = socket_pair();
  MessageChannel a = channel_over(std::move(one));
  MessageChannel b = channel_over(std::move(two));
  for (int i = 0; i < 3; ++i) {
    a.send({{"type", "x"}, {"n", i}}, soon_ns());
  }
  std::vector<int> heard;
  const auto take_up_to = [&](int last) {
    return [&heard, last](const json& message) {
      heard.push_back(message.at("n").get<int>());
      return heard.back() != last;
    };
  };
  b.receive_arrived(take_up_to(1));
  EXPECT_EQ(heard, (std::vector<int>{0, 1}));
  b.receive_arrived(take_up_to(-1));
  EXPECT_EQ(heard, (std::vector<int>{0, 1, 2}));
}

TEST(MessageChannel, ManyThreadsSendWholeMessages) {
  auto [one, two] = socket_pair();
  MessageChannel a = channel_over(std::move(one));
  MessageChannel b = channel_over(std::move(two));
  std::vector<std::thread> senders;
  for (int sender = 0; sender < 4; ++sender) {
    senders.emplace_back([&a, sender] {
      for (int i = 0; i < 50; ++i) {
        a.send({{"type", "x"}, {"sender", sender}, {"pad", std::string(5000, 'p')}}, soon_ns());
      }
    });
  }
  std::array<int, 4> counts{};
  for (int i = 0; i < 200; ++i) {
    ++counts.at(b.receive(soon_ns())["sender"].get<std::size_t>());
  }
  for (std::thread& sender : senders) {
    sender.join();
  }
  EXPECT_EQ(counts, (std::array<int, 4>{50, 50, 50, 50}));
}

}  // namespace
}  // namespace framewire
