// Input and messages of the programs over whole sessions: a real service and real subscribers.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "tests/base/eventually.hpp"
#include "tests/base/logs.hpp"
#include "tests/base/temporary_folder.hpp"
#include "tests/transport/relay.hpp"
#include "transport/control/authenticate.hpp"
#include "transport/control/preamble.hpp"
#include "transport/session/data_link.hpp"
#include "transport/session/handshake.hpp"
#include "transport/session/input_messages.hpp"
#include "transport/session/messages.hpp"
#include "transport/session/sender_service.hpp"
#include "transport/session/subscriber.hpp"

namespace framewire {
namespace {

using nlohmann::json;
using test::eventually;

const std::string viewer_id = "0123456789abcdef";

InputBatch text_input(const std::string& text) {
  return {.viewer = viewer_id, .epoch = 1, .events = {{1, TextInput{text}}}};
}

InputBatch pressed_key() {
  return {.viewer = viewer_id, .epoch = 1, .events = {{5, KeyInput{.usage = 4, .is_pressed = true}}}};
}

/// Frames stream all the time.
class SessionInput : public testing::Test {
 protected:
  explicit SessionInput(bool is_insecure = false) : is_insecure_(is_insecure) {
    ::setenv("XDG_CONFIG_HOME", folder_.path().c_str(), 1);
    EndpointOptions listening;
    listening.listen = HostPort{"127.0.0.1", 0};
    listening.insecure = is_insecure_;
    service_ = std::make_unique<SenderService>(listening, std::vector<Stream*>{&stream_}, "test", log_);
    source_ = std::thread([this] {
      stream_.begin_epoch({.layout = bytes_layout(5000), .colour = {}});
      while (auto slot = stream_.claim()) {
        stream_.publish(std::move(*slot), {.layout = {}});
      }
      stream_.finish();
    });
  }

  ~SessionInput() override { stop_sender(); }

  void stop_sender() {
    stream_.stop();
    if (source_.joinable()) {
      source_.join();
    }
    if (service_) {
      service_->drain(monotonic_ns() + 2 * ns_per_s);
    }
    service_.reset();
  }

  [[nodiscard]] SubscriberOptions dialling() const {
    SubscriberOptions options{.endpoint = {}, .stream = {}, .delivery = {}};
    options.endpoint.allowed_links = {LinkKind::tcp};
    options.endpoint.dial = HostPort{"127.0.0.1", service_->port()};
    options.endpoint.insecure = is_insecure_;
    options.takes_messages = true;
    return options;
  }

  static bool take_frame(Subscriber& subscriber) {
    return eventually([&] { return subscriber.next().has_value(); });
  }

  /// What waits, once there is something.
  static InputBatch take(SourceInbox::Reader& reader) {
    std::optional<InputBatch> batch;
    EXPECT_TRUE(eventually([&] { return (batch = reader.take()).has_value(); }));
    return batch.value_or(InputBatch{});
  }

