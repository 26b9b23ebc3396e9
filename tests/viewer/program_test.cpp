// Runs the viewer's loop against a sender in the same process: its counters when the GPU is lost and while it is
// hidden.
#include "viewer/program.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>
#include <utility>

#include "tests/base/substitute.hpp"
#include "tests/base/temporary_folder.hpp"
#include "tests/command/kept_terminal_log.hpp"
#include "tests/media/media_files.hpp"
#include "tests/viewer/surface_double.hpp"
#include "transport/session/sender_service.hpp"
#include "transport/stream.hpp"
#include "viewer/headless.hpp"

namespace framewire {
namespace {

std::atomic<int> uploads = 0;
using SubImage = decltype(glad_glTextureSubImage2D);
SubImage original_sub_image = nullptr;
void GLAD_API_PTR counts_uploads(GLuint texture, GLint level, GLint x, GLint y, GLsizei width, GLsizei height,
                                 GLenum format, GLenum type, const void* pixels) {
  uploads += height == 36 ? 1 : 0;  // not what warms up, of other frames
  original_sub_image(texture, level, x, y, width, height, format, type, pixels);
}

/// A headless surface that the test observes, can hide, and can block.
class WatchedSurface final : public test::SurfaceDouble {
 public:
  using SurfaceDouble::SurfaceDouble;

  SurfaceEvents wait_events(std::int64_t deadline_ns) noexcept override {
    SurfaceDouble::wait_events(std::min(deadline_ns, monotonic_ns() + ns_per_ms));
    return on_poll ? on_poll() : SurfaceEvents{};
  }
  void attach() override {
    SurfaceDouble::attach();
    original_sub_image = glad_glTextureSubImage2D;
    uploads = 0;
    frames_presented = 0;
    counting_.emplace(glad_glTextureSubImage2D, counts_uploads);
  }
  void detach() noexcept override {
    counting_.reset();
    SurfaceDouble::detach();
  }
  Size begin() noexcept override {
    ++drawings;
    return SurfaceDouble::begin();
  }
  std::optional<Presented> present() noexcept override {
    const auto presented = SurfaceDouble::present();
    // A slow machine presents the message that it waits, too; only frames count.
    if (presented && std::exchange(uploads_presented_, uploads.load()) != uploads &&
        ++frames_presented == fails_after) {
      on_failure();
    }
    while (frames_presented == blocks_after) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return presented;
  }
  [[nodiscard]] bool is_hidden() const noexcept override { return hidden; }
  [[nodiscard]] bool may_be_visible() const noexcept override { return is_window; }

  std::atomic<int> drawings = 0;
  static inline std::atomic<int> frames_presented = 0;  // outlives the surface
  int fails_after = 0;
  std::atomic<int> blocks_after = -1;  // present() of the frame with this number does not return
  std::function<void()> on_failure;
  std::function<SurfaceEvents()> on_poll;
  std::atomic<bool> hidden = false;
  bool is_window = false;

 private:
  std::optional<test::Substitute<SubImage>> counting_;
  int uploads_presented_ = 0;
};

GLenum GLAD_API_PTR waits_in_vain(GLsync, GLbitfield, GLuint64) {
  return GL_WAIT_FAILED;
}
GLenum GLAD_API_PTR says_reset() {
  return GL_INNOCENT_CONTEXT_RESET;
}

class ProgramTest : public testing::Test {
 protected:
  ProgramTest() { ::setenv("XDG_CONFIG_HOME", folder_.path().c_str(), 1); }
  ~ProgramTest() override { stop(); }

  /// Starts a sender of 64x36 rgba frames, as many as its stream accepts.
  void start_sender() {
    listen();
    source_ = std::thread([this] {
      while (auto slot = stream_.claim()) {
        std::ranges::fill(slot->bytes(), std::byte{200});
        stream_.publish(std::move(*slot), {.pts_ns = monotonic_ns()});
        ++published_;
        if (after_frame_) {
          after_frame_();
        }
      }
      stream_.finish();
    });
  }

  /// A sender with a format, but without frames.
  void listen() {
    EndpointOptions listening;
    listening.listen = HostPort{"127.0.0.1", 0};
    service_ = std::make_unique<SenderService>(listening, std::vector<Stream*>{&stream_}, "test", sender_log_.log());
    StreamFormat format{.layout = packed_layout(PixelFormat::rgba, 64, 36), .colour = {}};
    format.colour.transfer = ColourTransfer::log100;
    stream_.begin_epoch(format);
  }

