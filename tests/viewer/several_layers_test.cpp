// Runs the viewer's loop with several layers of a sender in the same process, on a surface that fails.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "gl/gl.hpp"
#include "tests/base/substitute.hpp"
#include "tests/base/temporary_folder.hpp"
#include "tests/command/kept_terminal_log.hpp"
#include "tests/viewer/surface_double.hpp"
#include "transport/session/sender_service.hpp"
#include "transport/stream.hpp"
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

/// Without a window.
class UnreliableSurface final : public test::SurfaceDouble {
 public:
  void attach() override {
    SurfaceDouble::attach();
    if (!has_detours) {
      original_check_status = glad_glCheckNamedFramebufferStatus;
      refusing_.emplace(glad_glCheckNamedFramebufferStatus, refuses_detours);
    }
  }
  void detach() noexcept override {
    refusing_.reset();
    SurfaceDouble::detach();
  }
  Size begin() noexcept override {
    const Size size = SurfaceDouble::begin();
    return vanishes && ++drawings_ % 2 == 0 ? Size{} : size;
  }

  bool has_detours = true;
  bool vanishes = false;  // every other picture is one of a window that has just been minimised

 private:
  int drawings_ = 0;
  std::optional<test::Substitute<CheckStatus>> refusing_;
};

/// The first five frames of two streams, of which the second is shown at half its size, and a part of it.
class SeveralLayers : public testing::Test {
 protected:
  SeveralLayers() {
    ::setenv("XDG_CONFIG_HOME", folder_.path().c_str(), 1);
    EndpointOptions listening;
    listening.listen = HostPort{"127.0.0.1", 0};
    service_.emplace(listening, std::vector<Stream*>{&whole_, &cut_}, "test", sender_log_.log());
    for (Stream* const stream : {&whole_, &cut_}) {
      stream->begin_epoch({.layout = packed_layout(PixelFormat::rgba, 64, 36), .colour = {}});
      sources_.emplace_back([stream] {
        while (auto slot = stream->claim()) {
          std::ranges::fill(slot->bytes(), std::byte{200});
          stream->publish(std::move(*slot), {});
        }
      });
    }
  }
  ~SeveralLayers() override {
    whole_.stop();
    cut_.stop();
    for (std::thread& source : sources_) {
      source.join();
    }
  }

  /// Returns what --stats says of the streams.
  nlohmann::json view(std::unique_ptr<Surface> surface, const std::string& of_cut = "") {
    const std::string scene = folder_.file("scene.toml"), stats = folder_.file("stats.json");
    const std::string sender = "127.0.0.1:" + std::to_string(service_->port());
    std::ofstream(scene) << "layout = 'free'\n[[layer]]\nsource = '" << sender << "/whole'\n[[layer]]\nsource = '"
                         << sender << "/cut'\nat = [24, 13]\nsize = [16, 9]\ncrop = [16, 9, 32, 18]\n"
                         << of_cut;
    const std::vector<const char*> words = {"framewire-view", "--scene", scene.c_str(), "--quality", "good",
                                            "--headless",     "--stats", stats.c_str(), "--frames",  "5"};
    const auto options = parse_options(static_cast<int>(words.size()), words.data());
    {
      Program program(*options, interruption_, log_.log(), std::move(surface));
      EXPECT_EQ(program.run(), ExitStatus::ok) << log_.text();
    }
    std::ifstream text(stats);
    return nlohmann::json::parse(text)["streams"];
  }

  Interruption interruption_;  // created before any thread
  test::TemporaryFolder folder_;
  test::KeptTerminalLog log_;
  test::KeptTerminalLog sender_log_;
  Stream whole_{StreamOptions{.name = "whole", .delivery = Delivery::every}};
  Stream cut_{StreamOptions{.name = "cut", .number = 1, .delivery = Delivery::every}};
  std::optional<SenderService> service_;
  std::vector<std::thread> sources_;
};

TEST_F(SeveralLayers, OneThatCannotBeDrawnWellLeavesTheOthersAlone) {
  auto surface = std::make_unique<UnreliableSurface>();
  surface->has_detours = false;
  const auto streams = view(std::move(surface));
  const std::string reason = "/cut: libplacebo cannot draw this picture; take --quality fast";
  EXPECT_NE(log_.text().find(reason), std::string::npos) << log_.text();
  EXPECT_EQ(streams[0]["frames_shown"], 5) << streams;
  EXPECT_EQ(streams[1]["frames_received"], 5) << streams;
  EXPECT_EQ(streams[1]["frames_shown"], 0) << streams;
}

TEST_F(SeveralLayers, WhatNobodySeesDoesNotCountAsShown) {
  for (const char* unseen : {"hidden = true\n", "opacity = 0\n"}) {
    const auto streams = view(std::make_unique<UnreliableSurface>(), unseen);
    EXPECT_EQ(streams[0]["frames_shown"], 5) << streams;
    EXPECT_EQ(streams[1]["frames_received"], 5) << streams;
    EXPECT_EQ(streams[1]["frames_shown"], 0) << streams;
    EXPECT_EQ(streams[1]["frames_superseded"], 5) << streams;
  }
}

TEST_F(SeveralLayers, AWindowThatIsMinimisedWhileAPictureBeginsIsNoFault) {
  auto surface = std::make_unique<UnreliableSurface>();
  surface->vanishes = true;
  const auto streams = view(std::move(surface));
  for (const auto& stream : streams) {
    EXPECT_EQ(stream["frames_received"], 5) << streams;
  }
}

}  // namespace
}  // namespace framewire
