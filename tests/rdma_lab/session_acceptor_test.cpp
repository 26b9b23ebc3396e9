// Which RDMA connections a session accepts. Both ends speak the right protocol, with right and wrong proofs.
#include <gtest/gtest.h>

#include <future>
#include <string>

#include "base/clock.hpp"
#include "tests/base/logs.hpp"
#include "transport/control/data_hello.hpp"
#include "transport/rdma/addresses.hpp"
#include "transport/rdma/dial.hpp"
#include "transport/rdma/listener.hpp"
#include "transport/rdma/rdma_provider.hpp"
#include "transport/session/session_acceptor.hpp"

namespace framewire::test {
namespace {

constexpr std::int64_t timeout_ns = 10 * ns_per_s;

RdmaOptions plain_options() {
  return {.protection_domain_of = allocate_protection_domain};
}

class SessionAcceptorOverRdma : public testing::Test {
 protected:
  [[nodiscard]] RdmaListenerAddress at() const {
    return rdma_listener_from(acceptor_.listener_description(LinkKind::rdma));
  }
  static RdmaConnectRequest request_of(IncomingDataConnection& incoming) {
    return rdma_request_of(std::get<std::unique_ptr<ConnectRequest>>(std::move(incoming)));
  }

  /// Returns the error of a dial with this token; empty if it is accepted.
  std::string dial(const Token& token, const DataConnectionId& connection) {
    try {
      dial_rdma({.host = "127.0.0.1", .port = at().port}, make_connect_proof(token, connection), plain_options(),
                monotonic_ns() + timeout_ns);
      return {};
    } catch (const Error& error) {
      return error.what();
    }
  }

  void expect_rejected(const Token& token, const DataConnectionId& connection) {
    EXPECT_NE(dial(token, connection).find("it knows no such session"), std::string::npos);
    EXPECT_FALSE(acceptor_.await_data(connection, monotonic_ns())) << "nothing was kept for it";
  }

  /// Expects a dial with the right token to be accepted by the session that waits for it.
  void expect_taken(const Token& token, const DataConnectionId& connection) {
    auto accepted = std::async(std::launch::async, [&]() -> std::unique_ptr<RdmaConnection> {
      auto incoming = acceptor_.await_data(connection, monotonic_ns() + timeout_ns);
      if (!incoming) {
        return nullptr;
      }
      return RdmaConnection::accept(request_of(*incoming), plain_options(), monotonic_ns() + timeout_ns);
    });
    EXPECT_EQ(dial(token, connection), "");
    EXPECT_TRUE(accepted.get());
  }

