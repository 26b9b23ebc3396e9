// Scenes that the viewer draws itself: their pixels, input, failures and counts.
#include "viewer/shader_layer.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "gl/offscreen_target.hpp"
#include "tests/base/logs.hpp"
#include "tests/base/temporary_folder.hpp"
#include "tests/viewer/attached_headless.hpp"
#include "viewer/layer.hpp"

namespace framewire {
namespace {

constexpr Size size{320, 180};
constexpr std::uint16_t key_a = 0x04;

class ShaderLayerTest : public testing::Test {
 protected:
  /// With a file of this text, or a built-in scene.
  ShaderStream& open(const std::string& scene, double frames_per_s = 50) {
    ViewedSource source{.subscriber = {}, .peer_text = scene};
    layer_.reset();
    source.drawn = ShaderSource{.scene = scene, .folder = folder_.path(), .size = size, .frames_per_s = frames_per_s};
    stream_ =
        std::make_unique<ShaderStream>(options_, source, Size{}, clock_, interruption_, log_,
                                       ViewedStream::Listeners{.on_news = [] {}, .on_session = [] {}, .on_end = [] {}});
    layer_ = std::make_unique<ShaderLayer>(*stream_, clock_);
    return *stream_;
  }
  void write(const std::string& text) const { std::ofstream(folder_.file("a.frag")) << text; }

  /// The next frame that is due, as the viewer shows it at the scene's own size.
  std::vector<std::byte> next_picture() {
    glFinish();  // so that no frame waits for the one before
    clock_.advance_to_ns(std::max(layer_->due_ns(), clock_.now_ns()));
    EXPECT_TRUE(layer_->take(clock_.now_ns(), 0));
    layer_->draw();
    Painters painters;
    Layer shown(painters, false, stream_->statistics(), Quality::fast);
    shown.show(layer_->picture(), PixelFormat::rgb0, SceneRenderer::rgb_colour());
    EXPECT_EQ(shown.frame_size(), size);
    const OffscreenTarget target(size);
    target.bind();
    shown.draw({0, 0, static_cast<int>(size.width), static_cast<int>(size.height)}, size, 0);
    std::vector<std::byte> pixels(target.size_bytes());
    target.read_rgba(pixels);
    return pixels;
  }
  /// The colour of the next picture of a scene that has only one; below the counter.
  std::array<int, 3> next_colour() {
    const std::vector<std::byte> pixels = next_picture();
    const std::size_t last = pixels.size() - 4;
    return {std::to_integer<int>(pixels[last]), std::to_integer<int>(pixels[last + 1]),
            std::to_integer<int>(pixels[last + 2])};
  }
  void give(const decltype(InputEvent::what)& what) const {
    EXPECT_TRUE(stream_->send_input({.viewer = "0123456789abcdef", .epoch = 1, .events = {{.what = what}}},
                                    ShaderStream::session_number));
  }

