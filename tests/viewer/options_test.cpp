#include "viewer/options.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/error.hpp"

namespace framewire {
namespace {

ViewerOptions parse(std::vector<const char*> words) {
  words.insert(words.begin(), "framewire-view");
  const auto options = parse_options(static_cast<int>(words.size()), words.data());
  EXPECT_TRUE(options.has_value());
  return options.value_or(ViewerOptions{});
}

/// Returns the message of the usage error for these arguments.
std::string refusal(std::vector<const char*> words) {
  words.insert(words.begin(), "framewire-view");
  try {
    static_cast<void>(parse_options(static_cast<int>(words.size()), words.data()));
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), ExitStatus::usage) << error.what();
    return error.what();
  }
  ADD_FAILURE() << "was taken";
  return "";
}

void expect_refusal(const std::vector<const char*>& words, const std::vector<std::string>& names) {
  const std::string message = refusal(words);
  for (const std::string& name : names) {
    EXPECT_NE(message.find(name), std::string::npos) << "'" << message << "' does not name " << name;
  }
}

TEST(ViewerOptions, SayHowWellAndWhenFramesAreShown) {
  const auto usual = parse({"box"});
  EXPECT_FALSE(usual.quality);
  EXPECT_FALSE(usual.is_paced);
  EXPECT_FALSE(usual.is_low_latency);
  EXPECT_FALSE(usual.refresh_hz);
  EXPECT_FALSE(parse({"--quality", "auto", "box"}).quality);
  EXPECT_EQ(parse({"--quality", "fast", "box"}).quality, Quality::fast);
  EXPECT_EQ(parse({"--quality", "good", "box"}).quality, Quality::good);
  EXPECT_TRUE(parse({"--paced", "box"}).is_paced);
  EXPECT_TRUE(parse({"--low-latency", "box"}).is_low_latency);
  EXPECT_EQ(parse({"--headless", "--refresh", "59.94", "--paced", "box"}).refresh_hz, 59.94);
  expect_refusal({"--quality", "best", "box"}, {"--quality", "best", "fast, good or auto"});
  EXPECT_FALSE(usual.downscale);
  EXPECT_EQ(parse({"--downscale", "bilinear", "box"}).downscale, Downscale::bilinear);
  EXPECT_EQ(parse({"--downscale", "area", "--quality", "fast", "box"}).downscale, Downscale::area);
  expect_refusal({"--downscale", "cubic", "box"}, {"--downscale", "cubic", "area or bilinear"});
  expect_refusal({"--downscale", "bilinear", "--quality", "good", "box"},
                 {"--downscale", "bilinear", "--quality good"});
  expect_refusal({"--paced", "--low-latency", "box"}, {"--paced", "--low-latency"});
  expect_refusal({"--refresh", "60", "box"}, {"--refresh", "60", "--headless"});
  expect_refusal({"--headless", "--low-latency", "box"}, {"--headless", "--low-latency"});
  expect_refusal({"--cadence", "--low-latency", "box"}, {"--cadence", "--low-latency"});
  expect_refusal({"--headless", "--cadence", "box"}, {"--cadence", "--refresh"});
  expect_refusal({"--pull", "--cadence", "box"}, {"--pull", "--cadence"});
  EXPECT_TRUE(parse({"--headless", "--cadence", "--refresh", "60", "box"}).asks_cadence);
  for (const char* wrong : {"0", "0.5", "1001", "-60", "nan", "inf", "60Hz", "60/1"}) {
    expect_refusal({"--headless", "--refresh", wrong, "box"}, {"--refresh", wrong});
  }
}

TEST(ViewerOptions, HaveATypeOfServiceOfEightBits) {
  EXPECT_FALSE(parse({"box"}).sources.at(0).subscriber.endpoint.type_of_service);
  EXPECT_EQ(parse({"--tos", "0", "box"}).sources.at(0).subscriber.endpoint.type_of_service, 0);
  EXPECT_EQ(parse({"--tos", "255", "box"}).sources.at(0).subscriber.endpoint.type_of_service, 255);
  for (const char* wrong : {"256", "-1", "104x", "4294967400"}) {
    expect_refusal({"--tos", wrong, "box"}, {"--tos", wrong});
  }
}

