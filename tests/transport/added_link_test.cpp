// A link is added by a folder and one entry of the list: this program has its own list with a further link, and runs
// whole sessions over it. Nothing else of the product knows the link.
#include "tests/transport/added_link.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <array>
#include <functional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "frame/test_pattern.hpp"
#include "tests/base/eventually.hpp"
#include "tests/base/logs.hpp"
#include "tests/base/temporary_folder.hpp"
#include "transport/control/data_hello.hpp"
#include "transport/links.hpp"
#include "transport/local/local_provider.hpp"
#include "transport/session/sender_service.hpp"
#include "transport/session/session_acceptor.hpp"
#include "transport/session/subscriber.hpp"
#include "transport/tcp/tcp_provider.hpp"

namespace framewire {

/// In place of transport/links.cpp.
std::span<const LinkProvider* const> link_providers() noexcept {
  static const std::array<const LinkProvider*, 4> links{&local_provider(), &test::added_provider(),
                                                        &test::added_socket_provider(), &tcp_provider()};
  return links;
}

namespace {

using test::added_link;
using test::added_link_state;
using test::added_socket_link;
using test::eventually;

class AddedLink : public testing::Test {
 protected:
  static constexpr std::uint64_t frames = 100;

  AddedLink() {
    ::setenv("XDG_CONFIG_HOME", folder_.path().c_str(), 1);
    added_link_state().is_available = true;
    added_link_state().fails_to_connect = false;
    added_link_state().connections = 0;
    added_link_state().socket_answers = INT_MAX;
    added_link_state().is_wrongly_addressed = false;
  }
  ~AddedLink() override {
    stream_.stop();
    if (source_.joinable()) {
      source_.join();
    }
  }

  /// The links of both ends; several of them are as with --transport auto.
  EndpointOptions endpoint() const {
    EndpointOptions options;
    options.allowed_links = links_;
    options.may_choose_link = links_.size() > 1;
    options.encrypt = encrypts_;
    options.native_on_loopback = true;  // links with a listener of their own listen on loopback, too
    return options;
  }

  EndpointOptions listening() const {
    EndpointOptions options = endpoint();
    options.listen = HostPort{"127.0.0.1", 0};
    return options;
  }

  EndpointOptions dialling(std::uint16_t port) const {
    EndpointOptions options = endpoint();
    options.dial = HostPort{"127.0.0.1", port};
    return options;
  }

  void start_source() {
    source_ = std::thread([this] {
      stream_.begin_epoch({.layout = bytes_layout(5000), .colour = {}});
      while (auto slot = stream_.claim()) {
        write_test_lines(slot->bytes(), slot->next_sequence());
        stream_.publish(std::move(*slot), {.has_test_pattern = true, .layout = {}});
      }
      stream_.finish();
    });
  }

  /// Receives until the session is over. Returns the number of whole frames.
  static std::uint64_t receive_all(Subscriber& subscriber) {
    std::uint64_t count = 0;
    EXPECT_TRUE(eventually([&] {
      while (const auto frame = subscriber.next()) {
        count += find_torn_line(frame->payload(), frame->header().sequence) ? 0U : 1U;
      }
      const SubscriberState state = subscriber.status().state;
      subscriber.wait(monotonic_ns() + 20 * ns_per_ms);
      return state == SubscriberState::finished || state == SubscriberState::failed;
    }));
    return count;
  }

