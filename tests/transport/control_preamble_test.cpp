#include "transport/control/preamble.hpp"

#include <sys/resource.h>

#include <chrono>
#include <string>
#include <thread>

#include "tests/transport/control_sockets.hpp"
#include "transport/control/dial.hpp"

namespace framewire {
namespace {

using test::accept_soon;
using test::bytes_of;
using test::send_text;
using test::socket_pair;
using test::soon_ns;

const std::string client_hello("\x16\x03\x01\x01\x00\x01\x00\x00", 8);

std::optional<ConnectionKind> kind_of(std::string_view text) {
  return identify_bytes(bytes_of(text));
}

TEST(Preamble, TellsConnectionsApart) {
  EXPECT_EQ(kind_of("FWCTRL01"), ConnectionKind::plain_control);
  EXPECT_EQ(kind_of("FWDATA01"), ConnectionKind::data);
  EXPECT_EQ(kind_of(client_hello), ConnectionKind::tls);
  EXPECT_EQ(kind_of("FWCTRL02"), ConnectionKind::other_version);
  EXPECT_EQ(kind_of("FWDATA00"), ConnectionKind::other_version);
  for (const std::string& text :
       {std::string("GET / HT"), std::string("FWCTRL0x"), std::string("FWREPL01"), std::string("fwctrl01"),
        std::string("SSH-2.0-"), std::string(8, '\0'), std::string("\x16\x03\x01\x01\x00\x02\x00\x00", 8),
        std::string("\x16\x02\x01\x01\x00\x01\x00\x00", 8)}) {
    EXPECT_EQ(kind_of(text), ConnectionKind::unrecognized) << text;
  }
}

TEST(Preamble, RefusesAHugeClientHello) {
  // The message's length has 24 bits; OpenSSL would allocate up to 128 KiB for it.
  EXPECT_EQ(kind_of(std::string("\x16\x03\x01\x40\x00\x01\x01\x00", 8)), ConnectionKind::unrecognized);
  EXPECT_EQ(kind_of(std::string("\x16\x03\x01\x40\x00\x01\x00\x40", 8)), ConnectionKind::unrecognized);
}

TEST(Preamble, DecidesAsSoonAsNothingElseIsPossible) {
  for (const std::string& whole : {std::string(control_preamble), std::string(data_preamble), client_hello}) {
    for (std::size_t cut = 0; cut < whole.size(); ++cut) {
      EXPECT_EQ(kind_of(whole.substr(0, cut)), std::nullopt) << cut;
    }
  }
  EXPECT_EQ(kind_of("G"), ConnectionKind::unrecognized);
  EXPECT_EQ(kind_of("FX"), ConnectionKind::unrecognized);
  EXPECT_EQ(kind_of("FWCTRLx"), ConnectionKind::unrecognized);
  EXPECT_EQ(kind_of("\x16G"), ConnectionKind::unrecognized);
}

TEST(Preamble, AConnectionIsToldApartByItsFirstByteIfThatIsEnough) {
  auto [ours, theirs] = socket_pair();
  send_text(theirs.get(), "G");  // and no more
  EXPECT_EQ(identify(ours.get(), soon_ns()), ConnectionKind::unrecognized);
}

TEST(Preamble, EveryChangedByteIsNoticed) {
  for (const std::string_view whole : {control_preamble, data_preamble}) {
    for (std::size_t at = 0; at < whole.size(); ++at) {
      for (int value = 0; value < 256; ++value) {
        std::string changed(whole);
        changed[at] = static_cast<char>(value);
        const auto kind = kind_of(changed);
        if (changed != whole) {
          EXPECT_TRUE(kind == ConnectionKind::unrecognized || kind == ConnectionKind::other_version) << changed;
        }
      }
    }
  }
}

TEST(Preamble, ReadsTheVersion) {
  const auto version = [](std::string_view text, std::string_view expected) {
    return preamble_version(bytes_of(text).first<preamble_bytes>(), expected);
  };
  EXPECT_EQ(version("FWREPL01", reply_preamble), 1);
  EXPECT_EQ(version("FWREPL42", reply_preamble), 42);
  EXPECT_EQ(version("FWCTRL01", reply_preamble), std::nullopt);
  EXPECT_EQ(version("FWREPL0a", reply_preamble), std::nullopt);
}

TEST(Preamble, LooksWithoutTakingAnything) {
  auto [ours, theirs] = socket_pair();
  send_text(theirs.get(), "FWDATA01rest");
  EXPECT_EQ(identify(ours.get(), soon_ns()), ConnectionKind::data);
  char text[16] = {};
  EXPECT_EQ(::recv(ours.get(), text, sizeof text, 0), 12);
  EXPECT_STREQ(text, "FWDATA01rest");
}

TEST(Preamble, WaitsForBytesThatComeOneByOne) {
  auto [ours, theirs] = socket_pair();
  std::thread writer([fd = theirs.get()] {
    for (const char letter : control_preamble) {
      send_text(fd, {&letter, 1});
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
  });
  EXPECT_EQ(identify(ours.get(), soon_ns()), ConnectionKind::plain_control);
  writer.join();
}

TEST(Preamble, GivesUpOnTheSilent) {
  auto [ours, theirs] = socket_pair();
  EXPECT_EQ(identify(ours.get(), monotonic_ns() + 5 * ns_per_ms), ConnectionKind::silent);
  send_text(theirs.get(), "FWC");
  EXPECT_EQ(identify(ours.get(), monotonic_ns() + 5 * ns_per_ms), ConnectionKind::silent);
  theirs.reset();
  EXPECT_EQ(identify(ours.get(), soon_ns()), ConnectionKind::silent) << "closed in mid-word";
}

/// The number of this thread's voluntary context switches.
long sleeps() {
  rusage usage{};
  ::getrusage(RUSAGE_THREAD, &usage);
  return usage.ru_nvcsw;
}

TEST(Preamble, SleepsWhileAnUnauthenticatedPeerPauses) {
  auto [unix_ours, unix_theirs] = socket_pair();
  Listener listener({.at = {.host = "127.0.0.1", .port = 0}, .insecure = true});
  const DialledSocket tcp_theirs = dial({.host = "127.0.0.1", .port = listener.port()}, soon_ns(), DialMode::tcp);
  const auto tcp_ours = accept_soon(listener);
  ASSERT_TRUE(tcp_ours);
  for (const auto& [ours, theirs] :
       {std::pair(unix_ours.get(), unix_theirs.get()), std::pair(tcp_ours->fd.get(), tcp_theirs.fd.get())}) {
    send_text(theirs, "FWC");
    const long before = sleeps();
    EXPECT_EQ(identify(ours, monotonic_ns() + 300 * ns_per_ms), ConnectionKind::silent);
    EXPECT_LT(sleeps() - before, 20) << "and not once a millisecond";
    send_text(theirs, "TRL01");
    EXPECT_EQ(identify(ours, soon_ns()), ConnectionKind::plain_control);
  }
}

TEST(Preamble, WakesForEachByteThatComesWhileItSleeps) {
  auto [ours, theirs] = socket_pair();
  const std::string_view first = control_preamble.substr(0, 3);
  send_text(theirs.get(), first);
  MoreBytes more(ours.get());
  EXPECT_EQ(more.wait(soon_ns()), MoreBytes::Outcome::more) << "what was there before";
  EXPECT_EQ(more.wait(monotonic_ns()), MoreBytes::Outcome::nothing);
  send_text(theirs.get(), "T");
  EXPECT_EQ(more.wait(soon_ns()), MoreBytes::Outcome::more);
  EXPECT_EQ(more.wait(monotonic_ns()), MoreBytes::Outcome::nothing);
  ::shutdown(theirs.get(), SHUT_WR);
  EXPECT_EQ(more.wait(soon_ns()), MoreBytes::Outcome::end);
}

TEST(Preamble, AConnectionThatIsClosedAtOnceIsSilent) {
  auto [ours, theirs] = socket_pair();
  theirs.reset();
  EXPECT_EQ(identify(ours.get(), soon_ns()), ConnectionKind::silent);
}

TEST(Preamble, AHalfClosedConnectionIsStillRead) {
  auto [ours, theirs] = socket_pair();
  send_text(theirs.get(), "FWDATA01");
  theirs.reset();
  EXPECT_EQ(identify(ours.get(), soon_ns()), ConnectionKind::data);
}

}  // namespace
}  // namespace framewire