TEST(ViewerOptions, NameAnRdmaAddressInFigures) {
  EXPECT_EQ(parse({"box"}).sources.at(0).subscriber.endpoint.native_address, "");
  EXPECT_EQ(parse({"--rdma-address", "10.9.0.1", "box"}).sources.at(0).subscriber.endpoint.native_address, "10.9.0.1");
  for (const char* wrong : {"box", "10.9.0.1:5290", "[2001:db8::1]", "10.9"}) {
    expect_refusal({"--rdma-address", wrong, "box"}, {"--rdma-address", wrong});
  }
}

TEST(ViewerOptions, RelaxTheOrderOfPayloadUnlessToldNotTo) {
  EXPECT_TRUE(parse({"box"}).sources.at(0).subscriber.endpoint.relaxed_ordering);
  EXPECT_TRUE(parse({"--relaxed-ordering", "box"}).sources.at(0).subscriber.endpoint.relaxed_ordering);
  EXPECT_FALSE(parse({"--no-relaxed-ordering", "box"}).sources.at(0).subscriber.endpoint.relaxed_ordering);
  expect_refusal({"--relaxed-ordering", "--no-relaxed-ordering", "box"}, {"relaxed-ordering"});
}

TEST(Options, DefaultToTheSenderOnThisMachine) {
  const ViewerOptions options = parse({});
  ASSERT_TRUE(options.sources.at(0).subscriber.endpoint.dial.has_value());
  EXPECT_EQ(options.sources.at(0).subscriber.endpoint.dial->host, "localhost");
  EXPECT_EQ(options.sources.at(0).subscriber.endpoint.dial->port, 5290);
  EXPECT_FALSE(options.sources.at(0).subscriber.endpoint.listen.has_value());
  EXPECT_TRUE(options.sources.at(0).subscriber.endpoint.may_choose_link);
  EXPECT_LT(options.sources.at(0).subscriber.retry_ns, 0);
  EXPECT_EQ(options.sources.at(0).peer_text, "localhost:5290");
  EXPECT_FALSE(options.is_headless);
  EXPECT_EQ(options.common.max_frames, 0U);
}

TEST(Options, CountPicturesInPlaceOfFramesWhereTheyAreMergedByDepth) {
  const ViewerOptions merged = parse({"one", "two", "--layout", "depth", "--frames", "10"});
  EXPECT_EQ(merged.common.max_frames, 0U);
  EXPECT_EQ(merged.most_sets, 10U);
  const ViewerOptions apart = parse({"one", "two", "--frames", "10"});
  EXPECT_EQ(apart.common.max_frames, 10U);
  EXPECT_EQ(apart.most_sets, 0U);
}

TEST(Options, TakeHostPortAndStream) {
  const ViewerOptions options = parse({"box:6000/camera"});
  EXPECT_EQ(options.sources.at(0).subscriber.endpoint.dial->host, "box");
  EXPECT_EQ(options.sources.at(0).subscriber.endpoint.dial->port, 6000);
  EXPECT_EQ(options.sources.at(0).subscriber.stream, "camera");
  EXPECT_EQ(options.sources.at(0).peer_text, "box:6000/camera");
  EXPECT_EQ(parse({"[::1]:6000/a"}).sources.at(0).subscriber.endpoint.dial->host, "::1");
}

