// Runs the viewer's loop with several layers of a sender in the same process: one that cannot be drawn leaves the
// others alone.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "gl/gl.hpp"
#include "tests/base/substitute.hpp"
#include "tests/base/temporary_folder.hpp"
#include "tests/command/kept_terminal_log.hpp"
#include "transport/session/sender_service.hpp"
#include "transport/stream.hpp"
#include "viewer/headless.hpp"
#include "viewer/program.hpp"

namespace framewire {
namespace {

using CheckStatus = decltype(glad_glCheckNamedFramebufferStatus);
CheckStatus original_check_status = nullptr;

/// There is no memory for what is larger than the part of a layer that is seen, and smaller than the surface: a picture
/// on its way through libplacebo.
GLenum GLAD_API_PTR refuses_detours(GLuint framebuffer, GLenum target) {
  GLint texture = 0, width = 0;
  glGetNamedFramebufferAttachmentParameteriv(framebuffer, GL_COLOR_ATTACHMENT0, GL_FRAMEBUFFER_ATTACHMENT_OBJECT_NAME,
                                             &texture);
  glGetTextureLevelParameteriv(static_cast<GLuint>(texture), 0, GL_TEXTURE_WIDTH, &width);
  return width > 16 && width < 64 ? GL_FRAMEBUFFER_UNSUPPORTED : original_check_status(framebuffer, target);
}

class SurfaceWithoutDetours final : public Surface {
 public:
  SurfaceEvents wait_events(std::int64_t deadline_ns) noexcept override { return headless_.wait_events(deadline_ns); }
  void attach() override {
    headless_.attach();
    original_check_status = glad_glCheckNamedFramebufferStatus;
    refusing_.emplace(glad_glCheckNamedFramebufferStatus, refuses_detours);
  }
  void detach() noexcept override {
    refusing_.reset();
    headless_.detach();
  }
  void begin() noexcept override { headless_.begin(); }
  [[nodiscard]] bool is_synchronised() const noexcept override { return false; }
  std::optional<Presented> present() noexcept override { return headless_.present(); }
  Image capture(const std::function<void()>& draw) override { return headless_.capture(draw); }
  void wake() noexcept override { headless_.wake(); }
  [[nodiscard]] Size size() const noexcept override { return headless_.size(); }
  [[nodiscard]] bool may_be_visible() const noexcept override { return false; }
  [[nodiscard]] std::string describe() const override { return "without detours"; }

 private:
  Headless headless_{{64, 36}};
  std::optional<test::Substitute<CheckStatus>> refusing_;
};

TEST(GivenUpLayers, OneThatCannotBeDrawnWellLeavesTheOthersAlone) {
  Interruption interruption;  // before any thread
  test::TemporaryFolder folder;
  test::KeptTerminalLog log, sender_log;
  ::setenv("XDG_CONFIG_HOME", folder.path().c_str(), 1);
  Stream whole(StreamOptions{.name = "whole", .delivery = Delivery::every});
  Stream cut(StreamOptions{.name = "cut", .delivery = Delivery::every});
  EndpointOptions listening;
  listening.listen = HostPort{"127.0.0.1", 0};
  SenderService service(listening, std::vector<Stream*>{&whole, &cut}, "test", sender_log.log());
  std::vector<std::thread> sources;
  for (Stream* const stream : {&whole, &cut}) {
    stream->begin_epoch({.layout = packed_layout(PixelFormat::rgba, 64, 36), .colour = {}});
    sources.emplace_back([stream] {
      for (int i = 0; i < 5; ++i) {
        if (auto slot = stream->claim()) {
          std::ranges::fill(slot->bytes(), std::byte{200});
          stream->publish(std::move(*slot), {});
        }
      }
      stream->finish();
    });
  }
  // The second is shown at half its size, and a part of it.
  const std::string scene = folder.file("scene.toml"), stats = folder.file("stats.json");
  const std::string sender = "127.0.0.1:" + std::to_string(service.port());
  std::ofstream(scene) << "layout = 'free'\n[[layer]]\nsource = '" << sender << "/whole'\n[[layer]]\nsource = '"
                       << sender << "/cut'\nat = [24, 13]\nsize = [16, 9]\ncrop = [16, 9, 32, 18]\n";
  const std::vector<const char*> words = {"framewire-view", "--scene",    scene.c_str(), "--quality",
                                          "good",           "--headless", "--stats",     stats.c_str()};
  const auto options = parse_options(static_cast<int>(words.size()), words.data());
  {
    Program program(*options, interruption, log.log(), std::make_unique<SurfaceWithoutDetours>());
    EXPECT_EQ(program.run(), ExitStatus::ok) << log.text();
  }
  for (std::thread& source : sources) {
    source.join();
  }
  const std::string reason = "/cut: libplacebo cannot draw this picture; take --quality fast";
  EXPECT_NE(log.text().find(reason), std::string::npos) << log.text();
  std::ifstream text(stats);
  const auto streams = nlohmann::json::parse(text)["streams"];
  EXPECT_EQ(streams[0]["frames_shown"], 5) << streams;
  EXPECT_EQ(streams[1]["frames_received"], 5) << streams;
  EXPECT_EQ(streams[1]["frames_shown"], 0) << streams;
}

}  // namespace
}  // namespace framewire
