// Runs the viewer's loop against a sender in the same process: its counters when the GPU is lost and while it is
// hidden.
#include "viewer/program.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include "tests/viewer/program_fixture.hpp"

namespace framewire {
namespace {

GLenum GLAD_API_PTR waits_in_vain(GLsync, GLbitfield, GLuint64) {
  return GL_WAIT_FAILED;
}
GLenum GLAD_API_PTR says_reset() {
  return GL_INNOCENT_CONTEXT_RESET;
}

TEST_F(ProgramTest, AFrameWhoseFenceFailedIsNotShown) {
  start_sender();
  EXPECT_EQ(view_until_loss(3, glad_glClientWaitSync, waits_in_vain, "20"), ExitStatus::failed);
  EXPECT_EQ(stats_["frames_shown"], 3) << log_.text();
  EXPECT_NE(log_.text().find("the GPU draws no more (its OpenGL context is lost); start framewire view again"),
            std::string::npos)
      << log_.text();
}

TEST_F(ProgramTest, NorIsOneOnAContextThatWasReset) {
  start_sender();
  const std::string picture = folder_.file("last.png");
  EXPECT_EQ(view_until_loss(3, glad_glGetGraphicsResetStatus, says_reset, "20", {"--screenshot", picture.c_str()}),
            ExitStatus::failed);
  EXPECT_EQ(stats_["frames_shown"], 2) << "the third was presented on a lost context";
  EXPECT_NE(log_.text().find("last.png': the GPU was lost"), std::string::npos) << log_.text();
  EXPECT_NE(log_.text().find("the GPU was reset, because of what another program drew"), std::string::npos)
      << log_.text();
}

/// The stream is over when its last frame is taken, but the loss is told.
TEST_F(ProgramTest, NorIsTheLastOne) {
  start_sender();
  EXPECT_EQ(view_until_loss(1, glad_glClientWaitSync, waits_in_vain, "2"), ExitStatus::failed);
  EXPECT_NE(log_.text().find("the GPU draws no more"), std::string::npos) << log_.text();
}

/// Its bye may come before the viewer takes it.
TEST_F(ProgramTest, TheOnlyFrameOfAStreamIsShown) {
  for (int i = 0; i < 10; ++i) {
    Stream stream(StreamOptions{.name = "one", .delivery = Delivery::every});
    EndpointOptions listening;
    listening.listen = HostPort{"127.0.0.1", 0};
    service_ = std::make_unique<SenderService>(listening, std::vector<Stream*>{&stream}, "test", sender_log_.log());
    stream.begin_epoch({.layout = packed_layout(PixelFormat::rgba, 64, 36), .colour = {}});
    std::thread source([&stream] {
      if (auto slot = stream.claim()) {
        stream.publish(std::move(*slot), {});
      }
      stream.finish();
    });
    EXPECT_EQ(view(std::make_unique<WatchedSurface>(), "1000s", "--duration"), ExitStatus::ok);
    EXPECT_EQ(stats_["frames_shown"], 1);
    source.join();
    service_.reset();
  }
}

/// A minimised window keeps receiving frames, so that the sender is not blocked. It does no other work with them.
TEST_F(ProgramTest, NothingIsUploadedOrDrawnWhileNobodySeesIt) {
  start_sender();
  auto surface = std::make_unique<WatchedSurface>();
  WatchedSurface& watched = *surface;
  watched.hidden = true;
  int uploads_while_hidden = -1;
  int drawings_while_hidden = -1;
  watched.on_poll = [&] {
    SurfaceEvents events;
    if (watched.hidden && published_ >= 30) {  // more than it could publish if the viewer received none
      uploads_while_hidden = uploads;
      drawings_while_hidden = watched.drawings;
      watched.hidden = false;
      events.needs_redraw = true;
    }
    events.quit_requested = WatchedSurface::frames_presented > 0;
    return events;
  };
  EXPECT_EQ(view(std::move(surface), "1000000"), ExitStatus::ok) << log_.text();
  EXPECT_EQ(uploads_while_hidden, 0);
  EXPECT_EQ(drawings_while_hidden, 0);
  EXPECT_GE(stats_["frames_superseded"], 20);
  EXPECT_GT(stats_["frames_shown"], 0) << "it came back";
  EXPECT_GT(uploads, 0);
}

TEST_F(ProgramTest, TheLastFrameIsThereWhenTheWindowComesBack) {
  listen();
  source_ = std::thread([this] { stream_.publish(*stream_.claim(), {}); });
  auto surface = std::make_unique<WatchedSurface>();
  WatchedSurface& watched = *surface;
  watched.hidden = true;
  watched.on_poll = [&] {
    const bool comes_back = watched.hidden && uploads > 0;
    watched.hidden = watched.hidden && !comes_back;
    return SurfaceEvents{.quit_requested = watched.drawings > 0, .needs_redraw = comes_back};
  };
  EXPECT_EQ(view(std::move(surface), "1000s", "--duration"), ExitStatus::ok) << log_.text();
  EXPECT_EQ(uploads, 1) << "no black frame, but the one that nobody saw";
  EXPECT_EQ(stats_["frames_superseded"], 1);
}

TEST_F(ProgramTest, ARedrawUploadsNothing) {
  listen();
  source_ = std::thread([this] { stream_.publish(*stream_.claim(), {}); });
  constexpr int with_the_format = uploads_for_the_format + 1;
  auto surface = std::make_unique<WatchedSurface>();
  WatchedSurface& watched = *surface;
  int polls = 0;
  watched.on_poll = [&] {
    polls += uploads >= with_the_format ? 1 : 0;
    return SurfaceEvents{.quit_requested = polls > 60 && watched.drawings > 60, .needs_redraw = true};
  };
  EXPECT_EQ(view(std::move(surface), "1000s", "--duration"), ExitStatus::ok) << log_.text();
  EXPECT_EQ(stats_["frames_shown"], 1);
  EXPECT_EQ(uploads, with_the_format);
}

/// The pictures of a user who presses keys, or drags a layer, faster than a screen is refreshed.
TEST_F(ProgramTest, NewScenesAreDrawnOnceForEachRefresh) {
  listen();
  auto surface = std::make_unique<WatchedSurface>();
  WatchedSurface& watched = *surface;
  watched.is_window = true;
  const std::int64_t began_ns = monotonic_ns();
  int scenes = 0;
  watched.on_poll = [&] {
    SurfaceEvents events;
    events.input.add({.kind = SceneInput::Kind::key, .key = SceneKey::zoom});
    events.quit_requested = ++scenes > 300;
    return events;
  };
  int drawings = 0;
  std::int64_t lasted_ns = 0;
  const auto count = [&] {
    drawings = watched.drawings;
    lasted_ns = monotonic_ns() - began_ns;
  };
  view(std::move(surface), "1000s", "--duration", {}, count);
  EXPECT_GT(drawings, 0);
  // 60 of a screen whose refreshes are not known, 30 of what moves while it waits for a frame, and what is prepared.
  EXPECT_LT(drawings, 10 + 90 * lasted_ns / ns_per_s) << scenes << " scenes";
}

TEST_F(ProgramTest, FramesAreShownAtTheRefreshesOfAScreen) {
  start_sender();
  const std::vector<std::vector<const char*>> ways = {{}, {"--paced"}, {"--paced", "--cadence"}};
  for (const char* const delivery : {"latest", "every"}) {
    for (std::vector<const char*> more : ways) {
      more.insert(more.end(), {"--headless", "--refresh", "60", "--delivery", delivery});
      EXPECT_EQ(view(std::make_unique<Headless>(Size{64, 36}, 60), "20", "--frames", more), ExitStatus::ok)
          << log_.text();
      EXPECT_EQ(stats_["frames_received"], 20);
      EXPECT_GE(stats_["frames_shown"], delivery == std::string("every") ? 20 : 1);
    }
  }
}

/// A script must not take that for success. A busy machine may not connect in the shorter times.
TEST_F(ProgramTest, ADurationWithoutOneFrameIsAnError) {
  listen();
  const auto has_said = [&](const char* text) { return log_.text().find(text) != std::string::npos; };
  constexpr const char* no_frame = "no frame came before --duration was over, although the sender is connected";
  for (const char* duration : {"300ms", "3s", "30s"}) {
    EXPECT_EQ(view(std::make_unique<WatchedSurface>(), duration, "--duration"), ExitStatus::lost_peer) << log_.text();
    if (has_said(no_frame) || !has_said("no sender came")) {
      break;
    }
  }
  EXPECT_TRUE(has_said(no_frame)) << log_.text();
  EXPECT_TRUE(has_said("source has none, or is too slow")) << log_.text();
}

TEST_F(ProgramTest, WhatIsNotShownAsItIsMeantIsSaidOnce) {
  start_sender();
  EXPECT_EQ(view(std::make_unique<WatchedSurface>(), "5"), ExitStatus::ok);
  const std::string text = log_.text();
  const std::size_t first = text.find("transfer log100");
  ASSERT_NE(first, std::string::npos) << text;
  EXPECT_EQ(text.find("transfer log100", first + 1), std::string::npos) << text;
}

}  // namespace
}  // namespace framewire