  const bool is_insecure_;
  test::TemporaryFolder folder_;
  test::ShownLog log_;
  Stream stream_{StreamOptions{.name = "test"}};
  std::unique_ptr<SenderService> service_;
  std::thread source_;
};

TEST_F(SessionInput, ReachesTheSourceWhileFramesStream) {
  const auto reader = stream_.inbox().open_input();
  Subscriber subscriber(dialling(), log_);
  ASSERT_TRUE(take_frame(subscriber));
  InputBatch all{.viewer = viewer_id,
                 .epoch = 3,
                 .events = {{1, FocusInput{true}},
                            {2, PointerInput{.x = 1.25, .y = -2, .dx = 0.1, .dy = 0.2}},
                            {3, ButtonInput{.button = InputButton::middle, .is_pressed = true, .x = 1, .y = 2}},
                            {4, TextInput{"ß"}}}};
  EXPECT_TRUE(subscriber.send_input(all));
  EXPECT_EQ(take(*reader), all);
  for (int i = 0; i < 50; ++i) {
    EXPECT_TRUE(subscriber.send_input(text_input(std::to_string(i))));
    EXPECT_EQ(take(*reader), text_input(std::to_string(i)));
    ASSERT_TRUE(take_frame(subscriber));
  }
  EXPECT_EQ(subscriber.status().input_refusal, "");
  EXPECT_EQ(stream_.inbox().counts().events_received, 54U);
}

TEST_F(SessionInput, ThatIsNotValidOrHasNoSessionIsNotSent) {
  const auto reader = stream_.inbox().open_input();
  Subscriber subscriber(dialling(), log_);
  ASSERT_TRUE(take_frame(subscriber));
  EXPECT_FALSE(subscriber.send_input({.viewer = "me", .epoch = 1, .events = {}}));
  EXPECT_FALSE(subscriber.send_input(text_input("\x1b")));
  EXPECT_FALSE(subscriber.send_input(text_input("\xff")));
  EXPECT_FALSE(subscriber.send_message("[1]"));
  EXPECT_FALSE(subscriber.send_message("{\"a\":\"" + std::string(max_message_body_bytes, 'a') + "\"}"));
  EXPECT_TRUE(subscriber.send_input(text_input("a")));
  EXPECT_EQ(take(*reader), text_input("a"));
  EXPECT_EQ(subscriber.counts().sessions, 1U);
  SubscriberOptions nowhere = dialling();
  nowhere.endpoint.dial->port = 1;
  Subscriber alone(nowhere, log_);
  EXPECT_FALSE(alone.send_input(text_input("a")));
  EXPECT_FALSE(alone.send_message("{}"));
  EXPECT_FALSE(alone.take_message());
}

/// The viewer cannot know that the relay belongs to this user.
class SessionInputThroughARelay : public SessionInput {
 protected:
  SessionInputThroughARelay() : SessionInput(true) {}
};

TEST_F(SessionInputThroughARelay, ForAnEarlierSessionIsNotSentInTheNext) {
  const auto reader = stream_.inbox().open_input();
  test::Relay relay(service_->port());
  SubscriberOptions options = dialling();
  options.endpoint.dial->port = relay.port();
  Subscriber subscriber(options, log_);
  ASSERT_TRUE(take_frame(subscriber));
  const std::uint64_t earlier = subscriber.status().session_number;
  EXPECT_TRUE(subscriber.send_input(text_input("a"), earlier));
  EXPECT_EQ(take(*reader), text_input("a"));
  std::atomic<bool> is_garbage = true;
  relay.change([&](std::span<std::byte> bytes) {
    if (is_garbage) {
      std::ranges::fill(bytes, std::byte{0xff});
    }
    return !is_garbage;
  });
  const auto becomes = [&](SubscriberState state) {
    return eventually([&] {
      static_cast<void>(subscriber.next());  // the earlier session's frames, too
      return subscriber.status().state == state;
    });
  };
  ASSERT_TRUE(becomes(SubscriberState::lost));
  is_garbage = false;
  // Sessions to which the relay still sent garbage deliver no frame.
  std::uint64_t now = earlier;
  ASSERT_TRUE(eventually([&] {
    const auto frame = subscriber.next();
    now = frame ? frame->session_number() : now;
    return now != earlier;
  }));
  EXPECT_FALSE(subscriber.send_input(pressed_key(), earlier));
  std::optional<InputBatch> batch;
  EXPECT_TRUE(
      eventually([&] {  // the sender may take a moment to notice the end of the earlier one, which has the input
        EXPECT_TRUE(subscriber.send_input(text_input("b"), now));
        return (batch = reader->take()).has_value();
      }));
  ASSERT_TRUE(batch && !batch->events.empty());
  EXPECT_EQ(batch->events.front(), text_input("b").events.front());
}

TEST_F(SessionInput, OfASourceThatTakesNoneIsRefused) {
  Subscriber subscriber(dialling(), log_);
  ASSERT_TRUE(take_frame(subscriber));
  subscriber.send_input(text_input("a"));
  EXPECT_TRUE(
      eventually([&] { return subscriber.status().input_refusal.find("takes no input") != std::string::npos; }));
  subscriber.send_message("{}");
  EXPECT_TRUE(
      eventually([&] { return subscriber.status().message_refusal.find("takes no messages") != std::string::npos; }));
  ASSERT_TRUE(take_frame(subscriber));
  EXPECT_EQ(subscriber.counts().sessions, 1U);
}

TEST_F(SessionInput, WhoWasRefusedIsToldWhenTheProgramTakesMessages) {
  Subscriber subscriber(dialling(), log_);
  ASSERT_TRUE(take_frame(subscriber));
  subscriber.send_message("{}");
  ASSERT_TRUE(eventually([&] { return !subscriber.status().message_refusal.empty(); }));
  stream_.inbox().take_messages([] {});
  EXPECT_TRUE(eventually([&] { return subscriber.status().message_refusal.empty(); })) << "it is told without asking";
  EXPECT_TRUE(subscriber.send_message(R"({"n":1})"));
  std::optional<ViewerMessage> message;
  ASSERT_TRUE(eventually([&] { return (message = stream_.inbox().take_message()).has_value(); }));
  EXPECT_EQ(message->body, R"({"n":1})");
  EXPECT_EQ(stream_.inbox().counts().messages_dropped, 1U);
}

TEST_F(SessionInput, BelongsToOneViewerAndIsReleasedWhenItLeaves) {
  const auto reader = stream_.inbox().open_input();
  Subscriber first(dialling(), log_);
  Subscriber second(dialling(), log_);
  ASSERT_TRUE(take_frame(first));
  ASSERT_TRUE(take_frame(second));
  EXPECT_TRUE(first.send_input(pressed_key()));
  EXPECT_EQ(take(*reader), pressed_key());
  second.send_input(text_input("b"));
  EXPECT_TRUE(eventually([&] { return second.status().input_refusal.find("another viewer") != std::string::npos; }));
  EXPECT_FALSE(reader->take());
  first.close({});
  InputBatch released = pressed_key();
  std::get<KeyInput>(released.events[0].what).is_pressed = false;
  EXPECT_EQ(take(*reader), released);
  EXPECT_TRUE(eventually([&] { return second.status().input_refusal.empty(); })) << "it is told without asking";
  EXPECT_TRUE(second.send_input(text_input("b")));
  EXPECT_EQ(take(*reader), text_input("b"));
}

TEST_F(SessionInput, MessagesGoBothWays) {
  stream_.inbox().take_messages([] {});
  Subscriber first(dialling(), log_);
  ASSERT_TRUE(take_frame(first));
  Subscriber second(dialling(), log_);
  ASSERT_TRUE(take_frame(second));
  EXPECT_TRUE(second.send_message("{ \"camera\": [1, 2.5, \"ß\"] }"));
  std::optional<ViewerMessage> message;
  ASSERT_TRUE(eventually([&] { return (message = stream_.inbox().take_message()).has_value(); }));
  EXPECT_EQ(message->body, R"({"camera":[1,2.5,"ß"]})");
  EXPECT_EQ(message->viewer, 2U);
  stream_.inbox().broadcast(R"({"score":7})");
  for (Subscriber* const viewer : {&first, &second}) {
    std::optional<std::string> body;
    EXPECT_TRUE(eventually([&] { return (body = viewer->take_message()).has_value(); }));
    EXPECT_EQ(body, R"({"score":7})");
  }
}

/// Takes all messages: so many come.
std::string last_of(Subscriber& subscriber, std::uint64_t count) {
  std::uint64_t taken = 0;
  std::string last;
  EXPECT_TRUE(eventually([&] {
    for (auto body = subscriber.take_message(); body; body = subscriber.take_message(), ++taken) {
      last = *body;
    }
    return taken == count;
  }));
  return last;
}

TEST_F(SessionInput, MessagesThatAViewerDoesNotTakeAreDroppedFromTheOldest) {
  Subscriber subscriber(dialling(), log_);
  ASSERT_TRUE(take_frame(subscriber));
  constexpr std::uint64_t more = 20;
  for (std::uint64_t i = 0; i < max_waiting_messages + more; ++i) {
    stream_.inbox().broadcast("{\"n\":" + std::to_string(i) + "}");
  }
  const auto dropped = [&] { return subscriber.counts().messages_dropped + stream_.inbox().counts().messages_dropped; };
  EXPECT_TRUE(eventually([&] { return dropped() == more; })) << "at either end";
  EXPECT_EQ(last_of(subscriber, max_waiting_messages),
            "{\"n\":" + std::to_string(max_waiting_messages + more - 1) + "}");
}

TEST_F(SessionInput, LongMessagesThatAViewerDoesNotTakeAreBoundedInBytes) {
  Subscriber subscriber(dialling(), log_);
  ASSERT_TRUE(take_frame(subscriber));
  const auto message = [](std::uint64_t number) {
    return "{\"n\":\"" + std::to_string(1000 + number) + std::string(max_message_body_bytes - 12, 'a') + "\"}";
  };
  ASSERT_EQ(message(0).size(), max_message_body_bytes);
  constexpr std::uint64_t fit = max_waiting_message_bytes / max_message_body_bytes;
  constexpr std::uint64_t more = 5;
  for (std::uint64_t i = 0; i < fit + more; ++i) {
    stream_.inbox().broadcast(message(i));
  }
  const auto dropped = [&] { return subscriber.counts().messages_dropped + stream_.inbox().counts().messages_dropped; };
  EXPECT_TRUE(eventually([&] { return dropped() == more; })) << "at either end";
  EXPECT_EQ(last_of(subscriber, fit), message(fit + more - 1));
}

/// A viewer that is no framewire of ours.
class HostileInput : public SessionInput {
 protected:
  /// Does the handshake up to its place in the stream.
  std::pair<AuthenticatedChannel, LinkConnection> join() {
    const HostPort at{.host = "127.0.0.1", .port = service_->port()};
    AuthenticatedChannel viewer =
        authenticate_dialler(dial(at, monotonic_ns() + test::timeout_ns), AuthenticateOptions{});
    const auto hear = [&] { return viewer.channel->receive(monotonic_ns() + test::timeout_ns); };
    EXPECT_EQ(message_type(hear()), "hello");
    viewer.channel->send(to_json(HelloMessage{.role = "viewer", .program = "test"}));
    const OfferMessage offer = read_offer(hear());
    viewer.channel->send(
        to_json(ChooseMessage{.stream = 0, .link = LinkKind::tcp, .delivery = Delivery::latest, .token = {}}));
    const ConnectMessage go = read_connect(hear(), LinkKind::tcp);
    LinkConnection path =
        dial_data(at, {}, Token::from_hex(go.token), {session_id_from_hex(offer.session), LinkKind::tcp, 0},
                  {.cancel_fd = viewer.channel->fd()});
    return {std::move(viewer), std::move(path)};
  }

