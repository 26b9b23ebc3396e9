// Peers that speak the protocol and lie to rdsend and rdrecv. Every lie must be detected.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <fstream>
#include <functional>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "base/bytes.hpp"
#include "base/clock.hpp"
#include "base/file_descriptor.hpp"
#include "bytes/byte_protocol.hpp"
#include "bytes/digest.hpp"
#include "tests/base/eventually.hpp"
#include "tests/base/logs.hpp"
#include "tests/base/temporary_folder.hpp"
#include "transport/session/sender_service.hpp"
#include "transport/session/subscriber.hpp"
#include "transport/stream.hpp"

namespace framewire {
namespace {

using test::eventually;
using test::timeout_ns;

/// rdsend or rdrecv, with both outputs captured.
class Running {
 public:
  explicit Running(const std::string& command) : output_(::popen((command + " 2>&1").c_str(), "re")) {}
  ~Running() {
    if (output_ != nullptr) {
      ::pclose(output_);
    }
  }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

  std::string line() {
    std::string text(1000, '\0');
    text.resize(std::fgets(text.data(), static_cast<int>(text.size()), output_) != nullptr ? std::strlen(text.data())
                                                                                           : 0);
    return text;
  }
  /// The rest of the output; call status() afterwards.
  std::string rest() {
    std::string all;
    for (std::string next = line(); !next.empty(); next = line()) {
      all += next;
    }
    return all;
  }
  int status() {
    const int status = ::pclose(std::exchange(output_, nullptr));
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

 private:
  std::FILE* output_;
};

/// One frame of a hostile sender.
struct Chunk {
  std::string text;
  std::int64_t pts = 0;
  std::uint64_t tag = 0;
};

std::uint64_t digest_of(const std::string& text) {
  RunningDigest digest;
  digest.add(std::as_bytes(std::span(text)));
  return digest.value();
}

std::uint64_t tag_of(const std::string& all_so_far, bool is_end = false) {
  return encode({.is_end = is_end, .check = static_cast<std::uint32_t>(digest_of(all_so_far))});
}

Chunk end(std::string record) {
  return {.text = std::move(record), .pts = 4, .tag = tag_of("some", true)};
}

const Chunk some{.text = "some", .pts = 0, .tag = tag_of("some")};
const std::string record_of_some = to_json_text(EndRecord{.bytes = 4, .digest = digest_of("some")});

class MaliciousPeers : public testing::TestWithParam<LinkKind> {
 protected:
  MaliciousPeers() { ::setenv("XDG_CONFIG_HOME", folder_.path().c_str(), 1); }

  struct Ended {
    int status;
    std::string said;
    std::string written;
  };
  /// Runs rdrecv, sends it these chunks, and says bye.
  Ended receive(const std::vector<Chunk>& chunks, const FrameLayout& layout = bytes_layout(8192)) {
    const std::string copy = folder_.file("copy");
    std::ofstream(copy).close();
    Running receiver(std::string(RDRECV) + " -v --listen 127.0.0.1:0 '" + copy + "'");
    const std::string waits = receiver.line();
    EndpointOptions dialling = endpoint();
    dialling.dial = HostPort{"127.0.0.1", static_cast<std::uint16_t>(std::stoi(waits.substr(waits.rfind(':') + 1)))};
    Stream stream({.name = "bytes", .delivery = Delivery::every, .max_viewers = 1, .ends_with_viewers = true});
    stream.begin_epoch({.layout = layout, .colour = {}});
    {
      SenderService service(dialling, {&stream}, "liar", log_);
      EXPECT_TRUE(eventually([&] { return stream.viewer_count() > 0; }));
      for (const Chunk& chunk : chunks) {
        if (auto slot = stream.claim()) {
          copy_bytes(std::as_bytes(std::span(chunk.text)), slot->bytes());
          const FrameLayout its = layout.format == PixelFormat::bytes ? bytes_layout(chunk.text.size()) : layout;
          stream.publish(std::move(*slot), {.pts_ns = chunk.pts, .user_tag = chunk.tag, .layout = its});
        }
      }
      stream.finish();
      service.drain(monotonic_ns() + timeout_ns);
    }
    std::string said = receiver.rest();
    std::ostringstream written;
    written << std::ifstream(copy).rdbuf();
    return {receiver.status(), std::move(said), written.str()};
  }

