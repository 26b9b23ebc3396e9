#include "sender/sources/gl/gl_source.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/file_descriptor.hpp"
#include "tests/base/substitute.hpp"
#include "tests/base/temporary_folder.hpp"
#include "tests/sender/gl_counter_reader.hpp"

namespace framewire {
namespace {

using test::read_counter;

struct TakenFrame {
  FrameHeader header;
  std::vector<std::byte> payload;
};

/// Copies every frame, slice by slice, and releases its slot at once.
class TakingLink final : public SenderLink {
 public:
  [[nodiscard]] LinkKind kind() const noexcept override { return LinkKind::local; }
  void begin_epoch(std::shared_ptr<Pool> /*pool*/) override {}
  void epoch_ready(std::uint32_t /*epoch*/, std::uint32_t /*ring_slots*/,
                   const LinkDescription& /*ring*/) noexcept override {}
  SendResult try_send(const OutgoingFrame& frame) noexcept override {
    const auto payload = frame.payload.bytes();
    if (frame.is_first) {
      frames.push_back({frame.header, std::vector<std::byte>(payload.size())});
    }
    const auto slice = slice_bytes(payload, frame.header);
    TakenFrame& taken = frames.back();
    taken.header = frame.header;
    std::ranges::copy(slice, taken.payload.begin() + static_cast<std::ptrdiff_t>(frame.header.slice_offset_bytes));
    if (frame.is_last) {
      released_.push_back(frame.pool_slot);
    }
    return SendResult::accepted;
  }
  std::size_t poll_released(std::span<PoolSlot> released) noexcept override {
    std::size_t count = 0;
    while (count < released.size() && !released_.empty()) {
      released[count++] = released_.back();
      released_.pop_back();
    }
    return count;
  }
  bool arm() noexcept override { return released_.empty(); }
  [[nodiscard]] int descriptor() const noexcept override { return event_.get(); }
  void on_readable() noexcept override {}
  [[nodiscard]] LinkState state() const noexcept override { return LinkState::open; }
  [[nodiscard]] std::string fault() const override { return {}; }
  [[nodiscard]] std::uint64_t frames_acknowledged() const noexcept override { return frames.size(); }

  std::vector<TakenFrame> frames;

