// A viewer checks the rings that a sender announces. Stopping a program also stops an allocation of gigabytes.
#include <gtest/gtest.h>
#include <linux/sockios.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <array>
#include <atomic>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "tests/base/eventually.hpp"
#include "tests/base/logs.hpp"
#include "tests/base/temporary_folder.hpp"
#include "tests/memory/chunk_hook.hpp"
#include "transport/control/authenticate.hpp"
#include "transport/control/dial.hpp"
#include "transport/ring_limits.hpp"
#include "transport/session/data_link.hpp"
#include "transport/session/handshake.hpp"
#include "transport/session/messages.hpp"
#include "transport/session/subscriber.hpp"
#include "transport/stream.hpp"

namespace framewire {
namespace {

using test::ChunkHook;
using test::eventually;
using test::timeout_ns;

constexpr std::uint64_t mib = std::uint64_t{1} << 20;

StreamFormat picture(std::uint32_t width, std::uint32_t height) {
  return {.layout = packed_layout(PixelFormat::rgba, width, height), .colour = {}};
}

StreamFormat bytes(std::uint64_t count) {
  return {.layout = bytes_layout(count), .colour = {}};
}

TEST(RingFault, IsNoneWhereASlotHoldsOneFrame) {
  EXPECT_EQ(find_ring_fault(picture(3840, 2160), 3840 * 2160 * 4, 3), "");
  EXPECT_EQ(find_ring_fault(picture(16, 16), 1024 + slot_slack_bytes, max_picture_slots), "");
  EXPECT_EQ(find_ring_fault(bytes(64 * mib), 64 * mib, 256), "");
  EXPECT_EQ(find_ring_fault(bytes(1), 1, 1024), "");
}

TEST(RingFault, NamesWhatDoesNotFitTheFormat) {
  EXPECT_NE(find_ring_fault(picture(16, 16), 1024 + slot_slack_bytes + 1, 3).find("has 1024"), std::string::npos);
  EXPECT_NE(find_ring_fault(picture(16, 16), 1023, 3).find("has 1024"), std::string::npos);
  EXPECT_NE(find_ring_fault(bytes(0), max_slot_bytes, 3).find("has 0"), std::string::npos);
  EXPECT_NE(find_ring_fault(picture(16, 16), 1024, max_picture_slots + 1).find("at most 64"), std::string::npos);
  EXPECT_NE(find_ring_fault(bytes(64 * mib), 64 * mib, 257).find("17.2 GB"), std::string::npos);
}

std::string why_not_possible(std::uint64_t slot_bytes, std::uint32_t slots, std::uint64_t waiting_bytes) {
  try {
    require_possible_ring(slot_bytes, slots, waiting_bytes);
    return {};
  } catch (const Error& error) {
    return error.what();
  }
}

TEST(PossibleRing, TakesAtMostHalfOfWhatIsFree) {
  EXPECT_EQ(why_not_possible(1000, 3, 0), "");
  EXPECT_NE(why_not_possible(max_slot_bytes, 1024, 0).find("half of the memory"), std::string::npos);
  EXPECT_NE(why_not_possible(0, 3, 0).find("not possible"), std::string::npos);
  EXPECT_NE(why_not_possible(1000, 1025, 0).find("not possible"), std::string::npos);
  // Rings without frames count as used. Otherwise each further ring could take half of the remaining memory.
  EXPECT_NE(why_not_possible(1000, 3, available_memory_bytes() * 2).find("beside others"), std::string::npos);
}

/// Memory of which only the size counts.
class SizedBlock final : public Block {
 public:
  explicit SizedBlock(std::uint64_t size_bytes) : Block(size_bytes) {}
  [[nodiscard]] const MemoryKind& kind() const noexcept override { return host_memory(); }
  [[nodiscard]] RegisteredAs registered_as() const noexcept override { return {}; }
  [[nodiscard]] std::shared_ptr<Fence> copy_to_host(std::shared_ptr<HostBlock>, CopyRange,
                                                    std::shared_ptr<Fence>) const override {
    return nullptr;
  }
  [[nodiscard]] std::shared_ptr<Fence> copy_from_host(std::shared_ptr<const HostBlock>, CopyRange) override {
    return nullptr;
  }
};

TEST(LivingRing, CountsUntilNobodyNeedsIt) {
  LivingRings rings;
  auto ring = std::make_shared<SizedBlock>(2 * available_memory_bytes());
  rings.add(ring);
  EXPECT_THROW(rings.require_room(1000, 3, nullptr), Error);
  EXPECT_NO_THROW(rings.require_room(1000, 3, ring.get())) << "the next one takes its place";
  ring.reset();
  EXPECT_NO_THROW(rings.require_room(1000, 3, nullptr));
}

/// A sender that the test plays by hand, and a listening viewer.
class AnnouncedRing : public testing::Test {
 protected:
  explicit AnnouncedRing(Driver driver = Driver::subscriber) {
    ::setenv("XDG_CONFIG_HOME", folder_.path().c_str(), 1);
    SubscriberOptions options{.endpoint = {}, .stream = {}, .delivery = {}};
    options.endpoint.listen = HostPort{"127.0.0.1", 0};
    options.endpoint.allowed_links = {LinkKind::tcp};
    options.driver = driver;
    subscriber_.emplace(options, log_);
    sender_ = authenticate_dialler(dial(address(), monotonic_ns() + timeout_ns), {});
    exchange_hellos(*sender_.channel, "sender", "test", {"viewer"});
    const SessionId session = random_session_id();
    sender_.channel->send(to_json(OfferMessage{.session = to_hex(session),
                                               .streams = {{.name = "test", .number = 1, .description = {}}},
                                               .links = {LinkKind::tcp}}));
    const ChooseMessage choice = read_choose(hear());
    sender_.channel->send(to_json(ConnectMessage{}));
    path_ = dial_data(address(), {}, Token::from_hex(choice.token), {session, LinkKind::tcp, 0},
                      {.peer_timeout_ns = timeout_ns});
  }