TEST(Options, TakeEverythingAtOnce) {
  const ViewerOptions options =
      parse({"--headless", "--size",      "640x360",  "--output",   "-",         "--screenshot",
             "a.png",      "--transport", "tcp",      "--memory",   "host",      "--delivery",
             "every",      "--frames",    "10",       "--duration", "2.5s",      "--key",
             "k",          "--insecure",  "--retry",  "3",          "--timeout", "500ms",
             "--stats",    "s.json",      "--verify", "--verbose",  "--spin"});
  EXPECT_TRUE(options.is_headless);
  EXPECT_EQ(options.size, (Size{640, 360}));
  EXPECT_EQ(options.output.file, "-");
  EXPECT_TRUE(options.output.is_of_stream());
  EXPECT_EQ(options.screenshot_file, "a.png");
  EXPECT_EQ(options.sources.at(0).subscriber.endpoint.allowed_links, std::vector{LinkKind::tcp});
  EXPECT_FALSE(options.sources.at(0).subscriber.endpoint.may_choose_link);
  EXPECT_EQ(options.sources.at(0).subscriber.delivery, Delivery::every);
  EXPECT_EQ(options.common.max_frames, 10U);
  EXPECT_EQ(options.common.max_duration_ns, 2500 * ns_per_ms);
  EXPECT_EQ(options.sources.at(0).subscriber.endpoint.key_file, "k");
  EXPECT_TRUE(options.sources.at(0).subscriber.endpoint.insecure);
  EXPECT_EQ(options.sources.at(0).subscriber.retry_ns, 3 * ns_per_s);
  EXPECT_EQ(options.sources.at(0).subscriber.endpoint.peer_timeout_ns, 500 * ns_per_ms);
  EXPECT_EQ(options.common.stats_file, "s.json");
  EXPECT_TRUE(options.verify);
  EXPECT_EQ(options.wait, WaitMode::spin);
  EXPECT_TRUE(options.common.is_verbose);
}

TEST(Options, ShowLayersOverHosts) {
  const ViewerOptions options = parse({"--layer", "logo.png", "box", "--layer", "gl:aurora", "other/b", "--insecure"});
  ASSERT_EQ(options.sources.size(), 4U);
  EXPECT_EQ(options.sources[0].peer_text, "box:5290");
  EXPECT_EQ(options.sources[1].peer_text, "other:5290/b");
  EXPECT_FALSE(options.sources[1].local);
  EXPECT_EQ(options.sources[2].local, LocalSource{.source = "logo.png"});
  EXPECT_EQ(options.sources[2].peer_text, "logo.png");
  EXPECT_FALSE(options.sources[2].subscriber.endpoint.insecure);
  EXPECT_EQ(options.sources[3].local, LocalSource{.source = "gl:aurora"});
  EXPECT_FALSE(options.sources[2].drawn);
  EXPECT_EQ(options.sources[3].drawn, ShaderSource{.scene = "gl:aurora"});
  EXPECT_TRUE(parse({"--layer", "gl:"}).sources[0].drawn);
  EXPECT_FALSE(parse({"--layer", "gl:", "--output", "a.y4m"}).sources[0].drawn) << "its frames are recorded";
  EXPECT_TRUE(parse({"box", "--layer", "gl:", "--output", "a.y4m"}).sources[1].drawn);
  ASSERT_EQ(options.scene.layers.size(), 4U);
  EXPECT_EQ(options.scene.layers[3].local, options.sources[3].local);
  EXPECT_EQ(parse({"--layer", "gl:"}).sources.size(), 1U) << "the sender on this machine is not awaited then";
  EXPECT_EQ(parse({"--layer", "gl:", "--listen", "*:7000"}).sources.size(), 2U);
  expect_refusal({"--layer", "-"}, {"--layer", "standard input"});
  expect_refusal({"--scene", "a.toml", "--layer", "gl:"}, {"--scene", "a.toml", "--layer"});
}

