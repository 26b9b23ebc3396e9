#include "transport/control/authenticate.hpp"

#include <poll.h>

#include <algorithm>
#include <filesystem>
#include <future>
#include <nlohmann/json.hpp>
#include <thread>
#include <tuple>

#include "base/wait.hpp"
#include "tests/transport/control_support.hpp"
#include "transport/tls/tls_stream.hpp"

namespace framewire {
namespace {

using nlohmann::json;
using test::error_of;
using test::expect_error;
using test::send_text;
using test::socket_pair;
using test::soon_ns;

Key key_of(char letter) {
  Key key;
  std::ranges::fill(key.bytes(), static_cast<std::byte>(letter));
  return key;
}

AuthenticateOptions with_key(char letter, bool uses_key_on_unix = false) {
  AuthenticateOptions options;
  options.key = key_of(letter);
  options.uses_key_on_unix = uses_key_on_unix;
  return options;
}

AuthenticateOptions without_key(bool insecure = false) {
  AuthenticateOptions options;
  options.insecure = insecure;
  return options;
}

std::size_t open_descriptors() {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

/// The result of one side: a session or an error.
struct Outcome {
  std::optional<AuthenticatedChannel> session;
  std::optional<Error> error;
};

template <typename Action>
Outcome outcome_of(Action&& action) {
  Outcome outcome;
  outcome.error = error_of([&] { outcome.session = action(); });
  return outcome;
}

class Authenticate : public testing::Test {
 protected:
  AcceptedSocket accept() {
    auto descriptors = listener_.descriptors();
    wait_until(descriptors, soon_ns());
    auto accepted = listener_.accept();
    return accepted ? std::move(*accepted) : throw Error::failed("nothing came");
  }

  DialledSocket dial_listener(DialMode mode) {
    return dial({.host = "127.0.0.1", .port = listener_.port()}, soon_ns(), mode);
  }

  /// Runs both sides at the same time over a real connection.
  std::pair<Outcome, Outcome> meet(DialMode mode, const AuthenticateOptions& dialler,
                                   const AuthenticateOptions& listener) {
    auto dialling = std::async(std::launch::async, [&] {
      return outcome_of([&] { return authenticate_dialler(dial_listener(mode), dialler); });
    });
    Outcome listening = outcome_of([&] { return authenticate_listener(accept(), listener); });
    return {dialling.get(), std::move(listening)};
  }

  /// The error of our listener for a peer that sends `bytes`.
  std::optional<Error> error_after(std::string_view bytes, const AuthenticateOptions& options,
                                   std::string* answer = nullptr) {
    const DialledSocket unrecognized = dial_listener(DialMode::tcp);
    send_text(unrecognized.fd.get(), bytes);
    auto error = error_of([&] { authenticate_listener(accept(), options); });
    char text[1024];
    while (answer != nullptr && wait_for(unrecognized.fd.get(), POLLIN, soon_ns())) {
      const ssize_t got = ::recv(unrecognized.fd.get(), text, sizeof text, 0);
      if (got <= 0) {
        break;
      }
      answer->append(text, static_cast<std::size_t>(got));
    }
    return error;
  }

  Listener listener_{{.at = {.host = "", .port = 0}}};
};

void expect_session(Outcome& dialler, Outcome& listener, std::string_view auth, std::string_view control) {
  ASSERT_FALSE(dialler.error) << dialler.error->what();
  ASSERT_FALSE(listener.error) << listener.error->what();
  for (const auto* one : {&*dialler.session, &*listener.session}) {
    EXPECT_EQ(one->auth, auth);
    EXPECT_EQ(one->control, control);
  }
  // Longer than an unauthenticated peer's message may be.
  const json message = {{"type", "x"}, {"pad", std::string(3 * message_limit_before_bytes, 'p')}};
  for (const auto& [from, to] :
       {std::pair{&*dialler.session, &*listener.session}, std::pair{&*listener.session, &*dialler.session}}) {
    auto sent = std::async(std::launch::async, [&, sender = from->channel.get()] { sender->send(message); });
    EXPECT_EQ(to->channel->receive(soon_ns()), message);
    sent.get();
  }
}

TEST_F(Authenticate, TheSameUserNeedsNoKeyOnOneMachine) {
  auto [dialler, listener] = meet(DialMode::any, without_key(), without_key());
  expect_session(dialler, listener, "user", "unix");
  EXPECT_TRUE(dialler.session->is_unix);
}

TEST_F(Authenticate, ADefaultKeyChangesNothingForTheSameUser) {
  auto [dialler, listener] = meet(DialMode::any, with_key('a'), with_key('b'));
  expect_session(dialler, listener, "user", "unix");
}

TEST_F(Authenticate, AKeyNamedByBothIsUsedOverTheUnixSocket) {
  auto [dialler, listener] = meet(DialMode::any, with_key('a', true), with_key('a', true));
  expect_session(dialler, listener, "psk", "tls1.3");
  EXPECT_TRUE(dialler.session->is_unix);
}

TEST_F(Authenticate, AKeyNamedByTheDiallerAloneIsUsedToo) {
  auto [dialler, listener] = meet(DialMode::any, with_key('a', true), with_key('a'));
  expect_session(dialler, listener, "psk", "tls1.3");
}

TEST_F(Authenticate, AKeyNamedByTheListenerIsAskedFor) {
  auto [dialler, listener] = meet(DialMode::any, with_key('a'), with_key('a', true));
  expect_error(dialler.error, ExitStatus::refused, "refused: the listening end asks for the shared key");
  expect_error(listener.error, ExitStatus::refused, "the listening end asks for the shared key");
}

TEST_F(Authenticate, TcpWithTheSameKeyIsEncrypted) {
  auto [dialler, listener] = meet(DialMode::tcp, with_key('a'), with_key('a'));
  expect_session(dialler, listener, "psk", "tls1.3");
  EXPECT_FALSE(dialler.session->is_unix);
}

TEST_F(Authenticate, AKeyOutranksInsecure) {
  AuthenticateOptions both = with_key('a');
  both.insecure = true;
  auto [dialler, listener] = meet(DialMode::tcp, both, both);
  expect_session(dialler, listener, "psk", "tls1.3");
}

TEST_F(Authenticate, ADifferentKeyIsRefusedOnBothEndsWithOneError) {
  for (const DialMode mode : {DialMode::tcp, DialMode::any}) {
    auto [dialler, listener] = meet(mode, with_key('a', true), with_key('b', true));
    expect_error(dialler.error, ExitStatus::refused, different_key_message);
    expect_error(listener.error, ExitStatus::refused, different_key_message);
  }
}

TEST_F(Authenticate, EveryWrongBitOfTheKeyIsRefused) {
  for (std::size_t at = 0; at < Key::size_bytes; ++at) {
    AuthenticateOptions wrong = with_key('a');
    wrong.key->bytes()[at] ^= std::byte{1};
    auto [dialler, listener] = meet(DialMode::tcp, wrong, with_key('a'));
    expect_error(dialler.error, ExitStatus::refused, different_key_message);
    expect_error(listener.error, ExitStatus::refused, different_key_message);
  }
}

TEST_F(Authenticate, TcpWithoutAKeyIsRefusedByTheDiallerItself) {
  expect_error(error_of([&] { authenticate_dialler(dial_listener(DialMode::tcp), without_key()); }),
               ExitStatus::refused, "is reached over TCP, and there is no key");
}

TEST_F(Authenticate, TcpWithoutAKeyIsRefusedByTheListenerOnLoopbackToo) {
  auto [dialler, listener] = meet(DialMode::tcp, without_key(true), without_key());
  expect_error(dialler.error, ExitStatus::refused, "refused: the listening end takes no TCP connection without a key");
  expect_error(listener.error, ExitStatus::refused, "takes no TCP connection without a key");
}

TEST_F(Authenticate, InsecureIsTakenAtItsWord) {
  auto [dialler, listener] = meet(DialMode::tcp, without_key(true), without_key(true));
  expect_session(dialler, listener, "none", "plain");
}

TEST_F(Authenticate, PlainToAListenerWithAKeyIsTold) {
  auto [dialler, listener] = meet(DialMode::tcp, without_key(true), with_key('a'));
  expect_error(dialler.error, ExitStatus::refused, "the listening end asks for the shared key; import it");
  expect_error(listener.error, ExitStatus::refused, "the listening end asks for the shared key");
}

TEST_F(Authenticate, TlsToAListenerWithoutAKeyIsTold) {
  for (const bool insecure : {false, true}) {
    auto [dialler, listener] = meet(DialMode::tcp, with_key('a'), without_key(insecure));
    expect_error(dialler.error, ExitStatus::refused, "refused: the listening end has no key; import the dialling one");
    expect_error(listener.error, ExitStatus::refused, "the listening end has no key");
  }
}

TEST_F(Authenticate, UnrecognizedPeersAreClosedWithoutAReply) {
  for (const std::string& bytes : {std::string("GET / HTTP/1.1\r\nHost: x\r\n\r\n"), std::string("SSH-2.0-OpenSSH\r\n"),
                                   std::string(4096, '\0'), std::string("\xff\xfe\xfd"), std::string("FWREPL01")}) {
    for (const auto& options : {with_key('a'), without_key(), without_key(true)}) {
      std::string answer;
      expect_error(error_after(bytes, options, &answer), ExitStatus::failed, "connected and is not framewire");
      EXPECT_EQ(answer, "");
    }
  }
}

TEST_F(Authenticate, ADataConnectionIsNoControlChannel) {
  expect_error(error_after("FWDATA01", without_key(true)), ExitStatus::failed, "is not framewire");
}

TEST_F(Authenticate, AnotherVersionIsToldBothVersions) {
  std::string answer;
  expect_error(error_after("FWCTRL07\r\n\r\n", without_key(true), &answer), ExitStatus::refused,
               "speaks version 1 of the control protocol, and the other end version 7");
  EXPECT_EQ(answer.substr(0, 8), "FWREPL01");
  EXPECT_NE(answer.find("\"refused\""), std::string::npos);
}

TEST_F(Authenticate, AGreetingThatGoesWrongIsRefused) {
  expect_error(error_after("FWCTRL01\r\n\rX", without_key(true)), ExitStatus::failed, "did not greet");
}

TEST_F(Authenticate, SlowPeersAreGivenUp) {
  const std::string partial_hello("\x16\x03\x01\x01\x00\x01\x00\x00\xfc\x03\x03", 11);
  for (const std::string& bytes : {std::string(), std::string("FW"), std::string("FWCTRL01\r"), partial_hello}) {
    AuthenticateOptions options = with_key('a');
    options.uses_key_on_unix = false;
    if (bytes.starts_with("FWCTRL")) {
      options = without_key(true);
    }
    options.timeout_ns = 30 * ns_per_ms;
    expect_error(error_after(bytes, options), ExitStatus::lost_peer, "");
  }
}

TEST_F(Authenticate, RandomClientHellosAreRefused) {
  std::string hello("\x16\x03\x01\x00\x40\x01\x00\x00\x3c\x03\x03", 11);
  for (int i = 0; i < 58; ++i) {
    hello += static_cast<char>(i * 37);
  }
  expect_error(error_after(hello, with_key('a')), ExitStatus::refused, different_key_message);
}

TEST_F(Authenticate, DescriptorsAreBackAfterEveryKindOfEnd) {
  const std::size_t before = open_descriptors();
  for (const auto& options : {with_key('a'), with_key('b'), without_key(), without_key(true)}) {
    meet(DialMode::tcp, with_key('a'), options);
    meet(DialMode::tcp, without_key(true), options);
    meet(DialMode::any, without_key(), options);
    error_after("GET /", options);
  }
  EXPECT_EQ(open_descriptors(), before);
}

// ---- the dialled peer does not speak framewire's protocol

/// A peer that does one thing with a connection and then hangs up.
template <typename Behaviour>
std::optional<Error> error_dialling(const AuthenticateOptions& options, Behaviour&& behaviour) {
  FileDescriptor ours;
  FileDescriptor theirs;
  std::tie(ours, theirs) = socket_pair();
  std::thread peer([&behaviour, fd = std::move(theirs)] { behaviour(fd.get()); });
  auto error = error_of([&] {
    DialledSocket dialled{.fd = std::move(ours), .is_unix = false, .address = "host:5290"};
    authenticate_dialler(std::move(dialled), options);
  });
  peer.join();
  return error;
}

void swallow(int fd) {
  char text[4096];
  while (wait_for(fd, POLLIN, soon_ns()) && ::recv(fd, text, sizeof text, 0) > 0) {
  }
}

/// Answers the first bytes with the given text, and waits until we hang up.
auto answers(std::string text) {
  return [text = std::move(text)](int fd) {
    char first[4096];
    wait_for(fd, POLLIN, soon_ns());
    EXPECT_GT(::recv(fd, first, sizeof first, 0), 0);
    ::send(fd, text.data(), text.size(), MSG_NOSIGNAL);
    swallow(fd);
  };
}

void echo(int fd) {
  char text[4096];
  for (;;) {
    const ssize_t got = wait_for(fd, POLLIN, soon_ns()) ? ::recv(fd, text, sizeof text, 0) : 0;
    if (got <= 0 || ::send(fd, text, static_cast<std::size_t>(got), MSG_NOSIGNAL) <= 0) {
      return;
    }
  }
}

TEST(Dialler, KnowsWhatIsNoFramewire) {
  for (const auto& options : {with_key('a'), without_key(true)}) {
    for (const std::string& text :
         {std::string("HTTP/1.1 400 Bad Request\r\n\r\n"), std::string("SSH-2.0-OpenSSH_9.2\r\n"),
          std::string("\xff\xff\xff\xff\xff\xff\xff\xff\xff"), std::string("FWCTRL01"), std::string("X")}) {
      expect_error(error_dialling(options, answers(text)), ExitStatus::failed,
                   "host:5290 answered, but it is not framewire");
    }
    expect_error(error_dialling(options, echo), ExitStatus::failed, "host:5290 answered, but it is not framewire");
  }
}

TEST(Dialler, APeerThatHangsUpWithoutAWordMayComeBack) {
  for (const auto& options : {with_key('a'), without_key(true)}) {
    expect_error(error_dialling(options, [](int fd) { wait_for(fd, POLLIN, soon_ns()); }), ExitStatus::lost_peer,
                 "host:5290");
  }
}

TEST(Dialler, ASilentPeerIsGivenUp) {
  for (auto options : {with_key('a'), without_key(true)}) {
    options.timeout_ns = 30 * ns_per_ms;
    expect_error(error_dialling(options, swallow), ExitStatus::lost_peer, "time");
  }
}

TEST(Dialler, NamesBothVersions) {
  for (const auto& options : {with_key('a'), without_key(true)}) {
    expect_error(error_dialling(options, answers("FWREPL02")), ExitStatus::refused,
                 "speaks version 2 of the control protocol, and this end version 1");
  }
}

TEST(Dialler, ShowsARefusalWithoutItsControlCharacters) {
  const std::string body = R"({"type":"refused","text":"go \u001b[31maway"})";
  std::string text = "FWREPL01" + std::string{static_cast<char>(body.size()), 0, 0, 0} + body;
  for (const auto& options : {with_key('a'), without_key(true)}) {
    expect_error(error_dialling(options, answers(text)), ExitStatus::refused, "host:5290 refused: go \\x1b[31maway");
  }
}

TEST(Dialler, ARefusalThatIsNoneIsAnError) {
  for (const std::string& body :
       {std::string(R"({"type":"refused"})"), std::string(R"({"type":"refused","text":7})")}) {
    const std::string text = "FWREPL01" + std::string{static_cast<char>(body.size()), 0, 0, 0} + body;
    expect_error(error_dialling(without_key(true), answers(text)), ExitStatus::refused, "it does not say why");
  }
  const std::string body = R"({"type":"accepted"})";
  const std::string accepted = "FWREPL01" + std::string{static_cast<char>(body.size()), 0, 0, 0} + body;
  // A dialler with a key must not accept an answer without encryption.
  expect_error(error_dialling(with_key('a'), answers(accepted)), ExitStatus::failed,
               "answered in plaintext to an encrypted greeting");
  const std::string huge = std::string("FWREPL01") + "\xff\xff\xff\x7f";
  expect_error(error_dialling(without_key(true), answers(huge)), ExitStatus::failed, "more than the 65536 allowed");
}

}  // namespace
}  // namespace framewire
