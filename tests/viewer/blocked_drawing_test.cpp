// What a viewer does whose window system holds the drawing in a swap.
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/viewer/program_fixture.hpp"

namespace framewire {
namespace {

/// What a viewer does whose window system holds the drawing in a swap, as it may for a window that nobody sees.
class BlockedDrawing : public ProgramTest {
 protected:
  explicit BlockedDrawing(std::optional<double> refresh_hz = {}) : surface_(blocking_window(refresh_hz)) {
    // The first frames come one after the other, so that the drawing is blocked before the last one comes.
    after_frame_ = [this] {
      while (published_ <= blocking && !stream_.is_stopping() &&
             WatchedSurface::frames_presented < static_cast<int>(published_)) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
    };
    start_sender();
  }
  ~BlockedDrawing() override { stop(); }

  ExitStatus view_blocked(const std::string& count, const char* limit, const std::vector<const char*>& more = {}) {
    const ExitStatus status = view(std::move(surface_), count, limit, more, [this] { watched_.blocks_after = -1; });
    expect_blocked();
    return status;
  }

  void expect_blocked() {
    EXPECT_TRUE(was_blocked_);
    EXPECT_GE(stats_["frames_shown"], 1);
    EXPECT_LT(stats_["frames_shown"], blocking) << "that one is in the swap";
  }

  static std::unique_ptr<WatchedSurface> blocking_window(std::optional<double> refresh_hz = {}) {
    auto surface = std::make_unique<WatchedSurface>(refresh_hz);
    surface->blocks_after = blocking;
    surface->is_window = true;
    return surface;
  }

  /// The frame that blocks.
  static constexpr int blocking = 3;

