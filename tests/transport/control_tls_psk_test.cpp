#include "transport/tls/tls_psk.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <future>
#include <span>
#include <string>
#include <tuple>

#include "tests/transport/control_sockets.hpp"
#include "transport/control/authenticate.hpp"
#include "transport/tls/tls_handshake.hpp"

namespace framewire {
namespace {

using test::error_of;
using test::expect_error;
using test::socket_pair;
using test::soon_ns;

Key key_of(std::byte each) {
  Key key;
  std::ranges::fill(key.bytes(), each);
  return key;
}

const Key shared = key_of(std::byte{0x5a});
constexpr bool to_another_machine = true;

TEST(TlsPsk, BothEndsDeriveTheSameKey) {
  const TlsPsk offer = offer_shared_key(shared, !to_another_machine);
  const FoundPsk found = find_shared_key(shared, offer.identity);
  ASSERT_TRUE(found.key) << found.refusal;
  EXPECT_TRUE(*found.key == offer.key);
  EXPECT_FALSE(offer.key == shared);
  const TlsPsk next = offer_shared_key(shared, !to_another_machine);
  EXPECT_NE(next.identity, offer.identity);
  EXPECT_FALSE(next.key == offer.key) << "each connection has its own";
}

TEST(TlsPsk, AConnectionToAnotherMachineIsNotTakenOnItsOwn) {
  const FoundPsk found = find_shared_key(shared, offer_shared_key(shared, to_another_machine).identity);
  EXPECT_FALSE(found.key);
  EXPECT_NE(found.refusal.find("came back"), std::string::npos);
}

TEST(TlsPsk, ConnectionsBetweenMachinesAreTaken) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe(ends.data()), 0);
  const FileDescriptor reads(ends[0]);
  FileDescriptor writes(ends[1]);
  const int status = test::in_own_network([&] {
    const TlsPsk offer = offer_shared_key(shared, to_another_machine);
    const std::string text = offer.identity + std::string(reinterpret_cast<const char*>(offer.key.bytes().data()), 32);
    return ::write(writes.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size()) ? 0 : 1;
  });
  if (status == test::no_network) {
    GTEST_SKIP() << "no network namespaces here";
  }
  ASSERT_EQ(status, 0);
  std::string text(200, '\0');
  const ssize_t got = ::read(reads.get(), text.data(), text.size());
  ASSERT_GT(got, 32);
  const std::string identity = text.substr(0, static_cast<std::size_t>(got) - 32);
  const FoundPsk found = find_shared_key(shared, identity);
  ASSERT_TRUE(found.key) << found.refusal;
  EXPECT_TRUE(std::ranges::equal(found.key->bytes(), std::as_bytes(std::span(text).subspan(identity.size(), 32))));
}

TEST(TlsPsk, WhateverIsChangedOnTheWayMakesAnotherKey) {
  const TlsPsk offer = offer_shared_key(shared, to_another_machine);
  for (std::size_t at = 0; at < offer.identity.size(); ++at) {
    std::string changed = offer.identity;
    changed[at] = static_cast<char>(changed[at] ^ 1);
    const FoundPsk found = find_shared_key(shared, changed);
    EXPECT_FALSE(found.key && *found.key == offer.key) << at;
  }
}

TEST(TlsPsk, WhatIsNoIdentityIsUnknown) {
  const std::string identity = offer_shared_key(shared, !to_another_machine).identity;
  for (const std::string& one : {std::string(), std::string("framewire-3"), identity.substr(1), identity + "x",
                                 "framewire-3" + identity.substr(11)}) {
    const FoundPsk found = find_shared_key(shared, one);
    EXPECT_FALSE(found.key);
    EXPECT_EQ(found.refusal, "");
  }
}

/// Offers and accepts the shared key itself, as the protocol's previous version did.
SslPointer older_end(int fd, TlsRole role, SocketBio& bio, const TlsStream::CheckAnswer& look = nullptr) {
  return perform_tls_handshake({.socket = fd, .role = role, .peer = "the newer one"},
                               {.identity = "framewire-1", .key = shared}, bio, soon_ns(), look);
}

TEST(TlsPsk, AnOlderDiallerIsToldInPlain) {
  FileDescriptor older;
  FileDescriptor ours;
  std::tie(older, ours) = socket_pair();
  auto listening = std::async(std::launch::async, [&] {
    return error_of([&] {
      authenticate_listener({.fd = std::move(ours), .is_unix = true, .address = "peer"},
                            {.key = shared, .uses_key_on_unix = true});
    });
  });
  SocketBio bio;
  std::string heard(300, '\0');
  error_of([&] {
    older_end(older.get(), TlsRole::dialler, bio, [&](int fd, std::int64_t) {
      heard.resize(static_cast<std::size_t>(std::max<ssize_t>(0, ::recv(fd, heard.data(), heard.size(), 0))));
      wait_for(fd, POLLIN, soon_ns());
      std::string more(300, '\0');
      more.resize(static_cast<std::size_t>(std::max<ssize_t>(0, ::recv(fd, more.data(), more.size(), 0))));
      heard += more;
      throw Error::refused("told");
    });
  });
  EXPECT_TRUE(heard.starts_with("FWREPL01")) << heard;
  EXPECT_NE(heard.find("bring both to the same release"), std::string::npos) << heard;
  older.reset();
  expect_error(listening.get(), ExitStatus::refused, "as an older framewire does");
}

TEST(TlsPsk, OfAnOlderListenerTheDiallerSaysWhatItIs) {
  FileDescriptor older;
  FileDescriptor ours;
  std::tie(older, ours) = socket_pair();
  auto listening = std::async(std::launch::async, [&] {
    SocketBio bio;
    return error_of([&] { older_end(older.get(), TlsRole::listener, bio); });
  });
  const auto error =
      error_of([&, &fd = ours] { TlsStream(std::move(fd), TlsRole::dialler, shared, "the older one", soon_ns()); });
  expect_error(error, ExitStatus::refused, older_listener_message);
  EXPECT_TRUE(listening.get());
}

TEST(TlsPsk, AnotherKeyIsNoOtherRelease) {
  FileDescriptor one;
  FileDescriptor two;
  std::tie(one, two) = socket_pair();
  auto listening = std::async(std::launch::async, [&] {
    return error_of([&] { TlsStream(std::move(two), TlsRole::listener, key_of(std::byte{7}), "dialler", soon_ns()); });
  });
  const auto error =
      error_of([&, &fd = one] { TlsStream(std::move(fd), TlsRole::dialler, shared, "listener", soon_ns()); });
  expect_error(error, ExitStatus::refused, different_key_message);
  expect_error(listening.get(), ExitStatus::refused, different_key_message);
}

}  // namespace
}  // namespace framewire