  void stop() {
    stream_.stop();
    if (source_.joinable()) {
      source_.join();
    }
    service_.reset();
  }

  /// Runs the viewer on `surface` until it ends. `unblock` is called before the viewer is destroyed.
  ExitStatus view(std::unique_ptr<Surface> surface, const std::string& count, const char* limit = "--frames",
                  const std::vector<const char*>& more = {"--headless"}, const std::function<void()>& unblock = {}) {
    const std::string address = "127.0.0.1:" + std::to_string(service_->port());
    const std::string stats = folder_.file("stats.json");
    std::vector<const char*> words = {"framewire-view", "--size",  "64x36",       address.c_str(), limit,
                                      count.c_str(),    "--stats", stats.c_str(), "--transport",   "local"};
    words.insert(words.end(), more.begin(), more.end());
    const auto options = parse_options(static_cast<int>(words.size()), words.data());
    Program program(*options, interruption_, log_.log(), std::move(surface));
    const ExitStatus status = program.run();
    was_blocked_ = program.is_blocked();
    if (unblock) {
      unblock();
    }
    const auto text = test::read_file(stats);
    stats_ = nlohmann::json::parse(reinterpret_cast<const char*>(text.data()),
                                   reinterpret_cast<const char*>(text.data()) + text.size());
    EXPECT_EQ(stats_["frames_received"].get<int>(),
              stats_["frames_shown"].get<int>() + stats_["frames_superseded"].get<int>());
    return status;
  }

  /// The same for `frames` frames, headless; when frame `lost_at` is presented, `replacement` takes the place of GL's
  /// `function`.
  template <typename Function, typename Replacement>
  ExitStatus view_until_loss(int lost_at, Function& function, Replacement replacement, const std::string& frames,
                             std::vector<const char*> more = {}) {
    auto surface = std::make_unique<WatchedSurface>();
    std::optional<test::Substitute<Function>> lost;
    surface->fails_after = lost_at;
    surface->on_failure = [&] { lost.emplace(function, replacement); };
    more.push_back("--headless");
    return view(std::move(surface), frames, "--frames", more);
  }

  Interruption interruption_;  // created before any thread
  test::TemporaryFolder folder_;
  test::KeptTerminalLog log_;
  test::KeptTerminalLog sender_log_;
  Stream stream_{StreamOptions{.name = "test", .delivery = Delivery::every}};
  std::unique_ptr<SenderService> service_;
  std::thread source_;
  std::atomic<std::uint64_t> published_ = 0;
  std::function<void()> after_frame_;  // of the sender; set before it starts
  nlohmann::json stats_;
  bool was_blocked_ = false;
};

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

TEST_F(ProgramTest, ARedrawUploadsNothing) {
  listen();
  source_ = std::thread([this] { stream_.publish(*stream_.claim(), {}); });
  constexpr int with_the_format = 2;  // a black frame is uploaded for that
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

/// What a viewer does whose window system holds the drawing in a swap, as it may for a window that nobody sees.
class BlockedDrawing : public ProgramTest {
 protected:
  explicit BlockedDrawing(std::optional<double> refresh_hz = {})
      : surface_(std::make_unique<WatchedSurface>(refresh_hz)) {
    watched_.blocks_after = blocking;
    watched_.is_window = true;
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
    EXPECT_TRUE(was_blocked_);
    EXPECT_GE(stats_["frames_shown"], 1);
    EXPECT_LT(stats_["frames_shown"], blocking) << "that one is in the swap";
    return status;
  }

  /// The picture that blocks. Preparing for the format counts as one, if that is drawn over before the first frame.
  static constexpr int blocking = 3;

  std::unique_ptr<WatchedSurface> surface_;
  WatchedSurface& watched_ = *surface_;  // while view() runs
};

TEST_F(BlockedDrawing, DelaysNotTheEndByDuration) {
  EXPECT_EQ(view_blocked("4s", "--duration"), ExitStatus::ok) << log_.text();
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
  EXPECT_EQ(stats_["frames_recorded"].get<int>() + stats_["frames_unrecorded"].get<int>(),
            stats_["frames_received"].get<int>());
  EXPECT_EQ(std::filesystem::file_size(film), stats_["frames_recorded"].get<std::uint64_t>() * 64 * 36 * 4);
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
