// A viewer cannot use the chosen link. Before it reports ready, it chooses another link in the same session.
#include <gtest/gtest.h>
#include <linux/sockios.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/ioctl.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/wait.hpp"
#include "tests/base/eventually.hpp"
#include "tests/base/logs.hpp"
#include "tests/base/temporary_folder.hpp"
#include "tests/contract/link_pairs.hpp"
#include "transport/links.hpp"
#include "transport/session/handshake.hpp"
#include "transport/session/pending_data_connection.hpp"
#include "transport/session/sender_service.hpp"

namespace framewire {
namespace {

using test::eventually;
using test::timeout_ns;

constexpr std::uint64_t chunk_bytes = 100;

/// A sender of bytes for exactly one viewer. The test plays the viewer, message by message.
class LinkChange : public testing::Test {
 protected:
  LinkChange() {
    ::setenv("XDG_CONFIG_HOME", folder_.path().c_str(), 1);
    EndpointOptions listening;
    listening.listen = HostPort{"127.0.0.1", 0};
    stream_.begin_epoch({.layout = bytes_layout(chunk_bytes), .colour = {}});
    service_ = std::make_unique<SenderService>(listening, std::vector<Stream*>{&stream_}, "test", log_);
    viewer_ = authenticate_dialler(dial({.host = "127.0.0.1", .port = service_->port()}, monotonic_ns() + timeout_ns),
                                   AuthenticateOptions{});
    EXPECT_EQ(message_type(hear()), "hello");
    say(to_json(HelloMessage{.role = "viewer", .program = "test"}));
    offer_ = read_offer(hear());
  }

  nlohmann::json hear() const { return viewer_.channel->receive(monotonic_ns() + timeout_ns); }
  void say(const nlohmann::json& message) const { viewer_.channel->send(message); }

  std::string choose(LinkKind kind) const {
    say(to_json(ChooseMessage{.link = kind, .delivery = Delivery::every, .token = {}, .why = "a test\n"}));
    return read_connect(hear(), kind).token;
  }

  /// Chooses and opens the link; returns the link's first epoch.
  EpochMessage take(LinkKind kind) {
    const LinkParameters parameters{.peer_timeout_ns = timeout_ns};
    const SessionId session = session_id_from_hex(offer_.session);
    LinkConnection path =
        dial_data({"127.0.0.1", service_->port()}, {}, Token::from_hex(choose(kind)), {session, kind, 0}, parameters);
    link_ = link_provider(kind).make_receiver(std::move(path), parameters);
    return read_epoch(hear());
  }

  void be_ready(const EpochMessage& epoch) {
    link_->begin_epoch(epoch.number, epoch.slot_bytes, epoch.ring_slots, epoch.pool);
    say(to_json(ReadyMessage{.number = epoch.number, .ring_slots = epoch.ring_slots, .ring = {}}));
    link_->epoch_is_ready();
  }