  /// Runs rdsend with the input "some" against a receiver that accepts all of it and answers with `receipt`.
  std::pair<int, std::string> send(const std::string& receipt) {
    EndpointOptions listening = endpoint();
    listening.listen = HostPort{"127.0.0.1", 0};
    Subscriber receiver(
        {.endpoint = listening, .stream = {}, .delivery = {}, .reconnect = false, .program = "rdrecv of another make"},
        log_);
    Running sender("printf some | " + std::string(RDSEND) + " 127.0.0.1:" + std::to_string(receiver.port()));
    bool has_end = false;
    EXPECT_TRUE(eventually([&] {
      while (auto frame = receiver.next()) {
        has_end = has_end || (frame->header().user_tag & 1) != 0;
      }
      return has_end;
    }));
    receiver.close(receipt);
    std::string said = sender.rest();
    return {sender.status(), std::move(said)};
  }

  [[nodiscard]] EndpointOptions endpoint() const {
    EndpointOptions options;
    options.allowed_links = {GetParam()};
    options.may_choose_link = false;
    return options;
  }

  test::TemporaryFolder folder_;
  test::ShownLog log_;
};

TEST_P(MaliciousPeers, ASenderThatTellsTheTruthIsBelieved) {
  const Ended ended = receive({some, end(record_of_some)});
  EXPECT_EQ(ended.status, 0) << ended.said;
  EXPECT_EQ(ended.written, "some");
}

TEST_P(MaliciousPeers, ASenderThatLiesIsNot) {
  struct Lie {
    std::vector<Chunk> chunks;
    std::string wanted;
    std::string written = "some";
    int status = 1;
  };
  const std::string some_more = "somemore";
  const Chunk more{.text = "more", .pts = 4, .tag = tag_of(some_more)};
  const std::string too_long =
      R"({"bytes":4,"digest":null,"error":null,"more":")" + std::string(longest_end_record_bytes, 'x') + R"("})";
  const std::vector<Lie> lies{
      {.chunks = {some}, .wanted = "without saying that this was all", .status = 4},
      {.chunks = {}, .wanted = "without saying that this was all", .written = "", .status = 4},
      {.chunks = {some, {.text = "more", .pts = 5, .tag = more.tag}}, .wanted = "do not follow one another: 5 after 4"},
      {.chunks = {some, {.text = "more", .pts = 0, .tag = more.tag}}, .wanted = "do not follow one another: 0 after 4"},
      {.chunks = {some, {.text = "more", .pts = -1, .tag = more.tag}}, .wanted = "do not follow one another"},
      {.chunks = {some, {.text = "mOre", .pts = 4, .tag = more.tag}},
       .wanted = "between 4 and 8 are not those that the sender read"},
      {.chunks = {some, {.text = "more", .pts = 4, .tag = 4}}, .wanted = "a version that this one does not know"},
      {.chunks = {some, end(to_json_text(EndRecord{.bytes = 5, .digest = digest_of("some")}))},
       .wanted = "it sent 5 bytes, but 4 came"},
      {.chunks = {some, end(to_json_text(EndRecord{.bytes = UINT64_MAX, .digest = digest_of("some")}))},
       .wanted = "it sent 18446744073709551615 bytes, but 4 came"},
      {.chunks = {some, end(to_json_text(EndRecord{.bytes = 4, .digest = digest_of("sOme")}))},
       .wanted = "the digest of what came is not the sender's"},
      {.chunks = {some, end("{}")}, .wanted = "no good field 'bytes'"},
      {.chunks = {some, end("nothing of that kind")}, .wanted = "no JSON object"},
      {.chunks = {some, end(std::string("\0\xff\x1b[2J", 6))}, .wanted = "no JSON object"},
      {.chunks = {some, end(std::string(2000, '['))}, .wanted = "no JSON object"},
      {.chunks = {some, end("")}, .wanted = "no JSON object"},
      {.chunks = {some, end(too_long)}, .wanted = "bytes, more than 2048"},
      {.chunks = {some, end(to_json_text(EndRecord{.bytes = 4, .digest = digest_of("some"), .error = "\x1b[2J"}))},
       .wanted = "the sender's source failed after 4 B: "},
  };
  for (const Lie& lie : lies) {
    const Ended ended = receive(lie.chunks);
    EXPECT_EQ(ended.status, lie.status) << lie.wanted << "; it said: " << ended.said;
    EXPECT_NE(ended.said.find("rdrecv: "), std::string::npos) << ended.said;
    EXPECT_NE(ended.said.find(lie.wanted), std::string::npos) << lie.wanted << " is not in: " << ended.said;
    EXPECT_EQ(ended.said.find('\x1b'), std::string::npos);
    EXPECT_EQ(ended.written, lie.written) << ended.said;
  }
}

TEST_P(MaliciousPeers, ASenderOfPicturesIsNone) {
  const Ended ended = receive({some}, packed_layout(PixelFormat::rgba, 16, 16));
  EXPECT_EQ(ended.status, 1);
  EXPECT_NE(ended.said.find("the sender sends no bytes"), std::string::npos) << ended.said;
}

TEST_P(MaliciousPeers, AReceiverThatTellsTheTruthIsBelieved) {
  const auto [status, said] = send(to_json_text(Receipt{.bytes = 4, .digest = digest_of("some")}));
  EXPECT_EQ(status, 0) << said;
}

TEST_P(MaliciousPeers, AReceiverThatLiesIsNot) {
  const std::vector<std::pair<std::string, std::string>> lies{
      {to_json_text(Receipt{.bytes = 3, .digest = digest_of("som")}), "wrote 3 bytes of 4"},
      {to_json_text(Receipt{.bytes = 5, .digest = digest_of("some")}), "wrote 5 bytes of 4"},
      {to_json_text(Receipt{.bytes = 4, .digest = digest_of("sOme")}), "digest is another one"},
      {to_json_text(Receipt{.bytes = 4}), "digest is another one"},
      {to_json_text(Receipt{.bytes = 4, .digest = digest_of("some"), .error = "no"}), "the receiver failed after 4 B"},
      {"{}", "no good field 'bytes'"},
      {R"({"bytes":4,"digest":")" + digest_text(digest_of("some")) + R"(","error":null,"durable":"yes"})", "'durable'"},
  };
  for (const auto& [receipt, wanted] : lies) {
    const auto [status, said] = send(receipt);
    EXPECT_EQ(status, 1) << said;
    EXPECT_NE(said.find("rdsend: "), std::string::npos) << said;
    EXPECT_NE(said.find(wanted), std::string::npos) << wanted << " is not in: " << said;
  }
  for (const std::string& no_message : {std::string(), std::string("thanks"), std::string("[4]"),
                                        std::string(R"("all of it")"), std::string(5000, '[')}) {
    const auto [status, said] = send(no_message);
    EXPECT_EQ(status, 4) << said;
    EXPECT_NE(said.find("rdsend: lost the receiver after 4 B"), std::string::npos) << said;
  }
}

TEST_P(MaliciousPeers, AReceiptBeforeTheEndIsNone) {
  const std::string pipe = folder_.file("pipe");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const FileDescriptor writer(::open(pipe.c_str(), O_RDWR | O_CLOEXEC));
  ASSERT_EQ(::write(writer.get(), "some", 4), 4);
  EndpointOptions listening = endpoint();
  listening.listen = HostPort{"127.0.0.1", 0};
  Subscriber receiver(
      {.endpoint = listening, .stream = {}, .delivery = {}, .reconnect = false, .program = "rdrecv of another make"},
      log_);
  Running sender(std::string(RDSEND) + " 127.0.0.1:" + std::to_string(receiver.port()) + " " + pipe);
  EXPECT_TRUE(eventually([&] { return receiver.next().has_value(); }));
  receiver.close(to_json_text(Receipt{.bytes = 4, .digest = digest_of("some")}));
  const std::string said = sender.rest();
  EXPECT_EQ(sender.status(), 1) << "more may come: " << said;
}

INSTANTIATE_TEST_SUITE_P(Over, MaliciousPeers, testing::Values(LinkKind::local, LinkKind::tcp),
                         [](const auto& link) { return std::string(name(link.param)); });

}  // namespace
}  // namespace framewire
