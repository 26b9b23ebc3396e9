#include "transport/tls/tls_stream.hpp"

#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <poll.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <future>
#include <memory>
#include <thread>
#include <tuple>
#include <vector>

#include "base/wait.hpp"
#include "tests/transport/control_support.hpp"

namespace framewire {
namespace {

using test::bytes_of;
using test::error_of;
using test::expect_error;
using test::socket_pair;
using test::soon_ns;

Key some_key() {
  Key key;
  std::ranges::fill(key.bytes(), std::byte{0x5a});
  return key;
}

struct Pair {
  std::unique_ptr<TlsStream> dialler;
  std::unique_ptr<TlsStream> listener;
};

Pair connected() {
  FileDescriptor one;
  FileDescriptor two;
  std::tie(one, two) = socket_pair();
  auto dialling = std::async(std::launch::async, [&fd = one] {
    return std::make_unique<TlsStream>(std::move(fd), TlsRole::dialler, some_key(), "listener", soon_ns());
  });
  Pair pair;
  pair.listener = std::make_unique<TlsStream>(std::move(two), TlsRole::listener, some_key(), "dialler", soon_ns());
  pair.dialler = dialling.get();
  return pair;
}

std::vector<std::byte> pattern(std::size_t size_bytes) {
  std::vector<std::byte> bytes(size_bytes);
  for (std::size_t i = 0; i < size_bytes; ++i) {
    bytes[i] = static_cast<std::byte>(i * 31 >> 3);
  }
  return bytes;
}

TEST(TlsStream, CarriesBytesBothWaysAtOnce) {
  const Pair pair = connected();
  const auto data = pattern(3'000'000);
  const auto pump = [&](TlsStream& from, TlsStream& to) {
    std::vector<std::byte> got(data.size());
    auto reading = std::async(std::launch::async, [&] { to.read_all(got, soon_ns()); });
    from.write_all(data, soon_ns());
    reading.get();
    return got == data;
  };
  auto back = std::async(std::launch::async, [&] { return pump(*pair.listener, *pair.dialler); });
  EXPECT_TRUE(pump(*pair.dialler, *pair.listener));
  EXPECT_TRUE(back.get());
}

TEST(TlsStream, NothingOfTheTextIsOnTheWire) {
  // A relay between the two sides keeps all bytes.
  FileDescriptor dialler_end;
  FileDescriptor relay_a;
  std::tie(dialler_end, relay_a) = socket_pair();
  FileDescriptor listener_end;
  FileDescriptor relay_b;
  std::tie(listener_end, relay_b) = socket_pair();
  std::string seen;
  std::thread relay([&, a = relay_a.get(), b = relay_b.get()] {
    for (;;) {
      std::array<pollfd, 2> both{{{a, POLLIN, 0}, {b, POLLIN, 0}}};
      wait_until(both, soon_ns());
      const bool from_a = both[0].revents != 0;
      char text[4096];
      const ssize_t got = ::recv(from_a ? a : b, text, sizeof text, 0);
      if (got <= 0) {
        return;
      }
      seen.append(text, static_cast<std::size_t>(got));
      ::send(from_a ? b : a, text, static_cast<std::size_t>(got), MSG_NOSIGNAL);
    }
  });
  {
    auto listening = std::async(std::launch::async, [&] {
      TlsStream stream(std::move(listener_end), TlsRole::listener, some_key(), "dialler", soon_ns());
      std::array<std::byte, 11> text{};
      stream.read_all(text, soon_ns());
      return std::ranges::equal(text, bytes_of("secret text"));
    });
    TlsStream stream(std::move(dialler_end), TlsRole::dialler, some_key(), "listener", soon_ns());
    stream.write_all(bytes_of("secret text"), soon_ns());
    EXPECT_TRUE(listening.get());
  }
  relay.join();
  EXPECT_GT(seen.size(), 100U);
  EXPECT_EQ(seen.find("secret text"), std::string::npos);
  const std::string key(Key::size_bytes, '\x5a');
  EXPECT_EQ(seen.find(key), std::string::npos);
}

TEST(TlsStream, OneThreadReadsWhileAnotherWrites) {
  const Pair pair = connected();
  std::thread echo([&] {
    std::array<std::byte, 1000> text{};
    for (;;) {
      const std::size_t got = pair.listener->read_some(text, soon_ns());
      if (got == 0) {
        return;
      }
      pair.listener->write_all(std::span(text).first(got), soon_ns());
    }
  });
  const auto data = pattern(500'000);
  std::vector<std::byte> got(data.size());
  std::thread reader([&] { pair.dialler->read_all(got, soon_ns()); });
  pair.dialler->write_all(data, soon_ns());
  reader.join();
  EXPECT_EQ(got, data);
  pair.dialler->end_writing();
  echo.join();
}

TEST(TlsStream, SaysWhenBytesAreBuffered) {
  const Pair pair = connected();
  pair.dialler->write_all(bytes_of("12345678"), soon_ns());
  std::array<std::byte, 4> half{};
  pair.listener->read_all(half, soon_ns());
  EXPECT_TRUE(pair.listener->has_buffered()) << "poll() would not say so";
  pair.listener->read_all(half, soon_ns());
  EXPECT_FALSE(pair.listener->has_buffered());
  EXPECT_EQ(pair.listener->read_now(half).status, IoStatus::again);
}

TEST(TlsStream, TellsAnEndFromACut) {
  {
    const Pair pair = connected();
    pair.dialler->close();
    std::array<std::byte, 4> text{};
    EXPECT_EQ(pair.listener->read_some(text, soon_ns()), 0U);
  }
  {
    const Pair pair = connected();
    ::shutdown(pair.dialler->fd(), SHUT_RDWR);
    std::array<std::byte, 4> text{};
    expect_error(error_of([&] { pair.listener->read_some(text, soon_ns()); }), ExitStatus::lost_peer,
                 "ended in the middle");
  }
}

TEST(TlsStream, ChangedBytesAreRefused) {
  const Pair pair = connected();
  // Sent past the stream: a record that was not made with the key.
  const std::string forged = std::string("\x17\x03\x03\x00\x20", 5) + std::string(32, 'x');
  ASSERT_EQ(::send(pair.dialler->fd(), forged.data(), forged.size(), 0), static_cast<ssize_t>(forged.size()));
  std::array<std::byte, 4> text{};
  expect_error(error_of([&] { pair.listener->read_some(text, soon_ns()); }), ExitStatus::lost_peer,
               "ended in the middle");
}

TEST(TlsStream, WritingToAPeerThatLeftRaisesNoSignal) {
  Pair pair = connected();
  pair.listener.reset();
  const auto error = error_of([&] {
    for (int i = 0; i < 100; ++i) {
      pair.dialler->write_all(bytes_of("text"), soon_ns());
    }
  });
  EXPECT_TRUE(error && error->status() == ExitStatus::lost_peer);
}

TEST(TlsStream, CloseWakesAReader) {
  const Pair pair = connected();
  std::thread closer([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    pair.dialler->close();
  });
  std::array<std::byte, 4> text{};
  error_of([&] { pair.dialler->read_some(text, soon_ns()); });
  closer.join();
}

TEST(TlsStream, AHandshakeCutAtAnyByteEndsWithAnError) {
  // The dialler's first flight is cut at any byte: the listener reports an error and never returns a stream.
  FileDescriptor one;
  FileDescriptor two;
  std::tie(one, two) = socket_pair();
  std::string hello(4096, '\0');
  auto dialling = std::async(std::launch::async, [&fd = one] {
    return error_of(
        [&] { TlsStream(std::move(fd), TlsRole::dialler, some_key(), "listener", monotonic_ns() + 50 * ns_per_ms); });
  });
  ASSERT_TRUE(wait_for(two.get(), POLLIN, soon_ns()));
  hello.resize(static_cast<std::size_t>(::recv(two.get(), hello.data(), hello.size(), 0)));
  EXPECT_TRUE(dialling.get().has_value());
  for (std::size_t cut = 0; cut <= hello.size(); ++cut) {
    FileDescriptor peer;
    FileDescriptor ours;
    std::tie(peer, ours) = socket_pair();
    ASSERT_EQ(::send(peer.get(), hello.data(), cut, 0), static_cast<ssize_t>(cut));
    ::shutdown(peer.get(), SHUT_WR);
    const auto error =
        error_of([&, &fd = ours] { TlsStream(std::move(fd), TlsRole::listener, some_key(), "dialler", soon_ns()); });
    expect_error(error, ExitStatus::lost_peer, "dialler hung up during the TLS handshake");
  }
}

// ---- peers that offer a certificate instead of the key

struct FreeAll {
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
  void operator()(SSL* ssl) const { SSL_free(ssl); }
  void operator()(X509* certificate) const { X509_free(certificate); }
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
};

/// A context that verifies nothing, with a self-signed certificate.
std::unique_ptr<SSL_CTX, FreeAll> impostor(const SSL_METHOD* method) {
  std::unique_ptr<SSL_CTX, FreeAll> context(SSL_CTX_new(method));
  const std::unique_ptr<EVP_PKEY, FreeAll> key(EVP_EC_gen("P-256"));
  const std::unique_ptr<X509, FreeAll> certificate(X509_new());
  X509_gmtime_adj(X509_getm_notBefore(certificate.get()), -60);
  X509_gmtime_adj(X509_getm_notAfter(certificate.get()), 3600);
  X509_set_pubkey(certificate.get(), key.get());
  X509_sign(certificate.get(), key.get(), EVP_sha256());
  EXPECT_EQ(SSL_CTX_use_certificate(context.get(), certificate.get()), 1);
  EXPECT_EQ(SSL_CTX_use_PrivateKey(context.get(), key.get()), 1);
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_NONE, nullptr);
  return context;
}

void handshake(SSL_CTX* context, int fd, bool as_listener) {
  const std::unique_ptr<SSL, FreeAll> ssl(SSL_new(context));
  SSL_set_fd(ssl.get(), fd);
  as_listener ? SSL_accept(ssl.get()) : SSL_connect(ssl.get());
  char byte = 0;
  SSL_read(ssl.get(), &byte, 1);
}

TEST(TlsStream, ACertificateIsNoKey) {
  struct sigaction ignore {};
  struct sigaction before {};
  ignore.sa_handler = SIG_IGN;  // for the impostor's own sockets
  ASSERT_EQ(::sigaction(SIGPIPE, &ignore, &before), 0);
  for (const bool impostor_listens : {true, false}) {
    FileDescriptor ours;
    FileDescriptor theirs;
    std::tie(ours, theirs) = socket_pair();
    std::thread peer([impostor_listens, fd = std::move(theirs)] {
      const auto context = impostor(impostor_listens ? TLS_server_method() : TLS_client_method());
      handshake(context.get(), fd.get(), impostor_listens);
    });
    const TlsRole role = impostor_listens ? TlsRole::dialler : TlsRole::listener;
    const auto error = error_of([&, &fd = ours] { TlsStream(std::move(fd), role, some_key(), "impostor", soon_ns()); });
    expect_error(error, ExitStatus::refused, different_key_message);
    peer.join();
  }
  ::sigaction(SIGPIPE, &before, nullptr);
}

TEST(TlsStream, OlderVersionsAreRefused) {
  FileDescriptor ours;
  FileDescriptor theirs;
  std::tie(ours, theirs) = socket_pair();
  std::thread peer([fd = std::move(theirs)] {
    const auto context = impostor(TLS_client_method());
    SSL_CTX_set_max_proto_version(context.get(), TLS1_2_VERSION);
    handshake(context.get(), fd.get(), false);
  });
  const auto error =
      error_of([&, &fd = ours] { TlsStream(std::move(fd), TlsRole::listener, some_key(), "old", soon_ns()); });
  expect_error(error, ExitStatus::refused, different_key_message);
  peer.join();
}

TEST(TlsStream, ASlowHandshakeEnds) {
  for (const TlsRole role : {TlsRole::dialler, TlsRole::listener}) {
    FileDescriptor ours;
    FileDescriptor theirs;
    std::tie(ours, theirs) = socket_pair();
    const auto error = error_of(
        [&, &fd = ours] { TlsStream(std::move(fd), role, some_key(), "slow", monotonic_ns() + 20 * ns_per_ms); });
    expect_error(error, ExitStatus::lost_peer, "slow did not finish the TLS handshake in time");
  }
}

TEST(TlsStream, HandshakeTimeIsReported) {
  constexpr int count = 100;
  const std::int64_t start_ns = monotonic_ns();
  for (int i = 0; i < count; ++i) {
    EXPECT_NE(connected().dialler, nullptr);
  }
  RecordProperty("handshake_us", static_cast<int>((monotonic_ns() - start_ns) / count / ns_per_us));
  std::printf("both ends of a handshake: %.2f ms\n", static_cast<double>(monotonic_ns() - start_ns) / count / 1e6);
}

}  // namespace
}  // namespace framewire