  std::unique_ptr<WatchedSurface> surface_;
  WatchedSurface& watched_ = *surface_;  // while view() runs
};

TEST_F(BlockedDrawing, DelaysNotTheEndByDuration) {
  for (const char* duration : {"4s", "16s", "60s"}) {  // until the third picture comes in time on a busy machine
    WatchedSurface& watched = *surface_;
    const ExitStatus status = view(std::move(surface_), duration, "--duration", {}, [&] { watched.blocks_after = -1; });
    if (was_blocked_) {
      EXPECT_EQ(status, ExitStatus::ok) << log_.text();
      break;
    }
    surface_ = blocking_window();
  }
  expect_blocked();
}

TEST_F(BlockedDrawing, DelaysNoFrameThatMayBeSkipped) {
  EXPECT_EQ(view_blocked("100", "--frames", {"--delivery", "latest"}), ExitStatus::ok) << log_.text();
  EXPECT_EQ(stats_["frames_received"], 100);
}

TEST_F(BlockedDrawing, DelaysNoRecording) {
  const std::string film = folder_.file("film.raw");
  EXPECT_EQ(view_blocked("100", "--frames", {"--delivery", "latest", "--output", film.c_str()}), ExitStatus::ok)
      << log_.text();
  EXPECT_GT(stats_["frames_recorded"], 2);
  EXPECT_EQ(stats_["frames_recorded"] + stats_["frames_unrecorded"], stats_["frames_received"]);
  EXPECT_EQ(std::filesystem::file_size(film), static_cast<std::uint64_t>(stats_["frames_recorded"]) * 64 * 36 * 4);
}

TEST_F(BlockedDrawing, DelaysNoKey) {
  watched_.on_poll = [this] {
    SurfaceEvents events;
    events.quit_requested = WatchedSurface::frames_presented == blocking && published_ > 5;
    return events;
  };
  EXPECT_EQ(view_blocked("1000s", "--duration", {"--delivery", "latest"}), ExitStatus::ok) << log_.text();
}

TEST_F(BlockedDrawing, DelaysNoSignal) {
  watched_.on_poll = [is_sent = false]() mutable {
    if (WatchedSurface::frames_presented == blocking &&
        !std::exchange(is_sent, true)) {  // a second one would end this process
      ::kill(::getpid(), SIGTERM);
    }
    return SurfaceEvents{};
  };
  EXPECT_EQ(view_blocked("1000s", "--duration"), ExitStatus::ok) << log_.text();
}

TEST_F(BlockedDrawing, DelaysNoEndOfTheStream) {
  watched_.on_poll = [this] {
    if (WatchedSurface::frames_presented == blocking) {
      stream_.stop();
    }
    return SurfaceEvents{};
  };
  EXPECT_EQ(view_blocked("1000s", "--duration"), ExitStatus::ok) << log_.text();
}

TEST_F(BlockedDrawing, LeavesNoScreenshot) {
  const std::string file = folder_.file("last.png");
  watched_.on_poll = [] {
    SurfaceEvents events;
    events.quit_requested = WatchedSurface::frames_presented == blocking;
    return events;
  };
  EXPECT_EQ(view_blocked("1000s", "--duration", {"--screenshot", file.c_str()}), ExitStatus::failed);
  EXPECT_NE(log_.text().find("the window system blocks the drawing"), std::string::npos) << log_.text();
}

/// Frames that wait for their time hold slots, which a sender needs.
TEST_F(BlockedDrawing, DelaysNoPacedFrameThatMayBeSkipped) {
  EXPECT_EQ(view_blocked("30", "--frames", {"--delivery", "latest", "--paced"}), ExitStatus::ok) << log_.text();
  EXPECT_EQ(stats_["frames_received"], 30);
}

TEST_F(BlockedDrawing, DelaysNoKeyWhilePaced) {
  watched_.on_poll = [this] {
    SurfaceEvents events;
    events.quit_requested = WatchedSurface::frames_presented == blocking && published_ > 20;
    return events;
  };
  EXPECT_EQ(view_blocked("1000s", "--duration", {"--delivery", "latest", "--paced"}), ExitStatus::ok) << log_.text();
}

/// What the sender may have sent when the viewer has given up no frame.
TEST_F(BlockedDrawing, HoldsNoSenderOfPacedFramesForEver) {
  const std::uint64_t most_unless_superseded = blocking + 2 * StreamOptions{}.slots_per_viewer;
  watched_.on_poll = [&] {
    SurfaceEvents events;
    events.quit_requested = published_ > most_unless_superseded;
    return events;
  };
  EXPECT_EQ(view_blocked("1000s", "--duration", {"--paced"}), ExitStatus::ok) << log_.text();
  EXPECT_GT(stats_["frames_received"], blocking - 1 + static_cast<int>(StreamOptions{}.slots_per_viewer));
}

TEST_F(BlockedDrawing, DelaysNoEndOfAPacedStream) {
  watched_.on_poll = [this] {
    if (WatchedSurface::frames_presented == blocking) {
      stream_.stop();
    }
    return SurfaceEvents{};
  };
  EXPECT_EQ(view_blocked("1000s", "--duration", {"--paced"}), ExitStatus::ok) << log_.text();
}

/// A window with vsync.
class BlockedSynchronisedDrawing : public BlockedDrawing {
 protected:
  BlockedSynchronisedDrawing() : BlockedDrawing(60) {}
};

TEST_F(BlockedSynchronisedDrawing, DelaysNoFrameThatMayBeSkipped) {
  EXPECT_EQ(view_blocked("100", "--frames", {"--delivery", "latest"}), ExitStatus::ok) << log_.text();
  EXPECT_EQ(stats_["frames_received"], 100);
}

TEST_F(BlockedSynchronisedDrawing, DelaysNoPacedFrameThatMayBeSkipped) {
  EXPECT_EQ(view_blocked("30", "--frames", {"--delivery", "latest", "--paced"}), ExitStatus::ok) << log_.text();
  EXPECT_EQ(stats_["frames_received"], 30);
}

}  // namespace
}  // namespace framewire