  test::TemporaryFolder folder_;
  test::ShownLog log_;
  Stream stream_{StreamOptions{.name = "test",
                               .delivery = Delivery::every,
                               .max_viewers = 1,
                               .ends_with_viewers = true,
                               .receiver_label = "receiver"}};
  std::unique_ptr<SenderService> service_;
  AuthenticatedChannel viewer_;
  OfferMessage offer_;
  std::unique_ptr<ReceiverLink> link_;
};

TEST_F(LinkChange, TheStreamBeginsOnTheLinkThatIsReady) {
  EXPECT_FALSE(offer_.streams.front().description.empty()) << "so an epoch follows at once";
  EXPECT_EQ(take(LinkKind::local).number, 1U);
  EXPECT_EQ(stream_.viewer_count(), 1U);
  EXPECT_FALSE(stream_.has_viewer()) << "what it would be given might be lost";
  const EpochMessage epoch = take(LinkKind::tcp);
  EXPECT_EQ(epoch.number, 1U) << "each link counts anew";
  EXPECT_FALSE(stream_.is_stopping()) << "its viewer has not left";
  be_ready(epoch);
  EXPECT_TRUE(eventually([&] { return stream_.has_viewer(); }));
  stream_.publish(*stream_.claim(), {.pts_ns = 7});
  std::optional<IncomingFrame> frame;
  ASSERT_TRUE(eventually([&] { return (frame = test::drive_and_poll(*link_)).has_value(); }));
  EXPECT_EQ(frame->header.pts_ns, 7);
  EXPECT_EQ(frame->header.sequence, 0U) << "none was lost with the first link";
  link_->return_credit(frame->header);
  say(to_json(ByeMessage{.reason = "enough", .frames_received = 1, .statistics = {}}));
  ASSERT_TRUE(eventually([&] { return !service_->reports().empty(); }));
  const SessionReport report = service_->reports().front();
  EXPECT_EQ(report.transport, "tcp");
  EXPECT_EQ(report.counts.frames_sent, 1U);
  EXPECT_EQ(report.frames_lost, 0U);
  EXPECT_TRUE(stream_.is_stopping()) << "now it has";
}

TEST_F(LinkChange, AfterThatItIsTooLate) {
  be_ready(take(LinkKind::local));
  EXPECT_TRUE(eventually([&] { return stream_.has_viewer(); }));
  say(to_json(ChooseMessage{.link = LinkKind::tcp, .delivery = Delivery::every, .token = {}}));
  ASSERT_TRUE(eventually([&] { return !service_->reports().empty(); }));
  EXPECT_EQ(service_->reports().front().ending, "the receiver could not use the link after all");
  EXPECT_TRUE(stream_.is_stopping());
}

TEST_F(LinkChange, ThereAreAsManyChoicesAsLinksWereOffered) {
  take(LinkKind::local);
  for (std::size_t choices = 1; choices < offer_.links.size(); ++choices) {
    take(LinkKind::tcp);
  }
  say(to_json(ChooseMessage{.link = LinkKind::tcp, .delivery = Delivery::every, .token = {}}));
  EXPECT_EQ(hear()["text"], "the viewer has tried every link that was offered");
  EXPECT_TRUE(eventually([&] { return stream_.is_stopping(); }));
}

TEST_F(LinkChange, AViewerThatLeavesOnTheWayHasLeft) {
  take(LinkKind::local);
  choose(LinkKind::tcp);
  viewer_.channel->close();
  ASSERT_TRUE(eventually([&] { return !service_->reports().empty(); }));
  EXPECT_TRUE(stream_.is_stopping());
  EXPECT_EQ(stream_.viewer_count(), 0U);
  EXPECT_EQ(service_->reports().front().counts.frames_sent, 0U);
}

TEST_F(LinkChange, AViewerThatRefusesInPlaceOfADataConnectionIsHeard) {
  choose(LinkKind::tcp);
  say(refusal("a test\n"));
  EXPECT_TRUE(wait_for(viewer_.channel->fd(), POLLIN, monotonic_ns() + data_connection_timeout_ns / 2))
      << "the sender hangs up, and does not wait for the connection";
}

TEST_F(LinkChange, AViewerThatRefusesAfterAnotherMessageIsHeard) {
  choose(LinkKind::tcp);
  say({{"type", "of a newer viewer"}});
  say(refusal("a test\n"));
  EXPECT_TRUE(wait_for(viewer_.channel->fd(), POLLIN, monotonic_ns() + data_connection_timeout_ns / 2))
      << "the sender hangs up, and does not wait for the connection";
}

TEST_F(LinkChange, MessagesBeforeTheDataConnectionAreAnsweredInTheirOrder) {
  constexpr std::int64_t questions = 3;
  const LinkParameters parameters{.peer_timeout_ns = timeout_ns};
  const Token token = Token::from_hex(choose(LinkKind::tcp));
  for (std::int64_t i = 0; i < questions; ++i) {
    say(to_json(ClockMessage{.viewer_ns = i}));
  }
  ASSERT_TRUE(eventually([&] {
    int unread = 1;
    return ::ioctl(viewer_.channel->fd(), SIOCOUTQ, &unread) == 0 && unread == 0;
  })) << "the sender waits for the connection, and has read them meanwhile";
  const LinkConnection path = dial_data({"127.0.0.1", service_->port()}, {}, token,
                                        {session_id_from_hex(offer_.session), LinkKind::tcp, 0}, parameters);
  for (std::int64_t i = 0; i < questions; ++i) {
    EXPECT_EQ(read_clock(hear()).viewer_ns, i);
  }
  EXPECT_EQ(read_epoch(hear()).number, 1U);
}

TEST_F(LinkChange, WhoMayNotPullIsToldAtOnce) {
  say(to_json(ChooseMessage{.link = LinkKind::tcp, .token = {}, .pulls = true}));
  const nlohmann::json answer = hear();
  ASSERT_EQ(message_type(answer), "refused");
  EXPECT_NE(answer.dump().find("may not be pulled; start it with --allow-pull"), std::string::npos) << answer.dump();
}

TEST_F(LinkChange, ALongMessageInPlaceOfADataConnectionIsNotKept) {
  choose(LinkKind::tcp);
  say({{"type", "of a newer viewer"}, {"text", std::string(PendingDataConnection::max_kept_bytes, 'x')}});
  EXPECT_TRUE(wait_for(viewer_.channel->fd(), POLLIN, monotonic_ns() + data_connection_timeout_ns / 2));
}

TEST_F(LinkChange, AViewerThatTalksInPlaceOfADataConnectionIsNotKept) {
  choose(LinkKind::tcp);
  for (std::size_t i = 0; i <= PendingDataConnection::max_messages; ++i) {
    say({{"type", "of a newer viewer"}});
  }
  EXPECT_TRUE(wait_for(viewer_.channel->fd(), POLLIN, monotonic_ns() + data_connection_timeout_ns / 2));
}

}  // namespace
}  // namespace framewire