  test::TemporaryFolder folder_;
  test::KeptLog kept_;
  std::vector<LinkKind> links_{added_link};
  bool encrypts_ = false;
  Stream stream_{StreamOptions{.name = "test", .delivery = Delivery::every, .max_frames = frames}};
  std::thread source_;
};

TEST_F(AddedLink, IsKnownByItsNames) {
  EXPECT_EQ(link_kind_from_name("added"), added_link);
  EXPECT_EQ(link_kind_from_wire("added1"), added_link);
  EXPECT_EQ(link_kind_from_number(200), added_link);
  EXPECT_EQ(all_link_names("|", "|"), "local|added|addedsocket|tcp") << "--help shows this";
  EXPECT_EQ(EndpointOptions().allowed_links,
            (std::vector{LinkKind::local, added_link, added_socket_link, LinkKind::tcp}));
}

TEST_F(AddedLink, CarriesASessionThatTheViewerDials) {
  SenderService service(listening(), {&stream_}, "test", kept_);
  start_source();
  Subscriber viewer({.endpoint = dialling(service.port()), .stream = {}, .delivery = {}}, kept_);
  EXPECT_EQ(receive_all(viewer), frames);
  EXPECT_EQ(viewer.status().transport, "added");
  EXPECT_EQ(viewer.counts().frames_lost, 0U);
  EXPECT_EQ(added_link_state().connections, 1);
  viewer.close({});
  service.drain(monotonic_ns() + 2 * ns_per_s);
  ASSERT_EQ(service.reports().size(), 1U);
  EXPECT_EQ(service.reports()[0].transport, "added");
  EXPECT_EQ(service.reports()[0].frames_received, frames);
}

TEST_F(AddedLink, CarriesASessionThatTheSenderDials) {
  Subscriber viewer({.endpoint = listening(), .stream = {}, .delivery = {}}, kept_);
  SenderService service(dialling(viewer.port()), {&stream_}, "test", kept_);
  start_source();
  EXPECT_EQ(receive_all(viewer), frames);
  EXPECT_EQ(viewer.status().transport, "added");
  EXPECT_EQ(added_link_state().connections, 1);
}

/// Also while nothing is sent, and if next() is to read the wire: this program never calls it.
TEST_F(AddedLink, IsMaintainedByTheSessionsOfBothEnds) {
  for (const Driver driver : {Driver::subscriber, Driver::program}) {
    SenderService service(listening(), {&stream_}, "test", kept_);
    Subscriber viewer({.endpoint = dialling(service.port()), .stream = {}, .delivery = {}, .driver = driver}, kept_);
    ASSERT_TRUE(eventually([&] { return viewer.status().state == SubscriberState::connected; }));
    for (test::Maintenance* const end : {&added_link_state().of_sender, &added_link_state().of_receiver}) {
      const int calls_before = end->calls;
      EXPECT_TRUE(eventually([&] { return end->calls >= calls_before + 5; })) << "no event: the timer";
      const int events_before = end->events;
      int events_so_far = events_before;
      EXPECT_TRUE(eventually([&] {
        if (end->events == events_so_far) {
          ++events_so_far;
          signal_eventfd(end->event.get());
        }
        return end->events >= events_before + 300;
      })) << "the timer alone would take much longer";
    }
  }
}

TEST_F(AddedLink, IsLeftForTheNextOneWhereItCannotConnect) {
  links_ = {added_link, LinkKind::tcp};
  added_link_state().fails_to_connect = true;
  SenderService service(listening(), {&stream_}, "test", kept_);
  start_source();
  Subscriber viewer({.endpoint = dialling(service.port()), .stream = {}, .delivery = {}}, kept_);
  EXPECT_EQ(receive_all(viewer), frames);
  EXPECT_EQ(viewer.status().transport, "tcp");
  EXPECT_NE(viewer.status().start_line.find("(auto: tcp; added: the added link leads nowhere)"), std::string::npos)
      << viewer.status().start_line;
}

TEST_F(AddedLink, IsNotOfferedWhereTheMachineCannotUseIt) {
  links_ = {added_link, LinkKind::tcp};
  added_link_state().is_available = false;
  SenderService service(listening(), {&stream_}, "test", kept_);
  start_source();
  Subscriber viewer({.endpoint = dialling(service.port()), .stream = {}, .delivery = {}}, kept_);
  EXPECT_EQ(receive_all(viewer), frames);
  EXPECT_NE(viewer.status().start_line.find("(auto: tcp; added: the sender has none, it has no room for it)"),
            std::string::npos)
      << viewer.status().start_line;
  links_ = {added_link};
  EXPECT_THROW(SenderService(listening(), {&stream_}, "test", kept_), Error) << "asked for by name";
  EXPECT_THROW(Subscriber({.endpoint = dialling(1), .stream = {}, .delivery = {}}, kept_), Error);
}

/// As --rdma-address 127.0.0.1 does where there is an RDMA device: the user must mend the command line.
TEST_F(AddedLink, EndsAListenerWhoseOptionsItCannotTakeEvenIfAnotherLinkWouldDo) {
  links_ = {added_link, LinkKind::tcp};
  added_link_state().is_wrongly_addressed = true;
  const auto expect_usage_error = [](const std::function<void()>& start) {
    try {
      start();
      ADD_FAILURE() << "it listens";
    } catch (const Error& error) {
      EXPECT_EQ(error.status(), ExitStatus::usage);
      EXPECT_STREQ(error.what(), "--added-address is wrong");
    }
  };
  expect_usage_error([&] { SenderService(listening(), {&stream_}, "test", kept_); });
  expect_usage_error([&] { Subscriber({.endpoint = listening(), .stream = {}, .delivery = {}}, kept_); });
}

/// A link that arrives at the control channel's port is asked, too.
TEST_F(AddedLink, WithoutAListenerIsNotOfferedWhereTheSenderCannotUseIt) {
  links_ = {added_socket_link, LinkKind::tcp};
  added_link_state().socket_answers = 0;
  SenderService service(listening(), {&stream_}, "test", kept_);
  start_source();
  Subscriber viewer({.endpoint = dialling(service.port()), .stream = {}, .delivery = {}}, kept_);
  EXPECT_EQ(receive_all(viewer), frames);
  EXPECT_NE(viewer.status().start_line.find("(auto: tcp; addedsocket: the sender has none, it has no socket to spare)"),
            std::string::npos)
      << viewer.status().start_line;
}

TEST_F(AddedLink, WithoutAListenerIsNotChosenWhereTheViewerCannotUseIt) {
  links_ = {added_socket_link, LinkKind::tcp};
  added_link_state().socket_answers = 1;  // the sender's question, when it offers
  SenderService service(listening(), {&stream_}, "test", kept_);
  start_source();
  Subscriber viewer({.endpoint = dialling(service.port()), .stream = {}, .delivery = {}}, kept_);
  EXPECT_EQ(receive_all(viewer), frames);
  EXPECT_NE(viewer.status().start_line.find("(auto: tcp; addedsocket: no socket to spare here)"), std::string::npos)
      << viewer.status().start_line;
}

/// Its provider leaves it to the interface to say so.
TEST_F(AddedLink, SaysWhyItCannotBeUsedWhereItIsAskedFor) {
  links_ = {added_socket_link};
  added_link_state().socket_answers = 0;
  const auto refusal = [&](const auto& start) -> std::string {
    try {
      start();
    } catch (const Error& error) {
      return error.what();
    }
    return "was taken";
  };
  const std::string why =
      "--transport is addedsocket, and this machine has no socket to spare; take another link, or auto";
  EXPECT_EQ(refusal([&] { const SenderService one(listening(), {&stream_}, "test", kept_); }), why);
  EXPECT_EQ(refusal([&] { const SenderService one(dialling(1), {&stream_}, "test", kept_); }), why);
  EXPECT_EQ(refusal([&] { const Subscriber one({.endpoint = listening(), .stream = {}, .delivery = {}}, kept_); }),
            why);
  EXPECT_EQ(refusal([&] { const Subscriber one({.endpoint = dialling(1), .stream = {}, .delivery = {}}, kept_); }),
            why);
}

TEST_F(AddedLink, CarriesAnEncryptedSession) {
  links_ = {added_socket_link, LinkKind::tcp};
  encrypts_ = true;
  SenderService service(listening(), {&stream_}, "test", kept_);
  start_source();
  Subscriber viewer({.endpoint = dialling(service.port()), .stream = {}, .delivery = {}}, kept_);
  EXPECT_EQ(receive_all(viewer), frames);
  EXPECT_EQ(viewer.status().transport, "addedsocket");
  EXPECT_NE(viewer.status().start_line.find("=tls (auto: addedsocket; --encrypt works over addedsocket and tcp only)"),
            std::string::npos)
      << viewer.status().start_line;
  links_ = {added_link};
  try {
    const SenderService refused(listening(), {&stream_}, "test", kept_);
    ADD_FAILURE() << "was taken";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "--encrypt works over addedsocket and tcp only, and this end takes added; take --transport auto, "
                 "addedsocket or tcp, or leave out --encrypt");
  }
}

TEST_F(AddedLink, LetsNobodyInWithoutTheProof) {
  const std::vector<LinkListening> wanted{{.link = added_link, .when = ListenWhen::required}};
  SessionAcceptor acceptor(
      {.at = {.host = "127.0.0.1", .port = 0}}, wanted, AuthenticateOptions{},
      [](SessionAcceptor&, const AuthenticatedChannel&) {}, kept_);
  const LinkDescription listener = acceptor.listener_description(added_link);
  const DataConnectionId connection{random_session_id(), added_link, 0};
  const Token token = acceptor.issue(connection);
  EXPECT_FALSE(test::dial_added_link_with(listener, ConnectHello{}));
  EXPECT_FALSE(test::dial_added_link_with(listener, make_connect_proof(Token::random(), connection).hello));
  EXPECT_FALSE(acceptor.await_data(connection, monotonic_ns())) << "nothing was kept for them";
  EXPECT_EQ(added_link_state().connections, 0);
}

}  // namespace
}  // namespace framewire