  test::ShownLog log_;
  const std::vector<LinkListening> wanted_{{.link = LinkKind::rdma, .when = ListenWhen::where_possible}};
  SessionAcceptor acceptor_{{.at = {.host = "127.0.0.1", .port = 0}},
                            wanted_,
                            AuthenticateOptions{},
                            [](SessionAcceptor&, const AuthenticatedChannel&) {},
                            log_};
  const DataConnectionId connection_{random_session_id(), LinkKind::rdma, 0};
};

TEST_F(SessionAcceptorOverRdma, AWrongTokenIsRejectedAndTheRightOneStillGetsIn) {
  const Token token = acceptor_.issue(connection_);
  expect_rejected(Token::random(), connection_);
  expect_taken(token, connection_);
}

TEST_F(SessionAcceptorOverRdma, ATokenOfAnotherSessionIsRejected) {
  const Token token = acceptor_.issue(connection_);
  expect_rejected(token, {random_session_id(), LinkKind::rdma, 0});
  expect_taken(token, connection_);
}

TEST_F(SessionAcceptorOverRdma, ATokenForAnotherLinkIsRejected) {
  const DataConnectionId over_tcp{connection_.session, LinkKind::tcp, 0};
  const Token token = acceptor_.issue(over_tcp);
  expect_rejected(token, connection_);
  expect_rejected(token, over_tcp);
}

/// TCP may have reached an address without an RDMA device. The dialling end then uses the RDMA addresses that the
/// listener reports.
TEST_F(SessionAcceptorOverRdma, IsFoundAtTheAddressesThatItTellsOf) {
  const std::vector<std::string> announced = at().addresses;
  ASSERT_FALSE(announced.empty());
  const HostPort elsewhere{.host = "192.0.2.1", .port = at().port};  // documentation address: RFC 5737
  const auto dial_with = [&](const RdmaTargets& targets) -> std::string {
    const Token token = acceptor_.issue(connection_);
    auto accepted = std::async(std::launch::async, [&]() -> std::unique_ptr<RdmaConnection> {
      auto incoming = acceptor_.await_data(connection_, monotonic_ns() + 3 * ns_per_s);
      return incoming ? RdmaConnection::accept(request_of(*incoming), plain_options(), monotonic_ns() + timeout_ns)
                      : nullptr;
    });
    try {
      dial_rdma(elsewhere, make_connect_proof(token, connection_), plain_options(), monotonic_ns() + timeout_ns,
                targets);
      return accepted.get() ? "connected" : "not accepted";
    } catch (const Error& error) {
      accepted.wait();
      return error.what();
    }
  };
  EXPECT_EQ(dial_with({.announced = announced, .only = {}}), "connected");
  EXPECT_EQ(dial_with({.announced = {}, .only = announced.front()}), "connected");
  EXPECT_NE(dial_with({}).find("no RDMA device here reaches"), std::string::npos);
  EXPECT_NE(dial_with({.announced = announced, .only = "192.0.2.2"}).find("192.0.2.2"), std::string::npos)
      << "no other one";
}

/// No RDMA device has a loopback address. With --transport auto, too, this ends the program: it is no missing device.
TEST_F(SessionAcceptorOverRdma, AnAddressThatNoDeviceHasIsAnErrorOfTheCommandLine) {
  try {
    const SessionAcceptor acceptor(
        {.at = {.host = "127.0.0.1", .port = 0}, .native_listen_address = "127.0.0.1"}, wanted_, AuthenticateOptions{},
        [](SessionAcceptor&, const AuthenticatedChannel&) {}, log_);
    ADD_FAILURE() << "it listens";
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), ExitStatus::usage);
    EXPECT_NE(std::string(error.what()).find("--rdma-address is '127.0.0.1'"), std::string::npos) << error.what();
  }
}

TEST_F(SessionAcceptorOverRdma, ATokenIsGoodForOnce) {
  const Token token = acceptor_.issue(connection_);
  expect_taken(token, connection_);
  expect_rejected(token, connection_);
}

TEST_F(SessionAcceptorOverRdma, ATokenOfASessionThatHasEndedIsRejected) {
  const Token token = acceptor_.issue(connection_);
  acceptor_.forget(connection_);
  expect_rejected(token, connection_);
}

/// A listener at the peer's address that does not know the token.
TEST_F(SessionAcceptorOverRdma, AListenerWithoutTheTokenIsFoundOut) {
  const Token token = Token::random();
  std::promise<RdmaConnectRequest> requested;
  std::vector<sockaddr_storage> addresses = rdma_addresses();
  RdmaListener impostor(
      addresses, 0, [&](RdmaConnectRequest request, std::span<const std::byte> hello, const std::string&) {
        auto answer = decode_connect_hello(hello, LinkKind::rdma);  // without the token it can only echo the hello
        request.set_answer(encode_connect_hello(answer.value()));
        requested.set_value(std::move(request));
      });
  auto accepted = std::async(std::launch::async, [&] {
    return RdmaConnection::accept(requested.get_future().get(), plain_options(), monotonic_ns() + timeout_ns);
  });
  try {
    dial_rdma({.host = "127.0.0.1", .port = impostor.port()}, make_connect_proof(token, connection_), plain_options(),
              monotonic_ns() + timeout_ns);
    ADD_FAILURE() << "the impostor was believed";
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), ExitStatus::refused);
    EXPECT_NE(std::string(error.what()).find("is not the peer of this session"), std::string::npos) << error.what();
  }
  if (accepted.wait_for(std::chrono::seconds(10)) != std::future_status::ready) {
    requested.set_exception(std::make_exception_ptr(Error::failed("nobody came to the impostor")));
  }
  EXPECT_NO_THROW(accepted.get());
}

}  // namespace
}  // namespace framewire::test
