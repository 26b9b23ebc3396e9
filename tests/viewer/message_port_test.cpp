// --messages of a viewer, against a sender in the same process.
#include "viewer/message_port.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/pipe.hpp"
#include "command/interruption.hpp"
#include "tests/base/eventually.hpp"
#include "tests/base/logs.hpp"
#include "tests/base/temporary_folder.hpp"
#include "transport/session/sender_service.hpp"
#include "transport/stream.hpp"
#include "viewer/received_stream.hpp"

namespace framewire {
namespace {

using nlohmann::json;
using test::eventually;

/// A sender of two streams without frames. The program that runs the viewer reads `lines`.
class MessagePortTest : public testing::Test {
 protected:
  MessagePortTest() {
    ::setenv("XDG_CONFIG_HOME", folder_.path().c_str(), 1);
    EndpointOptions listening;
    listening.listen = HostPort{"127.0.0.1", 0};
    service_ = std::make_unique<SenderService>(listening, std::vector<Stream*>{&left_, &right_}, "test", log_);
    for (Stream* const stream : {&left_, &right_}) {
      stream->begin_epoch({.layout = packed_layout(PixelFormat::rgba, 64, 36), .colour = {}});
    }
    port_.emplace(PortDescriptors{.writes = pipe_.writes.get()}, log_);
  }

  ~MessagePortTest() override {
    left_.stop();
    right_.stop();
    service_.reset();
  }

  /// Views a stream, and waits for so many messages of a KiB. They are kept: the port does not have the stream yet.
  std::unique_ptr<ViewedStream> view(Stream& stream, std::size_t messages) {
    const std::string name = stream.options().name;
    SubscriberOptions subscriber{.endpoint = {}, .stream = name, .delivery = {}};
    subscriber.endpoint.allowed_links = {LinkKind::tcp};
    subscriber.endpoint.dial = HostPort{"127.0.0.1", service_->port()};
    ViewedSource source = port_->with_messages({.subscriber = subscriber, .peer_text = name});
    const auto come = std::make_shared<std::atomic<std::size_t>>(0);
    source.subscriber.on_message = [come, wake = source.subscriber.on_message] {
      ++*come;
      wake();
    };
    auto viewed =
        std::make_unique<ReceivedStream>(options_, source, true, ReceivedStream::Drawer{}, clock_, interruption_,
                                         nullptr, log_, ViewedStream::Listeners{[] {}, [] {}, [] {}});
    EXPECT_TRUE(eventually([&] { return viewed->status().format.has_value(); })) << "the session has begun";
    for (std::size_t i = 0; i < messages; ++i) {
      stream.inbox().broadcast(json{{"number", i}, {"text", std::string(1000, 'a')}}.dump());
    }
    EXPECT_TRUE(eventually([&] { return *come == messages; }));
    return viewed;
  }

  /// What the port writes: the streams of so many lines, in their order.
  std::vector<std::string> streams_of_lines(std::size_t count) {
    std::vector<std::string> streams;
    while (streams.size() < count) {
      std::string line;
      for (char letter = 0; ::read(pipe_.reads.get(), &letter, 1) == 1 && letter != '\n';) {
        line += letter;
      }
      streams.push_back(json::parse(line).at("stream"));
    }
    return streams;
  }

  test::TemporaryFolder folder_;
  test::ShownLog log_;
  const ViewerOptions options_{};
  const SystemClock clock_;
  Interruption interruption_;
  const PipeEnds pipe_ = make_pipe();
  Stream left_{StreamOptions{.name = "left"}};
  Stream right_{StreamOptions{.name = "right", .number = 1}};
  std::unique_ptr<SenderService> service_;
  std::optional<ViewerMessagePort> port_;  // outlives the viewed streams
};

TEST_F(MessagePortTest, WritesTheMessagesOfStreamsInTurn) {
  // The port can take 64 KiB and the pipe as much: most of these wait.
  constexpr std::size_t many = 250;
  const auto left = view(left_, many);
  const auto right = view(right_, 1);
  port_->add(*left);
  port_->add(*right);
  const std::vector<std::string> streams = streams_of_lines(many + 1);
  const auto place = std::ranges::find(streams, "right") - streams.begin();
  EXPECT_LT(place, 200) << "the stream that says much has been let through first";
  port_->remove(*left);
  port_->remove(*right);
}

TEST_F(MessagePortTest, ForgetsAStreamThatEnds) {
  auto left = view(left_, 1);
  const auto right = view(right_, 1);
  port_->add(*left);
  EXPECT_EQ(streams_of_lines(1), std::vector<std::string>{"left"});
  port_->remove(*left);
  left.reset();
  port_->add(*right);
  EXPECT_EQ(streams_of_lines(1), std::vector<std::string>{"right"});
  port_->remove(*right);
}

}  // namespace
}  // namespace framewire