  /// Waits for the format, and is ready.
  static void begin(const AuthenticatedChannel& viewer) {
    for (;;) {
      const json message = viewer.channel->receive(monotonic_ns() + test::timeout_ns);
      if (message_type(message) == "epoch") {
        return viewer.channel->send(to_json(ReadyMessage{.number = read_epoch(message).number, .ring_slots = 2}));
      }
    }
  }

  /// The type of the next message that is none about frames.
  static std::string next_type(const AuthenticatedChannel& viewer) {
    for (;;) {
      std::string type = message_type(viewer.channel->receive(monotonic_ns() + test::timeout_ns));
      if (type != "epoch") {
        return type;
      }
    }
  }

  /// The text of the refusal that ends the session.
  static std::string refusal_of(const AuthenticatedChannel& viewer) {
    for (;;) {
      const json message = viewer.channel->receive(monotonic_ns() + test::timeout_ns);
      if (message_type(message) == "refused") {
        return message.at("text").get<std::string>();
      }
    }
  }
};

TEST_F(HostileInput, GarbageEndsTheSessionWithAClearMessage) {
  const auto reader = stream_.inbox().open_input();
  stream_.inbox().take_messages([] {});
  const std::vector<std::pair<json, std::string>> wrongs = {
      {{{"type", "input"}}, "version"},
      {{{"type", "input"}, {"version", 1}, {"viewer", viewer_id}, {"epoch", 1}, {"events", 7}}, "events"},
      {{{"type", "message"}}, "body"},
      {{{"type", "message"}, {"body", "text"}}, "body"},
      {{{"type", "message"}, {"body", {{"a", std::string(max_message_body_bytes, 'a')}}}}, "body"}};
  for (const auto& [message, named] : wrongs) {
    const auto [viewer, path] = join();
    viewer.channel->send(message);
    EXPECT_NE(refusal_of(viewer).find("'" + named + "'"), std::string::npos) << named;
  }
  EXPECT_FALSE(reader->take());
}

TEST_F(HostileInput, AFloodIsBoundedAndDisturbsNobody) {
  const auto reader = stream_.inbox().open_input();
  stream_.inbox().take_messages([] {});
  Subscriber subscriber(dialling(), log_);
  ASSERT_TRUE(take_frame(subscriber));
  const auto [viewer, path] = join();
  viewer.channel->send(to_json(ClockMessage{.viewer_ns = 1}));
  ASSERT_EQ(next_type(viewer), "clock") << "the session has the data connection: fewer messages may come before";
  constexpr int batches = 400;
  InputBatch flood = text_input("a");
  flood.events.resize(max_input_events, flood.events.front());
  for (int i = 0; i < batches; ++i) {
    viewer.channel->send(input_message(flood));
    viewer.channel->send(program_message("{}"));
    if (i % 50 == 0) {
      ASSERT_TRUE(take_frame(subscriber));
    }
  }
  ASSERT_TRUE(eventually([&] { return stream_.inbox().counts().messages_received == batches; }));
  const SourceInbox::Counts counts = stream_.inbox().counts();
  EXPECT_EQ(counts.events_received, batches * max_input_events);
  EXPECT_EQ(counts.events_dropped, batches * max_input_events - InputQueue::capacity);
  EXPECT_EQ(counts.messages_dropped, batches - max_waiting_messages);
  ASSERT_TRUE(take_frame(subscriber));
  EXPECT_TRUE(subscriber.send_message("{}"));
}

TEST_F(HostileInput, AViewerInItsHandshakeGetsNoMessages) {
  const auto [viewer, path] = join();
  for (int i = 0; i < 4; ++i) {  // between two answers the session has looked for messages
    viewer.channel->send(to_json(ClockMessage{.viewer_ns = 1}));
    EXPECT_EQ(next_type(viewer), "clock");
    if (i == 0) {  // the session has joined the stream
      stream_.inbox().broadcast("{}");
    }
  }
  viewer.channel->send(to_json(ReadyMessage{.number = 1, .ring_slots = 2}));
  EXPECT_EQ(next_type(viewer), "message");
}

TEST_F(HostileInput, AViewerThatReadsNothingKeepsNoMessages) {
  const auto [viewer, path] = join();
  begin(viewer);
  Subscriber subscriber(dialling(), log_);
  ASSERT_TRUE(take_frame(subscriber));
  const std::string long_body = "{\"a\":\"" + std::string(20'000, 'a') + "\"}";
  constexpr std::uint64_t messages = 400;
  for (std::uint64_t i = 0; i < messages; ++i) {
    stream_.inbox().broadcast(long_body);
    ASSERT_TRUE(eventually([&] { return subscriber.take_message() == long_body; }));
  }
  EXPECT_GT(stream_.inbox().counts().messages_dropped, messages / 10);
  EXPECT_EQ(stream_.viewer_count(), 2U) << "the slow viewer has missed messages only";
}

}  // namespace
}  // namespace framewire
