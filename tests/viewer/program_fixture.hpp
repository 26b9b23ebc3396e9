// A viewer's loop and a sender in the same process.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "tests/base/substitute.hpp"
#include "tests/base/temporary_folder.hpp"
#include "tests/command/kept_terminal_log.hpp"
#include "tests/viewer/surface_double.hpp"
#include "transport/session/sender_service.hpp"
#include "transport/stream.hpp"
#include "viewer/headless.hpp"
#include "viewer/program.hpp"

namespace framewire {

inline std::atomic<int> uploads = 0;
inline constexpr int uploads_for_the_format = 1;  // a black frame, before the first one of the sender
using SubImage = decltype(glad_glTextureSubImage2D);
inline SubImage original_sub_image = nullptr;
inline void GLAD_API_PTR counts_uploads(GLuint texture, GLint level, GLint x, GLint y, GLsizei width, GLsizei height,
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
    // A slow machine presents the message that it waits, and the black frame, too; only the sender's frames count.
    const int uploaded = std::max(uploads - uploads_for_the_format, 0);
    if (presented && std::exchange(frames_uploaded_, uploaded) != uploaded && ++frames_presented == fails_after) {
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
  int frames_uploaded_ = 0;  // when the last picture was presented
};

/// The members of a file of JSON that are whole numbers.
std::map<std::string, std::int64_t> numbers_in(const std::string& file);

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
    stats_ = numbers_in(stats);
    EXPECT_EQ(stats_["frames_received"], stats_["frames_shown"] + stats_["frames_superseded"]);
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
  std::function<void()> after_frame_;          // of the sender; set before it starts
  std::map<std::string, std::int64_t> stats_;  // the whole numbers of --stats
  bool was_blocked_ = false;
};

}  // namespace framewire