  test::TemporaryFolder folder_;
  ViewerOptions options_;
  VirtualClock clock_;
  Interruption interruption_;
  test::KeptLog log_;
  AttachedHeadless headless_{Size{64, 36}};
  std::unique_ptr<ShaderStream> stream_;
  std::unique_ptr<ShaderLayer> layer_;
};

/// As framewire-send renders it for the same frame and time.
TEST_F(ShaderLayerTest, ItsPicturesAreThoseThatASenderWouldSend) {
  for (const std::string scene : {"gl:waves", "gl:orbit", "gl:helix:1,3"}) {
    open(scene);
    SceneRenderer sent(load_scene(scene), size, PixelFormat::rgba);
    std::int64_t last_ns = 0;
    for (std::uint64_t frame = 0; frame < 3; ++frame) {
      const std::vector<std::byte> picture = next_picture();
      const std::int64_t time_ns = layer_->time_ns();  // later than usual if the processor is slow
      EXPECT_EQ(time_ns % (20 * ns_per_ms), 0);
      EXPECT_EQ(time_ns > last_ns, frame > 0);
      const double time_s = static_cast<double>(time_ns) / 1e9;
      constexpr KeyboardTexels no_keys{};
      sent.draw({.time_s = time_s,
                 .time_delta_s = static_cast<double>(time_ns - last_ns) / 1e9,
                 .frames_per_s = 50,
                 .frame = frame,
                 .keyboard = &no_keys,
                 .camera = circling_camera(time_s)});
      std::vector<std::byte> wanted(std::size_t{size.width} * size.height * 4);
      glReadPixels(0, 0, static_cast<GLsizei>(size.width), static_cast<GLsizei>(size.height), GL_RGBA, GL_UNSIGNED_BYTE,
                   wanted.data());
      EXPECT_TRUE(picture == wanted) << scene << ", frame " << frame;
      EXPECT_EQ(layer_->frame(), frame);
      last_ns = time_ns;
    }
  }
}

TEST_F(ShaderLayerTest, IsDrawnAtItsRateAndOnlyWhileItIsSeen) {
  open("gl:waves");
  EXPECT_LE(layer_->due_ns(), 0);
  next_picture();
  EXPECT_FALSE(layer_->take(clock_.now_ns() + 19 * ns_per_ms, 0)) << "it has its own rate";
  layer_->set_seen(false);
  EXPECT_EQ(layer_->due_ns(), INT64_MAX);
  EXPECT_FALSE(layer_->take(clock_.now_ns() + ns_per_s, 0));
  layer_->set_seen(true);
  clock_.advance_to_ns(clock_.now_ns() + ns_per_s);
  next_picture();
  EXPECT_GE(layer_->time_ns(), ns_per_s) << "its time went on";
  EXPECT_EQ(layer_->frame(), 1U);
}

TEST_F(ShaderLayerTest, TheUsersInputShowsInTheNextFrame) {
  write(
      "void mainImage(out vec4 c, in vec2 p) {\n"
      "  c = vec4(iMouse.z > 0.0 ? iMouse.x / 320.0 : 0.0, isKeyDown(65) ? 1.0 : 0.0, iWheel.y / 4.0, 1.0);\n"
      "}\n");
  open("gl:a.frag");
  EXPECT_EQ(next_colour(), (std::array{0, 0, 0}));
  give(ButtonInput{.button = InputButton::left, .is_pressed = true, .x = 320, .y = 90});
  give(KeyInput{.usage = key_a, .is_pressed = true});
  EXPECT_EQ(next_colour(), (std::array{255, 255, 0}));
  give(KeyInput{.usage = key_a, .is_pressed = false});
  give(WheelInput{.dy = 4});
  EXPECT_EQ(next_colour(), (std::array{255, 0, 255}));
  EXPECT_FALSE(stream_->send_input({.viewer = "", .epoch = 1, .events = {}}, 2)) << "there is no other session";
}

TEST_F(ShaderLayerTest, WhatDoesNotCompileIsSaidOnceAndTriedAgain) {
  write("void mainImage(out vec4 c, in vec2 p) { c = wrong; }\n");
  ShaderStream& stream = open("gl:a.frag");
  EXPECT_FALSE(layer_->take(0, 0));
  EXPECT_TRUE(stream.has_failed());
  EXPECT_NE(stream.facts().trouble.find("a.frag:1"), std::string::npos) << stream.facts().trouble;
  EXPECT_EQ(layer_->take_warning().find("gl:a.frag: "), 0U);
  EXPECT_FALSE(stream.ending()) << "its file may be mended";
  EXPECT_EQ(layer_->due_ns(), ns_per_s);
  write("void mainImage(out vec4 c, in vec2 p) { c = vec4(0, 1, 0, 1); }\n");
  EXPECT_FALSE(layer_->take(ns_per_s - 1, 0));
  EXPECT_EQ(next_colour(), (std::array{0, 255, 0}));
  EXPECT_FALSE(stream.has_failed());
  EXPECT_EQ(stream.facts().trouble, "");
  EXPECT_EQ(layer_->take_warning(), "");
}

TEST_F(ShaderLayerTest, ANameThatMeansNothingEndsTheStream) {
  ShaderStream& stream = open("gl:nothing");
  EXPECT_FALSE(layer_->take(0, 0));
  EXPECT_EQ(stream.ending(), ExitStatus::usage);
  EXPECT_EQ(layer_->due_ns(), INT64_MAX);
}

TEST_F(ShaderLayerTest, EndsWithTheLastFrameThatIsWanted) {
  options_.common.max_frames = 2;
  ShaderStream& stream = open("gl:waves");
  next_picture();
  stream.frame_begun(clock_.now_ns());
  stream.queue().settle([] {});
  EXPECT_FALSE(stream.is_over());
  next_picture();
  stream.frame_begun(clock_.now_ns());
  EXPECT_FALSE(stream.is_over()) << "the last frame is not shown yet";
  stream.queue().settle([] {});
  EXPECT_TRUE(stream.is_over());
  EXPECT_EQ(layer_->due_ns(), INT64_MAX);
  EXPECT_EQ(stream.counts().frames_received, 2U);
}

TEST_F(ShaderLayerTest, SaysWhatItIsLikeBeforeItIsDrawn) {
  const SubscriberStatus status = open("gl:waves", 24).status();
  EXPECT_EQ(status.state, SubscriberState::connected);
  EXPECT_EQ(describe(*status.format), "320x180 rgb0 24 fps");
  EXPECT_EQ(status.input_refusal, "");
}

}  // namespace
}  // namespace framewire