  [[nodiscard]] HostPort address() const { return {"127.0.0.1", subscriber_->port()}; }
  nlohmann::json hear() { return sender_.channel->receive(monotonic_ns() + timeout_ns); }

  nlohmann::json hear(const std::string& type) {
    for (;;) {
      auto message = hear();
      if (message_type(message) == type) {
        return message;
      }
    }
  }

  void announce(const StreamFormat& format, std::uint64_t slot_bytes, std::uint32_t slots) {
    sender_.channel->send(
        to_json(EpochMessage{.number = 1, .format = format, .slot_bytes = slot_bytes, .ring_slots = slots}));
  }

  test::TemporaryFolder folder_;
  test::ShownLog log_;
  std::optional<Subscriber> subscriber_;
  AuthenticatedChannel sender_;
  LinkConnection path_;
};

TEST_F(AnnouncedRing, ThatFitsIsMade) {
  announce(picture(16, 16), 1024, 3);
  EXPECT_EQ(read_ready(hear("ready")).ring_slots, 3U);
}

/// Without the check, an authenticated sender could make the viewer allocate all memory.
TEST_F(AnnouncedRing, ThatDoesNotIsRefusedAtBothEnds) {
  // Otherwise the session may not have begun, and then it is not lost.
  ASSERT_TRUE(eventually([&] { return subscriber_->status().state == SubscriberState::connected; }));
  announce(picture(16, 16), 64 * mib, 4);
  const auto refusal = hear();
  EXPECT_EQ(message_type(refusal), "refused");
  EXPECT_NE(refusal.value("text", "").find("67108864 bytes, where a frame of the format it announces has 1024"),
            std::string::npos)
      << refusal;
  EXPECT_TRUE(eventually([&] { return subscriber_->status().state == SubscriberState::lost; }));
  EXPECT_NE(subscriber_->status().message.find("67108864"), std::string::npos) << subscriber_->status().message;
}

TEST_F(AnnouncedRing, LiesInTheViewersOwnMemory) {
  EpochMessage epoch{.number = 1, .format = picture(16, 16), .slot_bytes = 1024, .ring_slots = 3};
  epoch.memory = "cuda";  // of the sender's pool; tcp sends what lies there
  sender_.channel->send(to_json(epoch));
  EXPECT_EQ(read_ready(hear("ready")).memory, "host");
}

TEST_F(AnnouncedRing, IsGivenUpWhenTheViewerCloses) {
  std::atomic<int> chunks = 0;
  std::atomic<bool> bye_received = false;
  const ChunkHook hook([&] {
    if (++chunks == 2) {
      EXPECT_TRUE(eventually([&] { return bye_received.load(); }));
    }
  });
  ASSERT_TRUE(eventually([&] { return subscriber_->status().state == SubscriberState::connected; }));
  announce(bytes(256 * mib), 256 * mib, 4);
  ASSERT_TRUE(eventually([&] { return chunks == 2; }));
  std::thread closing([&] { subscriber_->close({}); });
  EXPECT_EQ(message_type(hear("bye")), "bye");
  bye_received = true;
  closing.join();
  EXPECT_EQ(chunks, 2);
}

/// The program reads the frames of this sender.
class UntrustedSender : public AnnouncedRing {
 protected:
  static constexpr std::uint64_t frame_bytes = 100;