TEST(Options, DrawScenesThemselvesThatAreMergedByDepth) {
  const ViewerOptions options =
      parse({"--layout", "depth", "a", "--layer", "gl:helix:3", "b", "--layer", "logo.png", "--layer", "gl:x.frag"});
  EXPECT_EQ(options.scene.layout, Layout::depth);
  EXPECT_EQ(options.scene.gl_scenes, (std::vector<std::string>{"gl:helix:3", "gl:x.frag"}));
  ASSERT_EQ(options.sources.size(), 3U);
  ASSERT_EQ(options.scene.layers.size(), 3U);
  EXPECT_EQ(options.sources[0].peer_text, "a:5290");
  EXPECT_EQ(options.sources[2].local, LocalSource{.source = "logo.png"});
  EXPECT_EQ(options.scene.layers[2].local, options.sources[2].local);
  EXPECT_TRUE(parse({"a", "--layer", "gl:helix"}).scene.gl_scenes.empty());
  expect_refusal({"--layout", "depth", "--layer", "gl:helix"}, {"--layout depth", "HOST"});
  expect_refusal({"--layout", "depth", "a", "--blend", "add"}, {"--blend", "overlay"});
  expect_refusal({"--layout", "depth", "a", "--paced"}, {"layout depth", "--paced", "leave out one"});
  expect_refusal({"--layout", "depth", "a", "--sync"}, {"layout depth", "--sync", "leave out one"});
}

TEST(Options, StartSendersBySsh) {
  const ViewerOptions options = parse(
      {"ssh://big/gl:orbit?fps=30", "box", "-F", "config", "-o", "User=me", "-o", "Port=2", "--send-path", "~/send"});
  ASSERT_EQ(options.sources.size(), 2U);
  EXPECT_EQ(options.sources[0].peer_text, "ssh://big/gl:orbit");
  EXPECT_EQ(options.sources[0].local->options, std::vector<std::string>{"--fps=30"});
  EXPECT_FALSE(options.sources[1].local);
  EXPECT_EQ(options.ssh.config_file, "config");
  EXPECT_EQ(options.ssh.options, (std::vector<std::string>{"User=me", "Port=2"}));
  EXPECT_EQ(options.ssh.remote_program, "~/send");
  expect_refusal({"-o", "film.y4m", "box"}, {"-o", "ssh://", "--output"});
  expect_refusal({"--send-path", "x"}, {"--send-path", "ssh://"});
  expect_refusal({"ssh://big"}, {"HOST", "ssh://big", "names no source"});
  expect_refusal({"--layer", "ssh://big/gl:orbit"}, {"--layer", "ssh://big/gl:orbit", "HOST"});
}

TEST(Options, ListenInsteadOfDialling) {
  const ViewerOptions options = parse({"--listen", "192.0.2.7:7000"});
  EXPECT_FALSE(options.sources.at(0).subscriber.endpoint.dial.has_value());
  EXPECT_EQ(options.sources.at(0).subscriber.endpoint.listen->host, "192.0.2.7");
  EXPECT_EQ(options.sources.at(0).subscriber.endpoint.listen->port, 7000);
}

TEST(Options, RetryZeroMeansNotAtAll) {
  EXPECT_EQ(parse({"--retry", "0"}).sources.at(0).subscriber.retry_ns, 0);
}

TEST(Options, HelpAndVersionEndTheProgramWell) {
  const char* help[] = {"framewire-view", "--help"};
  const char* version[] = {"framewire-view", "--version"};
  testing::internal::CaptureStdout();
  EXPECT_EQ(parse_options(2, help), std::nullopt);
  EXPECT_EQ(parse_options(2, version), std::nullopt);
  std::fflush(stdout);
  const std::string said = testing::internal::GetCapturedStdout();
  EXPECT_NE(said.find("--headless"), std::string::npos);
  EXPECT_NE(said.find("framewire-view "), std::string::npos);
}

