// What a layer's framewire-send is told, and what a user may add to it.
#include "viewer/local_source.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "transport/session/subscriber.hpp"

namespace framewire {
namespace {

using Words = std::vector<std::string>;

std::string refusal_of_options(const Words& options) {
  try {
    check_sender_options(options, "options");
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), ExitStatus::usage);
    return error.what();
  }
  return "";
}

TEST(LocalSource, IsSentToThePortWhereTheViewerListens) {
  EXPECT_EQ(sender_command("/bin/send", {.source = "-film.mkv", .options = {"--fps", "30"}}, 4711),
            (Words{"/bin/send", "--fps", "30", "--to", "127.0.0.1:4711", "--", "-film.mkv"}));
}

TEST(LocalSource, IsDrawnAsLargeAsTheViewerUnlessItSaysAnother) {
  const auto size_of = [](const std::string& source, const Words& options) {
    const Words words = sender_command("send", {.source = source, .options = options}, 1, {640, 360});
    const Words size{"--size", "640x360"};
    // std::ranges::search() is not for clang 14.
    return std::search(words.begin(), words.end(), size.begin(), size.end()) == words.end() ? "" : "640x360";
  };
  for (const char* source : {"gl:", "gl:aurora", "gl:my.frag:1", "pattern", "pattern:stamped"}) {
    EXPECT_EQ(size_of(source, {}), std::string("640x360")) << source;
    EXPECT_EQ(size_of(source, {"--fps", "30", "--start", "--size"}), std::string("640x360")) << source;
    EXPECT_EQ(size_of(source, {"--fps", "30", "--size", "64x36"}), std::string()) << source;
    EXPECT_EQ(size_of(source, {"--size=64x36"}), std::string()) << source;
  }
  for (const char* source : {"film.mkv", "pattern.png", "v4l2:/dev/video0", "lavfi:testsrc2"}) {
    EXPECT_EQ(size_of(source, {}), std::string()) << "it has a size of its own";
  }
  EXPECT_EQ(drawn_size_for({641, 359}), (Size{641, 359}));
  EXPECT_EQ(drawn_size_for({7680, 2160}), (Size{3840, 1080}));
  EXPECT_EQ(drawn_size_for({2160, 3840}), (Size{1215, 2160}));
  EXPECT_EQ(drawn_size_for({32768, 1}), (Size{3840, 1}));
  EXPECT_EQ(drawn_size_for({0, 360}), Size{}) << "there is no surface yet";
}

TEST(LocalSource, OfASceneIsDrawnByTheViewerUnlessItsOptionsNeedASender) {
  const auto drawn = [](const std::string& source, const Words& options = {}) {
    return drawn_source({.source = source, .options = options, .folder = "scenes"});
  };
  EXPECT_EQ(drawn("gl:"), (ShaderSource{.scene = "gl:", .folder = "scenes"}));
  EXPECT_EQ(drawn("gl:my.frag:1", {"--size", "64x36", "--fps=29.97"}),
            (ShaderSource{.scene = "gl:my.frag:1", .folder = "scenes", .size = {64, 36}, .frames_per_s = 29.97}));
  for (const char* source : {"film.mkv", "pattern", "v4l2:/dev/video0", "gl.png"}) {
    EXPECT_FALSE(drawn(source)) << source;
  }
  for (const Words& options :
       {Words{"--pix-fmt", "nv12"}, Words{"--delivery", "every"}, Words{"--size", "auto"}, Words{"--size"},
        Words{"--size=8x8", "--size=9x9"}, Words{"--fps", "0"}, Words{"--fps", "-1"}, Words{"--fps=x"},
        Words{"--fps", "30", "--frames", "5"}, Words{"--no-pace"}}) {
    EXPECT_FALSE(drawn("gl:", options)) << options.front();
  }
  LocalSource elsewhere{.source = "gl:"};
  elsewhere.host = SshHost{.name = "box"};
  EXPECT_FALSE(drawn_source(elsewhere));
}

TEST(LocalSource, TakesOptionsAboutTheSource) {
  for (const Words& good : {Words{}, Words{"--loop"}, Words{"--fps", "30", "--loop", "--size=64x36"},
                            Words{"-f", "v4l2", "--input-option", "framerate=30"}, Words{"--start", "--loop"}}) {
    EXPECT_EQ(refusal_of_options(good), "");
  }
}

TEST(LocalSource, TakesNoOptionsAboutPeersOrFiles) {
  for (const char* wrong :
       {"--listen", "--to", "--listen=*:5290", "--key", "--insecure", "--encrypt", "--transport", "--viewers",
        "--allow-pull", "--stats", "--name", "--help", "--", "-", "another.mkv", "", "-fv4l2", "--loop=1", "--siz"}) {
    const std::string message = refusal_of_options({wrong, "x"});
    EXPECT_NE(message.find("options has '" + std::string(wrong) + "', which is not for layers"), std::string::npos)
        << message;
  }
  EXPECT_EQ(refusal_of_options({"--loop", "--fps"}), "options has --fps without a value; write it as the next word");
  EXPECT_EQ(refusal_of_options({"--fps", ""}), "options has --fps without a value; write it as the next word");
}

TEST(LocalSource, IsNotStandardInput) {
  EXPECT_THROW(check_local_source("-", "--layer"), Error);
  EXPECT_NO_THROW(check_local_source("film.mkv", "--layer"));
}

/// What is said about senders on other machines must not open the port of this one.
TEST(LocalSource, IsTakenOnlyFromThisUserOnThisMachine) {
  SubscriberOptions session;
  session.endpoint.dial = HostPort{"box", 5290};
  session.endpoint.insecure = true;
  session.endpoint.encrypt = true;
  session.endpoint.key_file = "key";
  session.endpoint.allowed_links = {LinkKind::tcp};
  session.endpoint.pull_interval_ns = 1;
  session.endpoint.peer_timeout_ns = 7;
  session.delivery = Delivery::latest;
  session.retry_ns = 0;
  session.confirms_epochs = true;
  const SubscriberOptions local = local_session(session);
  EXPECT_FALSE(local.endpoint.dial);
  ASSERT_TRUE(local.endpoint.listen);
  EXPECT_EQ(local.endpoint.listen->host, "127.0.0.1");
  EXPECT_EQ(local.endpoint.listen->port, 0);
  EXPECT_FALSE(local.endpoint.insecure);
  EXPECT_FALSE(local.endpoint.encrypt);
  EXPECT_FALSE(local.endpoint.key_file);
  EXPECT_EQ(local.endpoint.allowed_links, links_best_first());
  EXPECT_EQ(local.endpoint.pull_interval_ns, 0);
  EXPECT_EQ(local.endpoint.peer_timeout_ns, 7);
  EXPECT_FALSE(local.delivery);
  EXPECT_LT(local.retry_ns, 0);
  EXPECT_TRUE(local.confirms_epochs);
}

}  // namespace
}  // namespace framewire