  UntrustedSender() : AnnouncedRing(Driver::program) {
    announce(bytes(frame_bytes), frame_bytes, 128);
    hear("ready");
  }

  [[nodiscard]] int data() const { return std::get<FileDescriptor>(path_).get(); }

  void send(const FrameHeader& header) {
    std::vector<std::byte> bytes(encoded_bytes(header) + header.slice_bytes);
    encode(header, bytes);
    ASSERT_EQ(::send(data(), bytes.data(), bytes.size(), MSG_NOSIGNAL), static_cast<ssize_t>(bytes.size()));
  }

  /// Begins a frame in a slot of its own, and gives it up.
  void abort_frame(std::uint16_t number) {
    FrameHeader header;
    header.epoch = 1;
    header.stream = 1;
    header.sequence = number;
    header.slot = number;
    header.layout = bytes_layout(frame_bytes);
    header.slice_count = 2;
    header.slice_bytes = slice_range(header).size_bytes;
    send(header);
    header.slice = 1;
    header.slice_bytes = 0;
    header.is_aborted = true;
    send(header);
  }

  std::size_t credits_come() {
    std::array<std::uint64_t, 256> words;
    const auto got = ::recv(data(), words.data(), sizeof words, MSG_DONTWAIT);
    return got > 0 ? static_cast<std::size_t>(got) / sizeof words[0] : 0;
  }
};

/// It may give them up as fast as the program takes them.
TEST_F(UntrustedSender, ThatGivesUpFramesKeepsNobodyInOneCall) {
  constexpr std::uint16_t frames = 100;
  for (std::uint16_t i = 0; i < frames; ++i) {
    abort_frame(i);
  }
  ASSERT_TRUE(eventually([&] {
    int unsent = 1;
    return ::ioctl(data(), SIOCOUTQ, &unsent) == 0 && unsent == 0;
  }));
  EXPECT_FALSE(subscriber_->next());
  std::size_t credits = credits_come();
  EXPECT_GT(credits, 0U);
  EXPECT_LE(credits, 64U);
  EXPECT_TRUE(eventually([&] {
    EXPECT_FALSE(subscriber_->next());
    credits += credits_come();
    return credits == frames;
  })) << credits;
  EXPECT_EQ(subscriber_->status().state, SubscriberState::connected) << subscriber_->status().message;
}

TEST_F(UntrustedSender, ThatGivesUpAFrameTwiceIsNotBelieved) {
  abort_frame(1);
  abort_frame(2);
  FrameHeader again;
  again.epoch = 1;
  again.sequence = 2;
  again.slot = 3;
  again.layout = bytes_layout(frame_bytes);
  again.slice_bytes = frame_bytes;
  send(again);
  EXPECT_TRUE(eventually([&] {
    EXPECT_FALSE(subscriber_->next());
    return subscriber_->status().message.find("it sent frame 2 after frame 2") != std::string::npos;
  })) << subscriber_->status().message;
}

TEST_F(UntrustedSender, ThatClaimsAnyNumberOfFramesDoesNotUpsetTheCounts) {
  sender_.channel->send(to_json(ByeMessage{.reason = "done", .frames_sent = UINT64_MAX, .statistics = {}}));
  path_ = FileDescriptor();
  EXPECT_TRUE(eventually([&] {
    EXPECT_FALSE(subscriber_->next());
    return subscriber_->status().state == SubscriberState::finished;
  }));
  EXPECT_EQ(subscriber_->counts().frames_lost, std::uint64_t{1} << 40);
}

TEST(AnnouncedPool, IsGivenUpWhenItsStreamStops) {
  Stream stream({.name = "test"});
  int chunks = 0;
  const ChunkHook hook([&] {
    if (++chunks == 2) {
      stream.stop();
    }
  });
  stream.begin_epoch(bytes(64 * mib));
  EXPECT_EQ(chunks, 2);
  EXPECT_FALSE(stream.format());
  EXPECT_FALSE(stream.claim());
}

}  // namespace
}  // namespace framewire