TEST(Options, RefuseWithTheThingTheValueAndTheWayOut) {
  expect_refusal({"--size", "big"}, {"--size", "'big'", "WIDTHxHEIGHT"});
  expect_refusal({"--size", "0x1"}, {"--size", "'0x1'"});
  expect_refusal({"--frames", "-1"}, {"--frames", "'-1'"});
  expect_refusal({"--frames", "0"}, {"--frames", "'0'"});
  expect_refusal({"--duration", "soon"}, {"--duration", "'soon'"});
  expect_refusal({"--retry", "-3"}, {"--retry", "'-3'"});
  expect_refusal({"--timeout", "0"}, {"--timeout", "'0'"});
  expect_refusal({"--monitor", "0"}, {"--monitor", "'0'"});
  expect_refusal({"--transport", "pigeon"}, {"--transport", "'pigeon'", "local", "tcp"});
  expect_refusal({"--delivery", "never"}, {"--delivery", "'never'", "latest"});
  expect_refusal({"--memory", "tape"}, {"--memory", "'tape'", "host"});
  expect_refusal({"--screenshot", "a.jpg"}, {"--screenshot", "'a.jpg'", ".png"});
  expect_refusal({"box:99999"}, {"HOST", "'box:99999'"});
  expect_refusal({"box/"}, {"'box/'", "stream"});
  expect_refusal({"*"}, {"'*'", "--listen"});
  expect_refusal({"--wall", "3x2@3,0"}, {"--wall", "'3x2@3,0'", "0,0 to 2,1"});
}

TEST(Options, RecordThePictureOfSeveralStreams) {
  EXPECT_TRUE(parse({"one", "--output", "a.y4m"}).output.is_of_stream());
  EXPECT_FALSE(parse({"one"}).output.is_of_stream());
  EXPECT_FALSE(parse({"one", "two"}).output.is_of_picture);
  const OutputOptions two = parse({"one", "two", "--output", "a.y4m", "--output-fps", "29.97"}).output;
  EXPECT_TRUE(two.is_of_picture);
  EXPECT_FALSE(two.is_of_stream());
  EXPECT_EQ(two.rate, (Rational{30000, 1001}));
  EXPECT_TRUE(parse({"one", "--layer", "pattern", "--output", "a.y4m"}).output.is_of_picture);
  EXPECT_TRUE(parse({"one", "--layer", "gl:helix:3", "--layout", "depth", "--output", "a.y4m"}).output.is_of_picture);
  EXPECT_FALSE(parse({"one", "two", "--output", "a.y4m"}).output.rate);
  for (const char* wrong : {"0", "x", "1001"}) {
    expect_refusal({"one", "two", "--output", "a.y4m", "--output-fps", wrong}, {"--output-fps", wrong, "frames"});
  }
  expect_refusal({"one", "two", "--output-fps", "30"}, {"--output-fps", "--output"});
  expect_refusal({"one", "--output", "a.y4m", "--output-fps", "30"}, {"--output-fps", "one stream"});
}

TEST(Options, NameTheMemoryOfOneGpu) {
  EXPECT_FALSE(parse({"one", "--memory", "auto"}).memory.is_cuda);
  EXPECT_FALSE(parse({"one", "--memory", "host"}).memory.is_cuda);
  EXPECT_TRUE(parse({"one", "--memory", "cuda"}).memory.is_cuda);
  EXPECT_EQ(parse({"one", "--memory", "cuda"}).memory.gpu, "");
  EXPECT_EQ(parse({"one", "--memory", "cuda:0000:3b:00.0"}).memory.gpu, "0000:3b:00.0");
  for (const char* wrong : {"cuda:", "cuda0", "cud", "CUDA", "cuda,host"}) {
    expect_refusal({"--memory", wrong}, {"--memory", wrong, "cuda:GPU"});
  }
}

TEST(Options, RefuseWhatContradictsItself) {
  expect_refusal({"--listen", ":5290", "box"}, {"--listen", "'box'"});
  expect_refusal({"--listen", ":5290", "[a,b]"}, {"--listen", "HOST '[a,b]'"});
  expect_refusal({"--headless", "--fullscreen"}, {"--headless", "--fullscreen"});
  expect_refusal({"--headless", "--monitor", "1"}, {"--headless", "--monitor"});
}

TEST(Options, RefuseUnknownAndUnfinishedOptions) {
  expect_refusal({"--wide"}, {"--wide", "--help"});
  expect_refusal({"--size"}, {"--size", "--help"});
  expect_refusal({"--output", ""}, {"--output"});
}

}  // namespace
}  // namespace framewire