 private:
  std::vector<PoolSlot> released_;
  FileDescriptor event_ = make_eventfd();
};

/// What a viewer does: `before` the first frame can come, and `after` it may.
struct ViewerActs {
  InputBatch input{};
  std::function<void(Stream&)> before = [](Stream&) {};
  std::function<void(Stream&)> after = [](Stream&) {};
};

/// Runs `source` to its end and returns the published frames. An exception goes into `failure`.
std::vector<TakenFrame> frames_of(GlSource& source, const StreamOptions& options, std::string* failure = nullptr,
                                  const ViewerActs& acts = {}) {
  Stream stream(options);
  source.take_input(stream.inbox());
  EXPECT_EQ(stream.inbox().give_input(&acts, acts.input), "");
  TakingLink link;
  const SharedEvent wake = make_shared_event();
  SubscriberQueue queue(link, options.delivery, wake);
  EXPECT_TRUE(stream.attach(queue));
  std::thread thread([&] {
    try {
      source.run(stream);
    } catch (const Error& error) {
      EXPECT_NE(failure, nullptr) << error.what();
      if (failure != nullptr) {
        *failure = error.what();
      }
    }
    stream.finish();
  });
  const std::int64_t deadline_ns = monotonic_ns() + 60 * ns_per_s;
  std::uint32_t epoch = 0;
  while (epoch == 0 && monotonic_ns() < deadline_ns) {
    if (const auto start = stream.epoch_to_announce(queue)) {
      epoch = start->number;
      acts.before(stream);
      stream.epoch_ready(queue, epoch, 1, {}, true);
    }
    std::this_thread::yield();
  }
  acts.after(stream);
  thread.join();
  EXPECT_TRUE(stream.is_drained(queue));
  stream.detach(queue);
  stream.release_held(queue);
  EXPECT_EQ(stream.frames_produced(), queue.counts.frames_sent + queue.counts.frames_skipped);
  return std::move(link.frames);
}

StreamOptions options_for(std::uint64_t frames) {
  StreamOptions options;
  options.name = "gl";
  options.delivery = Delivery::every;
  options.slots_per_viewer = 2;
  options.max_viewers = 1;
  options.first_sequence = 41;
  options.max_frames = frames;
  return options;
}

SourceOptions small_source() {
  SourceOptions options;
  options.name = "gl:";
  options.width = 320;
  options.height = 180;
  options.frames_per_s = 50;
  options.realtime = false;
  return options;
}

class GlSourceInSlices : public testing::TestWithParam<std::uint16_t> {};

TEST_P(GlSourceInSlices, PublishesNumberedFramesInOrder) {
  const std::uint16_t slices = GetParam();
  for (const ReadbackMethod method : {ReadbackMethod::persistent_buffer, ReadbackMethod::pinned_memory}) {
    SCOPED_TRACE(name(method));
    std::optional<GlSource> source;
    try {
      SourceOptions options = small_source();
      options.slices = slices;
      source.emplace(options, method);
    } catch (const Error&) {
      ASSERT_EQ(method, ReadbackMethod::pinned_memory);  // not every driver supports it
      continue;
    }
    const auto frames = frames_of(*source, options_for(7));
    ASSERT_EQ(frames.size(), 7U);
    for (std::size_t i = 0; i < frames.size(); ++i) {
      const TakenFrame& frame = frames.at(i);
      EXPECT_EQ(frame.header.sequence, 41 + i);
      EXPECT_EQ(frame.header.slice_count, slices);
      EXPECT_EQ(frame.header.pts_ns, static_cast<std::int64_t>(i) * 20 * ns_per_ms);
      EXPECT_EQ(read_counter(frame.payload, {320, 180}), 41 + i);
      EXPECT_EQ(frame.header.colour,
                (Colour{ColourMatrix::rgb, ColourRange::full, ColourTransfer::srgb, ColourPrimaries::bt709}));
      EXPECT_GT(frame.header.times.begun_ns, 0);
      EXPECT_GE(frame.header.times.completed_ns, frame.header.times.begun_ns);
    }
    EXPECT_NE(frames.front().payload, frames.back().payload);
  }
}

INSTANTIATE_TEST_SUITE_P(Slices, GlSourceInSlices, testing::Values(1, 2, 7));

GLenum GLAD_API_PTR waits_in_vain(GLsync, GLbitfield, GLuint64) {
  return GL_WAIT_FAILED;
}

TEST(GlSource, PublishesNothingFromAGpuThatIsLost) {
  GlSource source(small_source());
  std::string failure;
  const test::Substitute<decltype(glad_glClientWaitSync)> lost(glad_glClientWaitSync, waits_in_vain);
  EXPECT_EQ(frames_of(source, options_for(7), &failure).size(), 0U);
  EXPECT_NE(failure.find("the GPU draws no more"), std::string::npos) << failure;
}

TEST(GlSource, PacedFramesCarryTheirTick) {
  SourceOptions paced = small_source();
  paced.realtime = true;
  paced.frames_per_s = 200;
  GlSource source(paced);
  const auto frames = frames_of(source, options_for(12));
  ASSERT_EQ(frames.size(), 12U);
  for (std::size_t i = 1; i < frames.size(); ++i) {
    EXPECT_GT(frames.at(i).header.pts_ns, frames.at(i - 1).header.pts_ns);
    EXPECT_EQ(frames.at(i).header.pts_ns % (5 * ns_per_ms), 0);  // a slow machine skips ticks but keeps to the grid
  }
}

/// Frames of its own, then those that a viewer asks for, then again its own when that viewer has left.
TEST(GlSource, RendersWhatAViewerAsksFor) {
  SourceOptions source = small_source();
  source.name = "gl:helix:2";
  source.pixel_format = PixelFormat::rgba_grayf32le;
  GlSource gl(source);
  const int viewer = 0;
  const auto ask = [&viewer](Stream& stream, std::uint64_t id, double turn_rad) {
    const RenderRequest request{.id = id, .camera = orbiting_camera(turn_rad, 0, 4), .time_ns = ns_per_s};
    while (stream.renders().ask(&viewer, request)) {
      std::this_thread::yield();
    }
  };
  const ViewerActs acts{.before =
                            [&](Stream& stream) {
                              ask(stream, 501, 0.0);
                              ask(stream, 502, 0.5);
                            },
                        .after =
                            [&](Stream& stream) {
                              ask(stream, 503, 0.0);
                              while (stream.frames_produced() < 3) {
                                std::this_thread::yield();
                              }
                              stream.renders().forget(&viewer);
                            }};
  const auto frames = frames_of(gl, options_for(6), nullptr, acts);
  ASSERT_EQ(frames.size(), 6U);
  std::vector<std::uint64_t> tags;
  for (const TakenFrame& frame : frames) {
    tags.push_back(frame.header.user_tag);
    EXPECT_EQ(frame.header.layout, packed_layout(PixelFormat::rgba_grayf32le, 320, 180));
  }
  const auto first = std::ranges::find(tags, 501U);
  ASSERT_LE(first - tags.begin(), 1) << "one frame may have been begun before";
  EXPECT_EQ(*(first + 1), 502U);
  EXPECT_EQ(tags.back(), 0U);
  const auto& one = frames.at(static_cast<std::size_t>(first - tags.begin())).payload;
  const auto& other = frames.at(static_cast<std::size_t>(first - tags.begin()) + 1).payload;
  EXPECT_TRUE(one != other) << "another camera";
}

/// Red, green and blue of the lower right corner: the counter is at the top.
std::array<int, 3> corner_of(const TakenFrame& frame) {
  const auto last = std::span(frame.payload).last(4);
  return {std::to_integer<int>(last[0]), std::to_integer<int>(last[1]), std::to_integer<int>(last[2])};
}

/// The left button is pressed at (30, 20), and the wheel turned by 7 notches.
TEST(GlSource, InputShowsInTheNextFrame) {
  const test::TemporaryFolder folder;
  SourceOptions options = small_source();
  options.name = "gl:" + folder.file("mouse.frag");
  std::ofstream(folder.file("mouse.frag")) << "void mainImage(out vec4 c, in vec2 p) {\n"
                                              "  c = vec4(iMouse.xw, iWheel.y - iDrag.x, 255.0) / 255.0;\n}\n";
  GlSource source(options);
  const InputBatch input{.viewer = "0123456789abcdef",
                         .epoch = 1,
                         .events = {{1, ButtonInput{.button = InputButton::left, .is_pressed = true, .x = 30, .y = 20}},
                                    {2, PointerInput{.x = 31, .y = 20, .dx = 1}},
                                    {3, WheelInput{.dy = 7, .x = 31, .y = 20}}}};
  const auto frames = frames_of(source, options_for(2), nullptr, {.input = input});
  ASSERT_EQ(frames.size(), 2U);
  EXPECT_EQ(corner_of(frames[0]), (std::array{31, 160, 6}));
  EXPECT_EQ(corner_of(frames[1]), (std::array{31, 0, 6})) << "w is negative: the click is over";
}

/// A is down, B was pressed and released, C twice.
TEST(GlSource, KeysShowInTheNextFrame) {
  const test::TemporaryFolder folder;
  SourceOptions options = small_source();
  options.name = "gl:" + folder.file("keys.frag");
  std::ofstream(folder.file("keys.frag"))
      << "float key(int code, int row) {\n"
         "  return texelFetch(iKeyboard, ivec2(code, row), 0).x;\n}\n"
         "void mainImage(out vec4 c, in vec2 p) {\n"
         "  for (int i = 0; i < 256; ++i) {\n"
         "    if (isKeyDown(i) != (key(i, 0) > 0.5) || isKeyPressed(i) != (key(i, 1) > 0.5)\n"
         "        || isKeyToggled(i) != (key(i, 2) > 0.5)) { c = vec4(0.25); return; }\n  }\n"
         "  c.rgb = vec3(key(65, 0) + 0.5 * key(66, 0), key(66, 1), key(67, 2));\n"
         "  c.r *= key(65, 2);\n}\n";
  GlSource source(options);
  const auto key = [](std::uint16_t usage, bool is_pressed) {
    return InputEvent{1, KeyInput{.usage = usage, .is_pressed = is_pressed}};
  };
  const InputBatch input{
      .viewer = "0123456789abcdef",
      .epoch = 1,
      .events = {key(4, true), key(5, true), key(5, false), key(6, true), key(6, false), key(6, true), key(6, false)}};
  const auto frames = frames_of(source, options_for(2), nullptr, {.input = input});
  ASSERT_EQ(frames.size(), 2U);
  EXPECT_EQ(corner_of(frames[0]), (std::array{255, 255, 0}));
  EXPECT_EQ(corner_of(frames[1]), (std::array{255, 0, 0})) << "the press of B is over";
}

TEST(GlSource, StopsWhenAskedAndCanBeDestroyedElsewhere) {
  Stream stream(options_for(0));
  {
    GlSource source(small_source());
    std::thread thread([&] { source.run(stream); });  // without a viewer the source waits
    stream.stop();
    thread.join();
  }
  EXPECT_EQ(stream.frames_produced(), 0U);
}

TEST(GlSource, DescribesItself) {
  SourceOptions options = small_source();
  options.pixel_format = PixelFormat::nv12;
  options.frames_per_s = 60000.0 / 1001.0;
  const std::string line = GlSource(options).describe();
  for (const std::string& part : {"gl:" + std::string(scene_names().front()), std::string("320x180"),
                                  std::string("nv12"), std::string("readback by ")}) {
    EXPECT_NE(line.find(part), std::string::npos) << line;
  }
}

TEST(GlSource, BadRatesAreRefused) {
  for (const double rate : {-1.0, 1001.0, std::nan("")}) {
    SourceOptions options = small_source();
    options.frames_per_s = rate;
    EXPECT_THROW(GlSource{options}, Error) << rate;
  }
}

TEST(GlSource, TheLargestSizeFollowsTheTimeThereIs) {
  SourceOptions options = small_source();
  options.frames_per_s = 1000;
  EXPECT_EQ(GlSource::largest_size_that_keeps_rate(options, 0.0), (Size{640, 360}));
  // A trivial scene and a long time budget.
  const test::TemporaryFolder folder;
  const std::string file = folder.file("plain.frag");
  std::ofstream(file) << "void mainImage(out vec4 c, in vec2 p) { c = vec4(0.5); }";
  options.name = "gl:" + file;
  options.frames_per_s = 0.01;
  EXPECT_EQ(GlSource::largest_size_that_keeps_rate(options, 0.9), (Size{3840, 2160}));
}

}  // namespace
}  // namespace framewire
